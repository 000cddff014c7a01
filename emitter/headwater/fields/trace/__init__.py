"""Lineage of data frame libraries, recorded while they read and write."""

from .block import Trace, trace

__all__ = ["Trace", "trace"]
