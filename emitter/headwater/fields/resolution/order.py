"""Topological order and cycles of a graph given as node -> predecessors; iterative, so that depth needs no stack."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence

Predecessors = Mapping[str, Sequence[str]]


def successors(predecessors: Predecessors) -> dict[str, list[str]]:
    """Return the reverse edges; predecessors that are not nodes of the graph are omitted."""
    after: dict[str, list[str]] = {node: [] for node in predecessors}
    for node, before in predecessors.items():
        for predecessor in before:
            if predecessor in after:
                after[predecessor].append(node)
    return after


def topological(predecessors: Predecessors) -> list[str]:
    """Return the nodes, each after its predecessors, else in the order given.

    Nodes on a cycle and their descendants are omitted. ``graphlib`` does not preserve the order given.
    """
    after = successors(predecessors)
    rank = {node: place for place, node in enumerate(predecessors)}
    names = list(predecessors)
    waiting = {node: sum(name in rank for name in before) for node, before in predecessors.items()}
    ready = [rank[node] for node, count in waiting.items() if not count]
    order = []
    while ready:
        node = names[heapq.heappop(ready)]
        order.append(node)
        for later in after[node]:
            waiting[later] -= 1
            if not waiting[later]:
                heapq.heappush(ready, rank[later])
    return order


def cyclic(predecessors: Predecessors) -> set[str]:
    """Return the nodes on a cycle, without their descendants."""
    rest = set(predecessors) - set(topological(predecessors))
    inner = {node: [name for name in predecessors[node] if name in rest] for node in rest}
    on_cycle = {node for node, before in inner.items() if node in before}
    for component in _components(inner):
        if len(component) > 1:
            on_cycle |= component
    return on_cycle


def _components(predecessors: Predecessors) -> list[set[str]]:
    """Return the strongly connected components (Kosaraju)."""
    after = successors(predecessors)
    finished: list[str] = []
    seen: set[str] = set()
    for node in predecessors:
        finished.extend(_reached(node, predecessors, seen))
    placed: set[str] = set()
    return [set(_reached(node, after, placed)) for node in reversed(finished) if node not in placed]


def _reached(start: str, edges: Predecessors, seen: set[str]) -> Iterable[str]:
    """Return the unseen nodes that ``start`` reaches in post-order, and add them to ``seen``."""
    if start in seen:
        return []
    seen.add(start)
    finished = []
    stack = [(start, iter(edges[start]))]
    while stack:
        node, remaining = stack[-1]
        for neighbor in remaining:
            if neighbor not in seen:
                seen.add(neighbor)
                stack.append((neighbor, iter(edges[neighbor])))
                break
        else:
            finished.append(node)
            stack.pop()
    return finished
