"""The classes that run in the driver's JVM, and the module that calls them."""
