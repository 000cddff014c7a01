"""Telling, while a batch waits for the graph, who holds it (specification 11)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from headwater_avro.errors import HeadwaterError
from headwater_consumer.health import Status

HeldBy: TypeAlias = Callable[[], "str | None"]
"""Asks the graph who else writes to it now; None: nobody."""

LOOK = 1.0
"""Seconds between two looks at who holds the graph."""


@contextmanager
def reporting_lock_holder(status: Status, held_by: HeldBy | None, every: float = LOOK) -> Iterator[None]:
    """Within this, the status says that it waits, and for whom, as long as somebody else holds the graph."""
    if held_by is None:
        yield
        return
    done = threading.Event()
    watch = threading.Thread(target=_watch, args=(status, held_by, every, done), name="headwater-holder", daemon=True)
    watch.start()
    try:
        yield
    finally:
        done.set()
        watch.join()
        status.held_by(None)


def _watch(status: Status, held_by: HeldBy, every: float, done: threading.Event) -> None:
    before: str | None = None
    while not done.wait(every):
        try:
            holder = held_by()
        except HeadwaterError:
            # A graph that is away is told of by the batch itself.
            continue
        if holder == before:
            status.alive()
            continue
        status.held_by(holder)
        status.enter("waiting" if holder else "running", f"{holder} writes to the graph" if holder else None)
        before = holder
