"""G(E), a second implementation of the specification: it folds the whole set of events at once, written from the text alone.

It never imports the rules, so that two readings of the specification check each other. It is simple and slow; each function
names the rule that it implements. `wire` reads a message (1, 2.1), `records` merges a run (2, 3), `folding` folds jobs (4),
`datasets` makes dataset versions (5), `columns` reads column lineage (6.5, 6.6), `horizon` sets a horizon (10). It uses only
the standard library.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from .columns import entries_source, named_inputs, output_edges
from .datasets import DatasetVersion, drops, event_made, identifier, latest, reads_of, run_made
from .folding import JobVersion, fold
from .records import Moment, Run, Step, coalesce, event_step, last_key, merged, parent_of, run_step, without_deleted
from .wire import Event, Facets, Key, canonical, key_of, member, objects, read_event, reject, shown_time

__all__ = ["dump", "reject"]

Line = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Retained:
    """10: what is retained of what was removed: `events`, of which only names and facets count; job versions and dataset
    versions; reads that make an initial or external version current; sources of what is current; makers of what is retained.
    """

    events: list[Event] = field(default_factory=list)
    job_versions: dict[Key, list[JobVersion]] = field(default_factory=dict)
    made: list[DatasetVersion] = field(default_factory=list)
    read: dict[Key, tuple[Moment, DatasetVersion]] = field(default_factory=dict)
    lineage_sources: dict[Key, list[Step]] = field(default_factory=dict)
    removed: frozenset[str] = frozenset()


NOTHING = Retained()


@dataclass(frozen=True, slots=True)
class Graph:
    """Everything that section 9 prints."""

    events: list[Event]
    runs: dict[str, Run]
    steps: dict[Key, list[Step]]
    versions: dict[Key, list[JobVersion]]
    made: list[DatasetVersion]
    reads: dict[str, dict[Key, DatasetVersion]]
    retained: Retained


def dump(messages: Iterable[bytes]) -> bytes:
    """9: the canonical dump of the graph of these messages, rejected ones left out."""
    return dump_of(folded(accepted(messages), NOTHING))


def accepted(messages: Iterable[bytes]) -> list[Event]:
    """1: the events, each once."""
    events = {event.text: event for event in map(read_event, messages) if event is not None}
    return [events[text] for text in sorted(events)]


def dump_of(graph: Graph) -> bytes:
    """9: the canonical dump."""
    lines = [*job_lines(graph), *run_lines(graph), *dataset_lines(graph), *edge_lines(graph)]
    return b"".join(sorted(canonical(line).encode() + b"\n" for line in lines))


def folded(events: list[Event], retained: Retained) -> Graph:
    """Chapters 2 to 5 of the events that are there, on what is retained of the others (10)."""
    by_run: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        if event.run is not None:
            by_run[event.run].append(event)
    runs = {run_id: coalesce(run_id, listed) for run_id, listed in by_run.items()}
    steps = steps_of(events, runs)
    made = [*run_made(runs), *event_made(events), *retained.made]
    return Graph(
        events=list({event.text: event for event in [*retained.events, *events]}.values()),
        runs=runs,
        steps=steps,
        versions={
            job: fold(
                steps.get(job, []),
                [replace(item, members=[], code=item.first_code) for item in retained.job_versions.get(job, [])],
            )
            for job in {*steps, *retained.job_versions}
        },
        made=made,
        reads={run.id: reads_of(run, made) for run in runs.values() if run.moment is not None},
        retained=retained,
    )


def steps_of(events: list[Event], runs: dict[str, Run]) -> dict[Key, list[Step]]:
    """4, 4.4: each job's versioned runs and JobEvents by moment, oldest first."""
    steps = [run_step(run) for run in runs.values() if run.moment is not None]
    steps += [event_step(event) for event in events if event.run is None and event.job is not None]
    by_job: dict[Key, list[Step]] = defaultdict(list)
    for step in sorted(steps, key=lambda step: step.moment):
        by_job[step.job].append(step)
    return dict(by_job)


def current_dataset_version(graph: Graph, key: Key) -> DatasetVersion | None:
    """5.5."""
    made = latest([version for version in graph.made if version.dataset == key])
    if made is not None:
        return made
    taken = last_read(graph, key)
    return taken[1] if taken else None


