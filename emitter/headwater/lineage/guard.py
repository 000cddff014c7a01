"""Faults in reporting lineage are logged here and never raised into the code whose lineage is reported."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

logger = logging.getLogger("headwater.lineage")

P = ParamSpec("P")
R = TypeVar("R")


def guarded(function: Callable[P, R]) -> Callable[P, R | None]:
    """Return the function wrapped so that it logs an Exception and returns None instead of raising."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R | None:
        try:
            return function(*args, **kwargs)
        except Exception:  # a fault in its lineage must not stop the work itself
            logger.exception("lineage of %s is incomplete", _subject(args))
            return None

    return call


def _subject(args: tuple[Any, ...]) -> str:
    return repr(args[0]) if args else "a run"
