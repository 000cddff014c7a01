"""Python's cyclic garbage collector, kept out of the way of a piece of work that makes many values and no cycles."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

LOOK_THROUGH = 2_000_000
"""Once so many blocks of memory more are in use than after the last look, all values are looked through for cycles."""

_pause = Lock()
_in_use = 0


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause the cyclic collector for a bounded piece of work, unless a pause is on already, here or in another thread.

    A batch is some millions of live values without a cycle among them: looking through them again and again took more
    than two fifths of the writer's time, and a full collection in the middle of an answer nearly as long as the answer.
    What the work leaves is freed by its reference counts all the same. Whoever begins a pause ends it: were it to last
    until the last of several threads is done, a busy server would never collect.
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
            _spare_the_living()
            gc.enable()
        _pause.release()


def _spare_the_living() -> None:
    """Move what outlives the pause to the old values: else the collector began at once with all that was made meanwhile.

    What the work made says little of what it left: an answer is there at the end of its pause and gone a moment later.
    """
    global _in_use
    if sys.getallocatedblocks() - _in_use < LOOK_THROUGH:
        # In no time, whatever their number.
        gc.freeze()
        gc.unfreeze()
        return
    gc.collect()
    _in_use = sys.getallocatedblocks()
