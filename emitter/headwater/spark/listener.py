"""The worker thread, which reads listener events from the tap and contains every fault."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

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
    """Passes the JVM's listener events to the ``Application``."""

    driver: Driver
    application: Application
    faults: int = 0
    idle: threading.Event = field(default_factory=threading.Event)
    _stopping: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _late: dict[int, Any] = field(default_factory=dict)

    def start(self) -> None:
        """Start the daemon thread."""
        self._thread = threading.Thread(target=self._work, name="headwater-spark", daemon=True)
        self._thread.start()

    def stop(self, timeout: float) -> bool:
        """Process the events so far and stop; return False if ``timeout`` seconds were not enough."""
        deadline = time.monotonic() + timeout
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(max(0.0, deadline - time.monotonic()))
        dropped = self._guarded(lambda _: self.driver.dropped(), None)
        if dropped:
            self.fault(RuntimeError(f"{dropped} listener events were dropped because the queue was full"))
        return self._thread is None or not self._thread.is_alive()

    def _work(self) -> None:
        while True:
            try:
                item = self.driver.poll(10 if self._stopping.is_set() else _POLL_MS)
            except Exception as fault:  # noqa: BLE001 - the JVM has ended or does not respond
                self.fault(fault)
                return
            if item is not None:
                self._guarded(self._handle, item)
            elif self._stopping.is_set():
                return

    def _guarded(self, step: Callable[[Any], Any], value: Any) -> Any:
        """Return the step's result; log and count its exception, and return None, so that it does not reach the job."""
        try:
            return step(value)
        except Exception as fault:  # noqa: BLE001 - whatever breaks here must not reach the job
            self.fault(fault)
            return None

    def fault(self, fault: BaseException) -> None:
        """Count a fault; log the first as a warning, and each at DEBUG."""
        self.faults += 1
        message = " ".join(str(fault).split("\n\tat ")[0].split())
        if self.faults == 1:
            logger.warning("lineage is incomplete, the job is not affected: %s", message or type(fault).__name__)
        logger.debug("lineage fault %d", self.faults, exc_info=fault)

    def _handle(self, item: Any) -> None:
        kind, clock, event, extra = str(item[0]), int(item[1]), item[2], item[3]
        handler = _HANDLERS.get(kind)
        if handler is not None:
            handler(self, clock, event, extra)

    def sql_start(self, clock: int, event: Any, execution: Any) -> None:
        """Process the start of a SQL execution; without its plan, which a short execution no longer has, wait for its end."""
        if execution is None:
            self._late[int(event.executionId())] = event
            return
        number, root = int(event.executionId()), event.rootExecutionId()
        stream = _STREAM_RUN.search(str(event.description()))
        logical = self.driver.analyzed(execution)
        plan, node = (None, None) if logical is None else self.driver.plan_and_nodes(logical)
        if plan is not None and plan.commands():
            plan = msgspec.structs.replace(plan, replaces_partitions=self.driver.replaces_partitions(event))
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
                tags=str(event.jobTags().mkString(",")),
            )
        )

    def sql_end(self, clock: int, event: Any, execution: Any) -> None:
        """Process the end of a SQL execution."""
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

    def table_dropped(self, clock: int, event: Any, extra: Any) -> None:
        """Process the removal of a table from the session catalog."""
        self.application.table_dropped(str(event.database()), str(event.name()))

    def job_start(self, clock: int, event: Any, active: Any) -> None:
        """Process the start of a job."""
        job = self.driver.job(event, active)
        execution = job.get("execution")
        number = None if execution is None else int(execution)
        said = (str(job.get("group") or ""), job.get("description"), job.get("call"), str(job.get("tags") or ""))
        self.application.job_started(JobStarted(int(event.time()), _active_job(job), number, *said))

    def job_end(self, clock: int, event: Any, failure: Any) -> None:
        """Process the end of a job."""
        if self.application.rdd_jobs.any():
            error = None if failure is None else self.driver.error(failure)
            self.application.rdd_jobs.ended(JobEnded(int(event.jobId()), int(event.time()), error))

    def stage_end(self, clock: int, event: Any, extra: Any) -> None:
        """Process the end of a stage; its metrics are read only if something needs them."""
        needed = self.application.rdd_jobs.any() or self.application.streams.any()
        if needed or not self.application.readers.extensions.own_only:
            self.application.stage_ended(_stage_info(self.driver.stage(event.stageInfo())))

    def stream_start(self, clock: int, event: Any, query: Any) -> None:
        """Process the start of a streaming query."""
        plan, sink, options, table = (None, {}, {}, {}) if query is None else self.driver.stream(query)
        name = None if event.name() is None else str(event.name())
        run, tags = str(event.runId().toString()), self.driver.stream_tags(event)
        self.application.streams.started(StreamStarted(run, clock, name, plan, sink, options, table, tags))

    def stream_progress(self, clock: int, event: Any, extra: Any) -> None:
        """Process the end of a micro-batch."""
        progress = event.progress()
        rows = int(progress.sink().numOutputRows())
        written = rows if rows >= 0 else None
        run = str(progress.runId().toString())
        self.application.streams.progressed(StreamProgressed(run, clock, int(progress.numInputRows()), written))

    def stream_end(self, clock: int, event: Any, extra: Any) -> None:
        """Process the end of a streaming query."""
        failure = event.exception()
        error = _message_and_trace(str(failure.get())) if failure.isDefined() else None
        self.application.streams.ended(StreamEnded(str(event.runId().toString()), clock, error))


def _active_job(job: dict[str, Any]) -> ActiveJob:
    stage = Stage(int(job.get("stage", -1)), tuple(_rdd(rdd) for rdd in job.get("rdds") or ()))
    kinds = str(job.get("kinds") or "")
    return ActiveJob(int(job["job"]), stage, str(job["site"]), job.get("writes"), tuple(job["stages"]), kinds)


def _rdd(rdd: dict[str, Any]) -> RDD:
    kind = View.named(rdd["class"], RDD)
    return kind(rdd["class"], rdd["id"], rdd["name"], *(tuple(rdd[key]) for key in ("paths", "files", "columns")))


def _stage_info(stage: dict[str, Any]) -> StageInfo:
    # In the order of StageInfo's fields.
    counters = ("tasks", "rowsRead", "bytesRead", "rowsWritten", "bytesWritten")
    return StageInfo(int(stage["stage"]), *(int(stage.get(name) or 0) for name in counters))


_HANDLERS: dict[str, Callable[[Listener, int, Any, Any], None]] = {
    "sqlStart": Listener.sql_start,
    "sqlEnd": Listener.sql_end,
    "tableDropped": Listener.table_dropped,
    "jobStart": Listener.job_start,
    "jobEnd": Listener.job_end,
    "stageEnd": Listener.stage_end,
    "streamStart": Listener.stream_start,
    "streamProgress": Listener.stream_progress,
    "streamEnd": Listener.stream_end,
}

# Spark's description of a micro-batch contains its query's ids.
_STREAM_RUN = re.compile(r"runId = ([0-9a-f-]{36})")


def _node_name(info: Any) -> str:
    """Return the first operator's name; that of generated code is its first operator's."""
    while str(info.nodeName()).startswith("WholeStageCodegen") and not info.children().isEmpty():
        info = info.children().head()
    return str(info.nodeName())


def _message_and_trace(text: str) -> Error:
    """Split a streaming query's failure, a text that may end in a stack trace."""
    message, separator, _ = text.partition("\n\tat ")
    return message.strip(), text if separator else None
