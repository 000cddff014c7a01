"""The JSON cases of ``headwater fields resolve``."""

from .levels import answer

__all__ = ["answer"]
