"""The outputs of commands, without Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from headwater.spark import LogicalPlan, QueryExecution
from headwater.spark.datasets.names import folder_partition, partition_values
from headwater.spark.datasets.subsets import with_written_partitions
from headwater.spark.datasets.tables import Address
from headwater.spark.extension.builtin import LARGEST_PLAN, BuiltInFactory, LogicalPlanFacetBuilder
from headwater.spark.plan.model import Plan
from headwater.spark.runs.settings import Settings

from .plans import FakeCatalog, Raw, attribute, call, edges, files, insert, lineage_of, literal, node, plan, readers

TABLE = {"$": "table", "table": "Big", "database": None}
IDENTIFIER = {"namespace": ["db"], "name": "t"}
ICEBERG = {"name": "ice", "class": "org.apache.iceberg.spark.SparkCatalog"}


@dataclass(slots=True)
class Iceberg(FakeCatalog):
    """A catalog whose tables lie where their names say."""

    def loaded(self, catalog: str, namespace: tuple[str, ...], table: str) -> Mapping[str, Any] | None:
        return {"properties": {"location": f"/{catalog}/{'/'.join(namespace)}/{table}"}}

    def catalog_conf(self, catalog: str) -> Mapping[str, str]:
        return {"type": "hadoop", "warehouse": "/ice"}


def test_several_inserts_of_one_query_are_one_run_with_all_outputs() -> None:
    first, second = insert(3, "file:/out/a"), insert(4, "file:/out/b")
    made = plan(node("Union", (1, 2)), first, second, files("/in/x", (1, "a")), files("/in/y", (2, "a")))
    result = lineage_of(made)
    assert [dataset.name for dataset in result.outputs] == ["/out/a", "/out/b"]
    assert [dataset.name for dataset in result.inputs] == ["/in/x", "/in/y"]
    assert result.suffix == ""


def test_a_write_without_an_output_has_inputs() -> None:
    table = {"$": "v2", "class": "org.apache.spark.sql.execution.datasources.noop.NoopTable$", "properties": {}}
    sink = node("DataSourceV2Relation", output=((1, "a"),), table=table, options={})
    made = plan(
        {**node("OverwriteByExpression", (2,), table={"$plan": 1}), "command": True}, sink, files("/in/x", (1, "a"))
    )
    result = lineage_of(made)
    assert result.outputs == ()
    assert [dataset.name for dataset in result.inputs] == ["/in/x"]


def test_a_command_without_a_query_reads_nothing() -> None:
    kind = "org.apache.spark.sql.execution.command.AnalyzeTableCommand"
    made = plan({**node("", (1,)), "class": kind, "command": True}, files("/in/x", (1, "a")))
    assert not lineage_of(made)


def test_truncate_and_load_name_their_job_after_the_table() -> None:
    tables = {"default.Big": {"identifier": TABLE, "location": "file:/wh/big", "schema": {}}}
    known = readers(FakeCatalog(tables))
    assert lineage_of(plan(node("TruncateTableCommand", tableName=TABLE)), known).suffix == "wh_big"
    loaded = lineage_of(plan(node("LoadDataCommand", table=TABLE, path="/in/f.csv", isOverwrite=True)), known)
    assert loaded.suffix == "default_big"
    assert loaded.outputs[0].facets["lifecycleStateChange"]["lifecycleStateChange"] == "OVERWRITE"


def test_the_name_of_a_table_follows_the_catalogs_case_sensitivity() -> None:
    command = node("CreateTableCommand", table={"identifier": TABLE, "location": "file:/wh/big", "schema": {}})
    for sensitive, name in ((False, "default.big"), (True, "default.Big")):
        (output,) = lineage_of(plan(command), readers(FakeCatalog(case_sensitive=sensitive))).outputs
        assert output.facets["symlinks"]["identifiers"][0]["name"] == name


def test_a_table_of_hive_says_which_catalog_it_is_in() -> None:
    command = node("CreateTableCommand", table={"identifier": TABLE, "location": "file:/wh/big", "schema": {}})
    (output,) = lineage_of(plan(command), readers(FakeCatalog(hive=True, metastore="hive://meta:9083"))).outputs
    catalog = output.facets["catalog"]
    assert (catalog["framework"], catalog["metadataUri"], catalog["warehouseUri"]) == (
        "hive",
        "hive://meta:9083",
        "file:/wh",
    )
    (plain,) = lineage_of(plan(command)).outputs
    assert "catalog" not in plain.facets


def v2(kind: str, resolved: str = "ResolvedIdentifier", **fields: Any) -> Plan:
    named = node(resolved, catalog=ICEBERG, identifier=IDENTIFIER)
    return plan({**node(kind, (1,), **fields), "command": True}, named)


def test_a_renamed_table_of_another_catalog_has_its_previous_key() -> None:
    (output,) = lineage_of(v2("RenameTable", "ResolvedTable", newName=["t2"]), readers(Iceberg())).outputs
    assert output.name == "/ice/db/t2"
    change = output.facets["lifecycleStateChange"]
    assert change["lifecycleStateChange"] == "RENAME"
    assert change["previousIdentifier"] == {"namespace": "file", "name": "/ice/db/t"}


def test_a_new_name_that_begins_with_the_catalog_is_in_it() -> None:
    made = v2("RenameTable", "ResolvedTable", newName=["ice", "db", "t2"])
    (output,) = lineage_of(made, readers(Iceberg())).outputs
    assert output.name == "/ice/db/t2"


def append(table: dict[str, Any], **identifier: Any) -> Plan:
    relation = node("DataSourceV2Relation", (), ((1, "a"),), table=table, catalog=ICEBERG, identifier=identifier)
    source = files("/in/x", (2, "a"))
    return plan({**node("AppendData", (2,), table={"$plan": 1}), "command": True}, relation, source)


def test_a_branch_of_a_table_is_the_table() -> None:
    table = {"properties": {"location": "/ice/db/t"}}
    written = lineage_of(append(table, namespace=["db", "t"], name="branch_dev"), readers(Iceberg()))
    assert ([dataset.name for dataset in written.outputs], written.suffix) == (["/ice/db/t"], "ice_db_t")


def test_a_table_read_as_of_a_snapshot_has_that_version() -> None:
    now = {"location": "/ice/db/t", "current-snapshot-id": "9"}
    for table, version in (({"properties": now}, "9"), ({"properties": now, "snapshot": 4}, "4")):
        relation = node("DataSourceV2Relation", (), ((1, "a"),), table=table, catalog=ICEBERG, identifier=IDENTIFIER)
        (read,) = lineage_of(plan(insert(1), relation), readers(Iceberg())).inputs
        assert read.facets["version"]["datasetVersion"] == version


def test_columns_given_as_expressions_come_from_the_catalog() -> None:
    columns = [{"e": "ColumnDefinition", "of": [{"e": "DefaultValueExpression", "of": []}]}]
    (output,) = lineage_of(v2("CreateTable", columns=columns), readers(Iceberg())).outputs
    assert output.name == "/ice/db/t"
    assert "schema" not in output.facets


def test_a_table_is_created_where_its_statement_says() -> None:
    spec = {"$": "TableSpec", "of": {"location": "/elsewhere/t"}}
    (output,) = lineage_of(v2("CreateTable", tableSpec=spec, columns=[]), readers(Iceberg())).outputs
    assert output.name == "/elsewhere/t"
    (usual,) = lineage_of(v2("CreateTable", columns=[]), readers(Iceberg())).outputs
    assert usual.name == "/ice/db/t"
    assert (
        usual.facets["catalog"] | {"framework": "iceberg", "type": "hadoop", "name": "ice"} == usual.facets["catalog"]
    )


def test_a_changed_table_without_known_columns_has_no_schema() -> None:
    (output,) = lineage_of(v2("AddColumns", "ResolvedTable"), readers(Iceberg())).outputs
    assert "schema" not in output.facets


def test_jobs_are_named_as_the_official_integration_names_them() -> None:
    assert lineage_of(v2("AddColumns", "ResolvedTable"), readers(Iceberg())).suffix == "db_t"
    assert lineage_of(v2("DropTable"), readers(Iceberg())).suffix == ""
    storage = {"of": {"locationUri": "file:/out/folder"}}
    for command in ("InsertIntoDataSourceDirCommand", "InsertIntoHiveDirCommand"):
        made = plan({**node(command, (1,), storage=storage), "command": True}, files("/in/x", (1, "a")))
        assert lineage_of(made).suffix == "out_folder"


def test_coalesced_partitions_preserve_their_order_and_shuffled_ones_do_not() -> None:
    def sorted_then(shuffle: bool) -> dict[str, set[str]]:
        sort: Raw = node("Sort", (3,), ((1, "a"),), order=[attribute("a", 1)])
        sort["fields"]["global"] = False
        made = plan(insert(1), node("Repartition", (2,), ((1, "a"),), shuffle=shuffle), sort, files("/in/x", (1, "a")))
        return edges(lineage_of(made))

    assert sorted_then(False)["*"] == {"a SORT"}
    assert sorted_then(True)["*"] == set()


def test_a_distinct_union_groups_by_nothing() -> None:
    union = node("Union", (3, 4), ((1, "a"),))
    keys = node("Deduplicate", (2,), ((1, "a"),), keys=[attribute("a", 1)])
    made = plan(insert(1), keys, union, files("/in/x", (1, "a")), files("/in/y", (2, "a")))
    assert edges(lineage_of(made))["*"] == set()


class Tree:
    """A plan's py4j reference."""

    def __init__(self, text: str) -> None:
        self.text = text

    def toJSON(self) -> str:
        return self.text


