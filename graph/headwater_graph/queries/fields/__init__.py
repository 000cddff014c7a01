"""Queries about the operations that made a field."""
