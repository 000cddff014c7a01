"""What the stored records and events tell, read once and spilled by job, by dataset and by run."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from typing import Self, TypeAlias, cast

from msgspec import Struct, field

from headwater_avro.events import DatasetEvent, JobEvent
from headwater_avro.json_codec import read_event
from headwater_avro.names import Key, dataset_event_version_id, dataset_version_id
from headwater_graph.apply.lineage_sources import (
    LineageSource,
    lineage_source_of_event,
    lineage_source_of_run,
    retained_sources_of,
)
from headwater_graph.audit.rederive.spill import Spill, moment_parts
from headwater_graph.model.node_keys import dataset_node_key, job_node_key, run_node_key
from headwater_graph.model.properties import retained_read, version_of
from headwater_graph.model.records import DatasetRecord, JobRecord, RunRecord, unpack
from headwater_graph.model.values import JobVersion, Moment, RetainedRead, Row
from headwater_graph.rules import facets as read
from headwater_graph.rules.dataset_versions import version_content
from headwater_graph.rules.job_events import read_job_event
from headwater_graph.rules.job_versions import FoldItem, item_of_event, item_of_run
from headwater_graph.rules.merge import dataset_of, sides_of
from headwater_graph.rules.runs import RunReading, read_run
from headwater_graph.store.port import Scans

Stands: TypeAlias = tuple[str, bool]
"""How a run stands: its state (specification 2.6), and whether it streams (specification 3.4)."""


class SourceItem(Struct, array_like=True):
    """An item of a job's fold, whether it tells entries (specification 6.6), and of which outputs it tells columns (specification 6.5).

    ``gone``: it tells these alone, for it is gone; ``opens``: a kept version begins there (specification 7). ``stands`` is there
    for a run.
    """

    item: FoldItem
    entries: bool = False
    columns: list[Key] = field(default_factory=list)
    gone: bool = False
    opens: JobVersion | None = None
    stands: Stands | None = None


class Point(Struct, array_like=True):
    """A version of a dataset that was made at a moment, or, without ``id``, a run that reads it at its own.

    ``run_id`` is the run that made it (None: a DatasetEvent did) or reads it, ``external`` what it carries or named.
    """

    dataset: Key
    moment: Moment
    run_id: str | None
    external: str | None
    id: str | None = None
    state: str | None = None
    schema: str | None = None
    drops: bool = False
    kept: bool = False


PartOfRun: TypeAlias = list[str]
"""Of a run: [its id] where another names it as parent, [namespace, name, version id] read or written, [job version id]; [its
id, and perhaps what] where it was removed and made a version that is kept."""

PARENT, RAN, READ, WROTE, REMOVED = "a", "b", "c", "d", "e"
"""The kinds of parts of a run, the second part of their keys."""


class Facts:
    """What is told of jobs (``items`` of their folds), of datasets (``timeline``), and of runs (``of_runs``).

    ``jobs`` and ``datasets`` hold every key that has a node, and whether an event names it (specification 1.7); ``drop_reported`` the time
    of the facet that says DROP of a dataset (specification 7). A context that deletes what it spilled when left.
    """

    def __init__(self, store: Scans) -> None:
        self.store = store
        self.exits = ExitStack()
        self.items = self.exits.enter_context(Spill(SourceItem))
        self.timeline = self.exits.enter_context(Spill(Point))
        self.of_runs = self.exits.enter_context(Spill(PartOfRun))
        self.jobs: dict[Key, bool] = {}
        self.datasets: dict[Key, bool] = {}
        self.drop_reported: dict[Key, int] = {}
        self.aliases: dict[Key, list[Key]] = {}
        self.past_reads: dict[Key, RetainedRead] = {}

    def __enter__(self) -> Self:
        self._read_names()
        self._read_kept()
        for row in self.store.scan("check/runs"):
            self._add_run(row["id"], unpack(row["record"], RunRecord))
        for row in self.store.scan("check/job_events"):
            self._add_job_event(cast("JobEvent", read_event(row["text"].encode())))
        for row in self.store.scan("check/dataset_events"):
            self._add_dataset_event(cast("DatasetEvent", read_event(row["text"].encode())))
        return self

    def __exit__(self, *_: object) -> None:
        self.exits.close()

    # -- jobs and datasets ----------------------------------------------------------------------------------------

    def _read_names(self) -> None:
        for row in self.store.scan("scan/jobs"):
            self._add_past(_key(row["key"]), retained_sources_of(row["retainedSources"]))
            if row["record"]:
                record = unpack(row["record"], JobRecord)
                self._name_jobs([_key(row["key"])])
                if record.parent:
                    self.jobs.setdefault(read.key_from(record.parent[2]), False)
        for row in self.store.scan("scan/datasets"):
            past = retained_read(row["retainedRead"])
            if past is not None:
                self.past_reads[_key(row["key"])] = past
            if row["record"]:
                self._add_dataset(_key(row["key"]), unpack(row["record"], DatasetRecord))

    def _add_dataset(self, key: Key, record: DatasetRecord) -> None:
        self._name_datasets([key])
        if read.says_drop(record.facets):
            self.drop_reported[key] = record.facets["lifecycleStateChange"][0]
        for alias in read.aliases_of(read.living(record.facets, "symlinks")):
            if alias != key:
                self.datasets.setdefault(alias, False)
                self.aliases.setdefault(key, []).append(alias)
                self.aliases.setdefault(alias, []).append(key)

    # -- what retention keeps -------------------------------------------------------------------------------------

    def _read_kept(self) -> None:
        for row in self.store.scan("check/retained_job_versions"):
            version = version_of(row, _key(row["job"]))
            item = _bare_item(version.job, version.since, version.made_by)
            self._put_item(SourceItem(item, opens=version), "a")
            if version.made_by is not None:
                self.of_runs.add((run_node_key(version.made_by), REMOVED), [version.made_by, "job"])
        for row in self.store.scan("check/retained_dataset_versions"):
            if row["moment"] is not None:
                self._add_kept(row)

    def _add_kept(self, row: Row) -> None:
        made_by, dataset = row["madeBy"], _key(row["dataset"])
        told = (row["external"], row["id"], row["state"], row["schema"], bool(row["drops"]))
        self._add_point(Point(dataset, (row["moment"], made_by), made_by, *told, kept=True), WROTE)
        self.of_runs.add((run_node_key(made_by), REMOVED), [made_by])

    def _add_past(self, job: Key, lineage_sources: Iterable[LineageSource]) -> None:
        for lineage_source in lineage_sources:
            item = _bare_item(job, lineage_source.moment, None, failed=not lineage_source.good)
            self._put_item(
                SourceItem(item, bool(lineage_source.entries), sorted(lineage_source.columns), gone=True), "c"
            )

    def _name_jobs(self, keys: Iterable[Key]) -> None:
        self.jobs.update(dict.fromkeys(keys, True))

    def _name_datasets(self, keys: Iterable[Key]) -> None:
        self.datasets.update(dict.fromkeys(keys, True))

    # -- runs and events ------------------------------------------------------------------------------------------

    def _add_run(self, run_id: str, record: RunRecord) -> None:
        run = read_run(run_id, record)
        self._name_jobs(record.jobs)
        if run.parent.job is not None:
            self.jobs.setdefault(run.parent.job, False)
        self._name_datasets([*record.inputs, *record.outputs])
        if run.parent.run_id is not None:
            self.of_runs.add((run_node_key(run.parent.run_id), PARENT), [run.parent.run_id])
        item, lineage_source = item_of_run(run), lineage_source_of_run(run)
        if item is not None and lineage_source is not None:
            self._add_item(item, lineage_source, (run.state, run.streaming))
            self._add_points(run, item.moment)

    def _add_job_event(self, event: JobEvent) -> None:
        inputs, outputs = sides_of(event)
        self._name_jobs([event.job])
        self._name_datasets([*inputs, *outputs])
        reading = read_job_event(event)
        self._add_item(item_of_event(reading), lineage_source_of_event(reading))

    def _add_item(self, item: FoldItem, lineage_source: LineageSource, stands: Stands | None = None) -> None:
        self._put_item(
            SourceItem(item, bool(lineage_source.entries), sorted(lineage_source.columns), stands=stands), "b"
        )

    def _put_item(self, told: SourceItem, order: str) -> None:
        # At one moment a kept version comes first: what its maker still tells is told within it.
        self.items.add((job_node_key(told.item.job), *moment_parts(told.item.moment), order), told)

    def _add_points(self, run: RunReading, moment: Moment) -> None:
        for dataset, write in run.writes.items():
            id_ = dataset_version_id(dataset, run.id)
            made = (write.time, run.id)
            self.of_runs.add((run_node_key(run.id), WROTE), [*dataset, id_])
            self._add_point(
                Point(dataset, made, run.id, write.external, id_, run.state, write.schema, write.drops), WROTE
            )
        for dataset, external in run.reads.items():
            self._add_point(Point(dataset, moment, run.id, external), READ)

    def _add_dataset_event(self, event: DatasetEvent) -> None:
        """Specification 5.4: only those that made a version are kept."""
        content = version_content(event.time, dataset_of(event).facets)
        self._name_datasets([event.dataset])
        point = Point(
            event.dataset,
            (event.time, event.text),
            None,
            content.external,
            dataset_event_version_id(event.dataset, event.text),
            None,
            content.schema,
            content.drops,
        )
        self._add_point(point, WROTE)

    def _add_point(self, point: Point, kind: str) -> None:
        # At one moment reads come before versions: only what is less than a run's moment is read (specification 5.2).
        self.timeline.add((dataset_node_key(point.dataset), *moment_parts(point.moment), kind), point)


def _bare_item(job: Key, moment: Moment, run_id: str | None, *, failed: bool = False) -> FoldItem:
    return FoldItem(job, moment, run_id, (), (), known=False, failed=failed, code=None)


def _key(listed: Iterable[str]) -> Key:
    namespace, name = listed
    return (namespace, name)
