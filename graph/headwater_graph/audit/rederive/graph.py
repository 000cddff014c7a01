"""The rederived graph, as the scans of a store: what :func:`headwater_graph.audit.dump.dump` renders (specification 9)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import chain
from typing import Self, TypeAlias

from msgspec import Struct

from headwater_avro.canonical import Json, canonical
from headwater_avro.names import Key
from headwater_graph.audit.rederive.edges import JobWithSources, column_rows, edge_rows, jobs_with_sources
from headwater_graph.audit.rederive.facts import (
    PARENT,
    RAN,
    READ,
    REMOVED,
    WROTE,
    Facts,
    PartOfRun,
    Point,
    SourceItem,
    Stands,
)
from headwater_graph.audit.rederive.folds import Current, FoldedVersion, JobFold
from headwater_graph.audit.rederive.spill import Spill, SpillKey, moment_parts
from headwater_graph.audit.rederive.timelines import Timeline, timeline_of
from headwater_graph.model.node_keys import job_node_key, run_node_key
from headwater_graph.model.values import EARLIEST, JobVersion, Moment, Row
from headwater_graph.rules.dataset_versions import unwritten_version_id
from headwater_graph.store.port import Scans


class VersionRow(Struct, array_like=True):
    """A job version as the fold left it; ``last`` is (runId, time) of its last run, if that is there ``stands`` how it does."""

    version: JobVersion
    end: int | None
    runs: int
    last: tuple[str, int] | None
    stands: Stands | None


class DatasetVersionRow(Struct, array_like=True):
    """A dataset version; without a moment where nothing in the graph made it."""

    dataset: Key
    id: str
    moment: Moment | None
    made_by: str | None
    external: str | None
    state: str | None
    schema: str | None
    drops: bool
    kept: bool


class PlacedEvent(Struct, array_like=True):
    """A JobEvent of a job at a time, and the version that it belongs to."""

    job: Key
    time: int
    version: str


class ReadRow(Struct, array_like=True):
    """A read, and the version that it reads."""

    reader: Point
    version: str


class RederivedGraph:
    """A graph derived from the records in a store; a context, whose files outside memory go when it is left."""

    def __init__(self, store: Scans) -> None:
        self.store = store
        self.facts = Facts(store)
        self._exits = ExitStack()
        self.job_versions = self._exits.enter_context(Spill(VersionRow))
        self.dataset_versions = self._exits.enter_context(Spill(DatasetVersionRow))
        self.reads = self._exits.enter_context(Spill(ReadRow))
        self.placed_events = self._exits.enter_context(Spill(PlacedEvent))
        self.currents: dict[Key, Current] = {}
        self._current_versions: dict[Key, str] = {}
        self._kept_until: dict[Key, int] = {}

    def __enter__(self) -> Self:
        self._exits.enter_context(self.facts)
        for _, items in self.facts.items.groups():
            self._fold(told for _, told in items)
        pasts = dict(self.facts.past_reads)
        for _, points in self.facts.timeline.groups():
            rows = iter(point for _, point in points)
            first = next(rows)
            self._keep_timeline(timeline_of(first.dataset, chain([first], rows), pasts.pop(first.dataset, None)))
        for dataset, past in pasts.items():
            self._keep_timeline(timeline_of(dataset, (), past))
        return self

    def __exit__(self, *_: object) -> None:
        self._exits.close()

    def _fold(self, items: Iterable[SourceItem]) -> None:
        fold = JobFold()
        for told in items:
            version, item = fold.add(told), told.item
            if version is None:
                pass
            elif item.run_id is None:
                self.placed_events.add((item.moment[1],), PlacedEvent(item.job, item.moment[0], version))
            else:
                self.facts.of_runs.add((run_node_key(item.run_id), RAN), [version])
            self._keep_versions(fold.take_closed())
        current = fold.current()
        if current is not None:
            self._keep_versions([current.folded])
            self.currents[current.folded.version.job] = current

    def _keep_versions(self, versions: Iterable[FoldedVersion]) -> None:
        for one in versions:
            last = (one.last[1], one.last[0]) if one.last else None
            row = VersionRow(one.version, one.end[0] if one.end else None, one.runs, last, one.stands)
            self.job_versions.add((job_node_key(one.version.job), *moment_parts(one.version.since)), row)

    def _keep_timeline(self, line: Timeline) -> None:
        for point in line.made:
            self._keep_version(point, point.id or "", point.moment)
        past = unwritten_version_id(line.dataset, line.past.external) if line.past else None
        for id_, external in line.unmade.items():
            point = Point(line.dataset, EARLIEST, None, external, kept=id_ == past)
            self._keep_version(point, id_, None)
        for reader, id_ in line.reads:
            run = run_node_key(reader.run_id or "")
            self.reads.add((run,), ReadRow(reader, id_))
            self.facts.of_runs.add((run, READ), [*line.dataset, id_])
        if line.current is not None:
            self._current_versions[line.dataset] = line.current
        if line.kept_until is not None:
            self._kept_until[line.dataset] = line.kept_until

    def _keep_version(self, point: Point, id_: str, moment: Moment | None) -> None:
        row = DatasetVersionRow(
            point.dataset,
            id_,
            moment,
            point.run_id,
            point.external,
            point.state,
            point.schema,
            point.drops,
            point.kept,
        )
        self.dataset_versions.add((id_,), row)

    # -- the scans of the dump ------------------------------------------------------------------------------------

    def scan(self, name: str) -> Iterator[Row]:
        """Yield the rows of one of the dump's scans."""
        scans: dict[str, Callable[[], Iterator[Row]]] = {
            "scan/jobs": self._jobs,
            "scan/job_versions": self._job_versions,
            "scan/runs": self._runs,
            "scan/datasets": self._datasets,
            "scan/dataset_versions": self._dataset_versions,
            "scan/edges": lambda: chain.from_iterable(map(edge_rows, self.jobs_with_sources())),
            "scan/columns": lambda: chain.from_iterable(map(column_rows, self.jobs_with_sources())),
        }
        return scans[name]()

    def jobs_with_sources(self) -> Iterator[JobWithSources]:
        """Yield the jobs that have a current version, with what is told of their lineage."""
        return jobs_with_sources(self.store, self.currents.values())

    def _jobs(self) -> Iterator[Row]:
        for key, record in self.records("scan/jobs", self.facts.jobs):
            current = self.currents.get(key)
            yield {"key": key, "record": record, "current": current.folded.version.id if current else None}

    def _datasets(self) -> Iterator[Row]:
        for key, record in self.records("scan/datasets", self.facts.datasets):
            aliases = self.facts.aliases.get(key, [])
            current = self._current_versions.get(key)
            yield {"key": key, "record": record, "current": current, "dropped": self._dropped(key), "aliases": aliases}

    def _dropped(self, key: Key) -> bool:
        """Specification 7: dropped, unless a version that does not itself say DROP came after the facet that does."""
        told = self.facts.drop_reported.get(key)
        return told is not None and self._kept_until.get(key, told) <= told

    def records(self, scan: str, named: Iterable[Key]) -> Iterator[tuple[Key, bytes | None]]:
        """Yield jobs or datasets with their stored records, and those that are named but have none."""
        seen = set()
        for row in self.store.scan(scan):
            if row["record"]:
                key = (row["key"][0], row["key"][1])
                seen.add(key)
                yield key, row["record"]
        yield from ((key, None) for key in named if key not in seen)

    def _job_versions(self) -> Iterator[Row]:
        for _, row in self.job_versions:
            version = row.version
            sides: list[Json] = [[list(key) for key in side] for side in (version.inputs, version.outputs)]
            yield {
                "job": version.job,
                "id": version.id,
                "moment": version.since[0],
                "end": row.end,
                "madeBy": version.made_by,
                "codeVersion": version.code,
                "lineageUnknown": version.unknown,
                "lineage": canonical(sides),
                "runs": row.runs,
                "retainedNumber": version.retained.number if version.retained else None,
            }

    def _dataset_versions(self) -> Iterator[Row]:
        for _, row in self.dataset_versions:
            yield {
                "dataset": row.dataset,
                "id": row.id,
                "moment": row.moment[0] if row.moment else None,
                "madeBy": row.made_by,
                "external": row.external,
                "state": row.state,
                "schema": row.schema,
            }

    def _runs(self) -> Iterator[Row]:
        for id_, record, parts in self.runs():
            version = parts.get(RAN)
            yield {
                "id": id_,
                "record": record,
                "version": version[0][0] if version else None,
                "reads": parts.get(READ, []),
                "writes": parts.get(WROTE, []),
            }

    def runs(self) -> Iterator[tuple[str, bytes | None, dict[str, list[PartOfRun]]]]:
        """Yield (runId, record, parts by kind) of every run; placeholders, which only parent facets name, have no record."""
        parts_of_runs = ((run, list(parts)) for run, parts in self.facts.of_runs.groups())
        for row, told in _paired(self.store.scan("check/runs"), parts_of_runs):
            parts: dict[str, list[PartOfRun]] = {}
            for key, part in told:
                parts.setdefault(key[1], []).append(part)
            yield (row["id"], row["record"], parts) if row else (_id_told(parts), None, parts)


def _id_told(parts: dict[str, list[PartOfRun]]) -> str:
    return (parts.get(PARENT) or parts[REMOVED])[0][0]


ToldParts: TypeAlias = list[tuple[SpillKey, PartOfRun]]


def _paired(runs: Iterator[Row], told: Iterator[tuple[str, ToldParts]]) -> Iterator[tuple[Row | None, ToldParts]]:
    """Yield runs with what is told of them, both sorted by the run's hash; either may lack the other."""
    run, parts = next(runs, None), next(told, None)
    while run is not None or parts is not None:
        hash_ = run_node_key(run["id"]) if run else None
        if parts is None or (hash_ is not None and hash_ < parts[0]):
            yield run, []
            run = next(runs, None)
        elif hash_ is None or parts[0] < hash_:
            yield None, parts[1]
            parts = next(told, None)
        else:
            yield run, parts[1]
            run, parts = next(runs, None), next(told, None)
