"""The datasets that the leaves of a plan read: a table from a leaf's class to a rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import takewhile
from typing import Any

from ..plan.model import Fields, PlanNode, schema_fields, struct_fields
from .catalog_tables import jdbc, kafka, of_relation, options_of, reported_key
from .facets import dataset_version
from .jdbc_query import tables_of
from .systems import known_tables, texts
from .tables import Dataset, PlanScope, at_location, of_table, unique


def reads(at: PlanScope, node: PlanNode) -> list[Dataset]:
    """Return the datasets that a leaf reads; nothing for any other node."""
    rule = _RULES.get(node.kind)
    found = [] if rule is None else unique(rule(at, node))
    return [dataset for dataset in found if not _is_format_log(dataset.name)]


def _is_format_log(path: str) -> bool:
    """Return whether a path is a table format's own log, which programs do not read themselves."""
    return "/_delta_log" in path


def _logical_relation(at: PlanScope, node: PlanNode) -> list[Dataset]:
    fields = schema_fields(node.output)
    table = node.fields.get("catalogTable")
    relation = node.fields.get("relation") or {}
    # A table of the catalog that represents one of a database is the table of the database.
    named = isinstance(table, dict) and relation.get("$") != "jdbc"
    found = _of_catalog(at, table, fields) if named else _relation(at, relation, fields)
    version = relation.get("version")
    return found if version is None else [dataset.having(version=dataset_version(str(version))) for dataset in found]


def _of_catalog(at: PlanScope, table: Any, fields: Fields) -> list[Dataset]:
    known = struct_fields(table["schema"])
    found = of_table({**table, "schema": {}} if not known else table, at.catalog, fields)
    return [] if found is None else [found]


def _relation(at: PlanScope, relation: Mapping[str, Any], fields: Fields) -> list[Dataset]:
    reported = reported_key(relation, fields)
    if reported is not None:
        return [reported]
    match relation.get("$"):
        case "files":
            return [at_location(path, fields, relation.get("format")) for path in relation["paths"]]
        case "jdbc":
            return _jdbc(at, str(relation["url"]), str(relation["table"]), fields)
    kind = str(relation.get("class", ""))
    if kind.endswith("KafkaRelation"):
        return kafka(_kafka_options(relation), fields)
    return known_tables(at.catalog, kind, texts(relation), fields, at.writes)


def _jdbc(at: PlanScope, url: str, table: str, fields: Fields) -> list[Dataset]:
    named = tables_of(at.catalog, table)
    if named is None:
        return [jdbc(url, table, fields)]
    return [jdbc(url, name, None) for name in named]


def _kafka_options(relation: Mapping[str, Any]) -> dict[str, str]:
    options: dict[str, str] = {}
    for held in relation.values():
        if isinstance(held, dict):
            options |= options_of(held)
    return options


def _hive_relation(at: PlanScope, node: PlanNode) -> list[Dataset]:
    table = node.fields.get("tableMeta")
    found = of_table(table, at.catalog, schema_fields(node.output)) if isinstance(table, dict) else None
    return [] if found is None else [found]


def _rdd(_at: PlanScope, node: PlanNode) -> list[Dataset]:
    return rdd_datasets(node.fields.get("rdd") or {})


def rdd_datasets(held: Mapping[str, Any]) -> list[Dataset]:
    """Return the files and folders behind an RDD, as ``jvm/Leaves.java`` describes it."""
    places = (*held.get("paths", ()), *_folders(held.get("files", ())))
    return unique(at_location(path, None) for path in places if not _is_format_log(path))


def _folders(files: list[str]) -> list[str]:
    """Return the folders of files that Spark wrote (``part-00000-...``), and other files as they are."""
    return [file.rpartition("/")[0] if file.rpartition("/")[2].startswith("part-") else file for file in files]


def _v2_relation(at: PlanScope, node: PlanNode) -> list[Dataset]:
    return of_relation(at, node.fields, schema_fields(node.output))


def _v2_scan(at: PlanScope, node: PlanNode) -> list[Dataset]:
    relation = at.plan_of(node.fields.get("relation"))
    return [] if relation is None else of_relation(at, relation.fields, schema_fields(node.output))


def _streaming_v2(at: PlanScope, node: PlanNode) -> list[Dataset]:
    held = dict(node.fields)
    options = held.get("extraOptions") or held.get("options") or {}
    return of_relation(at, {**held, "options": options}, schema_fields(node.output))


def _streaming_v1(at: PlanScope, node: PlanNode) -> list[Dataset]:
    """Return the folder that a streaming source of the first API reads; of a pattern the folder that it is in."""
    source = (node.fields.get("dataSource") or {}).get("of") or {}
    options = source.get("options") or {}
    named = known_tables(at.catalog, str(source.get("className", "")), texts(options), schema_fields(node.output))
    if named:
        return named
    path = options.get("path")
    return [] if path is None else [at_location(_before_pattern(str(path)), schema_fields(node.output))]


def _before_pattern(path: str) -> str:
    """Return the part of a path before its pattern, as the files that will match are not known yet."""
    parts = path.split("/")
    fixed = list(takewhile(lambda part: not _PATTERN.search(part), parts))
    return path if len(fixed) == len(parts) else "/".join(fixed) or "/"


_PATTERN = re.compile(r"[*?\[{]")


_Rule = Callable[[PlanScope, PlanNode], list[Dataset]]

_RULES: dict[str, _Rule] = {
    "LogicalRelation": _logical_relation,
    "LogicalRelationWithTable": _logical_relation,
    "HiveTableRelation": _hive_relation,
    "LogicalRDD": _rdd,
    "ExternalRDD": _rdd,
    "DataSourceV2Relation": _v2_relation,
    "ExtractV2Table": _v2_relation,
    "DataSourceV2ScanRelation": _v2_scan,
    "StreamingRelationV2": _streaming_v2,
    "StreamingDataSourceV2Relation": _streaming_v2,
    "StreamingDataSourceV2ScanRelation": _streaming_v2,
    "StreamingRelation": _streaming_v1,
}
