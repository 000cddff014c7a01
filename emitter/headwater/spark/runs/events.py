"""OpenLineage RunEvents of one application, as plain objects."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from ...producer import base_schema
from ..datasets import facets
from ..datasets.facets import Facet
from ..datasets.tables import Dataset
from ..extension.conversion import as_facets
from ..extension.loading import EventParts
from ..extension.nodes import FacetRegistry
from .settings import Settings

Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Subject:
    """The run and job of an event; ``kind`` is SQL_JOB or RDD_JOB."""

    run: str
    job: str
    kind: str = "SQL_JOB"
    processing: str = "BATCH"
    sql: str | None = None


@dataclass(frozen=True, slots=True)
class EventFactory:
    """Creates the events of one application, whose own run is the parent of all others."""

    settings: Settings
    run_id: str
    name: str

    def application(self, kind: str, at: int, extra: dict[str, Facet]) -> Event:
        """Return an event of the application's own run."""
        run = {**self._common(), **self.settings.application_facets(), **self.settings.parent_facet(), **extra}
        job = {"jobType": facets.job_type("NONE", "APPLICATION")}
        return _event(kind, at, self.run_id, run, self.settings.namespace, self.name, job)

    def run(self, subject: Subject, kind: str, at: int, parts: EventParts, extra: dict[str, Facet]) -> Event:
        """Return an event of a run inside the application."""
        application = (self.run_id, self.settings.namespace, self.name)
        parent = facets.parent(application, self.settings.root or application)
        job = {"jobType": facets.job_type(subject.processing, subject.kind), **self.settings.job_facets()}
        if subject.sql is not None:
            job["sql"] = facets.sql(subject.sql)
        registered_run, registered_job = FacetRegistry.take()
        run = {**self._common(), **parent, **parts.run, **as_facets(registered_run), **extra}
        job |= {**parts.job, **as_facets(registered_job)}
        event = _event(kind, at, subject.run, run, self.settings.namespace, subject.job, job)
        event["inputs"] = [_entry(dataset, "input") for dataset in parts.inputs]
        event["outputs"] = [_entry(dataset, "output") for dataset in parts.outputs]
        return event

    def _common(self) -> dict[str, Facet]:
        return {
            "processing_engine": facets.processing_engine(self.settings.spark_version),
            "spark_properties": facets.custom(properties=dict(self.settings.properties)),
        }


def _entry(dataset: Dataset, side: Literal["input", "output"]) -> dict[str, Any]:
    own = dict(dataset.run_facets)
    if dataset.partitions:
        own = {"subset": facets.subset(side, dataset.partitions), **own}
    entry = {"namespace": dataset.namespace, "name": dataset.name, "facets": dict(dataset.facets)}
    return {**entry, f"{side}Facets": own} if own else entry


def _event(
    kind: str, at: int, run: str, run_facets: dict[str, Facet], namespace: str, name: str, job: dict[str, Facet]
) -> Event:
    return {
        "eventType": kind,
        "eventTime": datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "run": {"runId": run, "facets": run_facets},
        "job": {"namespace": namespace, "name": name, "facets": job},
        "inputs": [],
        "outputs": [],
        "producer": facets.PRODUCER,
        "schemaURL": base_schema("RunEvent"),
    }
