"""The rederived graph as the scans of a store, which ``headwater_graph.audit.dump`` renders (specification 9)."""

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
    RunStatus,
    SourceItem,
)
from headwater_graph.audit.rederive.folds import Current, FoldedVersion, JobFold
from headwater_graph.audit.rederive.spill import Spill, SpillKey, moment_parts
from headwater_graph.audit.rederive.timelines import Timeline, timeline_of
from headwater_graph.model.node_keys import job_node_key, run_node_key
from headwater_graph.model.values import EARLIEST, JobVersion, Row
from headwater_graph.rules.dataset_versions import unwritten_version_id
from headwater_graph.store.port import Scans


class VersionRow(Struct, array_like=True):
    """A folded job version; ``last`` is (runId, time) of its last run, ``status`` that run's status if the graph has the run."""

    version: JobVersion
    end: int | None
    runs: int
    last: tuple[str, int] | None
    status: RunStatus | None


class PlacedEvent(Struct, array_like=True):
    """A JobEvent: its job, its time, and the id of the job version that it belongs to."""

    job: Key
    time: int
    version: str


class ReadRow(Struct, array_like=True):
    """A read, and the id of the version that it reads."""

    reader: Point
    version: str


class RederivedGraph:
    """A graph derived from the records in a store; a context manager that deletes its temporary files on exit."""

    def __init__(self, store: Scans) -> None:
        self.store = store
        self.facts = Facts(store)
        self._exits = ExitStack()
        self.job_versions = self._exits.enter_context(Spill(VersionRow))
        self.dataset_versions = self._exits.enter_context(Spill(Point))
        self.reads = self._exits.enter_context(Spill(ReadRow))
        self.placed_events = self._exits.enter_context(Spill(PlacedEvent))
        self.currents: dict[Key, Current] = {}
        self._current_versions: dict[Key, str] = {}
        self._last_living_times: dict[Key, int] = {}

    def __enter__(self) -> Self:
        self._exits.enter_context(self.facts)
        for _, items in self.facts.job_items.groups():
            self._fold(source_item for _, source_item in items)
        retained_reads = dict(self.facts.retained_reads)
        for _, points in self.facts.dataset_points.groups():
            rows = iter(point for _, point in points)
            first = next(rows)
            retained = retained_reads.pop(first.dataset, None)
            self._add_timeline(timeline_of(first.dataset, chain([first], rows), retained))
        for dataset, retained_read in retained_reads.items():
            self._add_timeline(timeline_of(dataset, (), retained_read))
        return self

    def __exit__(self, *_: object) -> None:
        self._exits.close()

    def _fold(self, items: Iterable[SourceItem]) -> None:
        fold = JobFold()
        for source_item in items:
            version, item = fold.add(source_item), source_item.item
            if version is None:
                pass
            elif item.run_id is None:
                self.placed_events.add((item.moment[1],), PlacedEvent(item.job, item.moment[0], version))
            else:
                self.facts.run_parts.add((run_node_key(item.run_id), RAN), [version])
            self._add_job_versions(fold.take_closed())
        current = fold.current()
        if current is not None:
            self._add_job_versions([current.folded])
            self.currents[current.folded.version.job] = current

    def _add_job_versions(self, versions: Iterable[FoldedVersion]) -> None:
        for folded in versions:
            last = (folded.last[1], folded.last[0]) if folded.last else None
            row = VersionRow(folded.version, folded.end[0] if folded.end else None, folded.runs, last, folded.status)
            self.job_versions.add((job_node_key(folded.version.job), *moment_parts(folded.version.since)), row)

    def _add_timeline(self, line: Timeline) -> None:
        versions = list(line.made)
        retained_id = unwritten_version_id(line.dataset, line.retained.external) if line.retained else None
        for id_, external in line.not_made.items():
            versions.append(Point(line.dataset, EARLIEST, None, external, id_, is_retained=id_ == retained_id))
        for version in versions:
            self.dataset_versions.add((version.id or "",), version)
        for reader, id_ in line.reads:
            run = run_node_key(reader.run_id or "")
            self.reads.add((run,), ReadRow(reader, id_))
            self.facts.run_parts.add((run, READ), [*line.dataset, id_])
        if line.current is not None:
            self._current_versions[line.dataset] = line.current
        if line.last_living_time is not None:
            self._last_living_times[line.dataset] = line.last_living_time

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
        """Yield the jobs that have a current version, with the sources of their lineage."""
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
        """Return whether a dataset is dropped: no version that does not itself say DROP follows the DROP (specification 7)."""
        dropped_at = self.facts.drop_reported.get(key)
        return dropped_at is not None and self._last_living_times.get(key, dropped_at) <= dropped_at

    def records(self, scan: str, named: Iterable[Key]) -> Iterator[tuple[Key, bytes | None]]:
        """Yield jobs or datasets with their stored records, then the named ones that have no record."""
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
                "moment": row.moment[0] if row.is_made else None,
                "madeBy": row.run_id,
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
        parts_of_runs = ((run, list(parts)) for run, parts in self.facts.run_parts.groups())
        for row, keyed_parts in _paired(self.store.scan("check/runs"), parts_of_runs):
            parts: dict[str, list[PartOfRun]] = {}
            for key, part in keyed_parts:
                parts.setdefault(key[1], []).append(part)
            yield (row["id"], row["record"], parts) if row else (_placeholder_id(parts), None, parts)


def _placeholder_id(parts: dict[str, list[PartOfRun]]) -> str:
    return (parts.get(PARENT) or parts[REMOVED])[0][0]


RunParts: TypeAlias = list[tuple[SpillKey, PartOfRun]]


def _paired(runs: Iterator[Row], groups: Iterator[tuple[str, RunParts]]) -> Iterator[tuple[Row | None, RunParts]]:
    """Yield runs with their parts, both sorted by the run's hash; a run may have no parts, and parts may have no run."""
    run, group = next(runs, None), next(groups, None)
    while run is not None or group is not None:
        hash_ = run_node_key(run["id"]) if run else None
        if group is None or (hash_ is not None and hash_ < group[0]):
            yield run, []
            run = next(runs, None)
        elif hash_ is None or group[0] < hash_:
            yield None, group[1]
            group = next(groups, None)
        else:
            yield run, group[1]
            run, group = next(runs, None), next(groups, None)
