"""The worker: takes listener events from the tap, one thread, and keeps every fault to itself."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .extension.views import RDD, ActiveJob, Stage, StageInfo, View
from .jvm.driver import Driver
from .runs.application import Application
from .runs.listener_events import (
    Error,
    ExecutionEnded,
    ExecutionStarted,
    JobEnded,
    JobStarted,
    StreamEnded,
    StreamProgressed,
    StreamStarted,
)

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
    _late: dict[int, Any] = field(default_factory=dict)

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
        lost = self._guarded(lambda _: self.driver.dropped(), None)
        if lost:
            self.fault(RuntimeError(f"{lost} listener events found the queue full"))
        return self._thread is None or not self._thread.is_alive()

    def _work(self) -> None:
        while True:
            try:
                item = self.driver.poll(10 if self._stopping.is_set() else _POLL_MS)
            except Exception as fault:  # noqa: BLE001 - the JVM is gone, or will not talk: there is nothing more to hear
                self.fault(fault)
                return
            if item is not None:
                self._guarded(self._handle, item)
            elif self._stopping.is_set():
                return

    def _guarded(self, step: Callable[[Any], Any], value: Any) -> Any:
        """The one place where faults end: the job goes on as if nobody listened, with one warning."""
        try:
            return step(value)
        except Exception as fault:  # noqa: BLE001 - whatever breaks here must not reach the job
            self.fault(fault)
            return None

    def fault(self, fault: BaseException) -> None:
        """Count a fault; the first is a warning, the rest are only seen at DEBUG."""
        self.faults += 1
        told = " ".join(str(fault).split("\n\tat ")[0].split())
        if self.faults == 1:
            logger.warning("lineage is incomplete, the job is not affected: %s", told or type(fault).__name__)
        logger.debug("lineage fault %d", self.faults, exc_info=fault)

    def _handle(self, item: Any) -> None:
        kind, clock, event, extra = str(item[0]), int(item[1]), item[2], item[3]
        handler = _HANDLERS.get(kind)
        if handler is not None:
            handler(self, clock, event, extra)

    def sql_start(self, clock: int, event: Any, execution: Any) -> None:
        """A SQL execution began; one that was over before the listener heard of it is told when its end brings its plan."""
        if execution is None:
            self._late[int(event.executionId())] = event
            return
        number, root = int(event.executionId()), event.rootExecutionId()
        stream = _STREAM_RUN.search(str(event.description()))
        logical = self.driver.analyzed(execution)
        plan, node = (None, None) if logical is None else self.driver.plan_and_nodes(logical)
        self.application.execution_started(
            ExecutionStarted(
                execution=number,
                root=int(root.get()) if root.isDefined() else number,
                at=int(event.time()),
                site=str(event.details()),
                command=_node_name(event.sparkPlanInfo()),
                plan=plan,
                stream=None if stream is None else stream[1],
                node=node,
            )
        )

    def sql_end(self, clock: int, event: Any, execution: Any) -> None:
        """A SQL execution ended."""
        late = self._late.pop(int(event.executionId()), None)
        if late is not None and execution is not None:
            self._guarded(lambda start: self.sql_start(clock, start, execution), late)
        error = self._error(event)
        counters = self.driver.metrics if error is None else self.driver.metrics_so_far
        found = None if execution is None else self._guarded(counters, execution)
        self.application.execution_ended(
            ExecutionEnded(int(event.executionId()), int(event.time()), error, found or [])
        )

    def _error(self, event: Any) -> Error | None:
        failure = event.executionFailure()
        if failure.isDefined():
            return self.driver.error(failure.get())
        message = event.errorMessage()
        return (str(message.get()), None) if message.isDefined() and message.get() else None

    def job_start(self, clock: int, event: Any, active: Any) -> None:
        """A job began; those of SQL executions matter to builders of libraries only."""
        if active is None and self.application.knowledge.extensions.own_only:
            return
        told = self.driver.job(event, active)
        execution = told.get("execution")
        self.application.job_started(
            JobStarted(int(event.time()), _active_job(told), None if execution is None else int(execution))
        )

    def job_end(self, clock: int, event: Any, failure: Any) -> None:
        """A job ended."""
        if self.application.rdd_jobs.any():
            error = None if failure is None else self.driver.error(failure)
            self.application.rdd_jobs.ended(JobEnded(int(event.jobId()), int(event.time()), error))

    def stage_end(self, clock: int, event: Any, extra: Any) -> None:
        """A stage ended; its metrics are asked for where somebody takes them."""
        if self.application.rdd_jobs.any() or not self.application.knowledge.extensions.own_only:
            self.application.stage_ended(_stage_info(self.driver.stage(event.stageInfo())))

    def stream_start(self, clock: int, event: Any, query: Any) -> None:
        """A streaming query began."""
        plan, sink, options = (None, {}, {}) if query is None else self.driver.stream(query)
        name = event.name()
        self.application.streams.started(
            StreamStarted(
                str(event.runId().toString()), clock, None if name is None else str(name), plan, sink, options
            )
        )

    def stream_progress(self, clock: int, event: Any, extra: Any) -> None:
        """A micro-batch ended."""
        self.application.streams.progressed(StreamProgressed(str(event.progress().runId().toString()), clock))

    def stream_end(self, clock: int, event: Any, extra: Any) -> None:
        """A streaming query ended."""
        failure = event.exception()
        error = _message_and_trace(str(failure.get())) if failure.isDefined() else None
        self.application.streams.ended(StreamEnded(str(event.runId().toString()), clock, error))


def _active_job(told: dict[str, Any]) -> ActiveJob:
    rdds = tuple(_rdd(one) for one in told.get("rdds") or ())
    stage = Stage(int(told.get("stage", -1)), rdds)
    kinds = str(told.get("kinds") or "")
    return ActiveJob(int(told["job"]), stage, str(told["site"]), told.get("writes"), tuple(told["stages"]), kinds)


def _rdd(told: dict[str, Any]) -> RDD:
    kind = View.named(told["class"], RDD)
    places = (tuple(told[key]) for key in ("paths", "files", "columns"))
    return kind(told["class"], told["id"], told["name"], *places)


def _stage_info(told: dict[str, Any]) -> StageInfo:
    return StageInfo(
        stage_id=int(told["stage"]),
        num_tasks=int(told.get("tasks") or 0),
        records_read=int(told.get("rowsRead") or 0),
        bytes_read=int(told.get("bytesRead") or 0),
        records_written=int(told.get("rowsWritten") or 0),
        bytes_written=int(told.get("bytesWritten") or 0),
    )


_HANDLERS: dict[str, Callable[[Listener, int, Any, Any], None]] = {
    "sqlStart": Listener.sql_start,
    "sqlEnd": Listener.sql_end,
    "jobStart": Listener.job_start,
    "jobEnd": Listener.job_end,
    "stageEnd": Listener.stage_end,
    "streamStart": Listener.stream_start,
    "streamProgress": Listener.stream_progress,
    "streamEnd": Listener.stream_end,
}

# Spark describes a micro-batch by its query's ids.
_STREAM_RUN = re.compile(r"runId = ([0-9a-f-]{36})")


def _node_name(info: Any) -> str:
    """The first operator's name; generated code goes by the operator that it begins with."""
    while str(info.nodeName()).startswith("WholeStageCodegen") and not info.children().isEmpty():
        info = info.children().head()
    return str(info.nodeName())


def _message_and_trace(text: str) -> Error:
    """A streaming query's failure, told as one text that may end in a stack trace."""
    message, mark, _ = text.partition("\n\tat ")
    return message.strip(), text if mark else None
