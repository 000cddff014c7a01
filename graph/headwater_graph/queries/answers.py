"""What an answer is made of: nodes, edges and what was cut; the same for tables, columns, runs and versions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

Kind: TypeAlias = Literal["dataset", "job", "column", "run", "version"]
Direction: TypeAlias = Literal["upstream", "downstream"]
Name: TypeAlias = tuple[str, ...]
"""The parts of a node's name: (namespace, name); a column's (namespace, dataset, column); a run's (run id,)."""


# An answer has thousands of nodes and edges: a Struct is made in a tenth of the time of a frozen dataclass.
class Node(Struct, frozen=True, gc=False):
    """One node of an answer.

    ``depth`` is its distance from the start, counted in jobs (or runs) on the way; ``marks`` are words such as
    ``dropped``, ``placeholder``, ``removed``, ``lineage unknown``, ``silent``, ``streaming``; ``facts`` are JSON values.
    """

    key: str
    kind: Kind
    name: Name
    depth: int = 0
    marks: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


class Edge(Struct, frozen=True, gc=False):
    """One edge, in the direction in which data flows; ``source`` and ``target`` are keys of nodes.

    ``kind`` is ``feeds``, ``produces``, ``alias``, ``derives``, ``reads`` or ``wrote``; a ``past`` one is no longer current.
    """

    source: str
    target: str
    kind: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    past: bool = False


BY_NAME = attrgetter("name")


def nearest_first(nodes: Iterable[Node]) -> tuple[Node, ...]:
    """Return nodes in the order of answers: by distance, kind and name."""
    # Sorting in groups compares names alone, and only within a group.
    groups: dict[tuple[int, str], list[Node]] = {}
    for node in nodes:
        groups.setdefault((node.depth, node.kind), []).append(node)
    return tuple(node for at in sorted(groups) for node in sorted(groups[at], key=BY_NAME))


@dataclass(frozen=True, slots=True)
class Cut:
    """Something that is not shown: at which node (its key; None: in all), why, and how many of how many are.

    ``why`` is ``depth``, ``neighbours`` or ``size``; ``total`` is None where it was not counted.
    """

    at: str | None
    why: Literal["depth", "neighbours", "size"]
    shown: int
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A part of the graph: what was asked, where it starts, nodes in order of distance, edges, and what was cut.

    It is the whole truth exactly if ``cuts`` is empty.
    """

    question: Mapping[str, Any]
    start: tuple[str, ...]
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    cuts: tuple[Cut, ...] = ()
    notes: tuple[str, ...] = ()

    def node(self, key: str) -> Node:
        """Return the node of this key; KeyError if the answer has none."""
        return self.by_key()[key]

    def by_key(self) -> dict[str, Node]:
        """Return all nodes by their keys."""
        return {node.key: node for node in self.nodes}
