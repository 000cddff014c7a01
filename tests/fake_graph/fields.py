"""The fields of the fake graph and the edges between them, as the Cypher files write them in Neo4j (see ``store``)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, TypeAlias

from headwater_avro.names import node_key
from headwater_graph.model.values import FieldPath, Row

Tables: TypeAlias = dict[str, dict[Any, Row]]


def upsert_field(tables: Tables, row: Row) -> None:
    """Upsert a field, and link it to its dataset if that has a node."""
    namespace, dataset, _ = row["path"]
    hash_ = node_key("dataset", namespace, dataset)
    known = tables["Field"].get(tuple(row["path"]), {"dataset": hash_, "of": None})
    tables["Field"][tuple(row["path"])] = known | ({"of": hash_} if hash_ in tables["Dataset"] else {})


def link_fields(tables: Tables, row: Row) -> None:
    """Link the fields of a dataset to it."""
    for path, field in list(tables["Field"].items()):
        if field["dataset"] == row["key"]:
            tables["Field"][path] = field | {"of": row["key"]}


def fields_joined(tables: Tables, owners: Collection[str]) -> set[FieldPath]:
    """Return the fields that column edges of these owners connect."""
    return _ends(edge for edge in tables["DERIVES"].values() if edge["owner"] in owners)


def unlink_columns(tables: Tables, row: Row) -> None:
    """Delete the column edges of one output of one job."""
    for key in [key for key, edge in tables["DERIVES"].items() if edge["owner"] == row["owner"]]:
        del tables["DERIVES"][key]


def unlink_some_columns(tables: Tables, row: Row) -> None:
    """Delete up to ``limit`` column edges of one output of one job, and fields without column edges."""
    owned = [key for key, edge in tables["DERIVES"].items() if edge["owner"] == row["owner"]][: row["limit"]]
    edges = [tables["DERIVES"].pop(key) for key in owned]
    for path in _ends(edges) - _ends(tables["DERIVES"].values()):
        del tables["Field"][path]


def delete_unnamed_field(tables: Tables, row: Row) -> None:
    """Delete a field unless an edge names it."""
    if tuple(row["path"]) not in _ends(tables["DERIVES"].values()):
        tables["Field"].pop(tuple(row["path"]), None)


def _ends(edges: Iterable[Row]) -> set[FieldPath]:
    return {tuple(edge[end]) for edge in edges for end in ("source", "target")}
