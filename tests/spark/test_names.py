"""Names as OpenLineage's naming rules have them."""

from __future__ import annotations

import pytest

from headwater.spark.names import DatasetName, from_jdbc, from_kafka, from_location, job_suffix, snake_case


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
        ("s3a://key:secret@bucket/a", ("s3://bucket", "a")),
        ("/data/t/day=2026-01-01/hour=3", ("file", "/data/t")),
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
        ("jdbc:mysql://db:3306/shop", ("mysql://db:3306", "shop.t")),
        ("jdbc:derby:/data/db1;create=true", ("file:/data/db1", "t")),
    ],
)
def test_a_jdbc_table_is_named_by_its_server(url: str, key: tuple[str, str]) -> None:
    assert from_jdbc(url, "t") == DatasetName(*key)


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
    ],
)
def test_job_names_are_in_snake_case(text: str, name: str) -> None:
    assert snake_case(text) == name


def test_the_job_of_a_write_ends_in_the_end_of_its_path_or_in_its_table() -> None:
    place = DatasetName("file", "/wh/sales.db/lk")
    assert job_suffix(place, None) == "sales_db_lk"
    assert job_suffix(DatasetName("file", "/data/My Out/x-1.v2"), None) == "My Out_x-1_v2"
    assert job_suffix(place, "default.big_orders") == "default_big_orders"
