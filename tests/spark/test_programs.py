"""The events of whole programs (``programs/``), of a real listener in a real session: what no rule alone shows."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from .surroundings import interpreter
from .versions import warnings

pytestmark = pytest.mark.end_to_end

PROGRAMS = Path(__file__).parent / "programs"
_ALONE = {"delta", "hive", "iceberg"}
NAMES = sorted(path.stem for path in PROGRAMS.glob("*.py") if path.stem not in _ALONE)


class Events:
    """The events of a program; paths begin with ``$WORK``."""

    def __init__(self, out: Path, name: str) -> None:
        lines = (out / f"{name}.jsonl").read_text().replace(str(out / "work" / name), "$WORK").splitlines()
        self.all: list[dict[str, Any]] = [json.loads(line) for line in lines]

    def ends(self) -> list[dict[str, Any]]:
        """The last events of all runs but the application's."""
        return [event for event in self.all[1:-1] if event["eventType"] in {"COMPLETE", "FAIL", "ABORT"}]

    def end(self, output: str) -> dict[str, Any]:
        """The last event of the only run that wrote ``output``, a name or the end of one."""
        (found,) = [e for e in self.ends() if any(dataset["name"].endswith(output) for dataset in e["outputs"])]
        return found

    def columns(self, output: str) -> dict[str, set[str]]:
        """Column lineage of an output: column (or ``*``) -> ``dataset field SUBTYPE``, the dataset without its folder."""
        facet = self.end(output)["outputs"][0]["facets"].get("columnLineage", {"fields": {}})
        columns = {name: entry["inputFields"] for name, entry in facet["fields"].items()}
        columns["*"] = facet.get("dataset", [])
        return {
            name: {
                f"{source['name'].rpartition('/')[2]} {source['field']} {how['subtype']}"
                for source in sources
                for how in source["transformations"]
            }
            for name, sources in columns.items()
        }


def incomplete(event: dict[str, Any]) -> str:
    return str(event["run"]["facets"].get("headwater_incomplete", {}).get("reason", ""))


def run(out: Path, *names: str, pyspark: str | None = None) -> Path:
    """Run programs in one driver, of this PySpark or of a listed version; return the folder with each one's events."""
    python, environ = interpreter(pyspark)
    command = [python, "-m", "tests.spark.reference", "--jobs", str(PROGRAMS), "--out", str(out), *names]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=600, cwd=Path(__file__).parents[2], env=environ
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert warnings(done.stderr) == []
    assert "Traceback" not in done.stderr, done.stderr[-4000:]
    return out


@pytest.fixture(scope="session")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with each program's events, from one driver."""
    return run(tmp_path_factory.mktemp("programs"), *NAMES)


@pytest.fixture(scope="session")
def hive(tmp_path_factory: pytest.TempPathFactory) -> Events:
    """The events of the program on Hive, whose settings need a driver of its own."""
    return Events(run(tmp_path_factory.mktemp("hive"), "hive"), "hive")


def test_a_chain_of_two_hundred_projections_has_the_lineage_of_each_column(output: Path) -> None:
    events = Events(output, "wide")
    columns = events.columns("/chained")
    assert len(columns) == 5 + 200 + 1
    assert columns["c199"] == {"orders.parquet amount TRANSFORMATION"}
    assert columns["status"] == {"orders.parquet status IDENTITY"}
    assert incomplete(events.end("/chained")) == ""


def test_a_column_dropped_in_a_chain_is_not_a_source_of_the_step_after_it(output: Path) -> None:
    columns = Events(output, "wide").columns("/opaque")
    assert columns["c19"] == {"orders.parquet order_id TRANSFORMATION", "orders.parquet amount TRANSFORMATION"}
    assert columns["*"] == {"orders.parquet order_id FILTER"}


def test_two_thousand_columns_and_twenty_projections_have_all_their_lineage(output: Path) -> None:
    events = Events(output, "wide")
    assert len(events.columns("/columns")) == 2001 + 1
    columns = events.columns("/both")
    assert len(columns) == 2001 + 20 + 1
    assert columns["c1999"] == {"columns c1999 IDENTITY"}
    assert columns["d19"] == {"columns c19 TRANSFORMATION"}


def test_a_chain_that_is_used_twice_has_all_its_columns(output: Path) -> None:
    assert Events(output, "wide").columns("/shared") == {
        "order_id": {"orders.parquet order_id IDENTITY"},
        "more": {"orders.parquet amount TRANSFORMATION"},
        "*": {"orders.parquet amount FILTER"},
    }


