"""``Run``: an execution of a piece of code, and the events that report it.

A run sends START when it begins, and COMPLETE, FAIL or ABORT when it ends, each with everything reported so far. Its
parent is the current run of this process, else the run of the process that started this one (``parents``).
"""

from __future__ import annotations

import asyncio
import contextvars
import datetime as dt
import os
import sys
import threading
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from openlineage.client.uuid import generate_new_uuid

from headwater_avro.names import is_name
from headwater_avro.times import format_time, micros_of

from ..producer import EventType, base_schema
from ..transport import DefaultTransport, default_transport
from . import context, facets
from .facets import Facet, Facets
from .git import source_code_location
from .guard import guarded
from .parents import (
    Parents,
    RunReference,
    SharedRun,
    parent_variables,
    parents_from,
    shared_run_from,
    sharing_variables,
)

if TYPE_CHECKING:
    from ..fields.trace import Trace

Key: TypeAlias = tuple[str, str]
Period: TypeAlias = tuple[dt.datetime, dt.datetime | None]
"""The start of a period, and its end or None."""

Datasets: TypeAlias = dict[Key, dict[str, dict[str, Facet]]]
"""The containers of facets of each dataset, by the names that they have in events."""

_shared_job: dict[str, Key] = {}


def run(
    namespace: str,
    job: str,
    *,
    run_id: str | None = None,
    parent: RunReference | None = None,
    nominal_time: Period | None = None,
    processing_type: str = "BATCH",
    environment: Iterable[str] = (),
    script: str | Path | None = None,
    transport: DefaultTransport | None = None,
) -> Run:
    """Return a run of the job, to be used with ``with`` (or with ``Run.start`` and ``Run.complete``). Never raises.

    ``parent`` overrides the parent that is found. ``nominal_time`` is the start and the end or None of the period that the
    run processes. ``processing_type`` is BATCH, STREAMING or SERVICE. ``environment`` names the environment variables to
    report, in addition to those in ``HEADWATER_ENVIRONMENT_VARIABLES`` (comma-separated). ``script`` is the file whose
    location in git is reported, by default that of the program.
    """
    result = Run(namespace, job, run_id or str(generate_new_uuid()), transport)
    result._describe(parent, nominal_time, processing_type, environment, script)
    return result


