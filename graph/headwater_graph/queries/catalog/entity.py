"""One dataset or job: its facets, its status, and its neighbours."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from headwater_graph.model.facet_properties import facets_of
from headwater_graph.queries.answers import Answer, Node
from headwater_graph.queries.lineage.lineage import lineage
from headwater_graph.queries.lineage.scope import Scope, TraversalLimits
from headwater_graph.queries.reader import GraphReader
from headwater_graph.queries.values import reference

NEIGHBOURS = Scope(TraversalLimits(depth=1, neighbours=100, nodes=400))
"""How many neighbours of a dataset or job are shown."""


@dataclass(frozen=True, slots=True)
class Entity:
    """A dataset or job with its neighbours, ``upstream`` and ``downstream``.

    Of a dataset these are the jobs that write and read it under any of its names (specification 6.7); of a job the datasets
    that it names itself.
    """

    node: Node
    facets: dict[str, Any]
    aliases: tuple[Node, ...]
    upstream: tuple[Node, ...]
    downstream: tuple[Node, ...]
    truncated: bool

    def value(self) -> dict[str, Any]:
        """Return it as JSON values."""
        sides = {"upstream": self.upstream, "downstream": self.downstream, "aliases": self.aliases}
        named = {side: [reference(node) for node in nodes] for side, nodes in sides.items()}
        head = {"node": reference(self.node), "marks": list(self.node.status), **self.node.facts}
        return head | named | {"cut": self.truncated, "facets": self.facets}


def entity(reader: GraphReader, node: Node, now: datetime, active_since: datetime | None = None) -> Entity:
    """Return a dataset or job with its facets and its neighbours in the current graph; with ``active_since`` active jobs only."""
    scope = replace(NEIGHBOURS, active_since=active_since)
    up, down = (lineage(reader, node, direction, now, scope) for direction in ("upstream", "downstream"))
    rows = reader.rows(f"catalog/{node.kind}_facets", key=node.key)
    return Entity(
        node=up.node(node.key),
        facets=facets_of(rows[0]["facets"]) if rows else {},
        aliases=_aliases(up),
        upstream=_neighbours(up),
        downstream=_neighbours(down),
        truncated=any(truncation.why != "depth" for truncation in (*up.truncations, *down.truncations)),
    )


def _aliases(answer: Answer) -> tuple[Node, ...]:
    return tuple(n for n in answer.nodes if n.kind == "dataset" and n.depth == 0 and n.key not in answer.start)


def _neighbours(answer: Answer) -> tuple[Node, ...]:
    """Return the jobs of a dataset, or the datasets of a job."""
    if answer.question["kind"] == "dataset":
        return tuple(node for node in answer.nodes if node.kind == "job" and node.depth == 1)
    (job,) = answer.start
    ends = {end for edge in answer.edges if job in (edge.source, edge.target) for end in (edge.source, edge.target)}
    return tuple(node for node in answer.nodes if node.kind == "dataset" and node.key in ends)
