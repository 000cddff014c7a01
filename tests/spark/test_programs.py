"""The events of whole programs (``programs/``), of a real listener in a real session: what no rule alone shows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .versions import warnings

pytestmark = pytest.mark.end_to_end

PROGRAMS = Path(__file__).parent / "programs"
NAMES = sorted(path.stem for path in PROGRAMS.glob("*.py") if path.stem != "delta")


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


@pytest.fixture(scope="session")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with each program's events, from one driver."""
    out = tmp_path_factory.mktemp("programs")
    command = [sys.executable, "-m", "tests.spark.reference", "--jobs", str(PROGRAMS), "--out", str(out), *NAMES]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr[-4000:]
    assert warnings(done.stderr) == []
    assert "Traceback" not in done.stderr, done.stderr[-4000:]
    return out


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
        (1, "com.acme.openlineage.v1.UnknownSource"),
    ]


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


def test_the_table_that_a_stream_writes_into_has_its_name(output: Path) -> None:
    streams = [e for e in Events(output, "identity").ends() if "streaming_query" in e["job"]["name"]]
    assert [(e["outputs"][0]["name"], tables(e["outputs"][0])) for e in streams] == [
        ("$WORK/wh/streamed", ["default.streamed"]),
        ("$WORK/ext/streamed_out", ["default.streamed_out"]),
    ]


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


@pytest.fixture(scope="session")
def delta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the events of the program on Delta, which needs its jars."""
    out = tmp_path_factory.mktemp("delta")
    command = [sys.executable, "-m", "tests.spark.reference", "--jobs", str(PROGRAMS), "--out", str(out), "delta"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr[-4000:]
    return out


@pytest.mark.skipif(os.environ.get("HEADWATER_SPARK_REFERENCE") != "all", reason="HEADWATER_SPARK_REFERENCE=all")
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


@pytest.mark.skipif(os.environ.get("HEADWATER_SPARK_REFERENCE") != "all", reason="HEADWATER_SPARK_REFERENCE=all")
def test_the_first_create_or_replace_creates_the_table(delta: Path) -> None:
    writes = [d for e in Events(delta, "delta").ends() for d in e["outputs"] if d["name"].endswith("/wh/replaced")]
    changes = [write["facets"]["lifecycleStateChange"]["lifecycleStateChange"] for write in writes]
    assert changes == ["CREATE", "OVERWRITE"]


@pytest.mark.skipif(os.environ.get("HEADWATER_SPARK_REFERENCE") != "all", reason="HEADWATER_SPARK_REFERENCE=all")
def test_replace_where_names_the_part_that_is_replaced(delta: Path) -> None:
    writes = [e for e in Events(delta, "delta").ends() if "save_into" in e["job"]["name"]]
    assert replaced(writes[0])["left"] == {
        "type": "compare",
        "left": {"type": "field", "field": "day"},
        "right": {"type": "literal", "value": "2026-01-01"},
        "comparison": "EQUAL",
    }
