"""The current run, stored in a context variable, so that asyncio tasks inherit it.

A new thread has an empty context. There, the current run is the outermost open run of the process if there is exactly one.
If there are several, use ``propagate`` to run a function in the context of its caller.
"""

from __future__ import annotations

import contextvars
import functools
import os
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from ..transport.process.termination import before_sigterm_ends

if TYPE_CHECKING:
    from .runs import Run

P = ParamSpec("P")
R = TypeVar("R")

_inside: contextvars.ContextVar[Run | None] = contextvars.ContextVar("headwater_run", default=None)
_outermost: dict[int, Run] = {}
# All started runs, in the order of their starts. Weakly: a run that a program drops without ending it is not retained.
_open: dict[int, weakref.ref[Run]] = {}


def current() -> Run | None:
    """Return the run that the calling code is part of, or None."""
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
    """Return the function wrapped for another thread, where it is part of the run that is current now."""
    context = contextvars.copy_context()

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        # A context can be entered by one thread at a time; each call uses a copy.
        return context.copy().run(function, *args, **kwargs)

    return call


def enter(run: Run) -> contextvars.Token[Run | None]:
    """Make the run current in this context."""
    return _inside.set(run)


def leave(token: contextvars.Token[Run | None]) -> None:
    """Restore the run that was current before ``enter``."""
    try:
        _inside.reset(token)
    except ValueError:
        # The token is of another context (a generator closed by the garbage collector): there is nothing to restore.
        return


def opened(run: Run, *, outermost: bool) -> None:
    """Register a run that has started."""
    key = id(run)
    _open[key] = weakref.ref(run, lambda _: _open.pop(key, None))
    if outermost:
        _outermost[key] = run


def closed(run: Run) -> None:
    """Unregister a run that has ended."""
    _open.pop(id(run), None)
    _outermost.pop(id(run), None)


class Terminated(Exception):
    """The process was ended by a signal during a run."""


def _fail_open_runs() -> None:
    """End the open runs with FAIL, the last started first."""
    for reference in reversed(list(_open.values())):
        run = reference()
        if run is not None:
            run.fail(Terminated("the process was ended by SIGTERM"))


before_sigterm_ends(_fail_open_runs)


def _reset_in_child() -> None:
    # The runs that were open at the fork belong to the parent; the child is still inside the current run.
    only = current()
    _open.clear()
    _outermost.clear()
    if only is not None:
        _outermost[id(only)] = only


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_in_child)