def execution(text: str) -> QueryExecution:
    made = plan(files("/in/x", (1, "a")))
    assert made.root is not None
    return QueryExecution(1, LogicalPlan(made, made.root, lambda _: Tree(text)))


def test_the_plan_is_emitted_once_and_only_if_enabled_and_within_the_limit() -> None:
    builder, small = LogicalPlanFacetBuilder(), execution('[{"class": "x"}]')
    assert builder.build(small)["spark.logicalPlan"]["plan"] == [{"class": "x"}]
    assert builder.build(small) == {}
    large = builder.build(execution('["' + "x" * LARGEST_PLAN + '"]'))["spark.logicalPlan"]
    assert "plan" not in large
    assert str(LARGEST_PLAN) in large["omitted"]
    key = "spark.openlineage.facets.spark.logicalPlan.disabled"
    requested = [Settings.of({key: v}, {}, "a", "4").facet_rules.requested for v in ("false", "true")]
    assert requested == [{"spark.logicalPlan"}, set()]
    assert list(BuiltInFactory(FakeCatalog()).create_run_facet_builders()) == []


def test_a_write_that_replaces_a_part_names_it() -> None:
    def replaced(**fields: Any) -> Any:
        (output,) = lineage_of(plan(insert(1, **fields), files("/in/x", (1, "a")))).outputs
        return output.run_facets.get("subset", {}).get("outputCondition")

    assert replaced() is None
    one = {"type": "partition", "partitions": [{"dimensions": {"day": "x"}}]}
    assert replaced(staticPartitions={"day": "x"}) == one

    def overwritten(condition: Raw) -> Any:
        table = {"properties": {"location": "/ice/db/t"}}
        relation = node("DataSourceV2Relation", (), ((1, "a"),), table=table, catalog=ICEBERG, identifier=IDENTIFIER)
        fields: dict[str, Any] = {"table": {"$plan": 1}, "deleteExpr": condition}
        command = {**node("OverwriteByExpression", (2,), **fields), "command": True}
        (output,) = lineage_of(plan(command, relation, files("/in/x", (2, "a"))), readers(Iceberg())).outputs
        return output.run_facets.get("subset", {}).get("outputCondition")

    field, value = {"type": "field", "field": "a"}, {"type": "literal", "value": "7"}
    compare = {"type": "compare", "left": field, "right": value, "comparison": "EQUAL"}
    equal = call("EqualTo", attribute("a", 1), call("Cast", literal("7")))
    assert overwritten(equal) == compare
    both = {"type": "binary", "left": compare, "right": {**compare, "comparison": "LESS_THAN"}, "operator": "AND"}
    assert overwritten(call("And", equal, call("LessThan", attribute("a", 1), literal("7")))) == both
    assert overwritten(call("And", equal, call("Like", attribute("a", 1), literal("7")))) is None
    assert overwritten(literal("true")) is None


