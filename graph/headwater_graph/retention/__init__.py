"""Retention: what ended before the horizon is removed, and what must stay of it is retained."""
