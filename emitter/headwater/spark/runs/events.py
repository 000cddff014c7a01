"""OpenLineage RunEvents of one application, as plain objects."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ..datasets import facets
from ..datasets.facets import Facet
from ..datasets.tables import Dataset
from ..extension.conversion import as_facets
from ..extension.loading import Parts
from ..extension.nodes import FacetRegistry
from .settings import Settings

Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Subject:
    """Which run of which job an event is about; ``kind`` is SQL_JOB or RDD_JOB."""

    run: str
    job: str
    kind: str = "SQL_JOB"
    processing: str = "BATCH"
    sql: str | None = None


@dataclass(frozen=True, slots=True)
class Teller:
    """Makes the events of one application: its own run is the parent of all others."""

    settings: Settings
    run_id: str
    name: str

    def application(self, kind: str, at: int, extra: dict[str, Facet]) -> Event:
        """An event of the application's own run."""
        told = {**self._everywhere(), **self.settings.application_facets(), **self.settings.parent_facet(), **extra}
        job = {"jobType": facets.job_type("NONE", "APPLICATION")}
        return _event(kind, at, self.run_id, told, self.settings.namespace, self.name, job)

    def run(
        self,
        subject: Subject,
        kind: str,
        at: int,
        parts: Parts,
        extra: dict[str, Facet],
    ) -> Event:
        """An event of a run inside the application."""
        root = self.settings.root or (self.run_id, self.settings.namespace, self.name)
        parent = facets.parent(self.run_id, self.settings.namespace, self.name, root)
        job = {"jobType": facets.job_type(subject.processing, subject.kind), **self.settings.job_facets()}
        if subject.sql is not None:
            job["sql"] = facets.sql(subject.sql)
        registered_run, registered_job = FacetRegistry.take()
        told = {**self._everywhere(), "parent": parent, **parts.run, **as_facets(registered_run), **extra}
        job |= {**parts.job, **as_facets(registered_job)}
        event = _event(kind, at, subject.run, told, self.settings.namespace, subject.job, job)
        event["inputs"] = [_entry(one, "input") for one in parts.inputs]
        event["outputs"] = [_entry(one, "output") for one in parts.outputs]
        return event

    def _everywhere(self) -> dict[str, Facet]:
        return {
            "processing_engine": facets.processing_engine(self.settings.spark_version),
            "spark_properties": facets.custom(properties=dict(self.settings.properties)),
        }


def _entry(dataset: Dataset, side: str) -> dict[str, Any]:
    told = dict(dataset.run_facets)
    if dataset.partitions:
        told = {"subset": facets.subset(side, dataset.partitions), **told}
    entry = {"namespace": dataset.namespace, "name": dataset.name, "facets": dict(dataset.facets)}
    return {**entry, f"{side}Facets": told} if told else entry


def _event(
    kind: str, at: int, run: str, told: dict[str, Facet], namespace: str, name: str, job: dict[str, Facet]
) -> Event:
    return {
        "eventType": kind,
        "eventTime": datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "run": {"runId": run, "facets": told},
        "job": {"namespace": namespace, "name": name, "facets": job},
        "inputs": [],
        "outputs": [],
        "producer": facets.PRODUCER,
        "schemaURL": facets.EVENT_SCHEMA,
    }