@dataclass(slots=True)
class Written(FakeCatalog):
    """A catalog in which each format has one partition that was written."""

    def written_partitions(
        self, table: Address, file_format: str, depth: int, first: int, last: int
    ) -> tuple[Mapping[str, str], ...]:
        return ({"written": f"{file_format} {depth} {first} {last}"},)


def test_a_dynamic_overwrite_names_the_partitions_that_it_wrote() -> None:
    source = files("/in/x", (1, "a"), (2, "day"))

    def written(made: Plan) -> Any:
        (output,) = lineage_of(made, readers(Iceberg())).outputs
        found = with_written_partitions(output, Written(), 3, 4).run_facets
        return found["subset"]["outputCondition"]["partitions"][0]["dimensions"]["written"] if found else None

    def inserted(session: bool = False, **fields: Any) -> Any:
        days = [attribute("day", 2)]
        made = plan(insert(1, partitionColumns=days, fileFormat={"name": "parquet"}, **fields), source)
        return written(msgspec.structs.replace(made, replaces_partitions=session))

    assert inserted(session=True) == "parquet 1 3 4"
    assert inserted(options={"partitionOverwriteMode": "DYNAMIC"}) == "parquet 1 3 4"
    assert inserted(session=True, options={"partitionOverwriteMode": "static"}) is None
    assert inserted() is None
    assert inserted(session=True, mode="Append") is None

    table = {"identifier": TABLE, "location": "file:/wh/big", "schema": {}, "partitions": ["day", "hour"]}
    for overwrite, part, expected in (
        (True, {"day": None, "hour": None}, "None 2 3 4"),
        (True, {"day": "x", "hour": None}, "None 2 3 4"),
        (False, {"day": None, "hour": None}, None),
    ):
        fields: dict[str, Any] = {"table": table, "partition": part, "overwrite": overwrite}
        found = written(plan({**node("InsertIntoHiveTable", (1,), **fields), "command": True}, source))
        assert found == expected

    for kind in ("OverwritePartitionsDynamic", "DeltaDynamicPartitionOverwriteCommand", "OverwriteByExpression"):
        held = {"properties": {"location": "/ice/db/t", "provider": "iceberg"}}
        relation = node("DataSourceV2Relation", (), ((1, "a"),), table=held, catalog=ICEBERG, identifier=IDENTIFIER)
        made = plan({**node(kind, (2,), table={"$plan": 1}), "command": True}, relation, source)
        assert written(made) == (None if kind == "OverwriteByExpression" else "iceberg 0 3 4")

    options = {"path": "/out/t", "partitionOverwriteMode": "dynamic"}
    for mode, expected in (("Overwrite", "delta 0 3 4"), ("Append", None)):
        saved: dict[str, Any] = {"options": options, "dataSource": {"name": "delta"}, "mode": mode}
        assert written(plan(node("SaveIntoDataSourceCommand", (1,), **saved), source)) == expected


def test_the_values_of_a_partition_are_those_of_its_folders_or_of_its_commit() -> None:
    assert folder_partition("day=2026-01-01/name=a=b") == {"day": "2026-01-01", "name": "a=b"}
    assert folder_partition("a%3Ab=x%2Fy%3Dé%25/c=z") == {"a:b": "x/y=é%", "c": "z"}
    assert partition_values({"day": None, "hour": "1"}) == {"day": "__HIVE_DEFAULT_PARTITION__", "hour": "1"}
