"""Which jobs and datasets are in use: jobs of which a run has ended since a time, datasets that those read or write now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from headwater_graph.queries.answers import Node
from headwater_graph.queries.reader import GraphReader

_QUESTIONS = {"job": "active_jobs", "dataset": "active_datasets"}


def active_keys(reader: GraphReader, kind: str, keys: Iterable[str], since: datetime) -> set[str]:
    """Return which keys of jobs or datasets are of ones in use."""
    asked = sorted(set(keys))
    return {row["key"] for row in reader.rows(_QUESTIONS[kind], keys=asked, since=since)} if asked else set()


def active(reader: GraphReader, nodes: Sequence[Node], since: datetime | None) -> list[Node]:
    """Return the nodes without the jobs and datasets that are not in use; all of them where no time is given."""
    if since is None:
        return list(nodes)
    alive = {
        kind: active_keys(reader, kind, (node.key for node in nodes if node.kind == kind), since) for kind in _QUESTIONS
    }
    return [node for node in nodes if node.kind not in alive or node.key in alive[node.kind]]