def test_a_plan_above_the_limits_has_the_lineage_of_the_columns_that_fit(output: Path) -> None:
    events = Events(output, "wide")
    end, columns = events.end("/limited"), events.columns("/limited")
    found = [name for name in columns if name != "*"]
    assert 10 < len(found) < 300
    assert found == ["order_id", *(f"s{number}" for number in range(len(found) - 1))]
    assert columns["s5"] == {"orders.parquet amount AGGREGATION"}
    assert columns["*"] == {"orders.parquet order_id GROUP_BY"}
    assert incomplete(end) == f"the plan is above a limit of size: no lineage of {401 - len(found)} columns"
    assert [dataset["name"] for dataset in end["inputs"]] == ["$WORK/in/orders.parquet"]
    assert len(end["outputs"][0]["facets"]["schema"]["fields"]) == 401


SHOP = ("https://shop.example:8443", "public.orders")


def keys(datasets: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(dataset["namespace"], dataset["name"]) for dataset in datasets]


def test_an_unknown_connector_is_named_by_its_options_without_their_secrets(output: Path) -> None:
    events = Events(output, "unknown")
    assert keys(events.end("/python_named")["inputs"]) == [SHOP]
    assert events.columns("/python_named")["amount"] == {"public.orders amount IDENTITY"}
    assert keys(events.end("public.orders")["inputs"]) == [("file", "$WORK/in/orders.parquet")]
    assert keys(events.end("/class_named")["inputs"]) == [("s3://bucket", "acme/in")]
    assert incomplete(events.end("/class_named")).startswith("com.acme.openlineage.v1.UnknownRelation is not known")
    assert keys(events.end("sales")["outputs"]) == [("com.acme.openlineage.v1", "sales")]
    assert incomplete(events.end("sales")).startswith("com.acme.openlineage.v1.UnknownSource is not known")
    assert not [event for event in events.all if "hunter2" in json.dumps(event) or "token" in json.dumps(event)]


def test_a_connector_without_a_name_is_named_by_the_run_and_its_columns_are_no_constants(output: Path) -> None:
    events = Events(output, "unknown")
    for folder, name in (("/python_unnamed", "shop"), ("/class_unnamed", "com.acme.openlineage.v1.UnknownRelation")):
        assert incomplete(events.end(folder)) == f"{name} is not known: its datasets are missing"
        assert events.columns(folder) == {"*": set()}
    without_output = [event for event in events.ends() if not event["outputs"]]
    assert [(len(event["inputs"]), incomplete(event).partition(" ")[0]) for event in without_output] == [
        (1, "shop"),
        (0, "shop"),
        (0, "shop"),
        (1, "com.acme.openlineage.v1.UnknownSource"),
    ]


def streaming(events: Events, name: str) -> dict[str, Any]:
    (end,) = [event for event in events.ends() if event["job"]["name"].endswith(f".{name}")]
    return end


def test_a_stream_from_and_to_a_python_data_source_has_datasets_or_a_reason(output: Path) -> None:
    events = Events(output, "unknown")
    named = streaming(events, "named")
    assert (keys(named["inputs"]), keys(named["outputs"])) == ([SHOP], [("shop", "public.copies")])
    assert events.columns("public.copies")["amount"] == {"public.orders amount IDENTITY"}
    assert incomplete(named) == "shop is not known: its dataset is named by its options"
    unnamed = streaming(events, "unnamed")
    assert (unnamed["inputs"], unnamed["outputs"]) == ([], [])
    assert incomplete(unnamed) == "shop is not known: its datasets are missing"


LAKE = "com.acme.lake"


def test_streams_of_unknown_classes_have_datasets_or_a_reason_and_their_columns_are_no_constants(output: Path) -> None:
    events = Events(output, "named")
    ends = {name: streaming(events, name) for name in ("from_named", "from_unnamed", "to_named", "to_unnamed")}
    assert keys(ends["from_named"]["inputs"]) == [("lake://lake.example", "orders")]
    assert events.columns("/from_named")["amount"] == {"orders amount IDENTITY"}
    assert events.columns("/from_unnamed") == {"*": set()}
    assert keys(ends["to_named"]["outputs"]) == [(LAKE, "copies")]
    assert ends["to_unnamed"]["outputs"] == []
    assert {name: incomplete(end) for name, end in ends.items()} == {
        "from_named": f"{LAKE} is not known: its dataset is named by its options",
        "from_unnamed": f"{LAKE} is not known: its datasets are missing",
        "to_named": f"{LAKE}.NoSink is not known: its dataset is named by its options",
        "to_unnamed": f"{LAKE}.NoSink is not known: its datasets are missing",
    }


