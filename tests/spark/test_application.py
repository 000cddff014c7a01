"""The events of an application, without Spark."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headwater.spark import HadoopRDD, Stage, StageInfo
from headwater.spark.datasets.commits import Commit, commit
from headwater.spark.extension.views import ActiveJob
from headwater.spark.plan.model import Plan
from headwater.spark.runs.application import Application
from headwater.spark.runs.listener_events import (
    ExecutionEnded,
    ExecutionStarted,
    JobEnded,
    JobStarted,
    StreamEnded,
    StreamProgressed,
    StreamStarted,
)
from headwater.spark.runs.settings import Settings

from .plans import FakeCatalog, attribute, call, files, insert, node, plan, readers

WRITE = plan(insert(1), files("file:/in/t", (1, "a")))


def application(
    conf: dict[str, str] | None = None, environ: dict[str, str] | None = None
) -> tuple[Application, list[Any]]:
    events: list[Any] = []
    settings = Settings.of(conf or {}, environ or {}, "My App", "4.2.0")
    return Application.of(settings, readers(FakeCatalog()), events.append), events


def started(execution: int, made: Plan | None, root: int | None = None, **more: Any) -> ExecutionStarted:
    members = {
        "at": 1000,
        "site": "org.apache.spark.sql.DataFrameWriter.parquet(x)",
        "command": "Execute InsertIntoHadoopFsRelationCommand",
    }
    return ExecutionStarted(execution, execution if root is None else root, **{**members, "plan": made, **more})


def kinds(events: list[Any]) -> list[str]:
    return [f"{event['eventType']} {event['job']['name']}" for event in events]


def test_a_run_starts_and_completes_under_the_application() -> None:
    app, events = application()
    app.start(1)
    app.execution_started(started(0, WRITE))
    app.execution_ended(ExecutionEnded(0, 2000))
    app.end(3000)
    name = "my_app.execute_insert_into_hadoop_fs_relation_command.out_t"
    assert kinds(events) == ["START my_app", f"START {name}", f"COMPLETE {name}", "COMPLETE my_app"]
    parent = events[1]["run"]["facets"]["parent"]
    assert parent["run"]["runId"] == events[0]["run"]["runId"] == parent["root"]["run"]["runId"]
    assert events[1]["run"]["runId"] == events[2]["run"]["runId"]
    assert events[1]["eventTime"] == "1970-01-01T00:00:01.000Z"
    assert [dataset["name"] for dataset in events[2]["inputs"]] == ["/in/t"]


def test_a_write_has_the_version_that_it_committed() -> None:
    commits = {1_000: Commit("1"), 1_900: Commit("2", 6, 785, 1), 2_100: Commit("3")}
    events: list[Any] = []
    catalog = FakeCatalog(commits={"file:/out/t": commits})
    app = Application.of(Settings.of({}, {}, "My App", "4.2.0"), readers(catalog), events.append)
    for number, file_format in enumerate(("delta", "parquet")):
        write = plan(insert(1, fileFormat={"name": file_format}), files("/in/t", (1, "a")))
        app.execution_started(started(number, write))
        app.execution_ended(ExecutionEnded(number, 2000))
    app.execution_started(started(2, plan(insert(1, fileFormat={"name": "delta"}), files("/in/t", (1, "a")))))
    app.execution_ended(ExecutionEnded(2, 2000, ("boom", None)))
    versions = [event["outputs"][0]["facets"].get("version", {}).get("datasetVersion") for event in events]
    assert versions == [None, "2", None, None, None, None]
    counted = [event["outputs"][0].get("outputFacets", {}).get("outputStatistics") for event in events]
    assert [statistics is not None for statistics in counted] == [False, True, False, False, False, False]
    assert (counted[1]["rowCount"], counted[1]["size"], counted[1]["fileCount"]) == (6, 785, 1)


def test_a_table_that_is_replaced_by_its_first_commit_is_created() -> None:
    catalog = FakeCatalog(commits={"file:/out/t": {1_500: Commit("0", is_first=True), 2_500: Commit("1")}})
    events: list[Any] = []
    app = Application.of(Settings.of({}, {}, "My App", "4.2.0"), readers(catalog), events.append)
    write = plan(insert(1, fileFormat={"name": "delta"}), files("/in/t", (1, "a")))
    for number, start in enumerate((1000, 2000)):
        app.execution_started(started(number, write, at=start))
        app.execution_ended(ExecutionEnded(number, start + 1000))
    ends = [event["outputs"][0]["facets"] for event in events if event["eventType"] == "COMPLETE"]
    assert [facets["lifecycleStateChange"]["lifecycleStateChange"] for facets in ends] == ["CREATE", "OVERWRITE"]


@pytest.mark.parametrize(
    ("metrics", "counted"),
    [
        ({"numFiles": "1", "numOutputRows": "6", "numOutputBytes": "785"}, (6, 785, 1)),
        ({"numCopiedRows": "5", "numUpdatedRows": "1", "numAddedFiles": "1", "numAddedBytes": "812"}, (6, 812, 1)),
        ({"numOutputRows": "8", "numTargetFilesAdded": "2", "numTargetBytesAdded": "90"}, (8, 90, 2)),
        ({}, (None, None, None)),
    ],
)
def test_what_a_delta_commit_counted(metrics: dict[str, str], counted: tuple[int | None, ...]) -> None:
    made = commit("3", json.dumps({"commitInfo": {"operation": "x", "operationMetrics": metrics}}))
    assert (made.version, made.rows, made.size, made.files) == ("3", *counted)


def test_what_an_iceberg_snapshot_counted() -> None:
    summary = {"added-records": "2", "added-files-size": "70", "added-data-files": "1", "engine-name": "spark"}
    assert commit("9", summary) == Commit("9", 2, 70, 1)
    assert commit("9", None) == Commit("9")


def test_folders_of_partitions_are_a_subset_of_their_dataset() -> None:
    app, events = application()
    read = node("Union", (2, 3), ((1, "a"),))
    days = [files(f"file:/in/t/2026-01-0{day}", (day, "a")) for day in (1, 2)]
    app.execution_started(started(0, plan(insert(1, "file:/out/t/day=1"), read, *days)))
    app.execution_started(started(1, plan(insert(1, "file:/out/t"), files("file:/in/t", (1, "a")))))
    both = (files("file:/in/t/2026-01-01", (1, "a")), files("file:/in/t", (2, "a")))
    app.execution_started(started(2, plan(insert(1), read, *both)))
    parts, whole, mixed = events
    (source,), (sink,) = parts["inputs"], parts["outputs"]
    assert (source["name"], sink["name"]) == ("/in/t", "/out/t")
    condition = source["inputFacets"]["subset"]["inputCondition"]
    assert condition == {"type": "location", "locations": ["/in/t/2026-01-01", "/in/t/2026-01-02"]}
    assert sink["outputFacets"]["subset"]["outputCondition"]["locations"] == ["/out/t/day=1"]
    assert ["inputFacets" in event["inputs"][0] for event in (whole, mixed)] == [False, False]
    assert "outputFacets" not in whole["outputs"][0]


def test_a_delete_that_rewrites_no_rows_is_named_without_its_table() -> None:
    app, events = application()
    app.execution_started(started(0, WRITE, command="DeleteFromTable"))
    assert kinds(events) == ["START my_app.delete_from_table"]


def test_a_failed_run_fails_once_with_its_error() -> None:
    app, events = application()
    app.execution_started(started(0, WRITE))
    app.execution_ended(ExecutionEnded(0, 2000, ("boom", None)))
    assert [event["eventType"] for event in events] == ["START", "FAIL"]
    assert events[1]["run"]["facets"]["errorMessage"]["message"] == "boom"
    assert [dataset["name"] for dataset in events[1]["outputs"]] == ["/out/t"]


def test_an_application_fails_once() -> None:
    app, events = application()
    app.end(1, ("exit 3", None))
    app.end(2)
    assert kinds(events) == ["FAIL my_app"]


def test_nested_executions_are_part_of_their_run() -> None:
    app, events = application()
    table = {"identifier": {"$": "table", "table": "t", "database": None}, "location": None, "schema": {}}
    outer = plan(
        node("SaveAsV1TableCommand", (), (), tableDesc=table, mode="Overwrite", query={"$plan": 1}),
        files("/in/t", (1, "a")),
    )
    app.execution_started(started(0, outer, command="Execute SaveAsV1TableCommand"))
    app.execution_started(started(1, WRITE, root=0))
    written = {"node": "x", "leaf": False, "numFiles": 1, "numOutputRows": 6, "numOutputBytes": 60}
    app.execution_ended(ExecutionEnded(1, 1500, None, [written]))
    app.execution_ended(ExecutionEnded(0, 2000))
    name = "my_app.execute_create_data_source_table_as_select_command.default_t"
    assert kinds(events) == [f"START {name}", f"COMPLETE {name}"]
    (output,) = events[1]["outputs"]
    assert output["facets"]["lifecycleStateChange"]["lifecycleStateChange"] == "CREATE"
    assert output["facets"]["symlinks"]["identifiers"][0]["name"] == "default.t"
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == 6


def test_a_run_without_lineage_of_its_root_has_that_of_nested_executions() -> None:
    app, events = application()
    app.execution_started(started(0, plan(node("AcmeCommand")), command="Execute AcmeCommand"))
    assert events == []
    app.execution_started(started(1, WRITE, root=0))
    app.execution_ended(ExecutionEnded(1, 1500))
    app.execution_ended(ExecutionEnded(0, 2000))
    assert kinds(events) == ["START my_app.execute_acme_command.out_t", "COMPLETE my_app.execute_acme_command.out_t"]


def test_schema_inference_is_not_a_run() -> None:
    app, events = application()
    inference = plan(node("GlobalLimit", (1,), ((1, "value"),)), files("/in/t", (1, "value")))
    app.execution_started(started(0, inference, site="org.apache.spark.sql.classic.DataFrameReader.csv(x)"))
    app.execution_started(started(1, inference, site="org.apache.spark.sql.classic.SparkSession.sql(x)"))
    app.execution_ended(ExecutionEnded(0, 2))
    assert events == []


def test_an_action_that_only_reads_has_inputs() -> None:
    app, events = application()
    app.execution_started(started(0, plan(files("/in/t", (1, "a"))), command="CollectLimit"))
    app.execution_ended(ExecutionEnded(0, 2))
    assert kinds(events) == ["START my_app.collect_limit", "COMPLETE my_app.collect_limit"]
    assert [dataset["name"] for dataset in events[1]["inputs"]] == ["/in/t"]
    assert events[1]["outputs"] == []


def test_a_query_over_no_dataset_emits_no_event() -> None:
    app, events = application()
    numbers = {**node("", (), ((1, "id"),)), "class": "org.apache.spark.sql.catalyst.plans.logical.Range"}
    app.execution_started(started(0, plan(numbers)))
    app.execution_ended(ExecutionEnded(0, 2))
    assert events == []


def test_a_checkpointed_frame_has_its_sources() -> None:
    app, events = application()
    source = plan(files("/in/t", (1, "a")))
    app.execution_started(started(0, source, site="org.apache.spark.sql.Dataset.localCheckpoint(x)"))
    app.execution_ended(ExecutionEnded(0, 2))
    app.execution_started(
        started(1, plan(insert(1), node("LogicalRDD", (), ((1, "a"),), rdd={"paths": [], "files": []})))
    )
    (entry,) = events[-1]["outputs"][0]["facets"]["columnLineage"]["fields"]["a"]["inputFields"]
    assert (entry["name"], entry["field"]) == ("/in/t", "a")
    assert [dataset["name"] for dataset in events[-1]["inputs"]] == ["/in/t"]


def test_an_rdd_action_is_a_run_of_its_own() -> None:
    app, events = application()
    rdds = (HadoopRDD("org.apache.spark.rdd.HadoopRDD", 1, paths=("file:/in/r.txt",)),)
    job = ActiveJob(
        4, Stage(9, rdds), "org.apache.spark.api.java.JavaRDD.saveAsTextFile(x)", "file:/out/r", (9,), "Hadoop"
    )
    app.job_started(JobStarted(1000, job))
    app.stage_ended(StageInfo(9, 2, 0, 0, 3, 30))
    app.rdd_jobs.ended(JobEnded(4, 2000))
    assert kinds(events) == ["START my_app.hadoop", "COMPLETE my_app.hadoop"]
    assert events[1]["job"]["facets"]["jobType"]["jobType"] == "RDD_JOB"
    assert [dataset["name"] for dataset in events[1]["inputs"]] == ["/in/r.txt"]
    assert events[1]["outputs"][0]["outputFacets"]["outputStatistics"]["fileCount"] == 2


def stream(name: str | None = "q", sink: dict[str, Any] | None = None) -> StreamStarted:
    source = {"$": "DataSource", "of": {"options": {"path": "/in/s"}}}
    made = plan(
        node("Filter", (1,), ((1, "a"),), condition=call("IsNotNull", attribute("a", 1))),
        node("StreamingRelation", (), ((1, "a"),), dataSource=source),
    )
    return StreamStarted("run-1", 1000, name, made, sink or {"class": "x.FileStreamSink", "path": "/out/s"}, {})


def test_a_streaming_query_is_one_run_with_any_number_of_batches() -> None:
    app, events = application()
    app.streams.started(stream())
    for batch in range(3):
        app.execution_started(started(batch, plan(files("/in/s/part", (1, "a"))), stream="run-1"))
        app.execution_ended(ExecutionEnded(batch, 2000))
        app.streams.progressed(StreamProgressed("run-1", 2000 + batch))
    app.streams.progressed(StreamProgressed("run-1", 90_000))
    app.streams.ended(StreamEnded("run-1", 95_000))
    assert kinds(events) == ["START my_app.q", "RUNNING my_app.q", "COMPLETE my_app.q"]
    assert {event["run"]["runId"] for event in events} == {"run-1"}
    assert events[0]["job"]["facets"]["jobType"]["processingType"] == "STREAMING"
    assert [dataset["name"] for dataset in events[0]["inputs"]] == ["/in/s"]
    assert [dataset["name"] for dataset in events[2]["outputs"]] == ["/out/s"]


def test_outputs_of_foreach_batch_belong_to_their_query() -> None:
    app, events = application()
    app.streams.started(stream(sink={"class": "x.ForeachBatchSink"}))
    assert events[0]["outputs"] == []
    batch = node("LogicalRDD", (), ((1, "a"),), rdd={"paths": [], "files": ["/in/s/x.json"]})
    app.execution_started(started(5, plan(insert(1), batch), stream="run-1"))
    app.execution_ended(ExecutionEnded(5, 2000))
    app.streams.ended(StreamEnded("run-1", 3000, ("stopped", None)))
    assert kinds(events) == ["START my_app.q", "RUNNING my_app.q", "FAIL my_app.q"]
    (output,) = events[1]["outputs"]
    assert output["name"] == "/out/t"
    (source,) = output["facets"]["columnLineage"]["fields"]["a"]["inputFields"]
    assert (source["name"], source["field"]) == ("/in/s", "a")
    assert [dataset["name"] for dataset in events[2]["inputs"]] == ["/in/s"]


def test_parent_and_root_come_from_the_configuration_or_the_environment() -> None:
    app, events = application(
        {
            "spark.openlineage.parentJobName": "dag.task",
            "spark.openlineage.parentRunId": "r0",
            "spark.openlineage.namespace": "prod",
        }
    )
    app.start(1)
    app.execution_started(started(0, WRITE))
    assert events[0]["run"]["facets"]["parent"]["job"]["name"] == "dag.task"
    assert events[1]["run"]["facets"]["parent"]["root"]["run"]["runId"] == "r0"
    assert events[1]["job"]["namespace"] == "prod"
    app, events = application(environ={"OPENLINEAGE_PARENT_ID": "ns/one/task/r1"})
    app.start(1)
    parent = events[0]["run"]["facets"]["parent"]
    assert (parent["job"]["namespace"], parent["job"]["name"], parent["run"]["runId"]) == ("ns/one", "task", "r1")


def test_only_listed_properties_leave_the_process() -> None:
    app, events = application(
        {"spark.master": "local", "spark.password": "x", "spark.openlineage.capturedProperties": "spark.master"}
    )
    app.start(1)
    assert events[0]["run"]["facets"]["spark_properties"]["properties"] == {"spark.master": "local"}


def test_a_scan_s_counters_are_its_input_s() -> None:
    app, events = application()
    app.execution_started(started(0, WRITE))
    scan = {"node": "Scan parquet", "leaf": True, "output": [1], "numFiles": 2, "numOutputRows": 7, "filesSize": 70}
    app.execution_ended(ExecutionEnded(0, 2, None, [scan]))
    statistics = events[1]["inputs"][0]["inputFacets"]["inputStatistics"]
    assert (statistics["rowCount"], statistics["size"], statistics["fileCount"]) == (7, 70, 2)


def test_runs_without_an_end_are_aborted_with_the_application() -> None:
    app, events = application()
    app.execution_started(started(0, WRITE))
    app.streams.started(stream())
    rdds = (HadoopRDD("org.apache.spark.rdd.HadoopRDD", 1, paths=("file:/in/r.txt",)),)
    app.job_started(JobStarted(1000, ActiveJob(4, Stage(9, rdds), "x", None, (9,), "Hadoop")))
    app.end(3000, ("the program was ended by SIGTERM", None))
    assert [event["eventType"] for event in events] == ["START", "START", "START", "ABORT", "ABORT", "ABORT", "FAIL"]
    assert [event["run"]["runId"] for event in events[3:5]] == [event["run"]["runId"] for event in events[:2]]
    assert all("SIGTERM" in event["run"]["facets"]["errorMessage"]["message"] for event in events[3:])


def test_an_action_without_datasets_is_a_run_only_if_it_fails() -> None:
    app, events = application()
    numbers = {**node("", (), ((1, "id"),)), "class": "org.apache.spark.sql.catalyst.plans.logical.Range"}
    for number, error in enumerate((None, ("boom", None))):
        app.execution_started(started(number, plan(numbers), command="Range"))
        app.execution_ended(ExecutionEnded(number, 2000, error))
        app.job_started(JobStarted(1000, ActiveJob(number, Stage(9), "collect", None, (9,), "Parallel")))
        app.rdd_jobs.ended(JobEnded(number, 2000, error))
    assert kinds(events) == ["START my_app.range", "FAIL my_app.range", "START my_app.parallel", "FAIL my_app.parallel"]


def test_a_streaming_query_counts_its_batches_and_stages() -> None:
    app, events = application()
    app.streams.started(stream())
    for batch in range(2):
        app.job_started(JobStarted(1000, ActiveJob(batch, Stage(batch), stage_ids=(batch,)), batch, "run-1"))
        app.stage_ended(StageInfo(batch, 1, 5, 50, 4, 40))
        app.streams.progressed(StreamProgressed("run-1", 2000, 5, None))
    app.streams.ended(StreamEnded("run-1", 3000))
    read = events[-1]["inputs"][0]["inputFacets"]["inputStatistics"]
    written = events[-1]["outputs"][0]["outputFacets"]["outputStatistics"]
    assert (read["rowCount"], read["size"], written["rowCount"], written["size"]) == (10, 100, 8, 80)


def save_as_table(mode: str, database: str | None = "default") -> Plan:
    table = {"identifier": {"$": "table", "database": database, "table": "T"}, "location": "file:/wh/t", "schema": {}}
    return plan(node("SaveAsV1TableCommand", (1,), tableDesc=table, mode=mode), files("file:/in/t", (1, "a")))


def change_of(app: Application, events: list[Any], execution: int) -> Any:
    app.execution_ended(ExecutionEnded(execution, 2000))
    return events[-1]["outputs"][0]["facets"].get("lifecycleStateChange", {}).get("lifecycleStateChange")


@pytest.mark.parametrize("drops", ["before", "during", "never"])
@pytest.mark.parametrize("database", ["default", None])
def test_a_table_dropped_by_its_overwrite_is_replaced(drops: str, database: str | None) -> None:
    app, events = application()
    if drops == "before":
        app.table_dropped("default", "t")
    app.execution_started(started(0, save_as_table("Overwrite", database)))
    if drops == "during":
        app.table_dropped("default", "t")
    assert change_of(app, events, 0) == ("CREATE" if drops == "never" else "OVERWRITE")


def test_a_table_dropped_by_a_statement_or_another_table_is_not_replaced() -> None:
    app, events = application()
    app.execution_started(started(0, WRITE))
    app.table_dropped("default", "t")
    app.execution_ended(ExecutionEnded(0, 2000))
    app.execution_started(started(1, save_as_table("Overwrite")))
    app.table_dropped("other", "t")
    app.table_dropped("default", "u")
    assert change_of(app, events, 1) == "CREATE"
    app.table_dropped("default", "t")
    app.execution_started(started(2, save_as_table("Append")))
    assert change_of(app, events, 2) is None
    app.execution_started(started(3, save_as_table("Overwrite")))
    assert change_of(app, events, 3) == "CREATE"
