"""Tests of ``headwater.spark``."""
