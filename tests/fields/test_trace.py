"""Trace blocks: the reads and writes of common libraries."""

from __future__ import annotations

import logging
import sqlite3
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

from headwater import lineage
from headwater.fields import MemoryRun
from headwater.fields.trace import trace
from headwater.fields.trace.hooks import Hook, dataset_of, record_read
from headwater.transport.validation import faults_of_line
from headwater.transport.wire import to_json, to_tree

from ..lineage.conftest import RecordingTransport

needs_polars = pytest.mark.skipif(find_spec("polars") is None, reason="polars is not installed: pip install polars")
needs_duckdb = pytest.mark.skipif(
    find_spec("duckdb") is None or find_spec("sqlglot") is None,
    reason="duckdb and sqlglot are not installed: pip install duckdb sqlglot",
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"a": [1, 2], "b": [3, 4]}).to_parquet("in.parquet")
    pd.DataFrame({"k": [1], "v": [2]}).to_csv("in.csv", index=False)
    return tmp_path


def origins_in(run: MemoryRun, name: str) -> dict[str, list[tuple[str, str]]]:
    """Return the origins of each column of an output, with their subtypes."""
    facets = next(item for (_, full), item in run.outputs.items() if Path(full).name == name)
    return {
        column: [(item["field"], item["transformations"][0]["subtype"]) for item in origins["inputFields"]]
        for column, origins in facets["columnLineage"]["fields"].items()
    }


EVERYTHING = [("a", "TRANSFORMATION"), ("b", "TRANSFORMATION")]


def test_pandas_frames_are_all_to_all_and_the_operation_says_so(folder: Path) -> None:
    run = MemoryRun()
    with trace(run):
        pd.read_parquet("in.parquet").assign(c=1)[["a", "c"]].to_csv(path_or_buf="out.csv")
    assert list(run.inputs) == [("file", str(folder / "in.parquet"))]
    assert origins_in(run, "out.csv") == {"a": EVERYTHING, "c": EVERYTHING}
    _, facets = run.attached["file", str(folder / "out.csv")]
    operations = facets["headwater_fieldOperations"]["operations"]
    assert operations[1]["name"] == "pandas: every column read so far feeds every column written"
    assert [one.get("guess", False) for one in operations] == [False, True, False]
    fields = run.outputs["file", str(folder / "out.csv")]["columnLineage"]["fields"]
    descriptions = {one["transformations"][0]["description"] for made in fields.values() for one in made["inputFields"]}
    assert descriptions == {"guess: pandas: every column read so far feeds every column written"}
    assert [item["name"] for item in run.inputs["file", str(folder / "in.parquet")]["schema"]["fields"]] == ["a", "b"]


def test_a_library_that_calls_another_is_recorded_once(folder: Path) -> None:
    run = MemoryRun()
    with trace(run):
        pq.write_table(pq.read_table("in.parquet"), "out.parquet")
        pd.read_parquet("in.parquet")
    assert list(run.inputs) == [("file", str(folder / "in.parquet"))]
    assert origins_in(run, "out.parquet") == {"a": EVERYTHING, "b": EVERYTHING}


def test_databases_by_pandas(folder: Path) -> None:
    run = MemoryRun()
    connection = sqlite3.connect("some.db")
    with trace(run):
        pd.read_csv("in.csv").to_sql("target", connection, index=False)
        pd.read_sql("SELECT k FROM target", connection)
    connection.close()
    assert (f"sqlite://{folder / 'some.db'}", "target") in run.inputs or find_spec("sqlglot") is None
    assert list(run.outputs) == [(f"sqlite://{folder / 'some.db'}", "target")]
    assert origins_in(run, "target") == {name: [("k", "TRANSFORMATION"), ("v", "TRANSFORMATION")] for name in "kv"}


QUERIES = (
    "SELECT k FROM Target",
    'select k from "target"',
    "SELECT k FROM main.Target WHERE k = 1",
    "SELECT k FROM [Target]",
    "WITH t AS (SELECT k FROM `Target`) SELECT * FROM t",
    "SELECT a.k FROM Target a JOIN target b ON a.k = b.k",
)


