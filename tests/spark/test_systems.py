"""Sources and sinks that are known by name, without Spark: shapes of plans as they were recorded with these connectors."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.spark.datasets.systems import known_tables
from headwater.spark.runs.extraction import PlanLineage

from .plans import FakeCatalog, Raw, attribute, call, edges, files, insert, lineage_of, literal, node, plan, readers

SNOWFLAKE = {"sfurl": "https://org-acc.snowflakecomputing.com:443", "sfdatabase": "SHOP", "sfschema": "SALES"}
CASES: list[tuple[str, dict[str, str], str, str]] = [
    ("net.snowflake.spark.snowflake.SnowflakeRelation", SNOWFLAKE | {"dbtable": "ORDERS"},
     "snowflake://org-acc", "SHOP.SALES.ORDERS"),
    ("snowflake", SNOWFLAKE | {"dbtable": 'OTHER."My.Table"'}, "snowflake://org-acc", "SHOP.OTHER.My.Table"),
    ("bigquery", {"table": "acme:shop.orders$20260101"}, "bigquery", "acme.shop.orders"),
    ("bigquery", {"path": "shop.orders", "parentproject": "acme"}, "bigquery", "acme.shop.orders"),
    ("bigquery", {"table": "orders", "dataset": "shop", "project": "acme"}, "bigquery", "acme.shop.orders"),
    ("com.google.cloud.spark.bigquery.direct.DirectBigQueryRelation", {"tablename": "a.b.c"}, "bigquery", "a.b.c"),
    ("mongodb", {"connection.uri": "mongodb://u:p@h:1,h2/shop.orders?x=1"}, "mongodb://h:1", "shop.orders"),
    ("com.mongodb.spark.sql.MongoRelation",
     {"connectionstring": "mongodb://u:p@h:1", "databasename": "shop", "collectionname": "orders"},
     "mongodb://h:1", "shop.orders"),
    ("mongodb", {"spark.mongodb.database": "d", "collection": "c.e"}, "mongodb://localhost:27017", "d.c.e"),
    ("cassandra", {"keyspace": "k", "table": "t"}, "cassandra://localhost:9042", "k.t"),
    ("es", {"es.nodes": "u:p@h1:9243,h2", "path": "logs-*/_doc"}, "elasticsearch://h1:9243", "logs-*"),
    ("es", {"nodes": "https://h1", "es.port": "443", "resource": "logs"}, "elasticsearch://h1:443", "logs"),
    ("redshift", {"url": "jdbc:redshift:iam://wg.1.eu-west-1.redshift-serverless.amazonaws.com/dev?user=x", "dbtable": "s.t"},
     "redshift://wg.eu-west-1:5439", "dev.s.t"),
    ("redshift", {"url": "jdbc:redshift://proxy.example:1/dev", "dbtable": "s.t"}, "redshift://proxy.example:1", "dev.s.t"),
    ("hudi", {"path": "s3a://lake/orders"}, "s3://lake", "orders"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "options", "namespace", "name"), CASES)
def test_a_connector_s_options_name_its_table(kind: str, options: dict[str, str], namespace: str, name: str) -> None:
    (found,) = known_tables(FakeCatalog(), kind, options, [{"name": "a", "type": "long"}])
    assert found.key == (namespace, name)
    assert found.facets["schema"]["fields"] == [{"name": "a", "type": "long"}]


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("bigquery", {"table": "orders"}),
        ("snowflake", {"dbtable": "orders"}),
        ("cassandra", {"table": "t"}),
        ("redshift", {"dbtable": "t"}),
        ("mongodb", {"connection.uri": "wrong", "collection": "c"}),
        ("hudi", {}),
        ("com.acme.snowflake", {"dbtable": "t"}),
    ],
)
def test_options_that_lack_a_part_of_the_key_name_nothing(kind: str, options: dict[str, str]) -> None:
    assert known_tables(FakeCatalog(), kind, options, []) == []


def test_options_count_before_settings_and_those_of_a_side_before_others() -> None:
    conf = {"spark.mongodb.write.connection.uri": "mongodb://w", "spark.mongodb.connection.uri": "mongodb://both"}
    options = {"database": "d", "collection": "a, b"}
    catalog = FakeCatalog(conf=conf)
    assert [d.key for d in known_tables(catalog, "mongodb", options, [])] == [
        ("mongodb://both:27017", "d.a"),
        ("mongodb://both:27017", "d.b"),
    ]
    assert known_tables(catalog, "mongodb", options, [], writes=True)[0].namespace == "mongodb://w:27017"
    given = {**options, "spark.mongodb.write.connection.uri": "mongodb://given"}
    assert known_tables(catalog, "mongodb", given, [], writes=True)[0].namespace == "mongodb://given:27017"


def v2(catalog: Raw | None, identifier: Raw | None, table: Raw, **more: Any) -> Raw:
    return node("DataSourceV2Relation", output=((1, "a"),), table=table, catalog=catalog, identifier=identifier, **more)


def read(relation: Raw, catalog: FakeCatalog | None = None) -> PlanLineage:
    return lineage_of(plan(insert(1), relation), readers(catalog))


def test_a_catalog_of_a_connector_names_its_tables() -> None:
    where = {"name": "c", "class": "com.datastax.spark.connector.datasource.CassandraCatalog"}
    table = {"class": "com.datastax.spark.connector.datasource.CassandraTable", "name": "t", "properties": {}}
    known = FakeCatalog(conf={"spark.sql.catalog.c.spark.cassandra.connection.host": "h"})
    found = read(v2(where, {"namespace": ["k"], "name": "t"}, table), known)
    assert [dataset.key for dataset in found.inputs] == [("cassandra://h:9042", "k.t")]
    assert found.missing is None


GLUE = "arn:aws:glue:eu-west-1:123"
HIVE_CLIENT = "com.amazonaws.glue.catalog.metastore.AWSGlueDataCatalogHiveClientFactory"


def symlink(result: PlanLineage) -> tuple[str, str]:
    (found,) = result.inputs[0].facets["symlinks"]["identifiers"]
    return found["namespace"], found["name"]


def test_a_table_in_glue_s_catalog_has_its_key_there_as_a_symlink() -> None:
    conf = {"spark.hadoop.hive.metastore.client.factory.class": HIVE_CLIENT}
    catalog = FakeCatalog(hive=True, glue=GLUE, conf=conf)
    table = {"identifier": {"table": "t", "database": "db"}, "location": "s3://lake/t", "schema": {}}
    found = read(node("HiveTableRelation", output=((1, "a"),), tableMeta=table), catalog)
    assert symlink(found) == (GLUE, "table/db/t")
    assert found.inputs[0].facets["catalog"]["type"] == "glue"
    other = FakeCatalog(hive=True, glue=GLUE, metastore="hive://meta:9083")
    assert symlink(read(node("HiveTableRelation", output=((1, "a"),), tableMeta=table), other))[0] == "hive://meta:9083"


def test_an_iceberg_catalog_in_glue_has_the_region_and_account_of_its_settings() -> None:
    where = {"name": "ice", "class": "org.apache.iceberg.spark.SparkCatalog"}
    relation = v2(where, {"namespace": ["db"], "name": "t"}, {"properties": {"location": "s3://lake/t"}})
    start = "spark.sql.catalog.ice."
    conf = {f"{start}catalog-impl": "org.apache.iceberg.aws.glue.GlueCatalog", f"{start}warehouse": "s3://lake"}
    found = read(relation, FakeCatalog(conf=conf, glue=GLUE))
    assert symlink(found) == (GLUE, "table/db/t")
    assert found.inputs[0].facets["catalog"]["type"] == "glue"
    own = FakeCatalog(conf={**conf, f"{start}glue.id": "9", f"{start}client.region": "us-east-1"}, glue=GLUE)
    assert symlink(read(relation, own))[0] == "arn:aws:glue:us-east-1:9"
    assert "symlinks" not in read(relation, FakeCatalog(conf=conf)).inputs[0].facets


def test_a_table_of_unity_catalog_without_a_known_location_has_its_key_there() -> None:
    where = {"name": "main", "class": "com.databricks.sql.managedcatalog.UnityCatalogV2Proxy"}
    catalog = FakeCatalog(conf={"spark.databricks.workspaceUrl": "adb-1.azuredatabricks.net"})
    located = {"class": "DeltaTableV2", "properties": {"location": "s3://lake/t", "provider": "delta"}}
    found = read(v2(where, {"namespace": ["db"], "name": "t"}, located), catalog)
    assert found.inputs[0].key == ("s3://lake", "t")
    assert symlink(found) == ("unitycatalog://adb-1.azuredatabricks.net", "main.db.t")
    assert found.inputs[0].facets["catalog"]["type"] == "unity"
    unlocated = read(v2(where, {"namespace": ["db"], "name": "t"}, {"class": "X", "properties": {}}), catalog)
    assert unlocated.inputs[0].key == ("unitycatalog://adb-1.azuredatabricks.net", "main.db.t")


HUDI_TABLE = {
    "identifier": {"table": "t", "database": "db"},
    "location": "s3://lake/t",
    "schema": {},
    "provider": "hudi",
}
HUDI = node(
    "LogicalRelation",
    output=((5, "id"), (6, "a"), (7, "b")),
    relation={"$": "files", "paths": []},
    catalogTable=HUDI_TABLE,
)
T_ID, T_A, T_B = attribute("id", 5), attribute("a", 6), attribute("b", 7)
S_ID, S_A = attribute("id", 1), attribute("a", 2)
SET = call("Assignment", T_A, call("Add", S_A, literal("1")))


def changed(command: str, statement: str, *below: Raw, **fields: Any) -> PlanLineage:
    """The lineage of a command of Hudi with one of Spark's statements, whose table has an alias."""
    children = (2, 4) if below else (2,)
    reference: dict[str, Any] = {statement: {"$plan": 1}}
    held = node(command, (), **reference)
    kind = {"mergeInto": "MergeIntoTable", "ut": "UpdateTable", "updateTable": "UpdateTable"}.get(statement)
    inner = node(kind or "DeleteFromTable", children, **fields)
    alias_of = node("SubqueryAlias", (3,), ((5, "id"), (6, "a"), (7, "b")))
    return lineage_of(plan(held, inner, alias_of, HUDI, *below))


