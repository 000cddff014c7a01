"""One dataset or job by itself: its facets, its marks, and what is right next to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from headwater_graph.model.facet_properties import facets_of
from headwater_graph.queries.answers import Answer, Node
from headwater_graph.queries.lineage.lineage import Scope, lineage
from headwater_graph.queries.lineage.traversal import Limits
from headwater_graph.queries.reader import GraphReader

NEXT = Scope(Limits(depth=1, neighbours=100, nodes=400))
"""How much of what is next to a dataset or job is shown."""


@dataclass(frozen=True, slots=True)
class Entity:
    """A dataset or job with what is next to it, in ``upstream`` and ``downstream``.

    Of a dataset these are the jobs that write and read it under any of its names (specification 6.7); of a job the datasets that it
    names itself.
    """

    node: Node
    facets: dict[str, Any]
    aliases: tuple[Node, ...]
    upstream: tuple[Node, ...]
    downstream: tuple[Node, ...]
    cut: bool

    def value(self) -> dict[str, Any]:
        """Return it as JSON values."""
        sides = {"upstream": self.upstream, "downstream": self.downstream, "aliases": self.aliases}
        named = {side: [[node.kind, *node.name] for node in nodes] for side, nodes in sides.items()}
        head = {"node": [self.node.kind, *self.node.name], "marks": list(self.node.marks), **self.node.facts}
        return head | named | {"cut": self.cut, "facets": self.facets}


def entity(reader: GraphReader, node: Node, now: datetime, active_since: datetime | None = None) -> Entity:
    """Return a dataset or job with its facets and its neighbours in the current graph, jobs not in use since a time aside."""
    scope = replace(NEXT, active_since=active_since)
    up, down = (lineage(reader, node, direction, now, scope) for direction in ("upstream", "downstream"))
    rows = reader.rows(f"{node.kind}_facets", key=node.key)
    return Entity(
        node=up.node(node.key),
        facets=facets_of(rows[0]["facets"]) if rows else {},
        aliases=_aliases(up),
        upstream=_next_to(up),
        downstream=_next_to(down),
        cut=any(cut.why != "depth" for cut in (*up.cuts, *down.cuts)),
    )


def _aliases(answer: Answer) -> tuple[Node, ...]:
    return tuple(n for n in answer.nodes if n.kind == "dataset" and n.depth == 0 and n.key not in answer.start)


def _next_to(answer: Answer) -> tuple[Node, ...]:
    """The jobs of a dataset, the datasets of a job."""
    if answer.question["kind"] == "dataset":
        return tuple(node for node in answer.nodes if node.kind == "job" and node.depth == 1)
    (job,) = answer.start
    ends = {end for edge in answer.edges if job in (edge.source, edge.target) for end in (edge.source, edge.target)}
    return tuple(node for node in answer.nodes if node.kind == "dataset" and node.key in ends)
