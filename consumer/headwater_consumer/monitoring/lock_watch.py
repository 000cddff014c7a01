"""Report who holds the graph's lock while a batch waits for it (specification 11)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from headwater_avro.errors import HeadwaterError
from headwater_consumer.monitoring.health import Status

HeldBy: TypeAlias = Callable[[], "str | None"]
"""Returns the other writer that holds the graph's lock; None if there is none."""

POLL_SECONDS = 1.0
"""Seconds between two queries for the lock holder."""


@contextmanager
def reporting_lock_holder(status: Status, held_by: HeldBy | None, every: float = POLL_SECONDS) -> Iterator[None]:
    """Set the status to waiting, with the lock holder as the reason, while another writer holds the lock."""
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
            # The batch itself reports a graph that is unavailable.
            continue
        if holder == before:
            status.alive()
            continue
        status.held_by(holder)
        status.enter("waiting" if holder else "running", f"{holder} writes to the graph" if holder else None)
        before = holder
