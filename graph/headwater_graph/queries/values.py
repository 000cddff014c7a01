"""Answers as JSON values; nodes are named ``[kind, namespace, name…]`` as in the dump (specification 9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from headwater_avro.times import format_time
from headwater_graph.queries.answers import Answer, Edge, Node, Truncation


def answer_value(answer: Answer) -> dict[str, Any]:
    """Return a whole answer: the question, whether the answer is complete, its nodes, edges and truncations."""
    # Most nodes are named by several edges.
    names = {node.key: reference(node) for node in answer.nodes}
    return {
        "question": dict(answer.question),
        "complete": not answer.truncations,
        "start": [names[key] for key in answer.start],
        "nodes": [node_value(node) for node in answer.nodes],
        "edges": [_edge_value(edge, names) for edge in answer.edges],
        "cuts": [_truncation_value(truncation, names) for truncation in answer.truncations],
        "notes": list(answer.notes),
    }


def impact_value(answer: Answer) -> dict[str, Any]:
    """Return an answer without its edges: one of their ends may be the start, which is not a node of an impact."""
    nodes = [node_value(node) for node in answer.nodes]
    return {"question": dict(answer.question), "complete": not answer.truncations, "nodes": nodes}


def reference(node: Node) -> list[str]:
    """Return ``[kind, namespace, name…]``."""
    return [node.kind, *node.name]


def node_value(node: Node) -> dict[str, Any]:
    """Return a node with its distance, status and facts."""
    return {"node": reference(node), "depth": node.depth, "marks": list(node.status), **node.facts}


def _edge_value(edge: Edge, names: Mapping[str, list[str]]) -> dict[str, Any]:
    value: dict[str, Any] = {"from": names[edge.source], "to": names[edge.target], "kind": edge.kind}
    value.update({name: fact for name, fact in edge.facts.items() if fact is not None})
    if edge.former:
        value["past"] = True
    return value


def _truncation_value(truncation: Truncation, names: Mapping[str, list[str]]) -> dict[str, Any]:
    return asdict(truncation) | {"at": None if truncation.at is None else names[truncation.at]}


def present(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that are neither absent (None) nor an empty list."""
    return {name: value for name, value in values.items() if value is not None and value != []}


def time_text(value: Any) -> str | None:
    """Return a time of the graph, or one in microseconds since 1970, as specification 9 prints it; None for None."""
    if value is None:
        return None
    if isinstance(value, int):
        return format_time(value)
    time: datetime = value.to_native() if hasattr(value, "to_native") else value
    return time.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
