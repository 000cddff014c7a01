"""The worker: takes listener events from the tap, one thread, and keeps every fault to itself."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .application import Application, ExecutionEnded, ExecutionStarted
from .jvm import Driver

logger = logging.getLogger("headwater.spark")

_POLL_MS = 200


@dataclass(slots=True)
class Listener:
    """Carries what happens in the JVM to the ``Application``."""

    driver: Driver
    application: Application
    faults: int = 0
    idle: threading.Event = field(default_factory=threading.Event)
    _stopping: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to work on a daemon thread of its own."""
        self._thread = threading.Thread(target=self._work, name="headwater-spark", daemon=True)
        self._thread.start()

    def drain(self, timeout: float) -> bool:
        """Wait until everything that has happened so far is told; False when ``timeout`` seconds were not enough."""
        deadline = time.monotonic() + timeout
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(max(0.0, deadline - time.monotonic()))
            return not self._thread.is_alive()
        return True

    def _work(self) -> None:
        while True:
            item = self._guarded(self._next, None)
            if item is None:
                if self._stopping.is_set():
                    return
            else:
                self._guarded(self._handle, item)

    def _next(self, _: None) -> Any:
        return self.driver.poll(10 if self._stopping.is_set() else _POLL_MS)

    def _guarded(self, step: Callable[[Any], Any], value: Any) -> Any:
        """The one place where faults end: the job goes on as if nobody listened, with one warning."""
        try:
            return step(value)
        except Exception as fault:  # whatever breaks here must not reach the job
            self.fault(fault)
            return None

    def fault(self, fault: BaseException) -> None:
        """Count a fault; the first is a warning, the rest are only seen at DEBUG."""
        self.faults += 1
        level = logging.WARNING if self.faults == 1 else logging.DEBUG
        logger.log(
            level,
            "lineage is incomplete, the job is not affected: %s",
            fault,
            exc_info=bool(os.environ.get("HWDEBUG")) or level == logging.DEBUG,
        )

    def _handle(self, item: Any) -> None:
        kind, clock, event, extra = item[0], item[1], item[2], item[3]
        match kind:
            case "sqlStart":
                self._sql_start(event, extra)
            case "sqlEnd":
                self._sql_end(event, extra)
            case "applicationEnd":
                self.application_ended(int(clock))

    def _sql_start(self, event: Any, execution: Any) -> None:
        number = int(event.executionId())
        root = event.rootExecutionId()
        self.application.execution_started(
            ExecutionStarted(
                execution=number,
                root=int(root.get()) if root.isDefined() else number,
                at=int(event.time()),
                site=str(event.details()),
                command=str(event.sparkPlanInfo().nodeName()),
                plan=None if execution is None else self.driver.plan(execution.analyzed()),
            )
        )

    def _sql_end(self, event: Any, execution: Any) -> None:
        self.application.execution_ended(
            ExecutionEnded(
                execution=int(event.executionId()),
                at=int(event.time()),
                error=_error(event),
                metrics=self._metrics(execution),
            )
        )

    def _metrics(self, execution: Any) -> list[dict[str, Any]]:
        found = None if execution is None else self._guarded(self.driver.metrics, execution)
        return found or []

    def application_ended(self, clock: int) -> None:
        """Spark's own end; how the program ended is told by who runs it."""


def _error(event: Any) -> tuple[str, str | None] | None:
    failure = event.executionFailure()
    if failure.isDefined():
        cause = failure.get()
        return str(cause.getMessage()), None
    message = event.errorMessage()
    if message.isDefined() and message.get():
        return str(message.get()), None
    return None
