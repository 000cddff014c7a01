"""Pauses of Python's cyclic garbage collector during work that creates many objects and no cycles."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

COLLECT_AFTER = 2_000_000
"""A full collection runs once this many more blocks of memory are in use than after the last full collection."""

_pause = Lock()
_in_use = 0


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause the cyclic collector for a bounded piece of work, unless this or another thread has paused it already.

    A batch consists of millions of live objects without cycles: repeated collections took more than 40 % of the writer's
    time, and a full collection during a query nearly as long as the query. Reference counts still free the objects that the
    work releases. The thread that begins a pause ends it: if it lasted until the last of several threads is done, a busy
    server would never collect.
    """
    if not _pause.acquire(blocking=False):
        yield
        return
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            _age_survivors()
            gc.enable()
        _pause.release()


def _age_survivors() -> None:
    """Move surviving objects to the oldest generation, so that the collector does not begin with all of them at once.

    The number of objects that the work created does not matter: an answer exists at the end of its pause, but is released
    soon after.
    """
    global _in_use
    if sys.getallocatedblocks() - _in_use < COLLECT_AFTER:
        # Constant time, whatever their number.
        gc.freeze()
        gc.unfreeze()
        return
    gc.collect()
    _in_use = sys.getallocatedblocks()
