"""The content of the stored records and events, read once and written to temporary files by job, by dataset and by run."""

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
    retained_sources_of,
)
from headwater_graph.audit.rederive.spill import Spill, moment_parts
from headwater_graph.model.node_keys import dataset_node_key, job_node_key, run_node_key
from headwater_graph.model.properties import retained_read, version_of
from headwater_graph.model.records import DatasetRecord, JobRecord, RunRecord, unpack
from headwater_graph.model.values import EARLIEST, JobVersion, Moment, RetainedRead, Row
from headwater_graph.rules import facets as read
from headwater_graph.rules.dataset_versions import version_content
from headwater_graph.rules.job_events import Reading, read_job_event
from headwater_graph.rules.job_versions import FoldItem, item_of
from headwater_graph.rules.merge import dataset_of, sides_of
from headwater_graph.rules.runs import RunReading, read_run
from headwater_graph.store.port import Scans

RunStatus: TypeAlias = tuple[str, bool]
"""A run's state (specification 2.6), and whether it is a streaming run (specification 3.4)."""


class SourceItem(Struct, array_like=True):
    """An item of a job's fold.

    ``entries``: it has explicit lineage entries (specification 6.6); ``columns``: the outputs for which it has columns
    (specification 6.5). ``removed``: retention has removed it, and only these two are left of it. ``retained_version``: the
    retained job version that begins here (specification 7). ``status`` is None unless it is a run.
    """

    item: FoldItem
    entries: bool = False
    columns: list[Key] = field(default_factory=list)
    removed: bool = False
    retained_version: JobVersion | None = None
    status: RunStatus | None = None


class Point(Struct, array_like=True):
    """A version of a dataset at the moment when it was made, or, without ``id``, a read at the moment of its run.

    ``run_id`` is the run that made it (None: a DatasetEvent did) or that reads it; ``external`` is the external version that
    it carries or names. A version that neither a run nor an event in the graph made is at the moment ``EARLIEST``.
    """

    dataset: Key
    moment: Moment
    run_id: str | None
    external: str | None
    id: str | None = None
    state: str | None = None
    schema: str | None = None
    drops: bool = False
    is_retained: bool = False

    @property
    def is_made(self) -> bool:
        """Whether a run or an event in the graph made the version."""
        return self.moment != EARLIEST


PartOfRun: TypeAlias = list[str]
"""A fact about a run, by its kind:

PARENT [run id], another run names it as its parent; RAN [job version id]; READ and WROTE [namespace, name, version id];
REMOVED [run id] or [run id, "job"], it was removed, but made a dataset version or a job version that is retained."""

PARENT, RAN, READ, WROTE, REMOVED = "a", "b", "c", "d", "e"
"""The kinds of facts about a run, the second part of their keys."""