def test_a_table_of_an_unknown_catalog_is_named_by_the_catalog(output: Path) -> None:
    events = Events(output, "named")
    created, appended = [e for e in events.ends() if keys(e["outputs"]) == [("other", "db.orders")]]
    assert created["outputs"][0]["facets"]["lifecycleStateChange"]["lifecycleStateChange"] == "CREATE"
    assert keys(events.end("/other")["inputs"]) == [("other", "db.orders")]
    assert events.columns("/other")["amount"] == {"db.orders amount IDENTITY"}
    reasons = {incomplete(event).partition(" ")[0] for event in (created, appended, events.end("/other"))}
    assert reasons == {f"{LAKE}.LakeCatalog", f"{LAKE}.TheTable"}


SYSTEMS = {
    "snowflake": ("snowflake://org-acc", "SHOP.SALES.ORDERS"),
    "bigquery": ("bigquery", "acme-prod.shop.orders"),
    "mongodb": ("mongodb://docs.example:27018", "shop.orders"),
    "cassandra": ("cassandra://c1.example:9042", "shop.orders"),
    "elasticsearch": ("elasticsearch://search.example:9200", "orders"),
    "redshift": ("redshift://dw.eu-west-1:5439", "shop.public.orders"),
    "hudi": ("s3://lake", "orders"),
}


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_connector_that_is_known_by_name_has_its_table_s_key_in_reads_and_writes(output: Path, system: str) -> None:
    events, key = Events(output, "named"), SYSTEMS[system]
    read = events.end(f"/{system}")
    assert keys(read["inputs"]) == [key]
    assert [field["name"] for field in read["inputs"][0]["facets"]["schema"]["fields"]] == ["order_id", "amount"]
    assert events.columns(f"/{system}")["amount"] == {f"{key[1].rpartition('/')[2]} amount IDENTITY"}
    written_key = ("mongodb://cluster.example:27017", key[1]) if system == "mongodb" else key
    command = "append_data" if system in {"mongodb", "cassandra"} else "save_into"
    written = next(e for e in events.ends() if keys(e["outputs"]) == [written_key] and command in e["job"]["name"])
    fields = written["outputs"][0]["facets"]["columnLineage"]["fields"]
    assert {source["field"] for source in fields["amount"]["inputFields"]} == {"amount"}
    assert [incomplete(read), incomplete(written)] == ["", ""]
    assert not [event for event in events.all if "hunter2" in json.dumps(event)]


def test_a_relation_of_mongodb_s_first_connector_has_the_key_of_its_settings(output: Path) -> None:
    read = Events(output, "named").end("/mongo_relation")
    assert keys(read["inputs"]) == [("mongodb://old.example:27017", "shop.orders")]
    assert incomplete(read) == ""


def test_the_query_of_a_connector_that_is_known_by_name_has_its_tables_and_columns(output: Path) -> None:
    events = Events(output, "named")
    names = [name for _, name in keys(events.end("/query")["inputs"])]
    assert names == ["SHOP.SALES.O", "SHOP.PUBLIC.P"]
    columns = events.columns("/query")
    assert columns["amount"] == {"SHOP.PUBLIC.P amount IDENTITY"}
    assert columns["*"] == {"SHOP.SALES.O id JOIN", "SHOP.PUBLIC.P id JOIN", "SHOP.SALES.O ok FILTER"}


def test_a_path_of_elasticsearch_is_an_index_and_a_stream_writes_one(output: Path) -> None:
    events = Events(output, "named")
    (saved,) = [e for e in events.ends() if keys(e["outputs"]) == [("elasticsearch://search.example:9200", "other")]]
    assert saved["outputs"][0]["facets"]["lifecycleStateChange"]["lifecycleStateChange"] == "OVERWRITE"
    assert keys(streaming(events, "indexed")["outputs"]) == [SYSTEMS["elasticsearch"]]


