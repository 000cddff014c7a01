"""The laws of the specification: a second implementation written from its text alone, and the event sets that try it."""
