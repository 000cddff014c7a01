"""Setting a horizon (specification 7) on a graph that is folded from all its events at once: simple, slow, obvious.

Part of the second implementation of the specification (`model.py`); what the specification leaves open is as the product's rule of the horizon says it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from .columns import entry_teller, facet_teller
from .datasets import DatasetVersion, drops
from .folding import JobVersion
from .model import (
    NOTHING,
    Graph,
    Past,
    accepted,
    current_dataset_version,
    dataset_facets,
    dump_of,
    folded,
    last_read,
    lineage_sources,
    named_datasets,
)
from .records import TERMINAL, Moment, Step, precedence
from .wire import Event, Key


@dataclass(frozen=True, slots=True)
class Told:
    """Events that are there, on what is kept; `bounds`: what is older is refused of a run, None: nothing of it is."""

    living: list[Event]
    past: Past
    bounds: dict[str, int | None]


def dump_behind(first: Iterable[bytes], then: Sequence[tuple[int, Iterable[bytes]]]) -> bytes:
    """9: the dump after some messages, then each time a horizon and more messages."""
    living = accepted(first)
    told = Told(living, NOTHING, {event.run: None for event in living if event.run is not None})
    for horizon, messages in then:
        told = heard(retained(told, horizon), horizon, accepted(messages))
    return dump_of(folded(told.living, told.past))


def heard(told: Told, horizon: int, events: list[Event]) -> Told:
    """The events that are not refused."""
    taken = [event for event in events if not refused(told, horizon, event)]
    new: dict[str, int | None] = {
        event.run: horizon for event in taken if event.run is not None and event.run not in told.bounds
    }
    living = {event.text: event for event in [*told.living, *taken]}
    return Told([living[text] for text in sorted(living)], told.past, told.bounds | new)


def refused(told: Told, horizon: int, event: Event) -> bool:
    if event.run in told.past.removed:
        return True
    bound = told.bounds.get(event.run, horizon) if event.run is not None else horizon
    return bound is not None and event.time < bound


def retained(told: Told, horizon: int) -> Told:
    """What stays, and what is kept of what goes."""
    graph = folded(told.living, told.past)
    last: dict[str | None, int] = {}
    for event in told.living:
        last[event.run] = max(last.get(event.run, event.time), event.time)
    stay = {run.id for run in graph.runs.values() if run.state not in TERMINAL or last[run.id] >= horizon}
    kept = {job: list(kept_versions(graph, job, stay, horizon)) for job in graph.versions}
    versions = list(staying_versions(graph, stay, horizon))
    made = [version for version in versions if version.run is not None and version.run not in stay]
    texts = {version.id for version in versions if version.run is None}
    makers = [one.step.run for listed in kept.values() for one in listed] + [one.run for one in made]
    past = Past(
        told=graph.events,
        kept={job: listed for job, listed in kept.items() if listed},
        made=made,
        read=dict(kept_reads(graph)),
        lineage_sources={job: list(kept_tellers(graph, job, stay, horizon)) for job in graph.versions},
        removed=frozenset(maker for maker in makers if maker is not None),
    )
    living = [event for event in told.living if lives(event, stay, horizon, texts)]
    return Told(living, past, {run: bound for run, bound in told.bounds.items() if run in stay})


def lives(event: Event, stay: set[str], horizon: int, versions: set[str]) -> bool:
    """Whether an event still counts: of a run that stays, or not older, or a DatasetEvent whose version stays."""
    if event.run is not None:
        return event.run in stay
    if event.job is not None:
        return event.time >= horizon
    return any(version.id in versions for version in folded([event], NOTHING).made)


def kept_versions(graph: Graph, job: Key, stay: set[str], horizon: int) -> Iterator[JobVersion]:
    """The versions from the base on whose makers go, as they were at the horizon."""
    edge: Moment = (horizon, "")
    old = [version for version in graph.versions[job] if version.step.moment < edge]
    early = [step.moment for step in graph.steps.get(job, []) if step.run in stay and step.moment < edge]
    cut = min([*early, edge])
    base = max([at for at, version in enumerate(old) if version.step.moment < cut], default=0)
    for version in old[base:]:
        if version.step.run not in stay:
            going = [step.moment for step in version.members if step.run is not None and step.run not in stay]
            codes = [step.code for step in version.members if step.moment < edge and step.code is not None]
            yield replace(
                version,
                first_code=version.first_code or next(iter(codes), None),
                kept=True,
                gone=version.gone + len(going),
                last=max([*going, *([version.last] if version.last else [])], default=None),
            )


def staying_versions(graph: Graph, stay: set[str], horizon: int) -> Iterator[DatasetVersion]:
    """The dataset versions with a moment that stay."""
    read = {version.id for run_id, found in graph.reads.items() if run_id in stay for version in found.values()}
    for version in graph.made:
        of_same = [one for one in graph.made if one.dataset == version.dataset]
        before = [one for one in of_same if one.moment is not None and one.moment < (horizon, "")]
        held = [max(of_same, key=moment_of), *sorted(before, key=moment_of)[-1:]]
        if drops(precedence(dataset_facets(graph.events, version.dataset))):
            held += sorted((one for one in of_same if not one.drops), key=moment_of)[-1:]
        if version.run in stay or version.id in read or version not in before or version in held:
            yield version


def moment_of(version: DatasetVersion) -> Moment:
    assert version.moment is not None
    return version.moment


def kept_reads(graph: Graph) -> Iterator[tuple[Key, tuple[Moment, DatasetVersion]]]:
    """The reads that make an initial or external version current."""
    for key in named_datasets(graph):
        current = current_dataset_version(graph, key)
        read = last_read(graph, key)
        if current is not None and current.moment is None and read is not None:
            yield key, read if current.external is not None else ((0, ""), current)


def kept_tellers(graph: Graph, job: Key, stay: set[str], horizon: int) -> Iterator[Step]:
    """Who goes and tells what is current of a job: entries alone, or the columns of one output alone."""
    current = graph.versions[job][-1]
    gone = {step.moment for step in graph.past.lineage_sources.get(job, [])}

    def goes(step: Step) -> bool:
        return step.moment in gone or (step.run not in stay if step.run is not None else step.moment[0] < horizon)

    explicit = entry_teller(lineage_sources(graph, job, current.step.moment))
    if explicit is not None and goes(explicit):
        yield replace(explicit, output_facets={})
    for output in current.outputs:
        lineage_source = facet_teller(lineage_sources(graph, job), output)
        if lineage_source is not None and goes(lineage_source):
            yield replace(lineage_source, entries=(), output_facets={output: lineage_source.output_facets[output]})