def test_tables_of_a_connector_s_catalog_and_of_unity_catalog_have_their_keys(output: Path) -> None:
    events = Events(output, "named")
    assert keys(events.end("/wide")["inputs"]) == [SYSTEMS["cassandra"]]
    (read,) = events.end("/unity")["inputs"]
    assert keys([read]) == [("s3://lake", "unity/orders")]
    assert keys(read["facets"]["symlinks"]["identifiers"]) == [
        ("unitycatalog://unity.example:8443", "unity.sales.orders")
    ]
    assert [incomplete(events.end(output)) for output in ("/wide", "/unity")] == ["", ""]


def test_lineage_that_a_connector_reports_on_the_jvm_is_asked_for(output: Path) -> None:
    events = Events(output, "unknown")
    assert keys(events.end("/relation")["inputs"]) == [("acme://relation", "table")]
    assert events.columns("/relation")["id"] == {"table id IDENTITY"}
    assert keys(events.end("there")["outputs"]) == [("acme://provider", "there")]
    (read,) = events.end("/node")["inputs"]
    assert keys([read]) == [("acme://scan", "numbers")]
    assert read["facets"]["note"]["text"] == "from the connector"
    assert events.columns("/node")["id"] == {"numbers source_id IDENTITY"}
    assert [incomplete(events.end(output)) for output in ("/relation", "there", "/node")] == ["", "", ""]


@pytest.mark.parametrize("name", ["explode", "posexplode", "inline"])
def test_a_generator_filters_by_what_it_is_applied_to(output: Path, name: str) -> None:
    column = "pairs" if name == "inline" else "tags"
    assert Events(output, "rows").columns(f"/{name}") == {
        "order_id": {"lists order_id IDENTITY"},
        "*": {f"lists {column} FILTER", "lists status FILTER"},
    }


@pytest.mark.parametrize("name", ["explode_outer", "literal", "stack"])
def test_a_generator_with_a_row_for_each_input_does_not_filter(output: Path, name: str) -> None:
    assert Events(output, "rows").columns(f"/{name}")["*"] == {"lists status FILTER"}


def test_dropped_duplicates_leave_values_as_they_are(output: Path) -> None:
    columns = Events(output, "rows").columns("/unique")
    assert columns["amount"] == {"orders.parquet amount IDENTITY"}
    assert columns["*"] == {"orders.parquet customer_id GROUP_BY"}


def test_the_members_of_a_written_struct_are_those_that_are_read(output: Path) -> None:
    events = Events(output, "rows")
    assert events.columns("/struct")["s.amount"] == {"orders.parquet amount IDENTITY"}
    assert events.columns("/struct")["s.at.day"] == {"orders.parquet day IDENTITY"}
    assert events.columns("/moved")["s.at.day"] == {"struct s.at.day IDENTITY"}
    assert events.columns("/members")["amount"] == {"struct s.amount TRANSFORMATION"}
    assert events.columns("/members")["day"] == {"struct s.at.day TRANSFORMATION"}


def replaced(event: dict[str, Any]) -> Any:
    return event["outputs"][0].get("outputFacets", {}).get("subset", {}).get("outputCondition")


def test_a_partial_overwrite_names_the_partitions_that_it_replaces(output: Path) -> None:
    def writes(table: str) -> list[Any]:
        return [
            replaced(e) for e in Events(output, "rows").ends() if any(d["name"].endswith(table) for d in e["outputs"])
        ]

    one = {"day": "2026-01-01", "hour": "1"}
    created, static, whole = writes("/parts")
    assert static == {"type": "partition", "partitions": [{"dimensions": one}]}
    assert (created, whole) == (None, None)
    days = [partition["dimensions"] for partition in writes("/other")[1]["partitions"]]
    assert sorted(days, key=str) == [one, {"day": "2026-01-02", "hour": "1"}]


def statistics(dataset: dict[str, Any], side: str) -> tuple[Any, bool]:
    """The number of rows, and whether there are bytes."""
    found = dataset.get(f"{side}Facets", {}).get(f"{side}Statistics", {})
    return found.get("rowCount"), found.get("size", 0) > 0


def test_predicates_of_a_jdbc_read_filter_and_its_rows_are_counted(output: Path) -> None:
    events = Events(output, "rows")
    assert events.columns("/predicates")["*"] == {"orders_j order_id FILTER", "orders_j amount FILTER"}
    assert statistics(events.end("/predicates")["inputs"][0], "input") == (3, False)
    assert events.columns("/partitioned")["*"] == set()
    assert statistics(events.end("/partitioned")["inputs"][0], "input") == (6, False)


