"""The parts of an answer: nodes, edges and truncations; the same for datasets and jobs, columns, runs and versions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

Kind: TypeAlias = Literal["dataset", "job", "column", "run", "version", "versionColumn"]
Direction: TypeAlias = Literal["upstream", "downstream"]
Name: TypeAlias = tuple[str, ...]
"""The parts of a node's name: (namespace, name); a column's (namespace, dataset, column), in a version of the dataset
(namespace, dataset, version, column); a run's (run id,)."""


# An answer has thousands of nodes and edges: a Struct is made in a tenth of the time of a frozen dataclass.
class Node(Struct, frozen=True, gc=False):
    """One node of an answer.

    ``depth`` is its distance from the start, counted in jobs (or runs); ``status`` has terms such as ``dropped``,
    ``placeholder``, ``removed``, ``lineage unknown``, ``silent``, ``streaming``; ``facts`` are JSON values.
    """

    key: str
    kind: Kind
    name: Name
    depth: int = 0
    status: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


class Edge(Struct, frozen=True, gc=False):
    """One edge, in the direction in which data flows; ``source`` and ``target`` are keys of nodes.

    ``kind`` is ``feeds``, ``produces``, ``alias``, ``derives``, ``covers``, ``read`` or ``wrote``; a ``former`` edge is no
    longer current.
    """

    source: str
    target: str
    kind: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    former: bool = False


BY_NAME = attrgetter("name")


def nearest_first(nodes: Iterable[Node]) -> tuple[Node, ...]:
    """Return nodes in the order of answers: by distance, kind and name."""
    # Sorting in groups compares names alone, and only within a group.
    groups: dict[tuple[int, str], list[Node]] = {}
    for node in nodes:
        groups.setdefault((node.depth, node.kind), []).append(node)
    return tuple(node for group in sorted(groups) for node in sorted(groups[group], key=BY_NAME))


@dataclass(frozen=True, slots=True)
class Truncation:
    """Something that is not shown: at which node (its key; None: in all), because of which limit, and how many of how many are.

    ``why`` is ``depth``, ``neighbours`` or ``size``; ``total`` is None where it was not counted.
    """

    at: str | None
    why: Literal["depth", "neighbours", "size"]
    shown: int
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A part of the graph: the question, the start, nodes in order of distance, edges, and truncations.

    It is complete exactly if ``truncations`` is empty.
    """

    question: Mapping[str, Any]
    start: tuple[str, ...]
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    truncations: tuple[Truncation, ...] = ()
    notes: tuple[str, ...] = ()

    def node(self, key: str) -> Node:
        """Return the node of this key; KeyError if the answer has none."""
        return self.by_key()[key]

    def by_key(self) -> dict[str, Node]:
        """Return all nodes by their keys."""
        return {node.key: node for node in self.nodes}
