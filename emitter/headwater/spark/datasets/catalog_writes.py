"""Rules for commands on tables of DataSource V2 catalogs, and for Delta's own commands."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..plan import row_changes
from ..plan.columns import Rule
from ..plan.model import Attribute, PlanNode, plan_index, schema_fields
from . import facets
from .catalog_tables import of_identifier, options_of
from .reads import reads
from .subsets import overwritten, replaced_part
from .tables import Dataset, PlanScope
from .written import WriteRule, Written, changed, into


def _v2_target(at: PlanScope, node: PlanNode) -> Dataset | None:
    target = at.plan_of(node.fields.get("originalTable")) or at.plan_of(node.fields.get("table"))
    if target is None and node.children:
        target = at.plan[node.children[0]]  # the table of UPDATE and DELETE is a child
    while target is not None and target.kind == "SubqueryAlias":
        target = at.plan[target.children[0]]
    found = [] if target is None else reads(replace(at, writes=True), target)
    return found[0] if found else None


def v2_write(at: PlanScope, node: PlanNode) -> Written | None:
    """Return the table of an INSERT, UPDATE, MERGE or DELETE, as the analyser rewrites them."""
    dynamic = node.kind in _DYNAMIC
    change = "OVERWRITE" if dynamic or node.kind == "OverwriteByExpression" else None
    target = at.plan_of(node.fields.get("originalTable")) or at.plan_of(node.fields.get("table"))
    dataset = _v2_target(at, node)
    options = options_of(node.fields.get("writeOptions"))
    if dataset is not None and node.kind == "OverwriteByExpression":
        dataset = replaced_part(dataset, overwritten(at.catalog, node, options))
    if dataset is not None and dynamic:
        dataset = replace(dataset, dynamic=())
    written = into(at, node, dataset, change, _v2_suffix(target))
    if written is None or target is None:
        return written
    names = tuple(attribute.name for attribute in target.output if not attribute.hidden)
    return replace(written, columns=names)


_DYNAMIC = frozenset({"OverwritePartitionsDynamic", "DeltaDynamicPartitionOverwriteCommand"})


def v2_delete(at: PlanScope, node: PlanNode) -> Written | None:
    """Return the table of a DELETE that rewrites no rows."""
    found = changed(_v2_target(at, node), None)
    if found is None or not node.children:
        return found
    return replace(
        found,
        query=node.children[0],
        sources=(node.children[0],),
        columns_of=lambda columns: row_changes.deleted(columns, node),
    )


def _v2_suffix(target: PlanNode | None) -> str | None:
    identifier = {} if target is None else target.fields.get("identifier") or {}
    if not identifier:
        return None
    catalog = (target.fields.get("catalog") or {}).get("name") if target is not None else None
    space, name = identifier.get("namespace", ()), str(identifier.get("name"))
    branch = len(space) > 1 and name.startswith("branch_")  # Iceberg: db.table.branch_name
    return ".".join(str(part) for part in (catalog, *space, None if branch else name) if part)


def _v2_named(at: PlanScope, node: PlanNode) -> tuple[dict[str, Any], dict[str, Any]]:
    named = at.plan_of(node.fields.get("name")) or at.plan_of(node.fields.get("child"))
    if named is None and node.children:
        named = at.plan[node.children[0]]
    held = {} if named is None else named.fields
    return held.get("catalog") or {}, held.get("identifier") or {}


def v2_create_as_select(at: PlanScope, node: PlanNode) -> Written | None:
    """Return the table of a CTAS or RTAS."""
    catalog, identifier = _v2_named(at, node)
    query = plan_index(node.fields.get("query"))
    query = node.children[-1] if query is None and node.children else query
    below = None if query is None else at.plan[query]
    fields = [] if below is None else schema_fields(below.output)
    dataset = of_identifier(at.catalog, catalog, identifier, fields, _located(node))
    if dataset is None or query is None:
        return None
    change = "CREATE" if node.kind == "CreateTableAsSelect" else "OVERWRITE"
    written = dataset.having(lifecycleStateChange=facets.lifecycle(change))
    return Written(written, query, sources=(query,), suffix=_qualified(identifier))


def _located(node: PlanNode) -> dict[str, Any] | None:
    """Return the location that a CREATE TABLE names, as a table's properties."""
    location = ((node.fields.get("tableSpec") or {}).get("of") or {}).get("location")
    return {"properties": {"location": location}} if isinstance(location, str) else None


def _qualified(identifier: dict[str, Any]) -> str:
    return ".".join([*identifier.get("namespace", ()), str(identifier.get("name"))])


