"""Lineage of datasets and jobs: upstream and downstream, now or as of a time (specification 6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from headwater_avro.collection import collection_paused
from headwater_avro.times import LATEST, format_time, micros_of
from headwater_graph.queries.answers import Answer, Cut, Direction, Edge, Node, nearest_first
from headwater_graph.queries.catalog.activity import active_keys
from headwater_graph.queries.catalog.node_status import time_text, told, with_marks
from headwater_graph.queries.lineage.level_traversal import Swept, swept
from headwater_graph.queries.lineage.subgraph import NOWHERE, Subgraph, listed, subgraph
from headwater_graph.queries.lineage.traversal import VERSION_TO_COME, Hop, Limits, PastHop, Walk
from headwater_graph.queries.reader import GraphReader, Row

CHUNK = 1_000
"""How many nodes one statement asks for."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Which part of the graph is meant: how far, as of which time (specification 6.4), and of which jobs.

    ``past`` goes on through the last writer of datasets that no current job writes; ``active_since`` leaves out jobs
    of which no run has ended since.
    """

    limits: Limits = field(default_factory=Limits)
    as_of: datetime | None = None
    past: bool = False
    active_since: datetime | None = None

    def value(self) -> dict[str, Any]:
        """Return it as JSON values, for the question of an answer."""
        times = {"asOf": time_text(self.as_of), "activeSince": time_text(self.active_since)}
        return {"depth": self.limits.depth, **told({**times, "past": self.past or None})}


CURRENT = Scope()
"""The graph as it is now, within the default limits."""


@dataclass(frozen=True, slots=True)
class GraphSteps:
    """The neighbours of datasets and jobs in Neo4j.

    Nobody is asked for the hops of nodes that are ``known``, nor for other names of those that are ``nameless``.
    """

    reader: GraphReader
    direction: Direction
    scope: Scope = CURRENT
    known: Mapping[str, Sequence[Hop]] = field(default_factory=dict)
    nameless: frozenset[str] = frozenset()
    _active: dict[str, bool] = field(default_factory=dict)
    _ahead: dict[str, list[Hop]] = field(default_factory=dict)

    def jobs(self, datasets: Sequence[str], rows: int) -> list[Hop]:
        is_now = self.scope.as_of is None
        known, left = self._known(datasets)
        hops = self._level(left, rows) if is_now else self._hops(f"{self.direction}_jobs", left, rows)
        hops = (known + hops)[:rows]
        return hops if self.scope.active_since is None else self._of_active(hops, self.scope.active_since)

    def datasets(self, jobs: Sequence[str], rows: int) -> list[Hop]:
        known, asked = self._known(jobs)
        known += [hop for job in asked for hop in self._ahead.get(job, ())]
        left = [job for job in asked if job not in self._ahead]
        return (known + self._hops(f"{self.direction}_datasets", left, rows))[:rows]

    def _known(self, keys: Sequence[str]) -> tuple[list[Hop], list[str]]:
        """The hops of the nodes of which all are known, and the other nodes."""
        hops = self.known
        return [hop for key in keys for hop in hops.get(key, ())], [key for key in keys if key not in hops]

    def _level(self, datasets: Sequence[str], rows: int) -> list[Hop]:
        """The jobs of some datasets; what is on their far side comes in the same answer and is kept until asked for."""
        near: list[Hop] = []
        for first in range(0, len(datasets), CHUNK):
            chunk, left = list(datasets[first : first + CHUNK]), rows - len(near)
            if left > 0:
                limits = {"fan": self.scope.limits.neighbours, "rows": left, "farRows": rows}
                (row,) = self.reader.rows(f"{self.direction}_level", keys=chunk, **limits)
                hops = [_hop(*hop) for hop in row["near"]]
                # What was cut is asked for again, of the jobs that are still wanted alone.
                if len(row["far"]) < rows:
                    self._keep(hops, [_hop(*hop) for hop in row["far"]])
                near += hops
        return near

    def _keep(self, near: Sequence[Hop], far: Sequence[Hop]) -> None:
        self._ahead.update({hop.key: [] for hop in near})
        for hop in far:
            self._ahead[hop.at].append(hop)

    def aliases(self, datasets: Sequence[str], rows: int) -> list[Hop]:
        asked = [key for key in datasets if key not in self.nameless]
        found = self.reader.rows("aliases", keys=asked, rows=rows) if asked else []
        return [Hop(row["at"], row["key"], (row["namespace"], row["name"])) for row in found]

    def past(self, datasets: Sequence[str]) -> list[PastHop]:
        rows = past_producers(self.reader, datasets, self.scope.limits.neighbours, self.scope.as_of)
        # Of a run that retention removed the job may be unknown: there is no way on.
        return [past_hop(row) for row in rows if row["key"] is not None]

    def totals(self, nodes: Sequence[str]) -> dict[str, int]:
        question, more = self._asked(f"{self.direction}_degrees")
        return {row["at"]: row["total"] for row in self.reader.rows(question, keys=nodes, **more)}

    def _hops(self, question: str, keys: Sequence[str], rows: int) -> list[Hop]:
        question, more = self._asked(question)
        hops: list[Hop] = []
        for first in range(0, len(keys), CHUNK):
            chunk, left = list(keys[first : first + CHUNK]), rows - len(hops)
            if left > 0:
                found = self.reader.rows(question, keys=chunk, fan=self.scope.limits.neighbours, rows=left, **more)
                hops += [_hop(*row["hop"]) for row in found]
        return hops

    def _asked(self, question: str) -> tuple[str, dict[str, object]]:
        time = self.scope.as_of
        return (question, {}) if time is None else (f"{question}_at", {"time": time})

    def _of_active(self, hops: Sequence[Hop], since: datetime) -> list[Hop]:
        """The hops to jobs of which a run has ended since the scope's time."""
        fresh = {hop.key for hop in hops} - self._active.keys()
        if fresh:
            alive = active_keys(self.reader, "job", fresh, since)
            self._active.update({key: key in alive for key in fresh})
        return [hop for hop in hops if self._active[hop.key]]


