"""Spark's listener events as values: the input of the application's state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..extension.views import ActiveJob
from ..plan.model import Plan

Error = tuple[str, str | None]
"""An error's message, and its stack trace or None."""
Metrics = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class ExecutionStarted:
    """The start of a SQL execution.

    ``root`` is the execution that it is part of, ``site`` the program's call of Spark, ``stream`` the run of the streaming
    query whose micro-batch it belongs to; ``node`` returns the py4j reference of a plan node by its index. Times are
    milliseconds since 1970. ``tags`` are the job tags of the thread that started it, joined by commas.
    """

    execution: int
    root: int
    at: int
    site: str
    command: str
    plan: Plan | None
    stream: str | None = None
    node: Callable[[int], Any] | None = None
    tags: str = ""


@dataclass(frozen=True, slots=True)
class ExecutionEnded:
    """The end of a SQL execution, with the error if it failed."""

    execution: int
    at: int
    error: Error | None = None
    metrics: Metrics = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class JobStarted:
    """The start of a job; ``execution`` is the SQL execution that it is part of, None for an RDD action.

    ``group`` is its job group, which for a streaming query is the id of its start; ``description`` is the program's,
    ``call`` the call that started it; ``tags`` as of an execution.
    """

    at: int
    job: ActiveJob
    execution: int | None = None
    group: str = ""
    description: str | None = None
    call: str | None = None
    tags: str = ""


@dataclass(frozen=True, slots=True)
class JobEnded:
    """The end of a job."""

    job: int
    at: int
    error: Error | None = None


@dataclass(frozen=True, slots=True)
class StreamStarted:
    """The start of a streaming query; ``run`` is Spark's own id of this start.

    ``table`` has the ``table`` of the session catalog that it writes into, or the ``catalog`` and ``identifier`` of another.
    ``tags`` are those of an execution; PySpark 3.5 has them in executions only.
    """

    run: str
    at: int
    name: str | None
    plan: Plan | None
    sink: Mapping[str, Any]
    options: Mapping[str, str]
    table: Mapping[str, Any] = field(default_factory=dict)
    tags: str = ""


@dataclass(frozen=True, slots=True)
class StreamProgressed:
    """The end of a micro-batch, with the rows that it read and wrote; None for a number that its sink does not count."""

    run: str
    at: int
    rows_read: int = 0
    rows_written: int | None = None


@dataclass(frozen=True, slots=True)
class StreamEnded:
    """The end of a streaming query."""

    run: str
    at: int
    error: Error | None = None
