"""Active jobs and datasets: jobs of which a run has ended since a time, and the datasets that these read or write now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from headwater_graph.queries.answers import Node
from headwater_graph.queries.reader import GraphReader

_KINDS = ("job", "dataset")


def active_keys(reader: GraphReader, kind: str, keys: Iterable[str], since: datetime) -> set[str]:
    """Return those of the keys of jobs or datasets that belong to active ones."""
    wanted = sorted(set(keys))
    return {row["key"] for row in reader.rows(f"status/active_{kind}s", keys=wanted, since=since)} if wanted else set()


def active(reader: GraphReader, nodes: Sequence[Node], since: datetime | None) -> list[Node]:
    """Return the nodes without inactive jobs and datasets; all of them if no time is given."""
    if since is None:
        return list(nodes)
    active_by_kind = {
        kind: active_keys(reader, kind, (node.key for node in nodes if node.kind == kind), since) for kind in _KINDS
    }
    return [node for node in nodes if node.kind not in active_by_kind or node.key in active_by_kind[node.kind]]
