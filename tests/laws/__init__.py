"""The laws of SPEC: a second implementation written from its text alone, and the event sets that try it."""
