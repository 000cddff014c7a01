"""Orders of graphs given as node -> predecessors; iterative, so depth costs no stack."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence

Predecessors = Mapping[str, Sequence[str]]


def successors(predecessors: Predecessors) -> dict[str, list[str]]:
    """The same edges the other way round; predecessors that are no nodes themselves are left out."""
    after: dict[str, list[str]] = {node: [] for node in predecessors}
    for node, before in predecessors.items():
        for one in before:
            if one in after:
                after[one].append(node)
    return after


def topological(predecessors: Predecessors) -> list[str]:
    """Every node after its predecessors, else in the order given; nodes on or behind a cycle are left out."""
    after = successors(predecessors)
    rank = {node: place for place, node in enumerate(predecessors)}
    names = list(predecessors)
    waiting = {node: sum(one in rank for one in before) for node, before in predecessors.items()}
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
    """The nodes that lie on a cycle (not those merely behind one)."""
    rest = set(predecessors) - set(topological(predecessors))
    inner = {node: [one for one in predecessors[node] if one in rest] for node in rest}
    on_cycle = {node for node, before in inner.items() if node in before}
    for component in _components(inner):
        if len(component) > 1:
            on_cycle |= component
    return on_cycle


def _components(predecessors: Predecessors) -> list[set[str]]:
    """The strongly connected components (Kosaraju)."""
    after = successors(predecessors)
    finished: list[str] = []
    seen: set[str] = set()
    for node in predecessors:
        finished.extend(_reached(node, predecessors, seen))
    placed: set[str] = set()
    return [set(_reached(node, after, placed)) for node in reversed(finished) if node not in placed]


def _reached(start: str, edges: Predecessors, seen: set[str]) -> Iterable[str]:
    """What can be reached from ``start`` and was not seen, each after all that it leads to."""
    if start in seen:
        return []
    seen.add(start)
    finished = []
    stack = [(start, iter(edges[start]))]
    while stack:
        node, remaining = stack[-1]
        for one in remaining:
            if one not in seen:
                seen.add(one)
                stack.append((one, iter(edges[one])))
                break
        else:
            finished.append(node)
            stack.pop()
    return finished
