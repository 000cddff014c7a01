"""Rules for Delta's RESTORE and CLONE, whose commands have no query: every column is copied as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..plan.lineage import Source
from ..plan.model import Fields, PlanNode, struct_fields
from . import facets
from .tables import Dataset, PlanScope, at_location, of_table
from .written import Written


def restored(_at: PlanScope, node: PlanNode) -> Written | None:
    """Return the table of a RESTORE."""
    source = _restored_from(node)
    return None if source is None else Written(_copied(source.without("version"), source, "OVERWRITE"))


def cloned(at: PlanScope, node: PlanNode) -> Written | None:
    """Return the table of a CREATE TABLE ... SHALLOW CLONE, or the folder of a clone by path."""
    clone = _clone(at, node)
    source = None if clone is None else _cloned_from(clone)
    if clone is None or source is None:
        return None
    path, table = clone.fields.get("targetPath"), node.fields.get("table")
    target = None
    if isinstance(table, Mapping) and "identifier" in table:
        target = of_table({**table, "location": path or table.get("location")}, at.catalog, _fields(source))
    if target is None and isinstance(path, str):
        target = at_location(path, _fields(source), "delta")
    if target is None:
        return None
    change = "OVERWRITE" if node.fields.get("existingTableOpt") is not None else "CREATE"
    return Written(_copied(target, source, change))


def copied_from(at: PlanScope, node: PlanNode) -> list[Dataset]:
    """Return the table that a RESTORE or a CLONE copies; nothing for any other command."""
    clone = _clone(at, node)
    found = _restored_from(node) if clone is None else _cloned_from(clone)
    return [] if found is None else [found]


def _clone(at: PlanScope, node: PlanNode) -> PlanNode | None:
    query = at.plan_of(node.fields.get("query")) if node.kind == "CreateDeltaTableCommand" else node
    return query if query is not None and query.kind == "CloneTableCommand" else None


def _restored_from(node: PlanNode) -> Dataset | None:
    held = node.fields.get("sourceTable") if node.kind == "RestoreTableCommand" else None
    table = held if isinstance(held, Mapping) else {}
    location = (table.get("properties") or {}).get("location")
    if not location:
        return None
    travel = (table.get("timeTravel") or {}).get("of") or {}
    version = travel.get("version")
    found = at_location(str(location), struct_fields((table.get("schema") or {}).get("$type")), "delta")
    return found.having(version=None if version is None else facets.dataset_version(str(version)))


def _cloned_from(clone: PlanNode) -> Dataset | None:
    held = clone.fields.get("sourceTable")
    source = held if isinstance(held, Mapping) else {}
    fields = struct_fields((source.get("schema") or {}).get("$type"))
    path = source.get("path")
    return at_location(path, fields, str(source.get("format") or "delta").lower()) if isinstance(path, str) else None


def _fields(dataset: Dataset) -> Fields:
    return list(dataset.facets.get("schema", {}).get("fields", ()))


def _copied(target: Dataset, source: Dataset, change: str) -> Dataset:
    names = [str(field["name"]) for field in _fields(source)]
    columns = facets.column_lineage([(name, [Source(*source.key, name)]) for name in names], ())
    target = replace(target, facets={**target.facets, "storage": facets.storage("delta")})
    return target.having(columnLineage=columns, lifecycleStateChange=facets.lifecycle(change))