def _hop(at: str, key: str, namespace: str, name: str, version: str | None, inputs: str | None, aliased: bool) -> Hop:
    return Hop(at, key, (namespace, name), version, listed(inputs), aliased)


def past_hop(row: Row) -> PastHop:
    """Return the step of a walk that a row of ``past_producers`` tells."""
    inputs = tuple((key, (namespace, name)) for key, namespace, name in row["inputs"])
    return PastHop(row["at"], row["key"], (row["namespace"], row["name"]), row["version"], inputs)


def past_producers(reader: GraphReader, datasets: Sequence[str], fan: int, until: datetime | None = None) -> list[Row]:
    """Return who wrote each of some datasets last, until a time, whether or not it still does."""
    if not datasets:
        return []
    micros = LATEST if until is None else micros_of(until)
    return reader.rows("past_producers", keys=list(datasets), fan=fan, until=micros)


def lineage(reader: GraphReader, start: Node, direction: Direction, now: datetime, scope: Scope = CURRENT) -> Answer:
    """Return what feeds a dataset or job (upstream) or what it feeds (downstream), with all that was cut (specification 6.3)."""
    with collection_paused():
        # One statement foresees the current graph alone.
        near = NOWHERE if scope.as_of else subgraph(reader, start, direction, scope.limits, now)
        found = _found(reader, start, direction, scope, near)
        writers = _last_writers(reader, found, direction, scope.as_of or now)
        marked = with_marks(reader, found.nodes, now, scope.as_of, near.marks)
        edges, marked = found.edges(marked), _with_writers(marked, writers)
    question = {"direction": direction, "start": list(start.name), "kind": start.kind} | scope.value()
    notes = (*_unsettled(reader, near.deferred), *_forgotten(reader, scope.as_of))
    return Answer(question, (start.key,), marked, edges, found.cuts, notes)


@dataclass(frozen=True, slots=True)
class Walked:
    """What a walk has found: nodes in the order of answers, without marks, edges in any order, and cuts; as Swept."""

    nodes: tuple[Node, ...]
    met: Collection[Edge]
    cuts: tuple[Cut, ...]

    def writers(self) -> Counter[str]:
        """Return how many jobs write each dataset now, by its key."""
        return Counter(edge.target for edge in self.met if edge.kind == "produces" and not edge.past)

    def edges(self, marked: Sequence[Node]) -> tuple[Edge, ...]:
        """Return the edges in the order of answers, with the versions of their jobs, from the nodes with their facts."""
        facts = {node.key: {"version": node.facts.get("version")} for node in marked if node.kind == "job"}
        return tuple(
            Edge(e.source, e.target, e.kind, facts[e.target if e.kind == "feeds" else e.source])
            if e.facts is VERSION_TO_COME
            else e
            for e in in_order(self.met, marked)
        )


