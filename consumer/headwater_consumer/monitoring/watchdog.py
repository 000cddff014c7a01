"""What the working threads can't notice themselves: that they are stuck, that Java has ended, that stopping takes too long.

A thread of its own looks at the others. It says so when a batch makes no progress, and it ends the process when asked to
stop, or when Spark's Java process has ended, and the others don't come to an end in time. Nothing is lost by that: the graph
says up to which offsets messages are in it.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from headwater_consumer.faults import end_of_java, java_process

if TYPE_CHECKING:
    from headwater_consumer.monitoring.health import Status

logger = logging.getLogger("headwater.consumer")

POLL_SECONDS = 0.5
"""Seconds between two looks."""

ABANDONED = 4
"""The exit code of a process that ended without waiting for the batch under way."""


def end_process() -> None:
    """End this process and Spark's at once."""
    java = java_process()
    if java is not None:
        java.kill()
    logging.shutdown()
    os._exit(ABANDONED)


class Watchdog:
    """Watches until its context is left; ``end`` ends the process."""

    def __init__(
        self,
        status: Status,
        stop: threading.Event,
        drain_timeout: float,
        *,
        java_end: Callable[[], str | None] = end_of_java,
        end: Callable[[], None] = end_process,
        poll_seconds: float = POLL_SECONDS,
    ) -> None:
        self._status = status
        self._stop = stop
        self._drain_timeout = drain_timeout
        self._java_end = java_end
        self._end = end
        self._poll_seconds = poll_seconds
        self._done = threading.Event()
        self._stuck: str | None = None
        self._thread = threading.Thread(target=self._watch, name="headwater-watchdog", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        reason = None
        while reason is None:
            if self._done.wait(self._poll_seconds):
                return
            self._report_if_stuck()
            reason = "asked to stop" if self._stop.is_set() else self._java_end()
        if not self._done.wait(self._drain_timeout):
            left = ", ".join(self._status.under_way()) or "nothing under way"
            facts = {"reason": reason, "abandoned": left, "seconds": self._drain_timeout}
            logger.error(
                "ended without waiting any longer; the next start reads again what is not in the graph", extra=facts
            )
            self._end()

    def _report_if_stuck(self) -> None:
        stuck = self._status.stuck()
        if stuck and not self._stuck:
            logger.warning("the batch under way makes no progress", extra={"reason": stuck})
        elif self._stuck and not stuck:
            logger.info("the batch under way makes progress again")
        self._stuck = stuck