class Run:
    """A run of a job. Its methods never raise or wait, and any thread can call them."""

    def __init__(self, namespace: str, name: str, run_id: str, transport: DefaultTransport | None = None) -> None:
        self._job: Key = (namespace, name)
        self._run_id = run_id
        self._given_transport = transport
        self._parents: Parents | None = None
        self._member = False
        self._run_facets: dict[str, Facet] = {}
        self._job_facets: dict[str, Facet] = {}
        self._inputs: Datasets = {}
        self._outputs: Datasets = {}
        self._attached: dict[Key, tuple[Key, dict[str, Facet]]] = {}
        self._attached_sent: dict[Key, dict[str, Facet]] = {}
        self._lock = threading.RLock()
        self._token: contextvars.Token[Run | None] | None = None
        self._ended = False

    def __repr__(self) -> str:
        return f"Run({self._job[0]!r}, {self._job[1]!r}, {self._run_id!r})"

    @property
    def run_id(self) -> str:
        """The runId, a UUIDv7 by default."""
        return self._run_id

    @property
    def reference(self) -> RunReference:
        """The reference to this run, for its children."""
        return RunReference(*self._job, self._run_id)

    @property
    def root(self) -> RunReference:
        """The outermost ancestor of this run; the run itself if it has no parent."""
        return self._parents.root if self._parents else self.reference

    @guarded
    def reads(
        self,
        namespace: str,
        name: str,
        facets: Facets | None = None,
        input_facets: Facets | None = None,
    ) -> None:
        """Report a dataset that the run reads; another call for the same dataset adds its facets."""
        self._add_dataset(self._inputs, (namespace, name), facets, input_facets, "input")

    @guarded
    def writes(
        self,
        namespace: str,
        name: str,
        facets: Facets | None = None,
        output_facets: Facets | None = None,
    ) -> None:
        """Report a dataset that the run writes; another call for the same dataset adds its facets."""
        self._add_dataset(self._outputs, (namespace, name), facets, output_facets, "output")

    def _add_dataset(
        self,
        side: Datasets,
        key: Key,
        dataset_facets: Facets | None,
        own_facets: Facets | None,
        container: Literal["input", "output"],
    ) -> None:
        with self._lock:
            dataset = side.setdefault(_checked(key), {})
            dataset.setdefault("facets", {}).update(facets.complete(dataset_facets, "dataset"))
            dataset.setdefault(f"{container}Facets", {}).update(facets.complete(own_facets, container))

    @guarded
    def attaches(self, output: Key, key: Key, shared: Facets) -> None:
        """Report facets that the outputs of many runs share, as facets of the dataset ``key`` instead of the output.

        They are sent as a DatasetEvent before the next event of the run. Another call for the same output replaces
        them.
        """
        with self._lock:
            self._attached[_checked(output)] = (_checked(key), facets.complete(shared, "dataset"))

    def trace(self) -> AbstractContextManager[Trace]:
        """Return a context manager that records what data frame libraries read and write inside it: ``with run.trace():``."""
        # Imported on use: most programs do not trace.
        from ..fields.trace import trace

        return trace(self)

    @guarded
    def add_run_facet(self, name: str, facet: Facet) -> None:
        """Add a facet to the run, a dict or an object of openlineage-python; it replaces one of the same name."""
        with self._lock:
            self._run_facets[str(name)] = facets.complete_facet(str(name), facet, "run")

    @guarded
    def add_job_facet(self, name: str, facet: Facet) -> None:
        """Add a facet to the job, a dict or an object of openlineage-python; it replaces one of the same name."""
        with self._lock:
            self._job_facets[str(name)] = facets.complete_facet(str(name), facet, "job")

    def environment(self, share: bool = False) -> dict[str, str]:
        """Return environment variables for a subprocess whose runs are children of this run, or part of it (``share``)."""
        variables = parent_variables(self.reference, self.root)
        return variables | (sharing_variables(self.reference) if share else {})

    @guarded
    def start(self) -> None:
        """Start the run: send START."""
        context.opened(self, outermost=not self._parents)
        self.emit("START")

    @guarded
    def running(self) -> None:
        """Send everything reported so far as a RUNNING event; for long runs."""
        self.emit("RUNNING")

    @guarded
    def complete(self) -> None:
        """End the run successfully: send COMPLETE."""
        self._end("RUNNING" if self._member else "COMPLETE")

    @guarded
    def fail(self, error: BaseException | None = None) -> None:
        """End the run with an error: send FAIL with the message and stack trace of the error."""
        self._add_error(error)
        self._end("FAIL")

    @guarded
    def abort(self, error: BaseException | None = None) -> None:
        """End a run that was stopped: send ABORT."""
        self._add_error(error)
        self._end("ABORT")

    def _add_error(self, error: BaseException | None) -> None:
        if error is not None:
            self.add_run_facet("errorMessage", facets.error_message(error))

    def _end(self, event_type: EventType) -> None:
        with self._lock:
            if self._ended:
                return
            self._ended = True
        context.closed(self)
        self.emit(event_type)

    def emit(self, event_type: EventType) -> None:
        """Send an event of this type now, with everything reported so far."""
        transport, now = self._given_transport or default_transport(), dt.datetime.now(dt.UTC)
        for attachment in self._attachments(now):
            transport.emit(attachment)
        transport.emit(self.event(event_type, now))

    def _attachments(self, at: dt.datetime) -> list[dict[str, Any]]:
        """Return the DatasetEvents of the facets that were attached since the last event."""
        with self._lock:
            new = {key: shared for key, shared in self._attached.values() if self._attached_sent.get(key) != shared}
            self._attached_sent |= new
        head = _head("DatasetEvent", at)
        return [
            {**head, "dataset": {"namespace": namespace, "name": name, "facets": shared}}
            for (namespace, name), shared in new.items()
        ]

    def event(self, event_type: EventType, at: dt.datetime) -> dict[str, Any]:
        """Return the OpenLineage RunEvent with the event time ``at`` (with a time zone)."""
        with self._lock:
            return {
                "eventType": event_type,
                **_head("RunEvent", at),
                "run": {"runId": self._run_id, "facets": dict(self._run_facets)},
                "job": {"namespace": self._job[0], "name": self._job[1], "facets": dict(self._job_facets)},
                "inputs": _listed(self._inputs),
                "outputs": _listed(self._outputs),
            }

    def __enter__(self) -> Run:
        self.start()
        self._token = context.enter(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._token is not None:
            context.leave(self._token)
        self.end_with(error)

    def end_with(self, error: BaseException | None) -> None:
        """End the run by how its block was left: COMPLETE without an error and for ``sys.exit(0)``, else FAIL or ABORT."""
        match error:
            case None | GeneratorExit() | SystemExit(code=None | 0):
                self.complete()
            case KeyboardInterrupt() | asyncio.CancelledError():
                self.abort(error)
            case _:
                self.fail(error)

    @guarded
    def _describe(
        self,
        parent: RunReference | None,
        nominal_time: Period | None,
        processing_type: str,
        environment: Iterable[str],
        script: str | Path | None,
    ) -> None:
        self._place(parent)
        now_facets = {
            "parent": self._parents.facet() if self._parents else None,
            "processing_engine": facets.processing_engine(),
            "nominalTime": _nominal(nominal_time),
            "environmentVariables": facets.environment_variables(_allowed(environment), os.environ),
        }
        self._run_facets |= facets.complete(now_facets, "run")
        job_facets = {
            "jobType": facets.job_type(processing_type),
            "sourceCodeLocation": _location(script),
        }
        self._job_facets |= facets.complete(job_facets, "job")

    def _place(self, parent: RunReference | None) -> None:
        above = context.current()
        if parent is not None:
            self._parents = Parents(parent, above.root if above else parent)
        elif above is not None:
            self._parents = Parents(above.reference, above.root)
        else:
            self._parents = parents_from(os.environ)
            self._share(shared_run_from(os.environ))

    def _share(self, shared: SharedRun | None) -> None:
        if shared is None:
            return
        job = (shared.namespace, shared.name) if shared.name else _shared_job.setdefault(shared.run_id, self._job)
        if job == self._job:
            self._run_id, self._member = shared.run_id, shared.member
        else:
            whole = RunReference(*job, shared.run_id)
            self._parents = Parents(whole, self._parents.root if self._parents else whole)


def _checked(key: Key) -> Key:
    # A single invalid key would invalidate the whole event (specification 1.2).
    for part in key:
        if not is_name(part):
            raise ValueError(f"not a namespace or name: {part!r}; pass 1 to 2000 characters without control characters")
    return key


def _head(kind: str, at: dt.datetime) -> dict[str, str]:
    return {
        "eventTime": format_time(micros_of(at)),
        "producer": facets.PRODUCER,
        "schemaURL": base_schema(kind),
    }


def _listed(side: Datasets) -> list[dict[str, Any]]:
    return [
        {"namespace": namespace, "name": name} | {member: dict(given) for member, given in dataset.items() if given}
        for (namespace, name), dataset in side.items()
    ]


def _nominal(period: Period | None) -> dict[str, str] | None:
    if period is None:
        return None
    start, end = period
    return {"nominalStartTime": start.isoformat()} | ({"nominalEndTime": end.isoformat()} if end else {})


def _allowed(names: Iterable[str]) -> list[str]:
    listed = os.environ.get("HEADWATER_ENVIRONMENT_VARIABLES", "").split(",")
    return [*names, *(name.strip() for name in listed if name.strip())]


def _location(script: str | Path | None) -> dict[str, str] | None:
    given = script or getattr(sys.modules.get("__main__"), "__file__", None)
    return source_code_location(Path(given).resolve()) if given else None