@pytest.mark.parametrize("parser", [True, False])
@pytest.mark.parametrize("query", QUERIES)
def test_a_table_of_sqlite_has_one_name_however_a_query_writes_it(
    query: str, parser: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not parser:
        monkeypatch.setitem(sys.modules, "sqlglot", None)
    elif find_spec("sqlglot") is None:
        pytest.skip("sqlglot is not installed: pip install sqlglot")
    run = MemoryRun()
    connection = sqlite3.connect("some.db")
    with trace(run) as block:
        pd.read_csv("in.csv").to_sql("Target", connection, index=False)
        connection.row_factory = sqlite3.Row
        pd.read_sql(query, connection)
    connection.close()
    written = (f"sqlite://{folder / 'some.db'}", "Target")
    assert (list(run.outputs), block.unnamed) == ([written], 0)
    assert list(run.inputs) == [("file", str(folder / "in.csv")), written]


def test_a_wide_guess_is_marked_although_it_has_too_many_chains_to_describe_each(folder: Path) -> None:
    pd.DataFrame({f"c{n}": [n] for n in range(150)}).to_parquet("wide.parquet")
    run = MemoryRun()
    with trace(run):
        pd.read_parquet("wide.parquet").to_csv("out.csv")
    lineage_facet = run.outputs["file", str(folder / "out.csv")]["columnLineage"]
    listed = [
        *lineage_facet["dataset"],
        *(one for made in lineage_facet["fields"].values() for one in made["inputFields"]),
    ]
    assert len(listed) == 150
    assert all(one["transformations"][0]["description"].startswith("guess: ") for one in listed)


def test_the_text_of_a_trace_is_short(folder: Path) -> None:
    with trace(MemoryRun()) as block:
        pd.read_parquet("in.parquet").to_csv("out.csv")
        assert repr(block) == "<Trace: 1 datasets read, 1 written, 0 reads and writes unnamed>"


def test_outside_the_block_nothing_is_recorded_and_nothing_stays_wrapped(folder: Path) -> None:
    before = pd.read_parquet
    run = MemoryRun()
    with trace(run):
        assert pd.read_parquet is not before
    assert pd.read_parquet is before
    pd.read_parquet("in.parquet")
    assert run.inputs == {}


def test_blocks_nest_and_the_innermost_records(folder: Path) -> None:
    outer, inner = MemoryRun(), MemoryRun()
    with trace(outer):
        with trace(inner):
            pd.read_csv("in.csv")
        pd.read_parquet("in.parquet")
    assert [Path(name).name for _, name in inner.inputs] == ["in.csv"]
    assert [Path(name).name for _, name in outer.inputs] == ["in.parquet"]


def test_another_thread_is_not_in_the_block(folder: Path) -> None:
    run = MemoryRun()
    with trace(run):
        thread = threading.Thread(target=pd.read_csv, args=("in.csv",))
        thread.start()
        thread.join()
    assert run.inputs == {}


@needs_duckdb
def test_sql_over_frames_works_in_other_threads_too(folder: Path) -> None:
    import duckdb

    found: list[Any] = []

    def query_frame() -> None:
        frame = pd.read_csv("in.csv")
        found.append(duckdb.connect().execute("SELECT v FROM frame").fetchall())
        assert len(frame) == 1

    with trace(MemoryRun()):
        threads = [threading.Thread(target=query_frame) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [[(2,)]] * 4


def test_a_library_that_cannot_be_imported_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Hook("no_such_module.inner", "read", record_read)
    monkeypatch.setattr("headwater.fields.trace.block.FRAME_HOOKS", (Hook("json.no_such", "x", record_read), broken))
    with trace(MemoryRun()) as block:
        assert block.unnamed == 0


def test_open_files_are_counted_as_unnamed(folder: Path) -> None:
    with trace(MemoryRun()) as block, Path("in.csv").open(encoding="utf-8") as file:
        pd.read_csv(file)
    assert block.unnamed == 1


def test_a_fault_in_recording_does_not_reach_the_code(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(MemoryRun):
        def reads(self, *_: object, **__: object) -> None:
            raise OSError("no")

    with caplog.at_level(logging.WARNING, "headwater.fields"), trace(Broken()):
        assert len(pd.read_csv("in.csv")) == 1
    assert "read_csv is incomplete" in caplog.text


def test_errors_of_the_code_come_through(folder: Path) -> None:
    run = MemoryRun()
    with trace(run), pytest.raises(FileNotFoundError):
        pd.read_csv("absent.csv")
    assert run.inputs == {}


@pytest.mark.parametrize(
    ("where", "name"),
    [
        ("s3://bucket/a/b.parquet", ("s3://bucket", "a/b.parquet")),
        ("file:///x/y", ("file", "/x/y")),
        (Path("/x/y"), ("file", "/x/y")),
        (3, None),
        ("", None),
    ],
)
def test_names_of_paths_and_urls(where: object, name: tuple[str, str] | None) -> None:
    assert dataset_of(where) == name


@needs_polars
def test_frames_of_polars_are_all_to_all(folder: Path) -> None:
    import polars as pl

    run = MemoryRun()
    with trace(run):
        pl.read_parquet("in.parquet").write_csv("eager.csv")
    assert origins_in(run, "eager.csv") == {"a": EVERYTHING, "b": EVERYTHING}


@needs_polars
def test_a_lazy_plan_of_polars_has_exact_column_origins(folder: Path) -> None:
    import polars as pl

    pl.DataFrame({"a": [1], "k": [1], "w": [5]}).write_csv("other.csv")
    run = MemoryRun()
    with trace(run):
        left = pl.scan_parquet("in.parquet").filter(pl.col("b") > 0).with_columns(c=pl.col("a") + pl.col("b"))
        both = left.join(pl.scan_csv("other.csv"), left_on="a", right_on="k", how="left").rename({"w": "width"})
        grouped = both.group_by("a").agg(pl.col("c").sum().alias("sum"), pl.col("width"), pl.col("a_right").first())
        grouped.select("a", "sum", "width", half=pl.col("a") / 2, literal=pl.lit(1)).sort("sum").sink_parquet(
            "out.parquet"
        )
    assert origins_in(run, "out.parquet") == {
        "a": [("a", "IDENTITY")],
        "sum": [("a", "AGGREGATION"), ("b", "AGGREGATION")],
        "width": [("w", "AGGREGATION")],
        "half": [("a", "TRANSFORMATION")],
        "literal": [],
    }
    facets = run.outputs["file", str(folder / "out.parquet")]
    influences = {
        (item["field"], transformation["subtype"])
        for item in facets["columnLineage"]["dataset"]
        for transformation in item["transformations"]
    }
    assert influences == {
        ("b", "FILTER"),
        ("a", "JOIN"),
        ("k", "JOIN"),
        ("a", "GROUP_BY"),
        ("a", "SORT"),
        ("b", "SORT"),
    }


@needs_polars
@pytest.mark.parametrize("step", ["selector", "function", "full join"])
def test_a_lazy_plan_with_an_unknown_step_is_all_to_all(folder: Path, step: str) -> None:
    import polars as pl

    run = MemoryRun()
    with trace(run):
        frame = pl.scan_parquet("in.parquet")
        unknown = {
            "selector": lambda: frame.select(pl.all().exclude("b")),
            "function": lambda: frame.unique(),
            "full join": lambda: frame.join(frame, on="a", how="full", coalesce=True),
        }[step]()
        unknown.sink_parquet("out.parquet")
    assert set(map(tuple, origins_in(run, "out.parquet").values())) == {tuple(EVERYTHING)}


@needs_duckdb
def test_sql_of_duckdb_has_exact_column_origins(folder: Path) -> None:
    import duckdb

    run = MemoryRun()
    with trace(run), duckdb.connect("some.duckdb") as connection:
        connection.execute("COPY (SELECT a, a + b AS s FROM 'in.parquet' WHERE b > 0) TO 'copied.parquet'")
        connection.execute(
            "CREATE TABLE t AS WITH c AS (SELECT sum(v) AS total FROM read_csv('in.csv')) SELECT * FROM c"
        )
        connection.execute("INSERT INTO t SELECT b FROM 'in.parquet'")
        assert connection.sql("SELECT total FROM t").fetchall() == [(2,), (3,), (4,)]
    assert origins_in(run, "copied.parquet") == {"a": [("a", "IDENTITY")], "s": EVERYTHING}
    assert ("file", str(folder / "in.csv")) in run.inputs
    assert origins_in(run, "t")["total"] == [("v", "AGGREGATION"), ("b", "IDENTITY")]
    assert (f"duckdb://{folder / 'some.duckdb'}", "t") in run.outputs


@needs_duckdb
def test_relations_of_duckdb_written_to_files(folder: Path) -> None:
    import duckdb

    run = MemoryRun()
    with trace(run):
        relation = duckdb.sql("SELECT b AS c FROM 'in.parquet'")
        assert relation is not None
        relation.write_parquet("out.parquet")
    assert origins_in(run, "out.parquet") == {"c": [("b", "IDENTITY")]}


@needs_duckdb
def test_column_origins_of_sql_over_a_frame_of_the_program_are_unknown(folder: Path) -> None:
    import duckdb

    run = MemoryRun()
    with trace(run) as block:
        frame = pd.read_parquet("in.parquet")
        duckdb.sql("COPY (SELECT a FROM frame) TO 'out.parquet'")
        with pytest.raises(duckdb.Error):
            duckdb.sql("SELECT * FROM no_such_table")
    assert len(frame) == 2
    assert duckdb.execute("SELECT current_setting('python_scan_all_frames')").fetchall() == [(False,)]
    assert block.unnamed == 1
    assert set(run.inputs) == {("file", str(folder / "in.parquet"))}
    assert ("file", str(folder / "out.parquet")) in run.outputs


def test_a_run_traces_by_its_own_method(folder: Path) -> None:
    transport = RecordingTransport()
    with lineage.run("shop", "report", transport=transport) as run, run.trace() as block:
        pd.read_parquet("in.parquet")[["a"]].to_csv("out.csv")
    assert block.unnamed == 0
    start, operations, complete = transport.events
    assert [Path(item["name"]).name for item in complete["inputs"] + complete["outputs"]] == ["in.parquet", "out.csv"]
    assert operations["dataset"]["name"] == complete["outputs"][0]["facets"]["headwater_fieldOperations"]["fingerprint"]
    assert start["eventType"] == "START"


def test_shared_facets_are_sent_once_per_run_before_the_event_that_names_them() -> None:
    transport = RecordingTransport()
    with lineage.run("shop", "report", transport=transport) as run:
        run.attaches(("n", "out"), ("urn:x", "1"), {"f": {"v": 1}})
        run.attaches(("n", "out"), ("urn:x", "2"), {"f": {"v": 2}})
        run.running()
    assert [event.get("eventType") or event["dataset"]["name"] for event in transport.events] == [
        "START",
        "2",
        "RUNNING",
        "COMPLETE",
    ]
    assert faults_of_line(to_json(to_tree(transport.events[1]))) == []
