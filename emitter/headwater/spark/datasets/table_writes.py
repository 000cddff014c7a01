"""Rules for commands on files and on tables of the session catalog (the first data source API)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..plan.model import Fields, Plan, PlanNode, expressions
from . import facets
from .catalog_tables import jdbc, kafka, options_of
from .names import DatasetName
from .reads import reads
from .subsets import overwritten, replaced_part, replaces_partitions, static_partition
from .systems import known_tables, texts
from .tables import Dataset, PlanScope, at_location, of_table
from .written import Written, changed, into, overwriting, written_fields

CREATES_AS_SELECT = (
    "CreateDataSourceTableAsSelectCommand",
    "SaveAsV1TableCommand",
    "CreateHiveTableAsSelectCommand",
    "OptimizedCreateHiveTableAsSelectCommand",
    "CreateHoodieTableAsSelectCommand",
)
"""The commands that create a table with a query's result."""


def _table(at: PlanScope, raw: object, fields: Fields) -> Dataset | None:
    return of_table(raw, at.catalog, fields) if isinstance(raw, dict) and "identifier" in raw else None


def _full_name(at: PlanScope, raw: object) -> str | None:
    identifier = raw.get("identifier", raw) if isinstance(raw, dict) else {}
    if not identifier.get("table"):
        return None
    name = f"{identifier.get('database') or at.catalog.current_database()}.{identifier['table']}"
    return name if at.catalog.case_sensitive else name.lower()


def insert_files(at: PlanScope, node: PlanNode) -> Written | None:
    """Return the files, or the table of files, that a query is written into."""
    fields = written_fields(at, node)
    file_format = (node.fields.get("fileFormat") or {}).get("name")
    found = _table(at, node.fields.get("catalogTable"), fields)
    if found is None:
        found = at_location(str(node.fields["outputPath"]), fields, file_format)
    partitions = [column.name or "" for column in expressions(node.fields.get("partitionColumns"))]
    static = node.fields.get("staticPartitions") or {}
    order = [*(name for name in partitions if name not in static), *_bucket(node.fields.get("bucketSpec"))]
    found = replaced_part(found, static_partition(static))
    change = overwriting(node.fields.get("mode"))
    options = texts(node.fields.get("options"))
    if change is not None and len(static) < len(partitions) and replaces_partitions(at, options):
        found = replace(found, dynamic=tuple(partitions))
    return into(at, node, found, change, None, order)


def _bucket(raw: object) -> list[str]:
    held = raw.get("of", {}) if isinstance(raw, dict) else {}
    return [*held.get("bucketColumnNames", ()), *held.get("sortColumnNames", ())]


def create_as_select(at: PlanScope, node: PlanNode) -> Written | None:
    """Return the table that CTAS or ``saveAsTable`` creates."""
    fields = written_fields(at, node)
    table = node.fields.get("tableDesc") or node.fields.get("table") or {}
    change = None if node.fields.get("mode") == "Append" else "CREATE"
    order = [*table.get("partitions", ()), *_bucket(table.get("bucket"))]
    return into(at, node, _table(at, table, fields), change, _full_name(at, table), order)


def overwritten_table(plan: Plan) -> tuple[str | None, str] | None:
    """Return database and name of the table that ``saveAsTable`` in mode overwrite writes; Spark drops one that exists."""
    command = plan.root
    if command is None or command.kind not in CREATES_AS_SELECT or overwriting(command.fields.get("mode")) is None:
        return None
    identifier = (command.fields.get("tableDesc") or command.fields.get("table") or {}).get("identifier") or {}
    return identifier.get("database"), str(identifier.get("table"))


def insert_hive(at: PlanScope, node: PlanNode) -> Written | None:
    """Return the Hive table of an INSERT."""
    fields = written_fields(at, node)
    table = _table(at, node.fields.get("table"), fields)
    dynamic = [name for name, value in (node.fields.get("partition") or {}).items() if value is None]
    table = None if table is None else replaced_part(table, static_partition(node.fields.get("partition")))
    change = overwriting(node.fields.get("overwrite"))
    if table is not None and change is not None and dynamic:
        table = replace(table, dynamic=tuple((node.fields.get("table") or {}).get("partitions") or dynamic))
    return into(at, node, table, change, None, dynamic)


def insert_folder(at: PlanScope, node: PlanNode) -> Written | None:
    """Return the folder of an INSERT OVERWRITE DIRECTORY."""
    storage = (node.fields.get("storage") or {}).get("of") or {}
    location = storage.get("locationUri")
    if location is None:
        return None
    fields = written_fields(at, node)
    file_format = node.fields.get("provider")
    found = at_location(str(location), fields, file_format if isinstance(file_format, str) else None)
    return into(at, node, found, overwriting(node.fields.get("overwrite")), None)


def insert_relation(at: PlanScope, node: PlanNode) -> Written | None:
    """Return the relation of the first API of an INSERT."""
    target = at.plan_of(node.fields.get("logicalRelation"))
    found = [] if target is None else reads(replace(at, writes=True), target)
    part = static_partition(node.fields.get("partitionSpec") or node.fields.get("partition"))  # of Hudi's command
    written = replaced_part(found[0], part) if found else None
    return into(at, node, written, overwriting(node.fields.get("overwrite")), None)


