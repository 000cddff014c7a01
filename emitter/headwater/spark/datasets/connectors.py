"""Connectors without a rule of their own: what their class and options say about the datasets that they read and write.

Pure. A guess is better than an invisible dataset, but the run says that it is one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...transport.redaction import Redaction
from ..plan.model import Fields, PlanNode, schema_fields
from . import facets
from .catalog_tables import jdbc, kafka
from .systems import texts
from .tables import Dataset, PlanScope, at_location

# Spark's own sources and sinks without a dataset: ranges, generated rows, sockets, memory, the console.
_INTERNAL = ("org.apache.spark.sql.execution.", "org.apache.spark.sql.catalyst.", "org.apache.spark.rdd.")
# Commands of these change tables in ways that headwater's rules know, or have no lineage.
_KNOWN = (*_INTERNAL, "org.apache.spark.sql.delta.", "org.apache.spark.sql.hive.", "io.delta.", "org.apache.iceberg.")
_INTERNAL_NAMES = frozenset({"rate", "rate-micro-batch", "socket", "memory", "console", "noop"})
_PYTHON = "org.apache.spark.sql.execution.datasources.v2.python."
# Options that name a dataset, and those that name its server, in order of precedence.
_NAMES = ("dbtable", "table", "tablename", "topic", "collection", "index", "query", "name")
_SERVERS = ("url", "uri", "endpoint", "host", "hosts", "server", "servers", "account")
_SERVER = re.compile(r"(?:jdbc:)?(?P<scheme>[A-Za-z][\w+.-]*)://(?:[^/?#;@]*@)?(?P<hosts>[^/?#;]+)")
_LONGEST_NAME = 200
_redaction = Redaction()


@dataclass(frozen=True, slots=True)
class Connector:
    """A connector that headwater does not know; ``name`` is its class, or the name of a Python data source."""

    name: str
    datasets: tuple[Dataset, ...] = ()

    @property
    def reason(self) -> str:
        """Return why the lineage of a run with this connector is incomplete."""
        if self.datasets:
            return f"{self.name} is not known: its dataset is named by its options"
        return f"{self.name} is not known: its datasets are missing"


def source_of(at: PlanScope, node: PlanNode) -> Connector | None:
    """Return the connector behind a leaf that no rule names; None for a leaf that reads no dataset."""
    if node.children or node.command:
        return None
    fields = schema_fields(node.output)
    match node.kind:
        case "LogicalRelation" | "LogicalRelationWithTable":
            held = node.fields.get("relation") or {}
            return connector(str(held.get("class", "")), texts(held), fields)
        case "DataSourceV2ScanRelation":
            below = at.plan_of(node.fields.get("relation"))
            return None if below is None else source_of(at, below)
        case "StreamingRelation" | "StreamingExecutionRelation":
            held = (node.fields.get("dataSource") or {}).get("of") or {}
            return connector(str(held.get("className", "")), texts(held.get("options")), fields)
        case "LogicalRDD" | "ExternalRDD":
            kinds = (node.fields.get("rdd") or {}).get("unknown") or ()
            return Connector(str(kinds[0])) if kinds else None
    if isinstance(node.fields.get("table"), Mapping):
        return _v2_table(at, node, fields)
    # Any other leaf of Spark itself makes its rows, or stands for a frame, a command's result or an unresolved name.
    return None if node.class_name.startswith("org.apache.spark.") else Connector(node.class_name)


def _v2_table(at: PlanScope, node: PlanNode, fields: Fields) -> Connector | None:
    held = node.fields
    table, identifier = held.get("table") or {}, held.get("identifier")
    kind = str(table.get("class", ""))
    options = texts(held.get("options")) | texts(held.get("extraOptions"))
    if kind.startswith(_PYTHON):
        return connector(str(table.get("name", "python")), options, fields)
    if isinstance(identifier, Mapping):
        return _in_catalog(at, held, kind, fields)
    return connector(kind, texts(table.get("properties")) | options, fields)


def _in_catalog(at: PlanScope, held: Mapping[str, Any], kind: str, fields: Fields) -> Connector:
    identifier, catalog = held["identifier"], str((held.get("catalog") or {}).get("name", ""))
    name = ".".join([*map(str, identifier.get("namespace") or ()), str(identifier.get("name"))])
    conf = {key.lower(): value for key, value in at.catalog.catalog_conf(catalog).items()}
    return Connector(kind, (_dataset(_server(conf) or catalog or _package(kind), name, fields),))


def sink_of(at: PlanScope, command: PlanNode) -> Connector | None:
    """Return the connector that a command without a rule for its output writes through; None where nothing is written."""
    query = at.plan.query_of(command)
    below = None if query is None else at.plan[query]
    fields = [] if below is None else schema_fields(below.output)
    if command.kind == "SaveIntoDataSourceCommand":
        source = command.fields.get("dataSource") or {}
        name = str(source.get("class") or source.get("$") or "")
        return connector(name, texts(command.fields.get("options")), fields)
    target = at.plan_of(command.fields.get("table")) or at.plan_of(command.fields.get("logicalRelation"))
    if target is not None:
        return source_of(at, target)
    named = at.plan_of(command.fields.get("name")) or (at.plan[command.children[0]] if command.children else None)
    creates = command.kind in {"CreateTableAsSelect", "ReplaceTableAsSelect"}
    if creates and named is not None and isinstance(named.fields.get("identifier"), Mapping):
        return _in_catalog(at, named.fields, str((named.fields.get("catalog") or {}).get("class", "")), fields)
    changes_a_table = below is None or below.kind.startswith(("Resolved", "Unresolved"))
    return None if changes_a_table or command.class_name.startswith(_KNOWN) else Connector(command.class_name)


def unknown_sink(sink: Mapping[str, Any], options: Mapping[str, Any], fields: Fields) -> Connector | None:
    """Return the connector of a streaming query's sink that no rule names; None for Spark's own."""
    kind = str(sink.get("class", ""))
    if kind.rpartition(".")[2].startswith("ForeachWriter"):
        return Connector(kind)  # the program's own code writes each row
    held = {"properties": sink.get("properties"), "options": options}
    return connector(str(sink.get("name")) if kind.startswith(_PYTHON) else kind, texts(held), fields)


def connector(name: str, options: Mapping[str, str], fields: Fields) -> Connector | None:
    """Return the connector of a class or short name with the datasets that its options name; None for Spark's own."""
    if not name or name in _INTERNAL_NAMES or (name.startswith(_INTERNAL) and not name.startswith(_PYTHON)):
        return None
    return Connector(name, tuple(_guessed(name, options, fields)))


