"""What happens in the driver, as values: the only thing the application's state is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..extension.views import ActiveJob
from ..plan.model import Plan

Error = tuple[str, str | None]
"""An error's message and its stack trace, if known."""
Metrics = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class ExecutionStarted:
    """A SQL execution began.

    ``root`` is the execution that it is part of, ``site`` where the program called Spark, ``stream`` the run of the
    streaming query whose micro-batch it belongs to, ``node`` gives the py4j reference of a plan node by its index; times are
    milliseconds since 1970.
    """

    execution: int
    root: int
    at: int
    site: str
    command: str
    plan: Plan | None
    stream: str | None = None
    node: Callable[[int], Any] | None = None


@dataclass(frozen=True, slots=True)
class ExecutionEnded:
    """A SQL execution ended, with the error if it failed."""

    execution: int
    at: int
    error: Error | None = None
    metrics: Metrics = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class JobStarted:
    """A job began; ``execution`` is the SQL execution that it is part of, else it is an RDD action."""

    at: int
    job: ActiveJob
    execution: int | None = None


@dataclass(frozen=True, slots=True)
class JobEnded:
    """Such a job ended."""

    job: int
    at: int
    error: Error | None = None


@dataclass(frozen=True, slots=True)
class StreamStarted:
    """A streaming query began; ``run`` is Spark's own id of this start."""

    run: str
    at: int
    name: str | None
    plan: Plan | None
    sink: Mapping[str, Any]
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class StreamProgressed:
    """A micro-batch ended."""

    run: str
    at: int


@dataclass(frozen=True, slots=True)
class StreamEnded:
    """A streaming query ended."""

    run: str
    at: int
    error: Error | None = None
