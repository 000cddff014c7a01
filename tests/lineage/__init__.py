"""Tests of the plain-Python door."""
