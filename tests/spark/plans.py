"""Plans for tests, in the form of the analyser's result, and a catalog without Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headwater.spark.datasets.commits import Commit
from headwater.spark.datasets.tables import Address
from headwater.spark.extension.attached import AttachedNodes
from headwater.spark.extension.builtin import built_in
from headwater.spark.extension.loading import Extensions
from headwater.spark.plan.model import Attribute, Plan, PlanNode
from headwater.spark.runs.extraction import Extraction, PlanLineage
from headwater.spark.runs.plan_context import PlanReaders

Raw = dict[str, Any]


@dataclass(slots=True)
class FakeCatalog:
    """A session catalog of known tables."""

    tables: dict[str, Raw] = field(default_factory=dict)
    warehouse: str | None = "file:/wh"
    metastore: str | None = None
    hive: bool = False
    case_sensitive: bool = False
    parsed: dict[str, Plan] = field(default_factory=dict)
    commits: dict[str, dict[int, Commit]] = field(default_factory=dict)
    conf: dict[str, str] = field(default_factory=dict)
    glue: str | None = None

    def table(self, database: str | None, table: str) -> Mapping[str, Any] | None:
        return self.tables.get(f"{database or 'default'}.{table}")

    def default_location(self, database: str | None, table: str) -> str | None:
        folder = "" if database in (None, "default") else f"{database}.db/"
        return f"file:/wh/{folder}{table}"

    def current_database(self) -> str:
        return "default"

    def loaded(self, catalog: str, namespace: tuple[str, ...], table: str) -> Mapping[str, Any] | None:
        return None

    def settings(self, start: str) -> Mapping[str, str]:
        return {key: value for key, value in self.conf.items() if key.startswith(start)}

    def catalog_conf(self, catalog: str) -> Mapping[str, str]:
        start = f"spark.sql.catalog.{catalog}."
        return {key.removeprefix(start): value for key, value in self.settings(start).items()}

    def committed(self, table: Address, file_format: str, first: int, last: int) -> Commit | None:
        made = {at: commit for at, commit in self.commits.get(table.location, {}).items() if first <= at <= last}
        return made[max(made)] if made else None

    def written_partitions(
        self, table: Address, file_format: str, depth: int, first: int, last: int
    ) -> tuple[Mapping[str, str], ...]:
        return ()

    def parse(self, sql: str) -> Plan | None:
        return self.parsed.get(sql)


def attribute(name: str, expr_id: int) -> Raw:
    return {"e": "AttributeReference", "name": name, "id": expr_id, "of": []}


def literal(value: str) -> Raw:
    return {"e": "Literal", "value": value, "of": []}


def call(kind: str, *children: Raw, **more: Any) -> Raw:
    return {"e": kind, "of": list(children), **more}


def alias(child: Raw, name: str, expr_id: int) -> Raw:
    return {"e": "Alias", "name": name, "id": expr_id, "of": [child]}


def node(kind: str, children: tuple[int, ...] = (), output: tuple[tuple[int, str], ...] = (), **fields: Any) -> Raw:
    command = kind.endswith("Command") or kind.startswith("InsertInto")
    return {"class": f"spark.{kind}", "children": children, "output": output, "command": command, "fields": fields}


def files(path: str, *columns: tuple[int, str]) -> Raw:
    """A read of files."""
    relation = {"$": "files", "class": "HadoopFsRelation", "paths": [path], "format": "parquet"}
    return node("LogicalRelation", output=columns, relation=relation, catalogTable=None)


def insert(query: int, path: str = "file:/out/t", **fields: Any) -> Raw:
    """A write of files."""
    members = {"outputPath": path, "mode": "Overwrite", "catalogTable": None, "partitionColumns": [], **fields}
    return node("InsertIntoHadoopFsRelationCommand", (query,), **members)


def plan(*raw: Raw) -> Plan:
    """A plan of these nodes, the first is the root; an output is (ExprId, name)."""
    return Plan(
        tuple(
            PlanNode(
                index,
                item["class"],
                tuple(item["children"]),
                tuple(Attribute(expr_id, name, "long") for expr_id, name in item["output"]),
                item["fields"],
                None,
                item["command"],
            )
            for index, item in enumerate(raw)
        )
    )


def readers(
    catalog: FakeCatalog | None = None, *factories: Callable[[], Any], nodes: Mapping[str, type] | None = None
) -> PlanReaders:
    """Readers of plans, with libraries' factories and node classes before headwater's own."""
    held = catalog or FakeCatalog()
    extensions = Extensions.load([*factories, built_in(held)], own=1)
    return PlanReaders(held, extensions, AttachedNodes(nodes or {}, extensions.context))


def lineage_of(made: Plan, known: PlanReaders | None = None) -> PlanLineage:
    """Return the lineage of a plan."""
    return Extraction(made, (known or readers()).of(made)).lineage()


def edges(result: PlanLineage) -> dict[str, set[str]]:
    """Column lineage of the one output: column (or ``*``) -> ``field SUBTYPE`` of each source."""
    facet = result.outputs[0].facets["columnLineage"]
    columns = {name: entry["inputFields"] for name, entry in facet["fields"].items()}
    columns["*"] = facet.get("dataset", [])
    return {
        name: {f"{source['field']} {how['subtype']}" for source in sources for how in source["transformations"]}
        for name, sources in columns.items()
    }