def test_streaming_queries_count_rows_and_bytes(output: Path) -> None:
    events = Events(output, "rows")
    batches, files = events.end("/batches"), events.end("/streamed")
    counted = {dataset["name"].rpartition("/")[2]: statistics(dataset, "output") for dataset in batches["outputs"]}
    assert counted == {"batches": (6, True), "large": (2, True)}
    assert statistics(files["outputs"][0], "output") == (6, True)
    assert statistics(files["inputs"][0], "input")[0] == 6


def test_a_sink_of_the_program_s_own_code_is_named_by_the_run(output: Path) -> None:
    (end,) = [e for e in Events(output, "rows").ends() if not e["outputs"]]
    assert "ForeachWriter" in incomplete(end)


def test_a_folder_is_part_of_its_job_s_name(output: Path) -> None:
    assert Events(output, "rows").end("/folder")["job"]["name"].endswith(".out_folder")


def test_a_query_without_text_does_not_have_that_of_a_view(output: Path) -> None:
    assert "sql" not in Events(output, "rows").end("/no_text")["job"]["facets"]


def statement(event: dict[str, Any]) -> Any:
    return event["job"]["facets"].get("sql", {}).get("query")


def test_a_run_has_the_text_of_its_own_statement_only(output: Path) -> None:
    events = Events(output, "identity")
    texts = {
        name: statement(events.end(f"/{name}"))
        for name in ("through_view", "temp_view", "more", "joined", "text", "outer", "cte")
    }
    assert texts == {
        "through_view": None,
        "temp_view": None,
        "more": None,
        "joined": None,
        "text": "select amount from t where amount > 1",
        "outer": "select amount + 1 as a from tv",
        "cte": "with c as (select amount from t) select * from c",
    }


def tables(dataset: dict[str, Any]) -> list[str]:
    return [known["name"] for known in dataset["facets"].get("symlinks", {}).get("identifiers", ())]


def test_a_table_outside_the_warehouse_has_its_name_wherever_it_is_used(output: Path) -> None:
    events = Events(output, "identity")
    for table, read in (("saved", "from_saved"), ("external", "from_external")):
        used = [d for e in events.ends() for d in e["outputs"] if d["name"].endswith(f"/ext/{table}")]
        assert used
        assert {tuple(tables(dataset)) for dataset in used} == {(f"default.{table}",)}
        assert tables(events.end(f"/{read}")["inputs"][0]) == [f"default.{table}"]


def test_a_table_that_save_as_table_replaces_is_overwritten(output: Path) -> None:
    ends = [e for e in Events(output, "identity").ends() if any(d["name"].endswith("/again") for d in e["outputs"])]
    changes = [e["outputs"][0]["facets"].get("lifecycleStateChange", {}).get("lifecycleStateChange") for e in ends]
    assert changes == ["CREATE", "OVERWRITE", "DROP", "CREATE", None]


def test_the_table_that_a_stream_writes_into_has_its_name(output: Path) -> None:
    streams = [e for e in Events(output, "identity").ends() if "streaming_query" in e["job"]["name"]]
    assert [(e["outputs"][0]["name"], tables(e["outputs"][0])) for e in streams] == [
        ("$WORK/wh/streamed", ["default.streamed"]),
        ("$WORK/ext/streamed_out", ["default.streamed_out"]),
    ]


def facets_of(event: dict[str, Any], kind: str = "run") -> dict[str, Any]:
    """The numbers in the facets that the program's threads registered."""
    return {name: f["number"] for name, f in event[kind]["facets"].items() if name.startswith("note")}


def test_a_registered_facet_is_in_the_run_that_its_own_thread_starts(output: Path) -> None:
    events = Events(output, "registered")
    found: dict[str, dict[str, int]] = {f"{place}-{n}": {} for place in ("left", "right", "plain") for n in range(6)}
    for event in events.all[1:-1]:
        if event["job"]["name"].rpartition("-")[0].endswith(("left", "right", "plain")):
            found[event["outputs"][0]["name"].rpartition("/")[2]] |= facets_of(event)
    assert found == {
        f"{place}-{n}": {} if place == "plain" else {f"note_{place}": n}
        for place in ("left", "right", "plain")
        for n in range(6)
    }


