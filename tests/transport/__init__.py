"""Tests of the emitter's transport."""