def last_read(graph: Graph, key: Key) -> tuple[Moment, DatasetVersion] | None:
    """5.5: the external version that the run with the greatest moment read, else the initial one; 10.7: or a retained read."""
    readers = [
        (graph.runs[run_id].moment or (0, ""), found[key]) for run_id, found in graph.reads.items() if key in found
    ]
    readers += [graph.retained.read[key]] if key in graph.retained.read else []
    external = [(moment, version) for moment, version in readers if version.external is not None]
    return max(external or readers, key=lambda pair: pair[0], default=None)


def dataset_facets(events: list[Event], key: Key) -> Facets:
    """6.8: the facets of a dataset over all events that name it, deleted ones still among them."""
    return merged((event.order, facets) for event, facets in naming(events, key))


def naming(events: list[Event], key: Key) -> Iterator[tuple[Event, Facets]]:
    """6.8: every event that names the dataset, with the facets that it gives it."""
    for event in events:
        if event.dataset == key:
            yield event, event.dataset_facets
        for listed in (event.inputs.get(key), event.outputs.get(key)):
            if listed is not None:
                yield event, listed.facets


def job_facets(events: list[Event], key: Key) -> Facets:
    """6.8: a job facet counts for the job that its own event names."""
    return without_deleted(merged((event.order, event.job_facets) for event in events if event.job == key))


def job_parent(events: list[Event], key: Key) -> Key | None:
    """2.8: the parent's job named by the last event that names this job and gives one."""
    given = [(event.order, parent_of(event.run_facets)[1]) for event in events if event.job == key]
    return last_key((order, parent) for order, parent in given if parent is not None)


def dropped(graph: Graph, key: Key) -> bool:
    """7.1: the merged facet states DROP and no version is later, except those that state DROP themselves."""
    carrying = [event for event, facets in naming(graph.events, key) if "lifecycleStateChange" in facets]
    if not drops(without_deleted(dataset_facets(graph.events, key))):
        return False
    said = max(event.order for event in carrying)[0]
    versions = [version for version in graph.made if version.dataset == key and not version.drops]
    return all(version.moment is None or version.moment[0] <= said for version in versions)


def named_jobs(graph: Graph) -> set[Key]:
    """1.7: jobs of events, parents' jobs of merged facets, parents of jobs."""
    named = {event.job for event in graph.events if event.job is not None}
    parents = {run.parent[1] for run in graph.runs.values()} | {job_parent(graph.events, job) for job in named}
    return named | {parent for parent in parents if parent is not None}


def named_datasets(graph: Graph) -> set[Key]:
    """1.7: inputs, outputs and datasets of events, and the aliases of merged facets."""
    named = {event.dataset for event in graph.events if event.dataset is not None}
    named |= {key for event in graph.events for key in (*event.inputs, *event.outputs)}
    return named | {alias for key in named for alias in symlinks(graph.events, key)}


def symlinks(events: list[Event], key: Key) -> set[Key]:
    """6.7: the keys that a dataset's merged facet `symlinks` gives."""
    facet = without_deleted(dataset_facets(events, key)).get("symlinks")
    found = {key_of(item) for item in objects(member(facet, "identifiers"))}
    return {alias for alias in found if alias is not None}


def job_lines(graph: Graph) -> Iterator[Line]:
    """9: `job` and `jobVersion`."""
    for job in named_jobs(graph):
        versions = graph.versions.get(job, [])
        yield {
            "kind": "job",
            "key": job,
            "parent": job_parent(graph.events, job),
            "current": versions[-1].id if versions else None,
            "facets": job_facets(graph.events, job),
        }
        for version, following in pairwise([*versions, None]):
            assert version is not None
            yield job_version_line(version, following)


def job_version_line(version: JobVersion, following: JobVersion | None) -> Line:
    """4.1, 4.2."""
    return {
        "kind": "jobVersion",
        "id": version.id,
        "job": version.step.job,
        "number": version.number,
        "from": shown_time(version.step.moment[0]),
        "to": shown_time(following.step.moment[0]) if following else None,
        "madeBy": version.step.run,
        "codeVersion": version.code,
        "lineageUnknown": version.unknown or None,
        "inputs": sorted(version.inputs),
        "outputs": sorted(version.outputs),
        "runs": version.removed + len(version.runs),
    }


def run_lines(graph: Graph) -> Iterator[Line]:
    """9: `run`, `runSide` and the placeholders of 2.8."""
    belongs = {run: version.id for made in graph.versions.values() for version in made for run in version.runs}
    for run in graph.runs.values():
        yield run_line(graph, run, belongs.get(run.id))
        for side, datasets in (("input", run.inputs), ("output", run.outputs)):
            for key, listed in datasets.items():
                if listed.side_facets:
                    yield {"kind": "runSide", "run": run.id, "side": side, "dataset": key, "facets": listed.side_facets}
    for parent in {*(run.parent[0] for run in graph.runs.values()), *graph.retained.removed} - {None, *graph.runs}:
        yield {"kind": "run", "id": parent, "placeholder": True}


