"""Names from platform, authority and path are those of OpenLineage's naming page."""

from __future__ import annotations

from typing import Any

import pytest
from openlineage.client.naming import dataset as naming

from headwater.operators import dataset_name
from headwater.operators.naming import _PLATFORMS
from headwater_avro.errors import ConfigError

T3 = ("db", "public", "orders")
# kind, authority, path, the same by openlineage-python's own helper
BY_HELPER: list[tuple[str, str, Any, Any]] = [
    ("athena", "eu-west-1", ("cat", "db", "orders"), naming.Athena("eu-west-1", "cat", "db", "orders")),
    ("glue", "eu-west-1:123", ("db", "orders"), naming.AWSGlue("eu-west-1", "123", "db", "orders")),
    (
        "cosmosdb",
        "acc.documents.azure.com",
        ("db", "orders"),
        naming.AzureCosmosDB("acc.documents.azure.com", "db", "orders"),
    ),
    ("azurekusto", "cluster", ("db", "orders"), naming.AzureDataExplorer("cluster", "db", "orders")),
    ("synapse", "h:1433", ("dbo", "orders"), naming.AzureSynapse("h", "1433", "dbo", "orders")),
    ("bigquery", "", ("proj", "set", "orders"), naming.BigQuery("proj", "set", "orders")),
    ("cassandra", "h:9042", ("ks", "orders"), naming.Cassandra("h", "9042", "ks", "orders")),
    ("mysql", "h:3306", ("db", "orders"), naming.MySQL("h", "3306", "db", "orders")),
    ("crate", "h:5432", T3, naming.CrateDB("h", "5432", *T3)),
    ("db2", "h:50000", T3, naming.DB2("h", "50000", *T3)),
    ("oceanbase", "h:2881", ("db", "orders"), naming.OceanBase("h", "2881", "db", "orders")),
    ("oracle", "h:1521", T3, naming.Oracle("h", "1521", *T3)),
    ("postgres", "h:5432", T3, naming.Postgres("h", "5432", *T3)),
    ("teradata", "h:1025", ("db", "orders"), naming.Teradata("h", "1025", "db", "orders")),
    ("redshift", "c1.eu-west-1:5439", T3, naming.Redshift("c1", "eu-west-1", "5439", *T3)),
    ("snowflake", "org-acc", T3, naming.Snowflake("org", "acc", *T3)),
    ("trino", "h:8080", T3, naming.Trino("h", "8080", *T3)),
    ("abfss", "box@acc", "a/b", naming.ABFSS("box", "acc", "a/b")),
    ("wasbs", "box@acc", "a/b", naming.WASBS("box", "acc", "a/b")),
    ("dbfs", "ws", "/a/b", naming.DBFS("ws", "/a/b")),
    ("gs", "bucket", "a/b", naming.GCS("bucket", "a/b")),
    ("s3", "bucket", "a/b", naming.S3("bucket", "a/b")),
    ("hdfs", "nn:8020", "/a/b", naming.HDFS("nn", "8020", "/a/b")),
    ("hive", "h:10000", ("db", "orders"), naming.Hive("h", "10000", "db", "orders")),
    ("kafka", "h:9092", "topic.a", naming.Kafka("h", "9092", "topic.a")),
    ("file", "", "/a/b.csv", naming.LocalFileSystem("/a/b.csv")),
    ("file", "nas", "/a/b.csv", naming.RemoteFileSystem("nas", "/a/b.csv")),
    ("pubsub", "", ("topic", "p", "t"), naming.PubSubNaming(naming.PubSubResourceType.TOPIC, "p", "t")),
]
# Platforms of the page for which openlineage-python has no helper.
BY_HAND: list[tuple[str, str, Any, str, str]] = [
    ("mssql", "h:1433", T3, "mssql://h:1433", "db.public.orders"),
    ("milvus", "h", ("db", "vectors"), "milvus://h:19530", "db.vectors"),
    ("fabric", "end.point", T3, "fabric-warehouse://end.point", "db.public.orders"),
    ("spanner", "proj:inst", T3, "spanner://proj:inst", "db.public.orders"),
    ("unitycatalog", "h:443", T3, "unitycatalog://h:443", "db.public.orders"),
    ("box", "h:443/12", "a/b", "box://h:443/12", "a/b"),
    ("filenet", "h:443/12", "a", "filenet://h:443/12", "a"),
    ("sharepoint", "h:443/site", "/a", "mssharepoint://h:443/site", "a"),
    ("inmemory", "", "frame-1", "inmemory://", "frame-1"),
    ("mongodb", "h", "shop.orders", "mongodb://h:27017", "shop.orders"),
    ("elasticsearch", "https://u:p@h:9243/x", ("logs-2026.01",), "elasticsearch://h:9243", "logs-2026.01"),
]


