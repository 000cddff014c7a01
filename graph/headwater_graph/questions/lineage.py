"""Lineage of datasets and jobs: upstream and downstream, now or as of a time (SPEC 6)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from headwater_avro.times import LATEST, micros_of

from .activity import active_keys
from .answers import Answer, Cut, Direction, Edge, Node
from .keys import dataset_key
from .marks import time_text, told, with_marks
from .reader import GraphReader, Row
from .walk import Hop, Limits, PastHop, Walk

CHUNK = 1_000
"""How many nodes one statement asks for."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Which part of the graph is meant: how far, as of which time (SPEC 6.4), and of which jobs.

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
    """The neighbours of datasets and jobs in Neo4j."""

    reader: GraphReader
    direction: Direction
    scope: Scope = CURRENT
    _active: dict[str, bool] = field(default_factory=dict)
    _ahead: dict[str, list[Hop]] = field(default_factory=dict)

    def jobs(self, datasets: Sequence[str], rows: int) -> list[Hop]:
        is_now = self.scope.as_of is None
        hops = self._level(datasets, rows) if is_now else self._hops(f"{self.direction}_jobs", datasets, rows)
        return hops if self.scope.active_since is None else self._of_active(hops, self.scope.active_since)

    def datasets(self, jobs: Sequence[str], rows: int) -> list[Hop]:
        known = [hop for job in jobs for hop in self._ahead.get(job, ())]
        left = [job for job in jobs if job not in self._ahead]
        return (known + (self._hops(f"{self.direction}_datasets", left, rows) if left else []))[:rows]

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
        found = self.reader.rows("aliases", keys=datasets, rows=rows)
        return [Hop(row["at"], row["key"], (row["namespace"], row["name"])) for row in found]

    def past(self, datasets: Sequence[str]) -> list[PastHop]:
        rows = past_producers(self.reader, datasets, self.scope.limits.neighbours, self.scope.as_of)
        return [past_hop(row) for row in rows]

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


def _hop(at: str, key: str, namespace: str, name: str, version: str | None, listed: str | None, aliased: bool) -> Hop:
    inputs = None if listed is None else frozenset(dataset_key(*each) for each in json.loads(listed))
    return Hop(at, key, (namespace, name), version, inputs, aliased)


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
    """Return what feeds a dataset or job (upstream) or what it feeds (downstream), with all that was cut (SPEC 6.3)."""
    walk = walked(reader, start, direction, scope)
    nodes = with_marks(reader, walk.nodes.values(), now, scope.as_of)
    nodes = _with_writers(reader, nodes, walk, scope.as_of or now)
    question = {"direction": direction, "start": list(start.name), "kind": start.kind} | scope.value()
    edges = in_order(walk.edges.values(), nodes)
    return Answer(question, (start.key,), nodes, edges, tuple(walk.cuts), unsettled(reader))


def unsettled(reader: GraphReader) -> tuple[str, ...]:
    """Return a sentence where the writer still owes work, so that the answer may change without new events."""
    owed = sum(row["owed"] for row in reader.rows("owed"))
    return (f"the graph is being settled: {owed} pieces of work are left",) if owed else ()


def in_order(edges: Iterable[Edge], nodes: Iterable[Node]) -> tuple[Edge, ...]:
    """Return edges by the names of their ends, so that equal answers are equal texts."""
    order = sorted(nodes, key=lambda node: (node.depth, node.kind, node.name))
    place = {node.key: number for number, node in enumerate(order)}
    return tuple(sorted(edges, key=lambda e: (place[e.source], place[e.target], e.kind, e.past, _tie(e))))


def _tie(edge: Edge) -> str:
    """What tells edges between the same columns apart; of other edges there is one of a kind."""
    return str(edge.facts) if edge.kind == "derives" else ""


def walked(reader: GraphReader, start: Node, direction: Direction, scope: Scope, target: str | None = None) -> Walk:
    """Walk from a dataset or job, until ``target`` is met, and return the walk: nodes and edges without their marks."""
    walk = Walk(GraphSteps(reader, direction, scope), direction, scope.limits, scope.past, target=target)
    walk.go(walk.start_at(start), 0 if start.kind == "dataset" else 1)
    return walk


def _with_writers(reader: GraphReader, nodes: tuple[Node, ...], walk: Walk, until: datetime) -> tuple[Node, ...]:
    """Name the last writer where there are several writers (SPEC 6.9), and where there is none any more."""
    writers: dict[str, set[str]] = {}
    for edge in walk.edges.values():
        if edge.kind == "produces" and not edge.past:
            writers.setdefault(edge.target, set()).add(edge.source)
    shared = sorted(dataset for dataset, jobs in writers.items() if len(jobs) > 1)
    orphans = _orphans(nodes, writers, walk.cuts) if walk.direction == "upstream" else []
    rows = {row["at"]: row for row in past_producers(reader, [*shared, *orphans], 0, until)}
    return tuple(
        _with_writer(node, rows[node.key], node.key in writers) if node.key in rows else node for node in nodes
    )


def _with_writer(node: Node, row: Row, written_now: bool) -> Node:
    marks = node.marks if written_now else (*node.marks, "no writer now")
    return replace(node, marks=marks, facts={**node.facts, "lastWriter": _writer(row)})


def _orphans(nodes: Iterable[Node], writers: dict[str, set[str]], cuts: Iterable[Cut]) -> list[str]:
    cut = {each.at for each in cuts}
    return sorted(n.key for n in nodes if n.kind == "dataset" and n.key not in writers and n.key not in cut)


def _writer(row: Row) -> dict[str, Any]:
    facts = {
        "job": [row["namespace"], row["name"]],
        "version": row["version"],
        "since": time_text(row["since"]),
        "until": time_text(row["until"]),
        "run": row["run"],
        "state": row["state"],
        "at": time_text(row["time"]),
    }
    return told(facts)