def test_a_facet_registered_before_a_stream_or_an_rdd_action_is_in_its_run(output: Path) -> None:
    events = Events(output, "registered").all[1:-1]
    found = {}
    for job in ("streaming_query", "map_partitions_python_parallel_collection"):
        runs = [event for event in events if event["job"]["name"] == f"registered.{job}"]
        found[job] = [{**facets_of(event), **facets_of(event, "job")} for event in runs]
    assert found == {
        "streaming_query": [{"note_stream": 1}, {"note_batch": 2}, {}],
        "map_partitions_python_parallel_collection": [{"note_text": 3, "note_job": 4}, {}],
    }


def test_a_facet_for_which_there_is_no_run_is_in_the_application_s_last_event(output: Path) -> None:
    first, *_, last = Events(output, "registered").all
    assert [facets_of(first), facets_of(last)] == [{}, {"note_last": 5}]


def test_a_node_class_builds_its_facets_by_the_context(output: Path) -> None:
    (written,) = Events(output, "registered").end("/plain-0")["outputs"]
    assert written["facets"]["version"]["datasetVersion"] == "7"
    assert written["facets"]["lifecycleStateChange"]["lifecycleStateChange"] == "ALTER"
    assert written["outputFacets"]["acme"]["rows"] == 99


def test_a_table_made_for_one_of_a_database_is_that_one(output: Path) -> None:
    events = Events(output, "identity")
    (created,) = [e for e in events.ends() if e["job"]["name"].endswith("default_represented")]
    (made,) = created["outputs"]
    (read,) = events.end("/from_database")["inputs"]
    assert keys([made]) == keys([read]) == [("file:$WORK/db", "orders_j")]
    assert tables(made) == ["default.represented"]
    assert "hunter2" not in json.dumps(created)


def test_files_are_named_alike_whether_one_or_several_are_read(output: Path) -> None:
    events = Events(output, "identity")
    names = {name: [d["name"] for d in events.end(f"/{name}")["inputs"]] for name in ("one", "two", "many", "folders")}
    assert names == {
        "one": ["$WORK/files/a.txt"],
        "two": ["$WORK/files/a.txt", "$WORK/files/b.txt"],
        "many": ["$WORK/many"],
        "folders": ["$WORK/files", "$WORK/many"],
    }


NEEDS_JARS = pytest.mark.skipif(
    os.environ.get("HEADWATER_SPARK_REFERENCE") != "all", reason="HEADWATER_SPARK_REFERENCE=all"
)