def test_a_merge_into_a_table_of_hudi_has_its_source_and_the_columns_of_its_clauses() -> None:
    result = changed(
        "MergeIntoHoodieTableCommand",
        "mergeInto",
        files("/in/x", (1, "id"), (2, "a"), (3, "deleted")),
        mergeCondition=call("EqualTo", T_ID, S_ID),
        matchedActions=[call("DeleteAction", attribute("deleted", 3)), call("UpdateAction", SET)],
        notMatchedActions=[call("InsertAction", call("Assignment", T_ID, S_ID), call("Assignment", T_A, S_A))],
    )
    assert [dataset.key for dataset in result.outputs] == [("s3://lake", "t")]
    assert [dataset.name for dataset in result.inputs] == ["t", "/in/x"]
    assert result.suffix == "t"
    assert edges(result) == {
        "id": {"id IDENTITY"},
        "a": {"a TRANSFORMATION", "a IDENTITY"},
        "b": {"b IDENTITY"},
        "*": {"id JOIN", "deleted FILTER"},
    }


@pytest.mark.parametrize("statement", ["ut", "updateTable"])
def test_an_update_of_a_table_of_hudi_has_the_columns_that_it_changes(statement: str) -> None:
    assignment = call("Assignment", T_A, call("Add", T_B, literal("1")))
    condition = call("EqualTo", T_ID, literal("1"))
    result = changed("UpdateHoodieTableCommand", statement, assignments=[assignment], condition=condition)
    assert [dataset.key for dataset in result.outputs] == [("s3://lake", "t")]
    assert edges(result) == {
        "id": {"id IDENTITY"},
        "a": {"a IDENTITY", "b TRANSFORMATION", "id CONDITIONAL"},
        "b": {"b IDENTITY"},
        "*": set(),
    }


