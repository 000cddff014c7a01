"""Answers as JSON values; nodes are named ``[kind, namespace, name…]`` as in the dump (specification 9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headwater_graph.queries.answers import Answer, Cut, Edge, Node


def answer_value(answer: Answer) -> dict[str, Any]:
    """Return a whole answer: what was asked, whether it is complete, its nodes, edges and cuts."""
    # Most nodes are named by several edges.
    names = {node.key: reference(node) for node in answer.nodes}
    return {
        "question": dict(answer.question),
        "complete": not answer.cuts,
        "start": [names[key] for key in answer.start],
        "nodes": [node_value(node) for node in answer.nodes],
        "edges": [_edge_value(edge, names) for edge in answer.edges],
        "cuts": [_cut_value(cut, names) for cut in answer.cuts],
        "notes": list(answer.notes),
    }


def impact_value(answer: Answer) -> dict[str, Any]:
    """As :func:`answer_value`, without the edges: one of their ends may be the start, which is no node of an impact."""
    nodes = [node_value(node) for node in answer.nodes]
    return {"question": dict(answer.question), "complete": not answer.cuts, "nodes": nodes}


def reference(node: Node) -> list[str]:
    """Return ``[kind, namespace, name…]``."""
    return [node.kind, *node.name]


def node_value(node: Node) -> dict[str, Any]:
    """Return a node with its distance, marks and facts."""
    return {"node": reference(node), "depth": node.depth, "marks": list(node.marks), **node.facts}


def _edge_value(edge: Edge, names: Mapping[str, list[str]]) -> dict[str, Any]:
    value: dict[str, Any] = {"from": names[edge.source], "to": names[edge.target], "kind": edge.kind}
    value.update({name: fact for name, fact in edge.facts.items() if fact is not None})
    if edge.past:
        value["past"] = True
    return value


def _cut_value(cut: Cut, names: Mapping[str, list[str]]) -> dict[str, Any]:
    at = None if cut.at is None else names[cut.at]
    return {"at": at, "why": cut.why, "shown": cut.shown, "total": cut.total}