def _found(reader: GraphReader, start: Node, direction: Direction, scope: Scope, near: Subgraph) -> Swept | Walked:
    """What is within the scope: swept where the region tells all of it, walked elsewhere."""
    if not scope.past and scope.active_since is None and (found := swept(near, start, direction, scope.limits)):
        return found
    walk = walked(reader, start, direction, scope, near=near)
    return Walked(nearest_first(walk.nodes.values()), walk.edges.values(), tuple(walk.cuts))


def _unsettled(reader: GraphReader, deferred: int | None) -> tuple[str, ...]:
    """A sentence where the writer still owes work, so that the answer may change without new events."""
    deferred = sum(row["owed"] for row in reader.rows("owed")) if deferred is None else deferred
    return (f"the graph has {deferred} pieces of deferred work left",) if deferred else ()


def _forgotten(reader: GraphReader, as_of: datetime | None) -> tuple[str, ...]:
    """A sentence where retention has removed versions that were valid then (specification 7)."""
    horizon = max((row["horizon"] or 0 for row in reader.rows("horizon")), default=0) if as_of else 0
    if as_of is None or micros_of(as_of) >= horizon:
        return ()
    return (f"retention has removed what was no longer valid at {format_time(horizon)}: some of then may lack here",)


def in_order(edges: Iterable[Edge], nodes: Sequence[Node]) -> tuple[Edge, ...]:
    """Return edges in the order of their ends among the nodes, so that equal answers are equal texts.

    Edges with the same ends and of the same kind stay in the order given.
    """
    found, place = list(edges), {node.key: number for number, node in enumerate(nodes)}
    rank = {kind: 2 * number for number, kind in enumerate(sorted({edge.kind for edge in found}))}
    # One number of all that counts is made and compared faster than a tuple of it.
    last = 2 * len(rank)
    far = last * len(place)
    return tuple(sorted(found, key=lambda e: place[e.source] * far + place[e.target] * last + rank[e.kind] + e.past))


def walked(
    reader: GraphReader,
    start: Node,
    direction: Direction,
    scope: Scope,
    target: str | None = None,
    near: Subgraph = NOWHERE,
) -> Walk:
    """Walk from a dataset or job, until ``target`` is met, and return the walk: nodes and edges without their marks."""
    steps = GraphSteps(reader, direction, scope, near.hops(scope.limits.neighbours), near.nameless())
    walk = Walk(steps, direction, scope.limits, scope.past, target=target)
    walk.go(walk.start_at(start), 0 if start.kind == "dataset" else 1)
    return walk


def _last_writers(
    reader: GraphReader, found: Swept | Walked, direction: Direction, until: datetime
) -> dict[str, tuple[Row, bool]]:
    """Who wrote last, where several do (specification 6.9), and where none does any more: by dataset, and whether one does now."""
    writers = found.writers()
    shared = sorted(dataset for dataset, jobs in writers.items() if jobs > 1)
    orphans = _orphans(found.nodes, writers, found.cuts) if direction == "upstream" else []
    rows = past_producers(reader, [*shared, *orphans], 0, until)
    return {row["at"]: (row, row["at"] in writers) for row in rows}


def _with_writers(nodes: tuple[Node, ...], writers: dict[str, tuple[Row, bool]]) -> tuple[Node, ...]:
    return (
        tuple(_with_writer(node, *writers[node.key]) if node.key in writers else node for node in nodes)
        if writers
        else nodes
    )


def _with_writer(node: Node, row: Row, written_now: bool) -> Node:
    marks = node.marks if written_now else (*node.marks, "no writer now")
    return replace(node, marks=marks, facts={**node.facts, "lastWriter": _writer(row)})


def _orphans(nodes: Iterable[Node], writers: Container[str], cuts: Iterable[Cut]) -> list[str]:
    cut = {each.at for each in cuts}
    return sorted(n.key for n in nodes if n.kind == "dataset" and n.key not in writers and n.key not in cut)


def _writer(row: Row) -> dict[str, Any]:
    facts = {
        "job": None if row["key"] is None else [row["namespace"], row["name"]],
        "version": row["version"],
        "since": time_text(row["since"]),
        "until": time_text(row["until"]),
        "run": row["run"],
        "state": row["state"],
        "at": time_text(row["time"]),
    }
    return told(facts)
