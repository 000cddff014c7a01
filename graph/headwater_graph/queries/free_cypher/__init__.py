"""Cypher written by users: read-only statements, the description of the model, and recipes."""
