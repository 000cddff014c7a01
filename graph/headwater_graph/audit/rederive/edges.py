"""The current edges and columns of jobs, from current versions and the records of their sources (specification 6)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import cast

from headwater_avro.canonical import Json, canonical
from headwater_avro.events import JobEvent
from headwater_avro.json_codec import read_event
from headwater_avro.names import Key
from headwater_graph.apply.lineage_sources import (
    LineageSource,
    lineage_source_of,
    retained_sources_of,
)
from headwater_graph.audit.rederive.folds import Current
from headwater_graph.model.node_keys import job_node_key, run_node_key
from headwater_graph.model.records import RunRecord, unpack
from headwater_graph.model.values import Moment, Row
from headwater_graph.rules.columns import Edges, facet_edges
from headwater_graph.rules.explicit_lineage import entries_by_output, entry_edges, named_inputs
from headwater_graph.rules.facets import Members
from headwater_graph.rules.job_events import read_job_event
from headwater_graph.rules.job_versions import FoldItem
from headwater_graph.rules.runs import read_run
from headwater_graph.store.port import Scans

JOBS_AT_ONCE = 50
"""For how many jobs the records of their lineage sources are held in memory at a time."""


@dataclass(frozen=True, slots=True)
class JobWithSources:
    """A job's current version with the sources of its lineage: its explicit entries, and by output its columns."""

    current: Current
    entries: dict[Key, list[Members]] | None
    columns: dict[Key, LineageSource]

    @property
    def key(self) -> Key:
        """The job's key."""
        return self.current.folded.version.job


def jobs_with_sources(store: Scans, currents: Iterable[Current]) -> Iterator[JobWithSources]:
    """Yield jobs with the sources of their lineage; records are read for ``JOBS_AT_ONCE`` jobs at a time."""
    waiting = iter(currents)
    while portion := list(islice(waiting, JOBS_AT_ONCE)):
        wanted = {item.moment: item for current in portion for item in _items(current)}
        lineage_sources = _retained_sources(store, portion)
        present = [item for moment, item in wanted.items() if moment not in lineage_sources]
        lineage_sources |= {item.moment: lineage_source for item, lineage_source in _lineage_sources(store, present)}
        for current in portion:
            explicit = lineage_sources[current.explicit.moment] if current.explicit else None
            columns = {output: lineage_sources[item.moment] for output, item in current.columns.items()}
            yield JobWithSources(current, entries_by_output(explicit.entries) if explicit else None, columns)


def _retained_sources(store: Scans, portion: Iterable[Current]) -> dict[Moment, LineageSource]:
    """Return by moment the sources that retention has removed although current edges depend on them (specification 7)."""
    keys = [job_node_key(current.folded.version.job) for current in portion]
    rows = store.scan("check/retained_reads", keys=keys)
    return {source.moment: source for row in rows for source in retained_sources_of(row["retainedSources"])}


def _items(current: Current) -> Iterator[FoldItem]:
    yield from current.columns.values()
    if current.explicit is not None:
        yield current.explicit


def _lineage_sources(store: Scans, items: Iterable[FoldItem]) -> Iterator[tuple[FoldItem, LineageSource]]:
    runs = {}
    for item in items:
        if item.run_id is None:
            event = cast("JobEvent", read_event(item.moment[1].encode()))
            lineage_source = lineage_source_of(read_job_event(event))
            assert lineage_source is not None
            yield item, lineage_source
        else:
            runs[item.run_id] = item
    for row in store.scan("check/records", keys=[run_node_key(run_id) for run_id in runs]) if runs else ():
        lineage_source = lineage_source_of(read_run(row["id"], unpack(row["record"], RunRecord)))
        assert lineage_source is not None
        yield runs[row["id"]], lineage_source


def edge_rows(job: JobWithSources) -> Iterator[Row]:
    """Yield a job's current edges in the form of the dump's scan."""
    folded = job.current.folded
    version = folded.version
    shared = {
        "job": version.job,
        "version": version.id,
        "since": version.since[0],
        "runs": folded.runs,
        "lastRun": folded.last[1] if folded.last else None,
    }
    for dataset in version.inputs:
        yield shared | {"type": "FEEDS", "dataset": dataset, "inputs": None}
    for dataset in version.outputs:
        yield shared | {"type": "PRODUCES", "dataset": dataset, "inputs": _inputs(job, dataset)}


def _inputs(job: JobWithSources, output: Key) -> str | None:
    if job.entries is None:
        return None
    named = named_inputs(job.entries.get(output, ()))
    listed: list[Json] = [list(key) for key in job.current.folded.version.inputs if key in named]
    return canonical(listed)


def column_rows(job: JobWithSources) -> Iterator[Row]:
    """Yield a job's column edges in the form of the dump's scan."""
    version = job.current.folded.version
    declared, job_text = set(version.inputs), canonical(list(version.job))
    for output in version.outputs:
        for target, sources in _edges(job, output).items():
            for source in sources:
                yield {
                    "job": job_text,
                    "source": (*source.dataset, source.field),
                    "target": (*output, target),
                    "type": source.type,
                    "subtype": source.subtype,
                    "masking": source.masking,
                    "description": source.description,
                    "undeclared": source.dataset not in declared,
                }


def _edges(job: JobWithSources, output: Key) -> Edges:
    explicit = entry_edges(job.entries.get(output, ())) if job.entries else {}
    if explicit:
        return explicit
    lineage_source = job.columns.get(output)
    return facet_edges(lineage_source.columns.get(output)) if lineage_source else {}
