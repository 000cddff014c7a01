"""The questions as tools of the Model Context Protocol, with answers that are sized for a language model."""