class Facts:
    """The items of jobs (``job_items``), the points of datasets (``dataset_points``) and the facts about runs (``run_parts``).

    ``jobs`` and ``datasets`` hold every key that has a node, and whether an event names it (specification 1.7);
    ``drop_reported`` the time of the facet that says DROP of a dataset (specification 7). A context manager that deletes its
    temporary files on exit.
    """

    def __init__(self, store: Scans) -> None:
        self.store = store
        self.exits = ExitStack()
        self.job_items = self.exits.enter_context(Spill(SourceItem))
        self.dataset_points = self.exits.enter_context(Spill(Point))
        self.run_parts = self.exits.enter_context(Spill(PartOfRun))
        self.jobs: dict[Key, bool] = {}
        self.datasets: dict[Key, bool] = {}
        self.drop_reported: dict[Key, int] = {}
        self.aliases: dict[Key, list[Key]] = {}
        self.retained_reads: dict[Key, RetainedRead] = {}

    def __enter__(self) -> Self:
        self._read_names()
        self._read_retained()
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
            self._add_retained_sources(_key(row["key"]), retained_sources_of(row["retainedSources"]))
            if row["record"]:
                record = unpack(row["record"], JobRecord)
                self._name_jobs([_key(row["key"])])
                if record.parent:
                    self.jobs.setdefault(read.key_from(record.parent[2]), False)
        for row in self.store.scan("scan/datasets"):
            if (retained := retained_read(row["retainedRead"])) is not None:
                self.retained_reads[_key(row["key"])] = retained
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

    # -- what retention has kept ----------------------------------------------------------------------------------

    def _read_retained(self) -> None:
        for row in self.store.scan("check/retained_job_versions"):
            version = version_of(row, _key(row["job"]))
            item = _item_without_lineage(version.job, version.since, version.made_by)
            self._write_item(SourceItem(item, retained_version=version), "a")
            if version.made_by is not None:
                self.run_parts.add((run_node_key(version.made_by), REMOVED), [version.made_by, "job"])
        for row in self.store.scan("check/retained_dataset_versions"):
            if row["moment"] is not None:
                self._add_retained_version(row)

    def _add_retained_version(self, row: Row) -> None:
        made_by, dataset = row["madeBy"], _key(row["dataset"])
        shared = (row["external"], row["id"], row["state"], row["schema"], bool(row["drops"]))
        self._add_point(Point(dataset, (row["moment"], made_by), made_by, *shared, is_retained=True), WROTE)
        self.run_parts.add((run_node_key(made_by), REMOVED), [made_by])

    def _add_retained_sources(self, job: Key, lineage_sources: Iterable[LineageSource]) -> None:
        for source in lineage_sources:
            item = _item_without_lineage(job, source.moment, None, failed=not source.good)
            self._write_item(SourceItem(item, bool(source.entries), sorted(source.columns), removed=True), "c")

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
            self.run_parts.add((run_node_key(run.parent.run_id), PARENT), [run.parent.run_id])
        self._add_item(run, (run.state, run.streaming))
        if run.moment is not None:
            self._add_points(run, run.moment)

    def _add_job_event(self, event: JobEvent) -> None:
        inputs, outputs = sides_of(event)
        self._name_jobs([event.job])
        self._name_datasets([*inputs, *outputs])
        self._add_item(read_job_event(event))

    def _add_item(self, reading: Reading, status: RunStatus | None = None) -> None:
        item = item_of(reading)
        if item is not None:
            self._write_item(SourceItem(item, bool(reading.entries), sorted(reading.columns), status=status), "b")

    def _write_item(self, source_item: SourceItem, order: str) -> None:
        # At the same moment a retained version sorts first ("a"), because the sources left of its maker belong to it ("c").
        self.job_items.add(
            (job_node_key(source_item.item.job), *moment_parts(source_item.item.moment), order), source_item
        )

    def _add_points(self, run: RunReading, moment: Moment) -> None:
        for dataset, write in run.writes.items():
            id_ = dataset_version_id(dataset, run.id)
            made = (write.time, run.id)
            self.run_parts.add((run_node_key(run.id), WROTE), [*dataset, id_])
            self._add_point(
                Point(dataset, made, run.id, write.external, id_, run.state, write.schema, write.drops), WROTE
            )
        for dataset, external in run.reads.items():
            self._add_point(Point(dataset, moment, run.id, external), READ)

    def _add_dataset_event(self, event: DatasetEvent) -> None:
        # The store keeps only DatasetEvents that made a version (specification 5.4).
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
        # At the same moment reads sort before versions: a run reads versions with smaller moments only (specification 5.2).
        self.dataset_points.add((dataset_node_key(point.dataset), *moment_parts(point.moment), kind), point)


def _item_without_lineage(job: Key, moment: Moment, run_id: str | None, *, failed: bool = False) -> FoldItem:
    return FoldItem(job, moment, run_id, (), (), known=False, failed=failed, code=None)


def _key(listed: Iterable[str]) -> Key:
    namespace, name = listed
    return (namespace, name)
