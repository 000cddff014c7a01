"""The extension API of libraries, and how their extensions are loaded and applied."""
