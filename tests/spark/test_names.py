"""Names as OpenLineage's naming rules have them."""

from __future__ import annotations

import pytest

from headwater.spark.datasets.jdbc_names import from_jdbc
from headwater.spark.datasets.names import DatasetName, from_kafka, from_location, job_suffix, snake_case


@pytest.mark.parametrize(
    ("location", "key"),
    [
        ("/data/t", ("file", "/data/t")),
        ("file:/data/t", ("file", "/data/t")),
        ("file:///data/t/", ("file", "/data/t")),
        ("s3a://bucket/a/b", ("s3://bucket", "a/b")),
        ("s3n://bucket/a", ("s3://bucket", "a")),
        ("gs://bucket/a/b", ("gs://bucket", "a/b")),
        ("hdfs://nn:8020/a/b", ("hdfs://nn:8020", "/a/b")),
        ("abfss://box@acc.dfs.core.windows.net/a", ("abfss://box@acc.dfs.core.windows.net", "a")),
        ("abfs://box@acc.dfs.core.windows.net/a", ("abfss://box@acc.dfs.core.windows.net", "a")),
        ("s3a://key:secret@bucket/a", ("s3://bucket", "a")),
        ("/data/t/day=2026-01-01/hour=3", ("file", "/data/t")),
        ("/data/t/2026-01-31", ("file", "/data/t")),
        ("/data/t/31.01.2026", ("file", "/data/t")),
        ("/data/t/20260131", ("file", "/data/t")),
        ("/data/t/20260131T101500Z", ("file", "/data/t")),
        ("/data/t/202601", ("file", "/data/t")),
        ("/data/t/2026-01/31", ("file", "/data/t/2026-01/31")),
        ("s3a://bucket/t/2026/01/31/", ("s3://bucket", "t")),
        ("/data/t/2026/01", ("file", "/data/t")),
        ("/data/t/year=2026/20260131", ("file", "/data/t")),
        ("/data/t/a=b=c", ("file", "/data/t/a=b=c")),
        ("/data/t/20261331", ("file", "/data/t/20261331")),
        ("/data/t/2026", ("file", "/data/t/2026")),
        ("/data/t/v20260131", ("file", "/data/t/v20260131")),
        ("/20260131", ("file", "/20260131")),
        ("/data//t///", ("file", "/data/t")),
        ("file:/data/a%20b#c?d", ("file", "/data/a%20b#c?d")),
    ],
)
def test_a_location_is_a_dataset_without_credentials_or_partitions(location: str, key: tuple[str, str]) -> None:
    assert from_location(location) == DatasetName(*key)


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("jdbc:postgresql://db/shop", ("postgres://db:5432", "shop.t")),
        ("jdbc:postgresql://me:secret@db:5433/shop?user=me", ("postgres://db:5433", "shop.t")),
        ("jdbc:postgresql://A,b:1/shop", ("postgres://a:5432,b:1", "shop.t")),
        ("jdbc:postgresql:shop", ("postgresql:shop", "t")),
        ("jdbc:mysql://db:3306/shop", ("mysql://db:3306", "shop.t")),
        ("jdbc:mysql:replication://a,b/shop", ("mysql://a:3306,b:3306", "shop.t")),
        ("jdbc:mariadb://db/shop", ("mariadb://db", "shop.t")),
        ("jdbc:sqlserver://db;databaseName=shop;password=secret", ("sqlserver://db", "shop.t")),
        ("jdbc:sqlserver://db\\one:1433;database=shop", ("sqlserver://db:1433/one", "shop.t")),
        ("jdbc:sqlserver://;serverName=db;portNumber=1433", ("sqlserver://db:1433", "t")),
        ("jdbc:jtds:sqlserver://db:1433/shop", ("sqlserver://db:1433", "shop.t")),
        ("jdbc:oracle:thin:me/secret@db:1521:orcl", ("oracle://db:1521", "orcl.t")),
        ("jdbc:oracle:thin:@//db/service", ("oracle://db:1521", "service.t")),
        (
            "jdbc:oracle:thin:@(DESCRIPTION=(ADDRESS=(PROTOCOL=TCP)(HOST=db)(PORT=1522))(CONNECT_DATA=(SID=orcl)))",
            ("oracle://db:1522", "orcl.t"),
        ),
        ("jdbc:db2://db/shop:user=me;password=secret;", ("db2://db:6789", "shop.t")),
        ("jdbc:teradata://db/DATABASE=shop,DBS_PORT=1026", ("teradata://db:1026", "shop.t")),
        ("jdbc:ch:https://db/shop?password=secret", ("clickhouse://db:8123", "shop.t")),
        ("jdbc:cassandra://a--b:9043/keys", ("cassandra://a:9042,b:9043", "keys.t")),
        ("jdbc:trino://db/hive/sales", ("trino://db:443", "hive/sales.t")),
        ("jdbc:snowflake://acc.example.com/?db=shop", ("snowflake://acc.example.com", "t")),
        ("jdbc:sqlite:/data/a.db", ("sqlite:/data/a.db", "t")),
        ("jdbc:h2:mem:test;PASSWORD=secret", ("h2:mem:test", "t")),
        ("jdbc:derby:/data/db1;create=true", ("file:/data/db1", "t")),
        ("jdbc:derby://db:1527/db1;create=true", ("derby://db:1527", "db1.t")),
        ("jdbc:derby:memory:db1", ("derby:memory:db1", "t")),
        ("nonsense", ("jdbc", "t")),
    ],
)
def test_a_jdbc_table_is_named_by_its_server(url: str, key: tuple[str, str]) -> None:
    assert from_jdbc(url, "t") == DatasetName(*key)


@pytest.mark.parametrize(
    ("kind", "name"), [("mysql", "other.t"), ("clickhouse", "other.t"), ("postgresql", "shop.other.t")]
)
def test_a_dot_in_a_table_s_name_comes_after_a_database_or_a_schema(kind: str, name: str) -> None:
    assert from_jdbc(f"jdbc:{kind}://db/shop", "other.t").name == name


def test_a_topic_is_named_by_the_first_server() -> None:
    assert from_kafka("a:9092,b:9092", "orders") == DatasetName("kafka://a:9092", "orders")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Execute InsertIntoHadoopFsRelationCommand", "execute_insert_into_hadoop_fs_relation_command"),
        ("AdaptiveSparkPlan", "adaptive_spark_plan"),
        ("Execute SaveAsV1TableCommand", "execute_save_as_v1_table_command"),
        ("01_csv_to_parquet", "01_csv_to_parquet"),
        ("My App, v2", "my_app_v2"),
        ("_nightly_!", "_nightly_"),
        ("HTTPServer2Go", "http_server2_go"),
        ("ÜberJob mit Ö", "ber_job_mit"),
        ("naïve", "naive"),
    ],
)
def test_job_names_are_in_snake_case(text: str, name: str) -> None:
    assert snake_case(text) == name


def test_the_job_of_a_write_ends_in_the_end_of_its_path_or_in_its_table() -> None:
    place = DatasetName("file", "/wh/sales.db/lk")
    assert job_suffix(place, None) == "sales_db_lk"
    assert job_suffix(DatasetName("file", "/data/My Out/x-1.v2"), None) == "My Out_x-1_v2"
    assert job_suffix(place, "default.big_orders") == "default_big_orders"
