"""OpenLineage RunEvents of one application, as plain objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from ...producer import base_schema
from ..datasets import facets
from ..datasets.facets import Facet
from ..datasets.tables import Dataset
from ..extension.conversion import as_facets
from ..extension.loading import EventParts
from ..extension.registry import FacetRegistry, Registered
from .settings import Settings

Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Subject:
    """The run and job of an event; ``kind`` is SQL_JOB or RDD_JOB, ``registered`` has facets for its next event."""

    run: str
    job: str
    kind: str = "SQL_JOB"
    processing: str = "BATCH"
    sql: str | None = None
    registered: Registered = field(default_factory=Registered)


@dataclass(frozen=True, slots=True)
class EventFactory:
    """Creates the events of one application, whose own run is the parent of all others."""

    settings: Settings
    run_id: str
    name: str
    debug: Mapping[str, Any] | None = None

    def job_name(self, command: str, dataset: str = "") -> str:
        """Return the name of a job of this application: what its runs do, and the output's part."""
        return self.settings.job_names.name(self.name, command, dataset)

    def application(self, kind: str, at: int, extra: dict[str, Facet]) -> Event:
        """Return an event of the application's own run; its end has what was registered for runs that did not come."""
        registered_run, registered_job = ({}, {}) if kind == "START" else FacetRegistry.take_all()
        run = {**self._common(), **self.settings.application_facets(), **self.settings.parent_facet()}
        run |= {**as_facets(registered_run), **extra}
        job = {"jobType": facets.job_type("NONE", "APPLICATION"), **self.settings.descriptions.job}
        job |= as_facets(registered_job)
        return self._event(kind, at, self.run_id, run, self.name, job)

    def run(self, subject: Subject, kind: str, at: int, parts: EventParts, extra: dict[str, Facet]) -> Event:
        """Return an event of a run inside the application, or of the application's own run if that is its only one."""
        if self.settings.is_one_job:
            return self._part(subject, kind, at, parts, extra)
        application = (self.run_id, self.settings.namespace, self.name)
        parent = facets.parent(application, self.settings.root or application)
        job = {"jobType": facets.job_type(subject.processing, subject.kind), **self.settings.job_facets()}
        job |= self.settings.descriptions.job
        if subject.sql is not None:
            job["sql"] = facets.sql(subject.sql)
        registered_run, registered_job = _registered(subject, at)
        run = {**self._common(), **parent, **parts.run, **as_facets(registered_run), **extra}
        job |= {**parts.job, **as_facets(registered_job)}
        event = self._event(kind, at, subject.run, run, subject.job, job)
        return event | self._datasets(parts)

    def _part(self, subject: Subject, kind: str, at: int, parts: EventParts, extra: dict[str, Facet]) -> Event:
        """Return an event of the application's run with the lineage of a part of it, whose outputs have only its inputs.

        An error that the program may handle, and the statement of one part, are not the application's.
        """
        datasets = self._datasets(parts)
        registered_run, registered_job = _registered(subject, at)
        about = {name: facet for name, facet in extra.items() if name != "errorMessage"}
        run = {
            **self._common(),
            **self.settings.application_facets(),
            **self.settings.parent_facet(),
            **parts.run,
            **about,
        }
        job = {**self.settings.job_facets(), **self.settings.descriptions.job, **parts.job, **as_facets(registered_job)}
        if subject.processing == "STREAMING":
            job["jobType"] = facets.job_type("STREAMING", "APPLICATION")
        if datasets["outputs"]:
            job["lineage"] = facets.explicit_lineage(datasets["inputs"], datasets["outputs"])
        # Of RUNNING events that do not differ the transport sends some only, and the last one has the statistics.
        kind = "RUNNING" if kind in {"START", "RUNNING"} else "OTHER"
        return self._event(kind, at, self.run_id, {**run, **as_facets(registered_run)}, self.name, job) | datasets

    def _datasets(self, parts: EventParts) -> dict[str, list[dict[str, Any]]]:
        return {"inputs": self._entries(parts.inputs, "input"), "outputs": self._entries(parts.outputs, "output")}

    def _common(self) -> dict[str, Facet]:
        return {
            "processing_engine": facets.processing_engine(self.settings.spark_version),
            "spark_properties": facets.custom(properties=dict(self.settings.properties)),
            **self.settings.descriptions.run,
            **({} if self.debug is None else {"debug": facets.custom(**self.debug)}),
        }

    def _entries(self, datasets: tuple[Dataset, ...], side: Literal["input", "output"]) -> list[dict[str, Any]]:
        rules = self.settings.facet_rules
        return [_entry(rules.applied(dataset), side) for dataset in self.settings.dataset_names.applied(datasets)]

    def _event(
        self, kind: str, at: int, run: str, run_facets: dict[str, Facet], name: str, job: dict[str, Facet]
    ) -> Event:
        enabled = self.settings.facet_rules.enabled
        time = datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return {
            "eventType": kind,
            "eventTime": time,
            "run": {"runId": run, "facets": enabled(run_facets)},
            "job": {"namespace": self.settings.namespace, "name": name, "facets": enabled(job)},
            "inputs": [],
            "outputs": [],
            "producer": facets.PRODUCER,
            "schemaURL": base_schema("RunEvent"),
        }


def _registered(subject: Subject, at: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the run and job facets that libraries registered for a run."""
    registered = subject.registered
    (run, job), (own_run, own_job) = FacetRegistry.take(at, registered.threads), registered.take()
    return {**run, **own_run}, {**job, **own_job}


def _entry(dataset: Dataset, side: Literal["input", "output"]) -> dict[str, Any]:
    own = dict(dataset.run_facets)
    if dataset.partitions:
        own = {"subset": facets.subset(side, dataset.partitions), **own}
    entry = {"namespace": dataset.namespace, "name": dataset.name, "facets": dict(dataset.facets)}
    return {**entry, f"{side}Facets": own} if own else entry