@pytest.fixture(scope="session")
def delta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the events of the program on Delta, which needs its jars."""
    return run(tmp_path_factory.mktemp("delta"), "delta")


@NEEDS_JARS
def test_delta_s_copies_are_runs_with_lineage(delta: Path) -> None:
    events = Events(delta, "delta")
    clone = next(e for e in events.ends() if "create_delta_table" in e["job"]["name"])
    assert keys(clone["outputs"]) == [("file", "$WORK/wh/t3")]
    assert keys(clone["inputs"]) == [("file", "$WORK/wh/t1")]
    restore = next(e for e in events.ends() if "restore" in e["job"]["name"])
    assert keys(restore["inputs"]) == keys(restore["outputs"]) == [("file", "$WORK/wh/t1")]
    versions = [d["facets"]["version"]["datasetVersion"] for d in (*restore["inputs"], *restore["outputs"])]
    assert versions == ["0", "2"]
    for copy, table in ((clone, "t1"), (restore, "t1")):
        fields = copy["outputs"][0]["facets"]["columnLineage"]["fields"]
        assert [source["name"] for source in fields["amount"]["inputFields"]] == [f"$WORK/wh/{table}"]


@NEEDS_JARS
def test_the_first_create_or_replace_creates_the_table(delta: Path) -> None:
    writes = [d for e in Events(delta, "delta").ends() for d in e["outputs"] if d["name"].endswith("/wh/replaced")]
    changes = [write["facets"]["lifecycleStateChange"]["lifecycleStateChange"] for write in writes]
    assert changes == ["CREATE", "OVERWRITE"]


@NEEDS_JARS
def test_replace_where_names_the_part_that_is_replaced(delta: Path) -> None:
    writes = [e for e in Events(delta, "delta").ends() if "save_into" in e["job"]["name"]]
    assert replaced(writes[0])["left"] == {
        "type": "compare",
        "left": {"type": "field", "field": "day"},
        "right": {"type": "literal", "value": "2026-01-01"},
        "comparison": "EQUAL",
    }


def partitions(event: dict[str, Any]) -> list[dict[str, str]] | None:
    condition = replaced(event)
    return None if condition is None else [partition["dimensions"] for partition in condition["partitions"]]


def day(number: int) -> dict[str, str]:
    return {"day": f"2026-01-0{number}"}


@pytest.mark.parametrize("table", ["lines", "columns"])
def test_an_overwrite_of_a_hive_table_names_the_partitions_that_it_replaces(hive: Events, table: str) -> None:
    writes = [e for e in hive.ends() if keys(e["outputs"]) == [("file", f"$WORK/wh/{table}")]]
    _, appended, dynamic, mixed, static = map(partitions, writes)
    one, two = day(1) | {"hour": "1"}, day(2) | {"hour": "1"}
    assert appended is None
    assert (dynamic, mixed, static) == ([one, two], [two], [day(2) | {"hour": "3"}])


@NEEDS_JARS
def test_a_dynamic_overwrite_of_a_delta_table_names_the_partitions_of_its_commit(delta: Path) -> None:
    ends = Events(delta, "delta").ends()
    saved = [e for e in ends if keys(e["outputs"]) == [("file", "$WORK/out/parts")]]
    assert [partitions(event) for event in saved] == [None, [day(1)], None]
    table = [e for e in ends if keys(e["outputs"]) == [("file", "$WORK/wh/t1")]]
    assert [partitions(event) for event in table[-2:]] == [[day(1)], [day(2), day(3)]]


@NEEDS_JARS
def test_conditions_of_merge_s_clauses_are_sources_of_deletes_and_of_constants(delta: Path) -> None:
    merge = [e for e in Events(delta, "delta").ends() if keys(e["outputs"]) == [("file", "$WORK/wh/t3")]][-1]
    facet = merge["outputs"][0]["facets"]["columnLineage"]

    def sources(found: list[dict[str, Any]]) -> set[str]:
        return {
            f"{source['name'].rpartition('/')[2]} {source['field']} {how['type']} {how['subtype']}"
            for source in found
            for how in source["transformations"]
        }

    rows = sources(facet["dataset"])
    assert "orders.parquet status INDIRECT FILTER" in rows
    assert {"t3 order_id INDIRECT JOIN", "orders.parquet order_id INDIRECT JOIN"} <= rows
    amount = sources(facet["fields"]["amount"]["inputFields"])
    assert {"orders.parquet customer_id INDIRECT CONDITIONAL", "orders.parquet amount DIRECT IDENTITY"} <= amount


@pytest.fixture(scope="session")
def iceberg(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the events of the program on Iceberg, whose jar is one for PySpark 4.1."""
    return run(tmp_path_factory.mktemp("iceberg"), "iceberg", pyspark="4.1")


def iceberg_writes(output: Path, table: str) -> list[dict[str, Any]]:
    return [e for e in Events(output, "iceberg").ends() if any(d["name"].endswith(table) for d in e["outputs"])]


@NEEDS_JARS
def test_a_dynamic_overwrite_of_iceberg_names_the_partitions_of_its_commit(iceberg: Path) -> None:
    created, dynamic, by_condition, appended = iceberg_writes(iceberg, "/db/parts")
    values = [
        {"status": "paid", "day_day": "2026-01-01"},
        {"status": "void", "day_day": "2026-01-03"},
    ]
    assert replaced(dynamic) == {"type": "partition", "partitions": [{"dimensions": value} for value in values]}
    assert (replaced(created), replaced(appended)) == (None, None)
    assert replaced(by_condition)["right"] == {"type": "literal", "value": "void"}


@NEEDS_JARS
def test_partition_values_of_iceberg_may_have_any_characters(iceberg: Path) -> None:
    _, overwritten = iceberg_writes(iceberg, "/db/named")
    values = [{"status": f"{status} /%=é"} for status in ("paid", "void")]
    assert replaced(overwritten)["partitions"] == [{"dimensions": value} for value in values]


@NEEDS_JARS
def test_the_first_create_or_replace_of_iceberg_creates_the_table(iceberg: Path) -> None:
    writes = iceberg_writes(iceberg, "/db/replaced")
    changes = [write["outputs"][0]["facets"]["lifecycleStateChange"]["lifecycleStateChange"] for write in writes]
    assert changes == ["CREATE", "OVERWRITE"]
