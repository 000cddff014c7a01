"""Facets that code anywhere in the program registers for a run.

A run that a thread starts is recognised by a job tag of Spark, which a registration adds to its thread: ``headwater-facets-``,
the number of the thread, and that of the registration. The start of each execution and job has the tags of its thread.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, ClassVar, Final

from .api import OpenLineageContext

TAG: Final = "headwater-facets-"
_UNKNOWN: Final = (0, 0)

MOST_WAITING: Final = 10_000
"""The most facets that wait for a run; the oldest is dropped first."""

Facets = tuple[dict[str, Any], dict[str, Any]]
"""Run facets and job facets."""


def _registration(tags: str) -> tuple[int, int]:
    found = next((tag.removeprefix(TAG) for tag in tags.split(",") if tag.startswith(TAG)), "")
    thread, _, last = found.partition("-")
    return (int(thread), int(last)) if thread.isdigit() and last.isdigit() else _UNKNOWN


@dataclass(slots=True)
class Registered:
    """The run and job facets that were registered for one run, and are not in an event yet.

    ``threads`` has the last registration before the run's start by the number of the thread that started it.
    """

    run: dict[str, Any] = field(default_factory=dict)
    job: dict[str, Any] = field(default_factory=dict)
    threads: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, tags: str) -> Registered:
        """Return what is registered for a run whose start has these job tags, joined by commas."""
        registered = cls()
        registered.add_tags(tags)
        return registered

    def add_tags(self, tags: str) -> None:
        """Add the registrations of a part of the run, whose start has these job tags."""
        thread, last = _registration(tags)
        if thread:
            self.threads[thread] = last

    def take(self) -> Facets:
        """Return and clear the facets."""
        taken = dict(self.run), dict(self.job)
        self.run.clear()
        self.job.clear()
        return taken


@dataclass(frozen=True, slots=True)
class _Entry:
    """A call's facet, its time (ms since 1970), and its thread and number; (0, 0) where runs have no tags."""

    at: float
    registration: tuple[int, int]
    container: str
    name: str
    facet: Any


class FacetRegistry:
    """Run and job facets of the run that they are registered in.

    A call by a builder, visitor or node class belongs to the run that it is called for; any other call to the next run that
    its thread starts, and to the application if there is none. In a Spark Connect session, or without threads of the JVM for
    those of Python, a call belongs to the run of the first event whose time is not before the call.
    """

    context: ClassVar[OpenLineageContext | None] = None
    """The context of the application that was instrumented last, whose ``open_lineage`` creates facets."""

    _lock: ClassVar[threading.Lock] = threading.Lock()
    _waiting: ClassVar[deque[_Entry]] = deque(maxlen=MOST_WAITING)
    _called_for: ClassVar[threading.local] = threading.local()
    _threads: ClassVar[Iterator[int]] = count(1)
    _numbers: ClassVar[Iterator[int]] = count(1)
    _has_tags: ClassVar[bool] = False

    @classmethod
    def attach(cls, context: OpenLineageContext, is_classic: bool) -> None:
        """Use the context of an application; ``is_classic`` is whether its runs are started by threads of this process."""
        cls.context, cls._has_tags = context, is_classic and _has_pinned_threads(context.spark_context)

    @classmethod
    def register_run_facet(cls, name: str, facet: Any) -> None:
        """Add a facet to the run."""
        cls._register("run", name, facet)

    @classmethod
    def register_job_facet(cls, name: str, facet: Any) -> None:
        """Add a facet to the run's job."""
        cls._register("job", name, facet)

    @classmethod
    def _register(cls, container: str, name: str, facet: Any) -> None:
        registered: Registered | None = getattr(cls._called_for, "run", None)
        if registered is not None:
            getattr(registered, container)[name] = facet
            return
        entry = _Entry(time.time() * 1000, cls._tagged(), container, name, facet)
        with cls._lock:
            cls._waiting.append(entry)

    @classmethod
    def _tagged(cls) -> tuple[int, int]:
        """Tag what this thread starts from now on, and return the tag's numbers; (0, 0) where that is not possible."""
        spark: Any = None if cls.context is None else cls.context.spark_context
        if not cls._has_tags or getattr(spark, "_jsc", None) is None:
            return _UNKNOWN
        with cls._lock:
            if not hasattr(cls._called_for, "thread"):
                cls._called_for.thread = next(cls._threads)
            numbers = (cls._called_for.thread, next(cls._numbers))
        return numbers if _is_tagged(spark, f"{TAG}{numbers[0]}-{numbers[1]}") else _UNKNOWN

    @classmethod
    @contextmanager
    def of(cls, registered: Registered) -> Iterator[None]:
        """Collect what this thread registers inside the block."""
        before = getattr(cls._called_for, "run", None)
        cls._called_for.run = registered
        try:
            yield
        finally:
            cls._called_for.run = before

    @classmethod
    def take(cls, at: float, threads: Mapping[int, int] | None = None) -> Facets:
        """Return and clear the facets for an event at a time (ms since 1970) of a run; see ``Registered.threads``."""

        def fits(entry: _Entry) -> bool:
            thread, number = entry.registration
            return number <= (threads or {}).get(thread, -1) if thread else entry.at <= at

        return cls._take(fits)

    @classmethod
    def take_all(cls) -> Facets:
        """Return and clear the facets for which there was no run."""
        return cls._take(lambda _: True)

    @classmethod
    def _take(cls, fits: Callable[[_Entry], bool]) -> Facets:
        taken = Registered()
        with cls._lock:
            for _ in range(len(cls._waiting)):
                entry = cls._waiting.popleft()
                if fits(entry):
                    getattr(taken, entry.container)[entry.name] = entry.facet
                else:
                    cls._waiting.append(entry)
        return taken.run, taken.job


def _is_tagged(spark: Any, tag: str) -> bool:
    """Make ``tag`` the only one of ours on this thread, which may have inherited another; return False in an ended JVM."""
    from py4j.protocol import Py4JError

    try:
        for other in spark.getJobTags():
            if other.startswith(TAG):
                spark.removeJobTag(other)
        spark.addJobTag(tag)
    except Py4JError:
        return False
    return True


def _has_pinned_threads(spark: Any) -> bool:
    """Return whether each thread of Python has its own in the JVM, which has its tags (PYSPARK_PIN_THREAD)."""
    from py4j.clientserver import ClientServer

    return isinstance(getattr(spark, "_gateway", None), ClientServer)
