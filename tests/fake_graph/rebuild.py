"""What a rebuild takes away from the graph in memory, as the files ``rebuild_*.cypher`` take it from Neo4j (see ``fake``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from headwater_graph.model.values import Row

Tables: TypeAlias = dict[str, dict[Any, Row]]

Sweep: TypeAlias = Callable[[Tables, str, int], str | None]

_EDGES = ("RUN_OF", "RAN", "CHILD_OF", "ALIAS_OF", "WROTE", "READ_BY", "FEEDS", "PRODUCES", "DERIVES")


def _owed(tables: Tables, _after: str, limit: int) -> str | None:
    return _cut(
        tables,
        [("DeferredWork", key) for key, row in tables["DeferredWork"].items() if row["kind"] != "rebuild"],
        limit,
    )


def _edges(tables: Tables, _after: str, limit: int) -> str | None:
    return _cut(tables, ((name, key) for name in _EDGES for key in tables[name]), limit)


def _nodes(tables: Tables, _after: str, limit: int) -> str | None:
    bare = (
        (name, key)
        for name in ("Field", "JobVersion")
        for key, row in tables[name].items()
        if row.get("retainedNumber") is None
    )
    return _cut(tables, bare, limit)


def _cut(tables: Tables, rows: Iterable[tuple[str, Any]], limit: int) -> str | None:
    cut = list(rows)[:limit]
    for name, key in cut:
        del tables[name][key]
    return "" if cut else None


def _forget(name: str, holder: str, **gone: None) -> Sweep:
    """Drop rows without what makes them stay; of the others forget some members."""

    def sweep(tables: Tables, after: str, limit: int) -> str | None:
        page = sorted(key for key in tables[name] if key > after)[:limit]
        for key in page:
            row = tables[name][key]
            if row.get(holder) is None and not row.get("retained"):
                del tables[name][key]
            elif not row.get("retained"):
                tables[name][key] = tables[name][key] | gone
        return page[-1] if page else None

    return sweep


REBUILD_SWEEPS: dict[str, Sweep] = {
    "deferred_work": _owed,
    "edges": _edges,
    "nodes": _nodes,
    "dataset_versions": _forget("DatasetVersion", "text", moment=None),
    "runs": _forget("Run", "record", moment=None, tie=None),
    "jobs": _forget("Job", "record", fold=None, current=None),
    "datasets": _forget("Dataset", "record", dropped=None, current=None),
    "job_events": _forget("JobEvent", "text", moment=None, tie=None, version=None),
}
