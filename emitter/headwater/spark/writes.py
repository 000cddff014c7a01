"""What a command does to which dataset: a table from a command's class to a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from . import facets, row_changes
from .catalog_tables import jdbc, kafka, of_identifier
from .columns import Columns, Flow
from .facets import Facet
from .names import job_suffix
from .plan import Attribute, PlanNode, expressions, schema_fields
from .reads import reads
from .tables import Dataset, Reading, at_location, of_table


@dataclass(frozen=True, slots=True)
class Written:
    """One dataset that a command writes or changes.

    ``query`` is the plan written into it, column by column as ``columns`` (else by the query's own names); ``sources`` are
    the plans whose leaves are its inputs; ``sorted_by`` the columns that the writer orders rows by; ``suffix`` is what it
    adds to the job's name (None: the end of its path, "": nothing); ``columns_of`` gives the column lineage of a command
    that has no query, by the ExprIds of the plan at ``query``.
    """

    dataset: Dataset
    query: int | None = None
    columns: tuple[str, ...] | None = None
    sources: tuple[int, ...] = ()
    sorted_by: tuple[str, ...] = ()
    suffix: str | None = None
    columns_of: Callable[[Columns], Flow] | None = None

    @property
    def job_suffix(self) -> str:
        """The dataset's part of the job's name."""
        return job_suffix(self.dataset.key, self.suffix)


def writes(at: Reading, node: PlanNode) -> list[Written]:
    """What the command at ``node`` writes, creates, alters or drops; nothing for a query."""
    rule = _RULES.get(node.kind)
    found = None if rule is None else rule(at, node)
    return [] if found is None else [found]


def changed(dataset: Dataset | None, change: str | None, suffix: str | None = "") -> Written | None:
    """A dataset that a command changes as a whole."""
    if dataset is None:
        return None
    return Written(dataset.having(lifecycleStateChange=_change(change)), suffix=suffix)


def _change(name: str | None) -> Facet | None:
    return None if name is None else facets.lifecycle(name)


def _overwriting(mode: object) -> str | None:
    return "OVERWRITE" if mode == "Overwrite" or mode is True else None


def _query(at: Reading, node: PlanNode) -> tuple[int | None, tuple[str, ...] | None, list[dict[str, Any]]]:
    query = at.plan.query_of(node)
    below = None if query is None else at.plan[query]
    names = node.fields.get("outputColumnNames")
    columns = tuple(names) if isinstance(names, list) else None
    return query, columns, [] if below is None else schema_fields(below.output, columns)


def _into(
    at: Reading,
    node: PlanNode,
    dataset: Dataset | None,
    change: str | None,
    suffix: str | None,
    order: Iterable[str] = (),
) -> Written | None:
    """The command's query goes into ``dataset``."""
    if dataset is None:
        return None
    query, columns, _ = _query(at, node)
    sources = () if query is None else (query,)
    told = dataset.having(lifecycleStateChange=_change(change))
    return Written(told, query, columns, sources, tuple(order), suffix)


def _table(at: Reading, raw: object, fields: list[dict[str, Any]]) -> Dataset | None:
    return of_table(raw, at.catalog, fields) if isinstance(raw, dict) and "identifier" in raw else None


def _full_name(at: Reading, raw: object) -> str | None:
    identifier = raw.get("identifier", raw) if isinstance(raw, dict) else {}
    if not identifier.get("table"):
        return None
    return f"{identifier.get('database') or at.catalog.current_database()}.{identifier['table']}"


def _insert_files(at: Reading, node: PlanNode) -> Written | None:
    _, _, fields = _query(at, node)
    file_format = (node.fields.get("fileFormat") or {}).get("name")
    found = _table(at, node.fields.get("catalogTable"), fields)
    if found is None:
        found = at_location(str(node.fields["outputPath"]), fields, file_format)
    partitions = [one.name or "" for one in expressions(node.fields.get("partitionColumns"))]
    static = node.fields.get("staticPartitions") or {}
    order = [*(name for name in partitions if name not in static), *_bucket(node.fields.get("bucketSpec"))]
    return _into(at, node, found, _overwriting(node.fields.get("mode")), None, order)


def _bucket(raw: object) -> list[str]:
    held = raw.get("of", {}) if isinstance(raw, dict) else {}
    return [*held.get("bucketColumnNames", ()), *held.get("sortColumnNames", ())]


def _create_as_select(at: Reading, node: PlanNode) -> Written | None:
    _, _, fields = _query(at, node)
    table = node.fields.get("tableDesc") or node.fields.get("table") or {}
    change = None if node.fields.get("mode") == "Append" else "CREATE"
    order = [*table.get("partitions", ()), *_bucket(table.get("bucket"))]
    return _into(at, node, _table(at, table, fields), change, _full_name(at, table), order)


def _insert_hive(at: Reading, node: PlanNode) -> Written | None:
    _, _, fields = _query(at, node)
    table = _table(at, node.fields.get("table"), fields)
    dynamic = [name for name, value in (node.fields.get("partition") or {}).items() if value is None]
    return _into(at, node, table, _overwriting(node.fields.get("overwrite")), None, dynamic)


def _insert_folder(at: Reading, node: PlanNode) -> Written | None:
    storage = (node.fields.get("storage") or {}).get("of") or {}
    location = storage.get("locationUri")
    if location is None:
        return None
    _, _, fields = _query(at, node)
    file_format = node.fields.get("provider")
    found = at_location(str(location), fields, file_format if isinstance(file_format, str) else None)
    return _into(at, node, found, _overwriting(node.fields.get("overwrite")), None)


def _insert_relation(at: Reading, node: PlanNode) -> Written | None:
    target = at.held(node.fields.get("logicalRelation"))
    found = [] if target is None else reads(at, target)
    overwrite = _overwriting(node.fields.get("overwrite"))
    return _into(at, node, found[0] if found else None, overwrite, None)


def _save_into_source(at: Reading, node: PlanNode) -> Written | None:
    """``df.write.format(...).save()`` into a source of the first API."""
    _, _, fields = _query(at, node)
    options = {str(k).lower(): str(v) for k, v in (node.fields.get("options") or {}).items()}
    source = node.fields.get("dataSource") or {}
    named = str(source.get("name") or source.get("class", "")).lower()
    change = _overwriting(node.fields.get("mode"))
    if "kafka" in named:
        found = kafka(options, fields)
        return _into(at, node, found[0] if found else None, None, "")
    if "jdbc" in named and "url" in options:
        table = options.get("dbtable", "")
        return _into(at, node, jdbc(options["url"], table, fields), change, table)
    if "path" in options:
        return _into(at, node, at_location(options["path"], fields, named), change, None)
    return None


def _create(at: Reading, node: PlanNode) -> Written | None:
    table = node.fields.get("table")
    suffix = None if node.kind == "CreateTableCommand" else _full_name(at, table)
    return changed(_table(at, table, []), "CREATE", suffix)


def _create_view(at: Reading, node: PlanNode) -> Written | None:
    """A persistent view is a dataset; a temporary one is only a name for a query."""
    if "PersistedView" not in str(node.fields.get("viewType")):
        return None
    _, _, fields = _query(at, node)
    given = node.fields.get("userSpecifiedColumns") or []
    names = [
        one.get("of", {}).get("_1") or one.get("of", {}).get("_1$mcI$sp") for one in given if isinstance(one, dict)
    ]
    if len(names) == len(fields):
        fields = [{**field, "name": str(name)} for field, name in zip(fields, names, strict=True)]
    view = {"identifier": node.fields["name"], "location": None, "schema": {}}
    dataset = of_table(view, at.catalog, fields)
    found = _into(at, node, dataset, "CREATE", _full_name(at, node.fields["name"]))
    return found and replace(found, columns=tuple(field["name"] for field in fields))


def _named_table(at: Reading, raw: object) -> Dataset | None:
    if not isinstance(raw, dict) or raw.get("$") != "table":
        return None
    known = at.catalog.table(raw["database"], raw["table"])
    return of_table(known or {"identifier": raw, "location": None, "schema": {}}, at.catalog)


def _target_table(at: Reading, node: PlanNode) -> Dataset | None:
    for name in ("table", "tableName", "tableIdent", "tableIdentifier"):
        raw = node.fields.get(name)
        found = _named_table(at, raw) or _table(at, raw, [])
        if found is not None:
            return found
    return None


def _altered(at: Reading, node: PlanNode) -> Written | None:
    return changed(_target_table(at, node), "ALTER")


def _truncated(at: Reading, node: PlanNode) -> Written | None:
    return changed(_target_table(at, node), "TRUNCATE")


def _dropped(at: Reading, node: PlanNode) -> Written | None:
    return changed(_target_table(at, node), "DROP")


def _renamed(at: Reading, node: PlanNode) -> Written | None:
    old, new = node.fields.get("oldName"), node.fields.get("newName")
    if not isinstance(old, dict) or not isinstance(new, dict):
        return None
    database = new.get("database") or old.get("database")
    dataset = _named_table(at, {**new, "database": database})
    before = _before(at, old)
    if dataset is None:
        return None
    change = facets.lifecycle("RENAME", before)
    return Written(dataset.having(lifecycleStateChange=change), suffix="")


def _before(at: Reading, old: dict[str, Any]) -> tuple[str, str] | None:
    location = at.catalog.default_location(old.get("database"), str(old.get("table")))
    return None if location is None else tuple(at_location(location, None).key)


def _created_like(at: Reading, node: PlanNode) -> Written | None:
    target, source = node.fields.get("targetTable"), node.fields.get("sourceTable")
    if not isinstance(target, dict) or not isinstance(source, dict):
        return None
    like = at.catalog.table(source.get("database"), str(source.get("table"))) or {"schema": {}}
    known = at.catalog.table(target.get("database"), str(target.get("table"))) or {}
    dataset = of_table({"identifier": target, "location": known.get("location"), "schema": like["schema"]}, at.catalog)
    return changed(dataset, "CREATE", str(target.get("table")))


def _loaded(at: Reading, node: PlanNode) -> Written | None:
    return changed(_target_table(at, node), _overwriting(node.fields.get("isOverwrite")), None)


def loaded_from(node: PlanNode) -> list[Dataset]:
    """The files that LOAD DATA moves into a table."""
    path = node.fields.get("path")
    return [at_location(path, None)] if node.kind == "LoadDataCommand" and isinstance(path, str) else []


def _v2_target(at: Reading, node: PlanNode) -> Dataset | None:
    target = at.held(node.fields.get("originalTable")) or at.held(node.fields.get("table"))
    if target is None and node.children:
        target = at.plan[node.children[0]]  # UPDATE and DELETE hold their table as a child
    while target is not None and target.kind == "SubqueryAlias":
        target = at.plan[target.children[0]]
    found = [] if target is None else reads(at, target)
    return found[0].without("version") if found else None


def _v2_write(at: Reading, node: PlanNode) -> Written | None:
    change = "OVERWRITE" if node.kind in {"OverwriteByExpression", "OverwritePartitionsDynamic"} else None
    target = at.held(node.fields.get("originalTable")) or at.held(node.fields.get("table"))
    written = _into(at, node, _v2_target(at, node), change, _v2_suffix(target))
    if written is None or target is None:
        return written
    names = tuple(attribute.name for attribute in target.output if not attribute.hidden)
    return replace(written, columns=names)


def _v2_delete(at: Reading, node: PlanNode) -> Written | None:
    """DELETE that needs no rewriting of rows: what stays is as it was."""
    found = changed(_v2_target(at, node), None)
    if found is None or not node.children:
        return found
    return replace(found, query=node.children[0], sources=(node.children[0],), columns_of=row_changes.kept(node))


def _v2_suffix(target: PlanNode | None) -> str | None:
    identifier = {} if target is None else target.fields.get("identifier") or {}
    if not identifier:
        return None
    catalog = (target.fields.get("catalog") or {}).get("name") if target is not None else None
    return ".".join(str(part) for part in (catalog, *identifier.get("namespace", ()), identifier.get("name")) if part)


def _v2_named(at: Reading, node: PlanNode) -> tuple[dict[str, Any], dict[str, Any]]:
    named = at.held(node.fields.get("name")) or at.held(node.fields.get("child"))
    if named is None and node.children:
        named = at.plan[node.children[0]]
    held = {} if named is None else named.fields
    return held.get("catalog") or {}, held.get("identifier") or {}


def _v2_create_as_select(at: Reading, node: PlanNode) -> Written | None:
    catalog, identifier = _v2_named(at, node)
    query = _indexed(node.fields.get("query"), node.children[-1] if node.children else None)
    below = None if query is None else at.plan[query]
    fields = [] if below is None else schema_fields(below.output)
    dataset = of_identifier(at.catalog, catalog, identifier, fields)
    if dataset is None or query is None:
        return None
    change = "CREATE" if node.kind == "CreateTableAsSelect" else "OVERWRITE"
    suffix = ".".join([*identifier.get("namespace", ()), str(identifier.get("name"))])
    return Written(dataset.having(lifecycleStateChange=_change(change)), query, None, (query,), (), suffix)


def _indexed(raw: object, otherwise: int | None) -> int | None:
    return int(raw["$plan"]) if isinstance(raw, dict) and "$plan" in raw else otherwise


def _v2_change(change: str) -> Callable[[Reading, PlanNode], Written | None]:
    def rule(at: Reading, node: PlanNode) -> Written | None:
        catalog, identifier = _v2_named(at, node)
        if not identifier:
            return changed(_resolved_table(at, node), change)
        dataset = of_identifier(at.catalog, catalog, identifier, [])
        suffix = ".".join([*identifier.get("namespace", ()), str(identifier.get("name"))])
        return changed(dataset, change, suffix if change == "CREATE" else "")

    return rule


def _resolved_table(at: Reading, node: PlanNode) -> Dataset | None:
    found = [one for index in node.children if (child := at.plan[index]) is not None for one in reads(at, child)]
    return found[0] if found else None


def _v2_created(at: Reading, node: PlanNode) -> Written | None:
    written = _v2_change("CREATE")(at, node)
    columns = node.fields.get("columns")
    if written is None or not isinstance(columns, list) or "schema" not in written.dataset.facets:
        return written
    found = [_column(one) for one in columns if isinstance(one, dict)]
    return replace(written, dataset=written.dataset.having(schema=facets.schema(found)))


def _column(raw: dict[str, Any]) -> dict[str, Any]:
    held = raw.get("of") or {}
    typed = held.get("dataType") or {}
    return schema_fields((Attribute(-1, str(held.get("name")), typed.get("$type")),))[0]


def _delta_target(at: Reading, node: PlanNode) -> tuple[Dataset | None, int | None]:
    index = _indexed(node.fields.get("target"), None)
    target = None if index is None else at.plan[index]
    while target is not None and target.children and target.kind != "LogicalRelation":
        target = at.plan[target.children[0]]
    found = [] if target is None else reads(at, target)
    return (found[0].without("version") if found else None), index


def _delta_change(flow: Callable[[PlanNode], Callable[[Columns], Flow]]) -> Callable[[Reading, PlanNode], Written | None]:
    def rule(at: Reading, node: PlanNode) -> Written | None:
        dataset, target = _delta_target(at, node)
        if dataset is None or target is None:
            return None
        source = _indexed(node.fields.get("source"), None)
        sources = (target,) if source is None else (target, source)
        suffix = dataset.name.rpartition("/")[2] if node.kind == "MergeIntoCommand" else ""
        return Written(dataset, target, None, sources, (), suffix, flow(node))

    return rule


_Rule = Callable[[Reading, PlanNode], Written | None]

_RULES: dict[str, _Rule] = {
    "InsertIntoHadoopFsRelationCommand": _insert_files,
    "CreateDataSourceTableAsSelectCommand": _create_as_select,
    "SaveAsV1TableCommand": _create_as_select,
    "CreateHiveTableAsSelectCommand": _create_as_select,
    "OptimizedCreateHiveTableAsSelectCommand": _create_as_select,
    "InsertIntoHiveTable": _insert_hive,
    "InsertIntoHiveDirCommand": _insert_folder,
    "InsertIntoDataSourceDirCommand": _insert_folder,
    "InsertIntoDataSourceCommand": _insert_relation,
    "SaveIntoDataSourceCommand": _save_into_source,
    "CreateDataSourceTableCommand": _create,
    "CreateTableCommand": _create,
    "CreateViewCommand": _create_view,
    "AlterViewAsCommand": _create_view,
    "CreateTableLikeCommand": _created_like,
    "LoadDataCommand": _loaded,
    "AlterTableAddColumnsCommand": _altered,
    "AlterTableSetPropertiesCommand": _altered,
    "AlterTableUnsetPropertiesCommand": _altered,
    "AlterTableChangeColumnCommand": _altered,
    "AlterTableSetLocationCommand": _altered,
    "AlterTableAddPartitionCommand": _altered,
    "AlterTableDropPartitionCommand": _altered,
    "AlterTableRenamePartitionCommand": _altered,
    "AlterTableSerDePropertiesCommand": _altered,
    "AlterTableRenameCommand": _renamed,
    "TruncateTableCommand": _truncated,
    "DropTableCommand": _dropped,
    "MergeIntoCommand": _delta_change(row_changes.merged),
    "UpdateCommand": _delta_change(row_changes.updated),
    "DeleteCommand": _delta_change(row_changes.kept),
    "ReplaceData": _v2_write,
    "WriteDelta": _v2_write,
    "DeleteFromTable": _v2_delete,
    "AppendData": _v2_write,
    "OverwriteByExpression": _v2_write,
    "OverwritePartitionsDynamic": _v2_write,
    "CreateTableAsSelect": _v2_create_as_select,
    "ReplaceTableAsSelect": _v2_create_as_select,
    "CreateTable": _v2_created,
    "ReplaceTable": _v2_created,
    "DropTable": _v2_change("DROP"),
    "DropView": _v2_change("DROP"),
    "TruncateTable": _v2_change("TRUNCATE"),
    "RenameTable": _v2_change("RENAME"),
    "AddColumns": _v2_change("ALTER"),
    "AlterColumns": _v2_change("ALTER"),
    "AlterColumn": _v2_change("ALTER"),
    "DropColumns": _v2_change("ALTER"),
    "RenameColumn": _v2_change("ALTER"),
    "ReplaceColumns": _v2_change("ALTER"),
    "SetTableProperties": _v2_change("ALTER"),
    "UnsetTableProperties": _v2_change("ALTER"),
}
