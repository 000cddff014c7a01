"""The fields of the graph in memory and the edges between them, as their Cypher files keep them in Neo4j (see ``fake``)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, TypeAlias

from headwater_avro.names import node_key
from headwater_graph.model.values import FieldPath, Row

Tables: TypeAlias = dict[str, dict[Any, Row]]


def put_field(tables: Tables, row: Row) -> None:
    """Put a field, and tie it to its dataset where that is known."""
    namespace, dataset, _ = row["path"]
    hash_ = node_key("dataset", namespace, dataset)
    known = tables["Field"].get(tuple(row["path"]), {"dataset": hash_, "of": None})
    tables["Field"][tuple(row["path"])] = known | ({"of": hash_} if hash_ in tables["Dataset"] else {})


def link_fields(tables: Tables, row: Row) -> None:
    """Tie the fields of a dataset to it."""
    for path, field in list(tables["Field"].items()):
        if field["dataset"] == row["key"]:
            tables["Field"][path] = field | {"of": row["key"]}


def fields_joined(tables: Tables, owners: Collection[str]) -> set[FieldPath]:
    """Return the fields that column edges of these owners join."""
    return _ends(edge for edge in tables["DERIVES"].values() if edge["owner"] in owners)


def cut_columns(tables: Tables, row: Row) -> None:
    """Cut the column edges of one output of one job."""
    for key in [key for key, edge in tables["DERIVES"].items() if edge["owner"] == row["owner"]]:
        del tables["DERIVES"][key]


def cut_some_columns(tables: Tables, row: Row) -> None:
    """Cut so many column edges of one output of one job, and the fields that no edge names any more."""
    owned = [key for key, edge in tables["DERIVES"].items() if edge["owner"] == row["owner"]][: row["limit"]]
    cut = [tables["DERIVES"].pop(key) for key in owned]
    for path in _ends(cut) - _ends(tables["DERIVES"].values()):
        del tables["Field"][path]


def drop_unnamed_field(tables: Tables, row: Row) -> None:
    """Drop a field unless an edge names it."""
    if tuple(row["path"]) not in _ends(tables["DERIVES"].values()):
        tables["Field"].pop(tuple(row["path"]), None)


def _ends(edges: Iterable[Row]) -> set[FieldPath]:
    return {tuple(edge[end]) for edge in edges for end in ("source", "target")}