def v2_change(change: str) -> WriteRule:
    """Return the rule for a command that changes a V2 table as a whole."""

    def rule(at: PlanScope, node: PlanNode) -> Written | None:
        catalog, identifier = _v2_named(at, node)
        if not identifier:
            return changed(_resolved_table(at, node), change)
        dataset = of_identifier(at.catalog, catalog, identifier, None, _located(node))
        return changed(dataset, change, _qualified(identifier) if change in {"CREATE", "ALTER"} else "")

    return rule


def v2_renamed(at: PlanScope, node: PlanNode) -> Written | None:
    """Return the new table of an ALTER TABLE ... RENAME TO, with the old one's key."""
    catalog, identifier = _v2_named(at, node)
    *space, name = (str(part) for part in node.fields.get("newName") or [""])
    space = space[1:] if len(space) > 1 and space[0] == catalog.get("name") else space
    before = of_identifier(at.catalog, catalog, identifier, None)
    named = {"namespace": space or identifier.get("namespace", ()), "name": name}
    after = of_identifier(at.catalog, catalog, named, None)
    if not name or after is None:
        return changed(before or _resolved_table(at, node), "RENAME")
    change = facets.lifecycle("RENAME", None if before is None else before.key)
    return Written(after.having(lifecycleStateChange=change), suffix="")


def _resolved_table(at: PlanScope, node: PlanNode) -> Dataset | None:
    children = [child for index in node.children if (child := at.plan[index]) is not None]
    found = [dataset for child in children for dataset in reads(at, child)]
    return found[0] if found else None


def v2_created(at: PlanScope, node: PlanNode) -> Written | None:
    """Return the table of a CREATE TABLE."""
    written = v2_change("CREATE")(at, node)
    columns = node.fields.get("columns")
    if written is None or not isinstance(columns, list):
        return written
    definitions = [column.get("of") for column in columns if isinstance(column, dict)]
    found = [_column(column) for column in definitions if isinstance(column, dict) and column.get("name")]
    if len(found) != len(columns):
        return written  # Spark 4 has expressions here: the catalog has the columns at the end of the run
    return replace(written, dataset=written.dataset.having(schema=facets.schema(found)))


def _column(held: dict[str, Any]) -> dict[str, Any]:
    typed = held.get("dataType") or {}
    return schema_fields((Attribute(-1, str(held.get("name")), typed.get("$type")),))[0]


def _delta_target(at: PlanScope, node: PlanNode) -> tuple[Dataset | None, int | None]:
    index = plan_index(node.fields.get("target"))
    target = None if index is None else at.plan[index]
    while target is not None and target.children and target.kind != "LogicalRelation":
        target = at.plan[target.children[0]]
    found = [] if target is None else reads(at, target)
    return (found[0] if found else None), index


def delta_change(flow: Rule) -> WriteRule:
    """Return the rule for a command of Delta, whose column lineage is ``flow``."""

    def rule(at: PlanScope, node: PlanNode) -> Written | None:
        dataset, target = _delta_target(at, node)
        if dataset is None or target is None:
            return None
        source = plan_index(node.fields.get("source"))
        sources = (target,) if source is None else (target, source)
        suffix = dataset.name.rpartition("/")[2] if node.kind == "MergeIntoCommand" else ""
        return Written(dataset, target, None, sources, (), suffix, lambda columns: flow(columns, node))

    return rule


# The statement that a command of Hudi has, by the names in Hudi's releases; a DELETE of newer ones has only its rows.
_STATEMENTS = ("mergeInto", "ut", "updateTable", "dft", "deleteTable", "query")


def hudi_change(flow: Rule) -> WriteRule:
    """Return the rule for a command of Hudi, which has Spark's own statement; its column lineage is ``flow``."""

    def rule(at: PlanScope, node: PlanNode) -> Written | None:
        held = (at.plan_of(node.fields.get(name)) for name in _STATEMENTS)
        statement = next((found for found in held if found is not None), None)
        if statement is None:
            return None
        is_query = statement.kind not in {"MergeIntoTable", "UpdateTable", "DeleteFromTable"}
        target = statement if is_query else at.plan[statement.children[0]] if statement.children else None
        below = target
        while below is not None and below.children:
            below = at.plan[below.children[0]]
        found = [] if below is None else reads(replace(at, writes=True), below)
        if target is None or not found:
            return None
        sources = (target.index,) if is_query else statement.children
        suffix = found[0].name.rpartition("/")[2] if statement.kind == "MergeIntoTable" else ""
        columns = None if is_query else lambda columns: flow(columns, statement)
        return Written(found[0], target.index, None, tuple(sources), (), suffix, columns)

    return rule