def _guessed(kind: str, options: Mapping[str, str], fields: Fields) -> list[Dataset]:
    url, named = options.get("url", ""), next((options[key] for key in _NAMES if options.get(key)), None)
    if "kafka.bootstrap.servers" in options:
        return kafka(dict(options), fields)
    if url.lower().startswith("jdbc:") and named is not None:
        return [jdbc(url, named, fields)]
    path = options.get("path") or options.get("location")
    if path:
        return [at_location(_without_query(path), fields)]
    return [] if named is None else [_dataset(_server(options) or _package(kind), _safe(named), fields)]


def _dataset(namespace: str, name: str, fields: Fields) -> Dataset:
    return Dataset(namespace, name, facets.data_source(namespace)).having(schema=facets.schema(fields))


def _server(options: Mapping[str, str]) -> str | None:
    """Return the address of a server, without credentials and options."""
    for key in _SERVERS:
        found = _SERVER.match(options.get(key, ""))
        if found is not None:
            return f"{found['scheme'].lower()}://{found['hosts'].lower()}"
    return None


def _package(kind: str) -> str:
    """Return the package of a class, as the classes of a connector that read and write differ; a short name as it is."""
    return kind.rpartition(".")[0] or kind


def _without_query(path: str) -> str:
    """Return a path without what may be a signature; Hadoop's paths have no query."""
    return _redaction.text(path.split("?")[0] if "://" in path else path)


def _safe(name: str) -> str:
    return _redaction.text(name)[:_LONGEST_NAME]
