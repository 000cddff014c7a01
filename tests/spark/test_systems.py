"""Sources and sinks that are known by name, without Spark: shapes of plans as they were recorded with these connectors."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.spark.datasets.systems import known_tables
from headwater.spark.runs.extraction import PlanLineage

from .plans import FakeCatalog, Raw, files, insert, lineage_of, node, plan, readers

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


def test_hudi_s_commands_write_tables_of_the_session_catalog() -> None:
    table = {
        "identifier": {"table": "t", "database": "db"},
        "location": "s3://lake/t",
        "schema": {},
        "provider": "hudi",
    }
    target = node("LogicalRelation", output=((5, "a"),), relation={"$": "files", "paths": []}, catalogTable=table)
    fields: dict[str, Any] = {
        "logicalRelation": {"$plan": 1},
        "partitionSpec": {"day": "x", "hour": None},
        "overwrite": True,
    }
    command = node("InsertIntoHoodieTableCommand", (2,), **fields)
    (inserted,) = lineage_of(plan(command, target, files("/in/x", (1, "a")))).outputs
    assert inserted.key == ("s3://lake", "t")
    assert inserted.facets["storage"]["fileFormat"] == "hudi"
    part = {"type": "partition", "partitions": [{"dimensions": {"day": "x"}}]}
    assert inserted.run_facets["subset"]["outputCondition"] == part
    create = node("CreateHoodieTableAsSelectCommand", (1,), table=table, mode="ErrorIfExists")
    (created,) = lineage_of(plan(create, files("/in/x", (1, "a")))).outputs
    assert created.facets["lifecycleStateChange"]["lifecycleStateChange"] == "CREATE"
    assert [dataset.name for dataset in lineage_of(plan(create, files("/in/x", (1, "a")))).inputs] == ["/in/x"]