def save_into_source(at: PlanScope, node: PlanNode) -> Written | None:
    """Return the dataset that ``df.write.format(...).save()`` writes through a source of the first API."""
    fields = written_fields(at, node)
    options = options_of(node.fields.get("options"))
    source = node.fields.get("dataSource") or {}
    named = str(source.get("name") or source.get("class", "")).lower()
    change = overwriting(node.fields.get("mode"))
    if "kafka" in named:
        topics = kafka(options, fields)
        return into(at, node, topics[0] if topics else None, None, "")
    if "jdbc" in named and "url" in options:
        table = options.get("dbtable", "")
        return into(at, node, jdbc(options["url"], table, fields), change, table)
    kind = str(source.get("class") or source.get("$") or "")
    known = known_tables(at.catalog, kind, options, fields, writes=True)
    if known:
        return into(at, node, known[0], change, None)
    if "path" in options:
        part = overwritten(at.catalog, node, options) if change is not None else None
        found = replaced_part(at_location(options["path"], fields, named), part)
        if change is not None and part is None and named == "delta" and replaces_partitions(at, options):
            found = replace(found, dynamic=())
        return into(at, node, found, change, None)
    return None


def create(at: PlanScope, node: PlanNode) -> Written | None:
    """Return the table of a CREATE TABLE."""
    table = node.fields.get("table")
    suffix = None if node.kind == "CreateTableCommand" else _full_name(at, table)
    return changed(_table(at, table, []), "CREATE", suffix)


def create_view(at: PlanScope, node: PlanNode) -> Written | None:
    """Return the dataset of a persistent view; a temporary one is only a name for a query."""
    if "PersistedView" not in str(node.fields.get("viewType")):
        return None
    fields = written_fields(at, node)
    given = node.fields.get("userSpecifiedColumns") or []
    pairs = [column.get("of", {}) for column in given if isinstance(column, dict)]
    names = [pair.get("_1") or pair.get("_1$mcI$sp") for pair in pairs]
    if len(names) == len(fields):
        fields = [{**field, "name": str(name)} for field, name in zip(fields, names, strict=True)]
    view = {"identifier": node.fields["name"], "location": None, "schema": {}}
    dataset = of_table(view, at.catalog, fields)
    found = into(at, node, dataset, "CREATE", _full_name(at, node.fields["name"]))
    return found and replace(found, columns=tuple(field["name"] for field in fields))


def _named_table(at: PlanScope, raw: object) -> Dataset | None:
    if not isinstance(raw, dict) or raw.get("$") != "table":
        return None
    known = at.catalog.table(raw["database"], raw["table"])
    return of_table(known or {"identifier": raw, "location": None, "schema": {}}, at.catalog)


def _target_table(at: PlanScope, node: PlanNode) -> Dataset | None:
    for name in ("table", "tableName", "tableIdent", "tableIdentifier"):
        raw = node.fields.get(name)
        found = _named_table(at, raw) or _table(at, raw, [])
        if found is not None:
            return found
    return None


def altered(at: PlanScope, node: PlanNode) -> Written | None:
    """Return the table of any ALTER TABLE but a rename."""
    return changed(_target_table(at, node), "ALTER")


def truncated(at: PlanScope, node: PlanNode) -> Written | None:
    """Return the table of a TRUNCATE TABLE."""
    return changed(_target_table(at, node), "TRUNCATE", None)


def dropped(at: PlanScope, node: PlanNode) -> Written | None:
    """Return the table or view of a DROP."""
    return changed(_target_table(at, node), "DROP")


def renamed(at: PlanScope, node: PlanNode) -> Written | None:
    """Return the new table of an ALTER TABLE ... RENAME TO, with the old one's key."""
    old, new = node.fields.get("oldName"), node.fields.get("newName")
    if not isinstance(old, dict) or not isinstance(new, dict):
        return None
    database = new.get("database") or old.get("database")
    dataset = _named_table(at, {**new, "database": database})
    if dataset is None:
        return None
    change = facets.lifecycle("RENAME", _previous(at, old))
    return Written(dataset.having(lifecycleStateChange=change), suffix="")


def _previous(at: PlanScope, old: dict[str, Any]) -> DatasetName | None:
    location = at.catalog.default_location(old.get("database"), str(old.get("table")))
    return None if location is None else at_location(location, None).key


def created_like(at: PlanScope, node: PlanNode) -> Written | None:
    """Return the table of a CREATE TABLE ... LIKE."""
    target, source = node.fields.get("targetTable"), node.fields.get("sourceTable")
    if not isinstance(target, dict) or not isinstance(source, dict):
        return None
    like = at.catalog.table(source.get("database"), str(source.get("table"))) or {"schema": {}}
    known = at.catalog.table(target.get("database"), str(target.get("table"))) or {}
    dataset = of_table({"identifier": target, "location": known.get("location"), "schema": like["schema"]}, at.catalog)
    return changed(dataset, "CREATE", str(target.get("table")))


def loaded(at: PlanScope, node: PlanNode) -> Written | None:
    """Return the table of a LOAD DATA."""
    name = _full_name(at, node.fields.get("table"))
    return changed(_target_table(at, node), overwriting(node.fields.get("isOverwrite")), name)


def loaded_from(node: PlanNode) -> list[Dataset]:
    """Return the files that LOAD DATA moves into a table; nothing for any other command."""
    path = node.fields.get("path")
    return [at_location(path, None)] if node.kind == "LoadDataCommand" and isinstance(path, str) else []
