"""Where we differ from the official integration on purpose: job -> (pattern, reason), each for whole differences.

A difference that no pattern takes fails the test, and so does a pattern that takes none: the list stays as long as it must.
"""

from __future__ import annotations

SCHEMA_INFERENCE = (r"- input \| file \| \$WORK/in", "Spark looked into the folder for a schema: that is no lineage")
NULL_CHECK = (r"- column \| .* \| \* \| .* \| INDIRECT FILTER", "a null check that the optimiser put in by itself")

ON_PURPOSE: dict[str, list[tuple[str, str]]] = {
    "01_csv_to_parquet": [
        SCHEMA_INFERENCE,
        (r"- schema \| \$WORK/in/people.csv \| value \| string", "the lines read for schema inference"),
    ],
    "03_parquet_to_orc": [SCHEMA_INFERENCE],
    "05_text_wordcount": [
        (r"[-+] column \| .* \| \* \| .* value \| .*", "only INDIRECT kinds shape whole rows: GROUP_BY")
    ],
    "08_partition_by": [
        SCHEMA_INFERENCE,
        (r"[-+] column \| .*by_day \| (day|status) \| .*", "a partition column is written as it is: IDENTITY"),
        (r"[-+] column \| .*by_day \| \* \| .* (day|status) \| .*", "the writer sorts by it: INDIRECT, not DIRECT"),
    ],
    "09_bucket_by_table": [SCHEMA_INFERENCE],
    "10_save_as_table": [SCHEMA_INFERENCE],
    "14_create_view": [
        SCHEMA_INFERENCE,
        (
            r"\+ (output|schema|column) \| (file \| )?\$WORK/wh/paid.*",
            "a view is a dataset with its own column lineage",
        ),
        (r"[-+] column \| \$WORK/wh/from_view \| s \| .*", "a sum seen through a view is an AGGREGATION"),
        (r"- column \| \$WORK/wh/from_view \| .* DIRECT TRANSFORMATION", "the view's own column is an IDENTITY"),
    ],
    "25_groupby_having": [
        SCHEMA_INFERENCE,
        (r"[-+] column \| .* \| \* \| .* amount \| .*", "HAVING filters: INDIRECT FILTER"),
    ],
    "26_window_functions": [SCHEMA_INFERENCE],
    "29_pivot": [
        SCHEMA_INFERENCE,
        (r"[-+] column \| .* \| (paid|open) \| .* status \| .*", "the pivot column only chooses"),
    ],
    "30_unpivot": [
        SCHEMA_INFERENCE,
        (r"\+ column \| .* \| value \| .* q[12] \| DIRECT IDENTITY", "each value is one of the columns"),
    ],
    "35_map_in_pandas": [
        SCHEMA_INFERENCE,
        (r"\+ column \| .* DIRECT TRANSFORMATION", "Python code over whole frames: all to all"),
        (r"\+ column \| .*aip \| \* \| .* customer_id \| INDIRECT GROUP_BY", "the groups that the code is applied to"),
    ],
    "37_nested_columns": [(r"[-+] column \| .*", "the nested field, not the top column; no null check of the struct")],
    "39_cte": [
        SCHEMA_INFERENCE,
        NULL_CHECK,
        (r"\+ column \| .* \| n \| .* status \| INDIRECT FILTER", "the scalar sub-query's filter"),
    ],
    "40_recursive_cte": [SCHEMA_INFERENCE, (r"\+ column \| .*", "a recursive query has columns")],
    "44_cache_two_writes": [
        SCHEMA_INFERENCE,
        (r"[-+] column \| .*c2 \| sx \| .*", "an aggregate over a cached frame is an AGGREGATION"),
    ],
    "46_rdd_text": [(r"[-+] input \| file \| \$WORK/in(/r.txt)?", "the file that was read, not its folder")],
    "47_rdd_to_df": [
        (r"[-+] input \| file \| \$WORK/in(/.*)?", "the file that was read, not its folder"),
        (r"\+ column \| .* DIRECT TRANSFORMATION", "a frame made of an RDD: all to all"),
    ],
    "49_fail_sql_error": [SCHEMA_INFERENCE],
    "53_kafka_batch": [
        SCHEMA_INFERENCE,
        (r"\+ (column|schema) \| reference.kb \| (key|value) \| .*", "a topic has a key and a value"),
        (
            r"\+ column \| .*from_kafka .* kafka://127.0.0.1:9092 reference.kb .*",
            "and what is read of it comes of these",
        ),
    ],
    "56_stream_kafka": [
        (r"\+ (output|schema|column) \| (file \| )?\$WORK/out/ks.*", "the sink of a streaming query is its output"),
        (r"\+ (column|schema) \| reference.ks(_out)? \| (key|value) \| .*", "a topic has a key and a value"),
    ],
    "54_stream_files": [(r"\+ (output|schema|column) \| .*", "the sink of a streaming query is its output")],
    "57_stream_agg_memory": [
        (r"\+ (output|schema|column) \| .*mem_q.*", "the sink of a streaming query is its output"),
        (r"[-+] (input|schema) \| .*\$WORK/in/s.*", "the folder that the stream reads, not a batch's file"),
    ],
    "59_constants_only": [SCHEMA_INFERENCE],
    "63_sql_comments": [SCHEMA_INFERENCE],
    "06_avro_roundtrip": [],
    "11_ctas_sql": [SCHEMA_INFERENCE, NULL_CHECK],
    "15_temp_view_chain": [SCHEMA_INFERENCE],
    "16_drop_table": [SCHEMA_INFERENCE],
    "17_alter_table": [SCHEMA_INFERENCE],
    "19_join_inner": [SCHEMA_INFERENCE, NULL_CHECK],
    "21_join_cross": [SCHEMA_INFERENCE],
    "22_join_self": [SCHEMA_INFERENCE, NULL_CHECK],
    "28_sort_limit": [SCHEMA_INFERENCE],
    "33_python_udf": [
        SCHEMA_INFERENCE,
        (r"\+ column \| .* \| tag \| .* DIRECT TRANSFORMATION", "a Python function transforms its arguments"),
        (r"\+ column \| .*udf_filter \| \* \| .* status \| INDIRECT FILTER", "a filter by a Python function"),
    ],
    "34_pandas_udf": [
        SCHEMA_INFERENCE,
        (r"\+ column \| .* \| p \| .* DIRECT TRANSFORMATION", "a pandas function transforms its arguments"),
    ],
    "43_merge_delta": [
        SCHEMA_INFERENCE,
        (r"\+ column \| \$WORK/wh/tgt \| .*", "MERGE, UPDATE, DELETE and the table's making, all columns"),
    ],
    "48_fail_udf": [
        SCHEMA_INFERENCE,
        (r"\+ column \| .* \| b \| .* DIRECT TRANSFORMATION", "a Python function transforms its arguments"),
    ],
    "60_select_star": [SCHEMA_INFERENCE, NULL_CHECK],
    "51_jdbc_derby": [
        SCHEMA_INFERENCE,
        (r"[-+] (input|output) \| file:\$WORK/(db1|derby/metastore_db) \| orders_j", "the database, not its metastore"),
        (r"[-+] column \| .* file:\$WORK/(db1|derby/metastore_db) .*", "and its columns, each by its own kind"),
    ],
    "62_wide_200": [SCHEMA_INFERENCE],
    "67_external_and_like": [SCHEMA_INFERENCE],
    "68_hive_tables": [SCHEMA_INFERENCE],
    "74_iceberg_merge": [
        SCHEMA_INFERENCE,
        (r"[-+] column \| \$WORK/ice/db/tgt \| .*", "MERGE, UPDATE, DELETE, all columns; not the rows' places"),
    ],
    "75_no_stop_exit": [SCHEMA_INFERENCE],
}
