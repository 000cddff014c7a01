"""Search by parts of names: datasets, jobs, columns and runs, the closest matches first."""

from __future__ import annotations

from typing import Any

from headwater_graph.queries.answers import Kind, Node
from headwater_graph.queries.catalog.ranking import (
    LAST_PART,
    LONGEST,
    SEPARATORS,
    SHORTEST,
    intact_parts,
    match_rank,
    one_error_pattern,
)
from headwater_graph.queries.reader import GraphReader, Row

KINDS: tuple[Kind, ...] = ("dataset", "job", "column", "run")
MOST_RANKED = 1_000
"""Of how many of the closest matches of each kind the edges are counted: a short text is in every name."""
MOST_SIMILAR = 1_000
"""How many names of each kind are compared with a text that no name contains."""


def search(
    reader: GraphReader, text: str, kinds: tuple[Kind, ...] = KINDS, limit: int = 20, namespace: str | None = None
) -> list[Node]:
    """Return at most ``limit`` nodes of each kind whose name contains a text in any case; of runs, those whose id begins with it.

    The closest matches come first (``match_rank``), of equally close ones those with the most edges, then the latest. If more
    than ``MOST_RANKED`` names are equally close, the edges of those with the shortest names count. Of datasets and jobs, only
    those of ``namespace`` are found if it is given.
    """
    lower = text.lower()
    return _sorted([(kind, row) for kind in kinds for row in _rows(reader, kind, text, limit, namespace)], lower)


def search_similar(reader: GraphReader, text: str, kinds: tuple[Kind, ...] = KINDS, limit: int = 20) -> list[Node]:
    """Return at most ``limit`` datasets and as many jobs whose name contains a text with one typing error.

    In the order of ``search``. For a text that no name contains; nothing for a very short or long one. Of names that have most
    of the text in common with it, only the ``MOST_SIMILAR`` with the most edges are compared.
    """
    lower = text.lower()
    if not SHORTEST <= len(lower) <= LONGEST:
        return []
    pattern = one_error_pattern(lower)
    found: list[tuple[Kind, Row]] = []
    for kind in (each for each in kinds if each in ("dataset", "job")):
        rows = reader.rows(f"find/{kind}s_by_parts", choices=intact_parts(lower), limit=MOST_SIMILAR)
        found += [(kind, row) for row in rows if pattern.search(row["name"].lower())][:limit]
    return _sorted(found, lower)


def _rows(reader: GraphReader, kind: Kind, text: str, limit: int, namespace: str | None) -> list[Row]:
    if kind == "run":
        return reader.rows("runs/by_prefix", prefix=text, limit=limit)
    given: dict[str, Any] = {} if kind == "column" else {"namespace": namespace}
    given |= {"candidates": max(limit, MOST_RANKED), "limit": limit}
    return reader.rows(f"find/{kind}s", text=text.lower(), separators=list(SEPARATORS), **given)


def _sorted(found: list[tuple[Kind, Row]], text: str) -> list[Node]:
    return [_node(*each) for each in sorted(found, key=lambda each: _position(each[0], each[1], text))]


def _position(kind: Kind, row: Row, text: str) -> tuple[int, int, int, int, tuple[str, ...]]:
    """Return the position of a match among others; that of ``find/….cypher``, so that a limit removes the last ones."""
    name = _node(kind, row).name
    rank = LAST_PART if kind == "run" else match_rank(name[-1].lower(), text)
    return rank, -row.get("edges", 0), -row.get("at", 0), len(name[-1]), name[::-1]


def _node(kind: Kind, row: Row) -> Node:
    match kind:
        case "run":
            return Node(row["key"], kind, (row["id"],))
        case "column":
            return Node(row["key"], kind, (row["namespace"], row["dataset"], row["name"]))
        case _:
            return Node(row["key"], kind, (row["namespace"], row["name"]))
