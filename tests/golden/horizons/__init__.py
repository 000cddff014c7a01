"""Specification 7 by example: events, a horizon, later events, the dump."""
