"""Fixtures of the stack's tests."""

from __future__ import annotations

from ..servers import servers, topic

__all__ = ["servers", "topic"]
