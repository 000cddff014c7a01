"""Which run the code is in: by context variable, so that asyncio tasks inherit it.

A new thread has an empty context. There, the run is the one outermost open run of the process if there is exactly one;
where there are more, `propagate` carries the caller's context over.
"""

from __future__ import annotations

import contextvars
import functools
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from headwater.lineage.runs import Run

P = ParamSpec("P")
R = TypeVar("R")

_inside: contextvars.ContextVar[Run | None] = contextvars.ContextVar("headwater_run", default=None)
_outermost: dict[int, Run] = {}


def current() -> Run | None:
    """The run that this code is part of, or None."""
    inside = _inside.get()
    if inside is not None:
        return inside
    if threading.current_thread() is threading.main_thread():
        return None
    try:
        (only,) = tuple(_outermost.values())
    except ValueError:
        return None
    return only


def propagate(function: Callable[P, R]) -> Callable[P, R]:
    """The function, to be called in another thread as a part of the run that is current now."""
    context = contextvars.copy_context()

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        # A context can be entered by one thread at a time; a copy of it by any.
        return context.copy().run(function, *args, **kwargs)

    return call


def enter(run: Run) -> contextvars.Token[Run | None]:
    """Make the run current in this context."""
    return _inside.set(run)


def leave(token: contextvars.Token[Run | None]) -> None:
    """Make current again what was before."""
    try:
        _inside.reset(token)
    except ValueError:
        # Left in another context than entered (a generator closed by the collector): that context has it no more.
        return


def opened(run: Run) -> None:
    """An outermost run has begun."""
    _outermost[id(run)] = run


def closed(run: Run) -> None:
    """A run has ended."""
    _outermost.pop(id(run), None)


def _forget_in_child() -> None:
    # What was open at the fork is open in the parent; the child's code is still inside it, by the context variable.
    only = current()
    _outermost.clear()
    if only is not None:
        _outermost[id(only)] = only


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
