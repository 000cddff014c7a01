"""All that lies within reach of a dataset or job now, told by one statement: who is next to whom, and what marks each.

The law. A region holds no more nodes than an answer may, the nearest ones: the database goes breadth-first and looks at
no node twice, so neither the number of paths nor a hub costs anything. Of a node that a region *knows* it has every
neighbour that a question of the walk would be answered with; of all others the walk asks, as if there were no region.
Specification 6.6 is not looked at here: a region may hold more than what is reached, never less of what it knows.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from headwater_graph.queries.answers import Direction, Node
from headwater_graph.queries.catalog.node_status import JOB_MARKS, MAX_SILENT, RUN_TIMEOUT, SILENT, Marked
from headwater_graph.queries.keys import dataset_node_key
from headwater_graph.queries.lineage.traversal import Hop, Limits
from headwater_graph.queries.reader import GraphReader, Row
from headwater_graph.store.node_summary import NodeSummary, summaries_of

MAX_NODES = 20_000
"""How many nodes one statement tells of: what one transaction holds in memory without asking for much."""


@dataclass(frozen=True, slots=True)
class Subgraph:
    """How some nodes lie, by ids that hold within the answer: their ``keys`` and ``names``, and who is ``next_to`` whom.

    ``listed`` has the inputs of those edges that list some, ``aliased`` the keys of datasets with other names; not ``whole``
    is one of which nothing of this is told. ``marks`` are by key, of the nodes that keep theirs at hand; ``deferred`` is how much
    work is owed (None: not asked).
    """

    keys: dict[int, str] = field(default_factory=dict)
    names: dict[int, tuple[str, str]] = field(default_factory=dict)
    next_to: dict[int, list[int]] = field(default_factory=dict)
    listed: dict[tuple[int, int], frozenset[str] | None] = field(default_factory=dict)
    aliased: frozenset[str] = frozenset()
    whole: bool = False
    marks: dict[str, Marked] = field(default_factory=dict)
    deferred: int | None = None

    def hops(self, fan: int) -> dict[str, list[Hop]]:
        """Return the hops, without versions, of all nodes whose neighbours are all told of, and fewer than ``fan``."""
        hops = {}
        for at, key in self.keys.items():
            far = self.next_to.get(at, ())
            if len(far) < fan and all(to in self.keys for to in far):
                hops[key] = [self._hop(at, to) for to in far]
        return hops

    def _hop(self, at: int, to: int) -> Hop:
        key = self.keys[to]
        return Hop(self.keys[at], key, self.names[to], None, self.listed.get((at, to)), key in self.aliased)

    def nameless(self) -> frozenset[str]:
        """Return the keys of nodes that have no other names."""
        return frozenset(self.keys.values()) - self.aliased


NOWHERE = Subgraph()
"""Nothing is known: everything is asked for."""


def subgraph(reader: GraphReader, start: Node, direction: Direction, limits: Limits, now: datetime) -> Subgraph:
    """Return what is within the limits of a dataset or job in the current graph."""
    rows = reader.rows(
        f"{direction}_region",
        key=start.key,
        # The jobs beyond the last datasets are counted where the walk is cut: specification 6.3.
        hops=None if limits.depth is None else 2 * limits.depth + 1,
        nodes=min(limits.nodes, MAX_NODES),
        rows=limits.rows,
        before=now - RUN_TIMEOUT,
        silent=MAX_SILENT,
    )
    return _of(rows[0]) if rows else NOWHERE


def _of(row: Row) -> Subgraph:
    summaries = summaries_of(row["summaries"])
    next_to: defaultdict[int, list[int]] = defaultdict(list)
    for at, to in zip(row["near"], row["far"], strict=True):
        next_to[at].append(to)
    return Subgraph(
        dict(zip(row["ids"], [summary.key for summary in summaries], strict=True)),
        dict(zip(row["ids"], [summary.name for summary in summaries], strict=True)),
        dict(next_to),
        {(at, to): listed(text) for at, to, text in row["listed"]},
        frozenset([summary.key for summary in summaries if summary.aliased]),
        row["whole"],
        _marks(summaries, row["silent"]),
        row["owed"],
    )


def _marks(summaries: Sequence[NodeSummary], silent: Iterable[str]) -> dict[str, Marked]:
    marks = {summary.key: (summary.marks, summary.facts) for summary in summaries if summary.marks is not None}
    for key in marks.keys() & set(silent):
        marked, facts = marks[key]
        marks[key] = tuple(mark for mark in JOB_MARKS if mark == SILENT or mark in marked), facts
    return marks


def listed(inputs: str | None) -> frozenset[str] | None:
    """Return the keys of the inputs that an edge lists (specification 6.6), None if it lists none."""
    return None if inputs is None else frozenset(dataset_node_key(*each) for each in json.loads(inputs))
