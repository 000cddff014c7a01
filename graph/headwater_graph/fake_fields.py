"""The fields of the graph in memory and the edges between them, as their Cypher files keep them in Neo4j (see ``fake``)."""

from __future__ import annotations

from typing import Any, TypeAlias

from headwater_avro.names import key_hash

from .values import Row

Tables: TypeAlias = dict[str, dict[Any, Row]]


def put_field(tables: Tables, row: Row) -> None:
    """Put a field, and tie it to its dataset where that is known."""
    namespace, dataset, _ = row["path"]
    hash_ = key_hash("dataset", namespace, dataset)
    known = tables["Field"].get(tuple(row["path"]), {"dataset": hash_, "of": None})
    tables["Field"][tuple(row["path"])] = known | ({"of": hash_} if hash_ in tables["Dataset"] else {})


def link_fields(tables: Tables, row: Row) -> None:
    """Tie the fields of a dataset to it."""
    for path, field in list(tables["Field"].items()):
        if field["dataset"] == row["key"]:
            tables["Field"][path] = field | {"of": row["key"]}


def cut_columns(tables: Tables, row: Row) -> None:
    """Cut column edges of one output of one job, at most so many, and the fields that no edge names any more."""
    owned = [key for key, edge in tables["DERIVES"].items() if edge["owner"] == row["owner"]][: row.get("limit")]
    cut = [tables["DERIVES"].pop(key) for key in owned]
    named = {tuple(edge[end]) for edge in tables["DERIVES"].values() for end in ("source", "target")}
    for path in {tuple(edge[end]) for edge in cut for end in ("source", "target")} - named:
        del tables["Field"][path]
