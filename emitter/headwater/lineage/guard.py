"""The one place where faults in telling lineage end: logged, never raised into the code that is told about."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

logger = logging.getLogger("headwater.lineage")

P = ParamSpec("P")
R = TypeVar("R")


def guarded(function: Callable[P, R]) -> Callable[P, R | None]:
    """The function, but None and one line of log where it raises an Exception."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R | None:
        try:
            return function(*args, **kwargs)
        except Exception:  # the work itself goes on, whatever is wrong with its lineage
            logger.exception("lineage of %s is incomplete", _subject(args))
            return None

    return call


def _subject(args: tuple[Any, ...]) -> str:
    return repr(args[0]) if args else "a run"