def run_line(graph: Graph, run: Run, version: str | None) -> Line:
    """9: a run that is not versioned has no version, and lists its keys alone."""
    ready = run.moment is not None
    reads = graph.reads.get(run.id, {})
    return {
        "kind": "run",
        "id": run.id,
        "job": run.job,
        "state": run.state,
        "startedAt": None if run.started is None else shown_time(run.started),
        "endedAt": None if run.ended is None else shown_time(run.ended),
        "version": version,
        "parent": run.parent[0],
        "conflicts": run.conflicts or None,
        "reads": [[key, reads[key].id] if ready else [key] for key in sorted(run.inputs)],
        "writes": [[key, identifier(key, run.id)] if ready else [key] for key in sorted(run.outputs)],
        "facets": run.run_facets,
    }


def dataset_lines(graph: Graph) -> Iterator[Line]:
    """9: `dataset` and `datasetVersion`."""
    datasets = named_datasets(graph)
    links = {key: symlinks(graph.events, key) for key in datasets}
    for key in datasets:
        aliases = (links[key] | {other for other in datasets if key in links[other]}) - {key}
        current = current_dataset_version(graph, key)
        yield {
            "kind": "dataset",
            "key": key,
            "current": current.id if current else None,
            "dropped": dropped(graph, key) or None,
            "aliases": sorted(aliases) or None,
            "facets": without_deleted(dataset_facets(graph.events, key)),
        }
    versions = [*graph.made, *(version for found in graph.reads.values() for version in found.values())]
    versions += [version for _, version in graph.retained.read.values()]
    for version in {version.id: version for version in versions}.values():
        yield dataset_version_line(version)


def dataset_version_line(version: DatasetVersion) -> Line:
    """9: `datasetVersion`."""
    return {
        "kind": "datasetVersion",
        "id": version.id,
        "dataset": version.dataset,
        "at": None if version.moment is None else shown_time(version.moment[0]),
        "madeBy": version.run,
        "external": version.external,
        "state": version.state,
        "schema": version.schema,
    }


def edge_lines(graph: Graph) -> Iterator[Line]:
    """6.1, 6.2, 6.5, 6.6: `edge` and `columnEdge`, of each job's current version."""
    for job, versions in graph.versions.items():
        current = versions[-1]
        source = entries_source(lineage_sources(graph, job, current.step.moment))
        entries = list(source.entries) if source else None
        for key in current.inputs:
            yield edge_line(current, ["dataset", *key], ["job", *job], None)
        for key in current.outputs:
            fed = None
            if entries is not None:
                fed = sorted(named_inputs([entry for entry in entries if key_of(entry) == key]) & current.inputs)
            yield edge_line(current, ["job", *job], ["dataset", *key], fed)
            yield from column_lines(current, lineage_sources(graph, job), entries, key)


def lineage_sources(graph: Graph, job: Key, since: Moment | None = None) -> list[Step]:
    """6.5, 6.6: the possible sources of columns and entries of a job; 10.8: some are removed."""
    steps = [*graph.steps.get(job, []), *graph.retained.lineage_sources.get(job, [])]
    return [step for step in steps if since is None or step.moment >= since]


def edge_line(version: JobVersion, source: list[str], target: list[str], inputs: list[Key] | None) -> Line:
    """6.2."""
    return {
        "kind": "edge",
        "from": source,
        "to": target,
        "version": version.id,
        "since": shown_time(version.step.moment[0]),
        "lastRun": version.last_run,
        "runs": version.removed + len(version.runs),
        "inputs": inputs,
    }


def column_lines(
    version: JobVersion, steps: list[Step], entries: list[dict[str, Any]] | None, output: Key
) -> Iterator[Line]:
    """6.5, 6.6: the column edges of one output."""
    for target, edge in output_edges(steps, entries, output):
        yield {
            "kind": "columnEdge",
            "from": [*edge.dataset, edge.field],
            "to": [*output, target],
            "job": version.step.job,
            "type": edge.type,
            "subtype": edge.subtype,
            "masking": edge.masking or None,
            "description": edge.description,
            "undeclared": edge.dataset not in version.inputs or None,
        }
