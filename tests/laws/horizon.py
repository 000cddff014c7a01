"""Setting a horizon (specification 10) on a graph that is folded from all its events at once: simple and slow.

Part of the second implementation of the specification (`model.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from .columns import columns_source, entries_source
from .datasets import DatasetVersion, drops
from .folding import JobVersion
from .model import (
    NOTHING,
    Graph,
    Retained,
    accepted,
    current_dataset_version,
    dataset_facets,
    dump_of,
    folded,
    last_read,
    lineage_sources,
    named_datasets,
)
from .records import TERMINAL, Moment, Step, without_deleted
from .wire import Event, Key


@dataclass(frozen=True, slots=True)
class KnownEvents:
    """Events that are there, on what is retained; `bounds`: older events of a run are rejected, None: none are."""

    living: list[Event]
    retained: Retained
    bounds: dict[str, int | None]


def dump_behind(first: Iterable[bytes], then: Sequence[tuple[int, Iterable[bytes]]]) -> bytes:
    """9: the dump after some messages, then each time a horizon and more messages."""
    living = accepted(first)
    known = KnownEvents(living, NOTHING, {event.run: None for event in living if event.run is not None})
    for horizon, messages in then:
        known = with_events(with_horizon(known, horizon), horizon, accepted(messages))
    return dump_of(folded(known.living, known.retained))


def with_events(known: KnownEvents, horizon: int, events: list[Event]) -> KnownEvents:
    """The known events with those that are not rejected."""
    taken = [event for event in events if not rejected(known, horizon, event)]
    new: dict[str, int | None] = {
        event.run: horizon for event in taken if event.run is not None and event.run not in known.bounds
    }
    living = {event.text: event for event in [*known.living, *taken]}
    return KnownEvents([living[text] for text in sorted(living)], known.retained, known.bounds | new)


def rejected(known: KnownEvents, horizon: int, event: Event) -> bool:
    if event.run in known.retained.removed:
        return True
    bound = known.bounds.get(event.run, horizon) if event.run is not None else horizon
    return bound is not None and event.time < bound


def with_horizon(known: KnownEvents, horizon: int) -> KnownEvents:
    """What stays, and what is retained of what is removed (10.2 to 10.9)."""
    graph = folded(known.living, known.retained)
    last: dict[str | None, int] = {}
    for event in known.living:
        last[event.run] = max(last.get(event.run, event.time), event.time)
    stay = {run.id for run in graph.runs.values() if run.state not in TERMINAL or last[run.id] >= horizon}
    job_versions = {job: list(retained_versions(graph, job, stay, horizon)) for job in graph.versions}
    versions = list(staying_versions(graph, stay, horizon))
    made = [version for version in versions if version.run is not None and version.run not in stay]
    texts = {version.id for version in versions if version.run is None}
    makers = [version.step.run for listed in job_versions.values() for version in listed]
    makers += [version.run for version in made]
    retained = Retained(
        events=graph.events,
        job_versions={job: listed for job, listed in job_versions.items() if listed},
        made=made,
        read=dict(retained_reads(graph)),
        lineage_sources={job: list(retained_sources(graph, job, stay, horizon)) for job in graph.versions},
        removed=frozenset(maker for maker in makers if maker is not None),
    )
    living = [event for event in known.living if lives(event, stay, horizon, texts)]
    return KnownEvents(living, retained, {run: bound for run, bound in known.bounds.items() if run in stay})


def lives(event: Event, stay: set[str], horizon: int, versions: set[str]) -> bool:
    """Whether an event still counts: of a run that stays, or not older, or a DatasetEvent whose version stays."""
    if event.run is not None:
        return event.run in stay
    if event.job is not None:
        return event.time >= horizon
    return any(version.id in versions for version in folded([event], NOTHING).made)


def retained_versions(graph: Graph, job: Key, stay: set[str], horizon: int) -> Iterator[JobVersion]:
    """The versions from the base on whose makers are removed, as they were at the horizon (10.4, 10.5)."""
    edge: Moment = (horizon, "")
    old = [version for version in graph.versions[job] if version.step.moment < edge]
    early = [step.moment for step in graph.steps.get(job, []) if step.run in stay and step.moment < edge]
    first = min([*early, edge])
    base = max([at for at, version in enumerate(old) if version.step.moment < first], default=0)
    for version in old[base:]:
        if version.step.run not in stay:
            removed = [step.moment for step in version.members if step.run is not None and step.run not in stay]
            codes = [step.code for step in version.members if step.moment < edge and step.code is not None]
            yield replace(
                version,
                first_code=version.first_code or next(iter(codes), None),
                retained=True,
                removed=version.removed + len(removed),
                last=max([*removed, *([version.last] if version.last else [])], default=None),
            )


def staying_versions(graph: Graph, stay: set[str], horizon: int) -> Iterator[DatasetVersion]:
    """The dataset versions with a moment that stay (10.6)."""
    read = {version.id for run_id, found in graph.reads.items() if run_id in stay for version in found.values()}
    for version in graph.made:
        of_same = [other for other in graph.made if other.dataset == version.dataset]
        before = [other for other in of_same if other.moment is not None and other.moment < (horizon, "")]
        held = [max(of_same, key=moment_of), *sorted(before, key=moment_of)[-1:]]
        if drops(without_deleted(dataset_facets(graph.events, version.dataset))):
            held += sorted((other for other in of_same if not other.drops), key=moment_of)[-1:]
        if version.run in stay or version.id in read or version not in before or version in held:
            yield version


def moment_of(version: DatasetVersion) -> Moment:
    assert version.moment is not None
    return version.moment


def retained_reads(graph: Graph) -> Iterator[tuple[Key, tuple[Moment, DatasetVersion]]]:
    """The reads that make an initial or external version current (10.7)."""
    for key in named_datasets(graph):
        current = current_dataset_version(graph, key)
        read = last_read(graph, key)
        if current is not None and current.moment is None and read is not None:
            yield key, read if current.external is not None else ((0, ""), current)


def retained_sources(graph: Graph, job: Key, stay: set[str], horizon: int) -> Iterator[Step]:
    """The removed sources of what is current of a job: only their entries, or the columns of one output (10.8)."""
    current = graph.versions[job][-1]
    removed = {step.moment for step in graph.retained.lineage_sources.get(job, [])}

    def is_removed(step: Step) -> bool:
        return step.moment in removed or (step.run not in stay if step.run is not None else step.moment[0] < horizon)

    explicit = entries_source(lineage_sources(graph, job, current.step.moment))
    if explicit is not None and is_removed(explicit):
        yield replace(explicit, output_facets={})
    for output in current.outputs:
        source = columns_source(lineage_sources(graph, job), output)
        if source is not None and is_removed(source):
            yield replace(source, entries=(), output_facets={output: source.output_facets[output]})