@pytest.mark.parametrize(("kind", "authority", "path", "helper"), BY_HELPER, ids=lambda value: type(value).__name__)
def test_names_are_those_of_the_clients_helpers(kind: str, authority: str, path: Any, helper: Any) -> None:
    assert dataset_name(kind, authority, path) == (helper.get_namespace(), helper.get_name())


@pytest.mark.parametrize(("kind", "authority", "path", "namespace", "name"), BY_HAND)
def test_names_are_those_of_the_naming_page(kind: str, authority: str, path: Any, namespace: str, name: str) -> None:
    assert dataset_name(kind, authority, path) == (namespace, name)


def test_every_helper_of_the_client_is_among_the_cases() -> None:
    covered = {type(helper).__name__ for *_, helper in BY_HELPER}
    classes = {name for name, each in vars(naming).items() if isinstance(each, type) and hasattr(each, "get_name")}
    assert classes - {"DatasetNaming"} == covered


def test_every_platform_is_among_the_cases() -> None:
    rules = {_rule(kind) for kind, *_ in [*BY_HELPER, *BY_HAND]}
    assert rules == set(_PLATFORMS)


def _rule(kind: str) -> str:
    from headwater.operators.naming import _ALIASES

    return _ALIASES.get(kind, kind)


@pytest.mark.parametrize(
    "authority",
    [
        "db.example.org",
        "db.example.org:5432",
        "postgresql://me:secret@db.example.org:5432/shop?x=1",
        "me:secret@db.example.org",
    ],
)
def test_different_spellings_of_a_server_are_one_namespace_without_credentials(authority: str) -> None:
    assert dataset_name("postgresql", authority, "shop.public.orders") == (
        "postgres://db.example.org:5432",
        "shop.public.orders",
    )


def test_quoted_parts_may_hold_dots() -> None:
    assert dataset_name("bigquery", "", "`my.project`.set.[a table]").name == "my.project.set.a table"
    assert dataset_name("postgres", "h", 'db."odd ""schema"".x".t').name == 'db.odd "schema".x.t'


def test_a_bucket_key_loses_its_leading_slash() -> None:
    assert dataset_name("s3a", "s3://bucket", "/a/b") == ("s3://bucket", "a/b")


def test_of_many_brokers_the_first_names_the_cluster() -> None:
    assert dataset_name("kafka", "k1:9092,k2:9092", "t").namespace == "kafka://k1:9092"


def test_redshift_and_snowflake_are_read_from_their_endpoints() -> None:
    assert (
        dataset_name("redshift", "c1.abc123.eu-west-1.redshift.amazonaws.com", T3).namespace
        == "redshift://c1.eu-west-1:5439"
    )
    assert (
        dataset_name("redshift", "wg.123.eu-west-1.redshift-serverless.amazonaws.com", T3).namespace
        == "redshift://wg.eu-west-1:5439"
    )
    assert dataset_name("snowflake", "org-acc.snowflakecomputing.com", T3).namespace == "snowflake://org-acc"


@pytest.mark.parametrize(
    ("kind", "authority", "path", "message"),
    [
        ("dbase", "h", "a.b", "no naming rule for 'dbase'"),
        ("postgres", "h", "public.orders", "database, schema, table"),
        ("postgres", "", T3, "needs an authority"),
        ("postgres", "h", ("db", " ", "orders"), "database, schema, table"),
        ("hive", "h", "db.orders", "host:port"),
        ("s3", "bucket", "", "key"),
        ("glue", "eu-west-1", "db.orders", "region:account"),
        ("spanner", "proj", T3, "project:instance"),
        ("abfss", "box", "a", "container@service"),
        ("redshift", "c1", T3, "cluster.region"),
    ],
)
def test_what_lacks_a_part_is_refused_with_what_is_needed(kind: str, authority: str, path: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        dataset_name(kind, authority, path)
