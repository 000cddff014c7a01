"""All datasets and jobs within reach of a start in the current graph, read by one statement with their status.

Theory of operation. A subgraph has no more nodes than an answer may have, the nearest ones: the database expands breadth-first
and visits no node twice, so neither the number of paths nor a hub costs anything. A node is *closed* if the subgraph has every
neighbour of it that a statement about the node would return. The neighbours of closed nodes are taken from the subgraph; those
of all others are read as if there were no subgraph. The inputs that edges list (specification 6.6) are not considered when the
subgraph is read: it may contain more than what is reached, and never less of a closed node.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from headwater_graph.queries.answers import Direction, Node
from headwater_graph.queries.catalog.node_status import JOB_STATUS, MAX_SILENT, RUN_TIMEOUT, SILENT, NodeStatus
from headwater_graph.queries.lineage.graph_neighbours import listed_inputs
from headwater_graph.queries.lineage.neighbours import Neighbour
from headwater_graph.queries.lineage.scope import TraversalLimits
from headwater_graph.queries.reader import GraphReader, Row
from headwater_graph.store.node_summary import NodeSummary, summaries_of

MAX_NODES = 20_000
"""How many nodes one statement returns: what a transaction holds in memory without trouble."""


@dataclass(frozen=True, slots=True)
class Subgraph:
    """Nodes by ids that are valid within the answer: their ``keys``, their ``names``, and the ids of their neighbours.

    ``listed`` has the inputs of those edges that list some, ``aliased`` the keys of datasets that have aliases. A subgraph with
    too many edges is not ``whole``: it has none of these. ``status`` is by key, of the nodes with a summary; ``deferred`` is
    how much deferred work there is (None: not read).
    """

    keys: dict[int, str] = field(default_factory=dict)
    names: dict[int, tuple[str, str]] = field(default_factory=dict)
    neighbours: dict[int, list[int]] = field(default_factory=dict)
    listed: dict[tuple[int, int], frozenset[str] | None] = field(default_factory=dict)
    aliased: frozenset[str] = frozenset()
    whole: bool = False
    status: dict[str, NodeStatus] = field(default_factory=dict)
    deferred: int | None = None

    def closed(self, fan: int) -> dict[str, list[Neighbour]]:
        """Return the neighbours, without versions, of all closed nodes that have fewer than ``fan``."""
        closed = {}
        for at, key in self.keys.items():
            ids = self.neighbours.get(at, ())
            if len(ids) < fan and all(to in self.keys for to in ids):
                closed[key] = [self._neighbour(at, to) for to in ids]
        return closed

    def _neighbour(self, at: int, to: int) -> Neighbour:
        key = self.keys[to]
        return Neighbour(self.keys[at], key, self.names[to], None, self.listed.get((at, to)), key in self.aliased)

    def without_aliases(self) -> frozenset[str]:
        """Return the keys of nodes that have no aliases."""
        return frozenset(self.keys.values()) - self.aliased


EMPTY = Subgraph()
"""Nothing was read: every neighbour needs a statement."""


def read_subgraph(
    reader: GraphReader, start: Node, direction: Direction, limits: TraversalLimits, now: datetime
) -> Subgraph:
    """Return what is within the limits of a dataset or job in the current graph."""
    rows = reader.rows(
        "lineage/subgraph",
        direction=direction,
        key=start.key,
        # The jobs beyond the last datasets are counted where the depth limit truncates: specification 6.3.
        hops=None if limits.depth is None else 2 * limits.depth + 1,
        nodes=min(limits.nodes, MAX_NODES),
        rows=limits.rows,
        before=now - RUN_TIMEOUT,
        silent=MAX_SILENT,
    )
    return _subgraph(rows[0]) if rows else EMPTY


def _subgraph(row: Row) -> Subgraph:
    summaries = summaries_of(row["summaries"])
    neighbours: defaultdict[int, list[int]] = defaultdict(list)
    for at, to in zip(row["near"], row["far"], strict=True):
        neighbours[at].append(to)
    return Subgraph(
        dict(zip(row["ids"], [summary.key for summary in summaries], strict=True)),
        dict(zip(row["ids"], [summary.name for summary in summaries], strict=True)),
        dict(neighbours),
        {(at, to): listed_inputs(text) for at, to, text in row["listed"]},
        frozenset([summary.key for summary in summaries if summary.aliased]),
        row["whole"],
        _status(summaries, row["silent"]),
        row["deferred"],
    )


def _status(summaries: Sequence[NodeSummary], silent: Iterable[str]) -> dict[str, NodeStatus]:
    status = {summary.key: (summary.marks, summary.facts) for summary in summaries if summary.marks is not None}
    for key in status.keys() & set(silent):
        names, facts = status[key]
        status[key] = tuple(name for name in JOB_STATUS if name == SILENT or name in names), facts
    return status
