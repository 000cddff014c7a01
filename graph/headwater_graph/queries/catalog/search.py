"""Search by parts of names: datasets, jobs, columns and runs, the closest matches first."""

from __future__ import annotations

from headwater_graph.queries.answers import Kind, Node
from headwater_graph.queries.reader import GraphReader, Row

KINDS: tuple[Kind, ...] = ("dataset", "job", "column", "run")


def search(reader: GraphReader, text: str, kinds: tuple[Kind, ...] = KINDS, limit: int = 20) -> list[Node]:
    """Return at most ``limit`` nodes of each kind whose name contains a text in any case; of runs, those whose id begins with it.

    Whole names come before beginnings, those before ends, and these before the rest; shorter names come first.
    """
    found = [_node(kind, row) for kind in kinds for row in _rows(reader, kind, text, limit)]
    return sorted(
        found, key=lambda node: (_closeness(node.name[-1].lower(), text.lower()), len(node.name[-1]), node.name[::-1])
    )


def _rows(reader: GraphReader, kind: Kind, text: str, limit: int) -> list[Row]:
    if kind == "run":
        return reader.rows("runs/by_prefix", prefix=text, limit=limit)
    return reader.rows(f"find/{kind}s", text=text.lower(), limit=limit)


def _node(kind: Kind, row: Row) -> Node:
    match kind:
        case "run":
            return Node(row["key"], kind, (row["id"],))
        case "column":
            return Node(row["key"], kind, (row["namespace"], row["dataset"], row["name"]))
        case _:
            return Node(row["key"], kind, (row["namespace"], row["name"]))


def _closeness(name: str, text: str) -> int:
    if name == text:
        return 0
    return 1 if name.startswith(text) else 2 if name.endswith(text) else 3
