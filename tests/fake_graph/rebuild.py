"""The pages of a rebuild on the fake graph, as the files ``cypher/rebuild`` do them in Neo4j (see ``store``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from headwater_graph.model.values import Row

Tables: TypeAlias = dict[str, dict[Any, Row]]

RebuildPage: TypeAlias = Callable[[Tables, str, int], str | None]

_EDGES = ("RUN_OF", "RAN", "CHILD_OF", "ALIAS_OF", "WROTE", "READ_BY", "FEEDS", "PRODUCES", "DERIVES")


def _deferred_work(tables: Tables, _after: str, limit: int) -> str | None:
    return _delete(
        tables,
        [("DeferredWork", key) for key, row in tables["DeferredWork"].items() if row["kind"] != "rebuild"],
        limit,
    )


def _edges(tables: Tables, _after: str, limit: int) -> str | None:
    return _delete(tables, ((name, key) for name in _EDGES for key in tables[name]), limit)


def _nodes(tables: Tables, _after: str, limit: int) -> str | None:
    removable = (
        (name, key)
        for name in ("Field", "JobVersion")
        for key, row in tables[name].items()
        if row.get("retainedNumber") is None
    )
    return _delete(tables, removable, limit)


def _delete(tables: Tables, rows: Iterable[tuple[str, Any]], limit: int) -> str | None:
    deleted = list(rows)[:limit]
    for name, key in deleted:
        del tables[name][key]
    return "" if deleted else None


def _reset(name: str, required: str, **absent: None) -> RebuildPage:
    """Return a page that deletes rows without the ``required`` member, and resets some members of the others."""

    def run_page(tables: Tables, after: str, limit: int) -> str | None:
        page = sorted(key for key in tables[name] if key > after)[:limit]
        for key in page:
            row = tables[name][key]
            if row.get(required) is None and not row.get("retained"):
                del tables[name][key]
            elif not row.get("retained"):
                tables[name][key] = tables[name][key] | absent
        return page[-1] if page else None

    return run_page


REBUILD_PAGES: dict[str, RebuildPage] = {
    "deferred_work": _deferred_work,
    "edges": _edges,
    "nodes": _nodes,
    "dataset_versions": _reset("DatasetVersion", "text", moment=None),
    "runs": _reset("Run", "record", moment=None, tie=None),
    "jobs": _reset("Job", "record", fold=None, current=None),
    "datasets": _reset("Dataset", "record", dropped=None, current=None),
    "job_events": _reset("JobEvent", "text", moment=None, tie=None, version=None),
}