@pytest.mark.parametrize("statement", ["dft", "deleteTable"])
def test_a_delete_from_a_table_of_hudi_filters_its_rows(statement: str) -> None:
    result = changed("DeleteHoodieTableCommand", statement, condition=call("EqualTo", T_ID, literal("1")))
    assert [dataset.key for dataset in result.outputs] == [("s3://lake", "t")]
    assert edges(result)["*"] == {"id FILTER"}
    assert edges(result)["a"] == {"a IDENTITY"}


def test_a_delete_of_newer_releases_of_hudi_has_the_table_of_its_rows() -> None:
    rows = node("Filter", (2,), ((5, "id"), (6, "a"), (7, "b")), condition=call("EqualTo", T_ID, literal("1")))
    result = lineage_of(plan(node("DeleteHoodieTableCommand", (1,), query={"$plan": 1}), rows, HUDI))
    assert [dataset.key for dataset in result.outputs] == [("s3://lake", "t")]
    assert edges(result)["*"] == {"id FILTER"}


def test_hudi_s_commands_write_tables_of_the_session_catalog() -> None:
    fields: dict[str, Any] = {
        "logicalRelation": {"$plan": 1},
        "partitionSpec": {"day": "x", "hour": None},
        "overwrite": True,
    }
    command = node("InsertIntoHoodieTableCommand", (2,), **fields)
    (inserted,) = lineage_of(plan(command, HUDI, files("/in/x", (1, "a")))).outputs
    assert inserted.key == ("s3://lake", "t")
    assert inserted.facets["storage"]["fileFormat"] == "hudi"
    part = {"type": "partition", "partitions": [{"dimensions": {"day": "x"}}]}
    assert inserted.run_facets["subset"]["outputCondition"] == part
    create = node("CreateHoodieTableAsSelectCommand", (1,), table=HUDI_TABLE, mode="ErrorIfExists")
    (created,) = lineage_of(plan(create, files("/in/x", (1, "a")))).outputs
    assert created.facets["lifecycleStateChange"]["lifecycleStateChange"] == "CREATE"
    assert [dataset.name for dataset in lineage_of(plan(create, files("/in/x", (1, "a")))).inputs] == ["/in/x"]
