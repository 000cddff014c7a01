"""Python's cyclic garbage collector, kept out of the way of a batch."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause the cyclic collector for a bounded piece of work.

    A batch is some millions of live values without a cycle among them: looking through them again and again took more
    than two fifths of the writer's time. What a batch leaves is freed by its reference counts all the same.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
