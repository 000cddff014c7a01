"""What libraries add to the runs of an application, without Spark."""

from __future__ import annotations

import time
from typing import Any

from headwater.spark import (
    AbstractInputDatasetBuilder,
    AbstractRunFacetBuilder,
    FacetRegistry,
    FileScanRDD,
    InputDatasetBuilder,
    OpenLineageEventListenerFactory,
    Stage,
    StageInfo,
)
from headwater.spark.extension.views import ActiveJob
from headwater.spark.runs.application import Application
from headwater.spark.runs.listener_events import ExecutionEnded, JobStarted
from headwater.spark.runs.settings import Settings

from .plans import FakeCatalog, files, insert, node, plan, readers
from .test_application import WRITE, application, started


def test_registered_facets_belong_to_the_first_event_that_is_not_before_the_call() -> None:
    app, events = application()
    app.execution_started(started(0, WRITE))
    FacetRegistry.register_run_facet("mine", {"x": 1})
    now = int(time.time() * 1000) + 1
    app.execution_ended(ExecutionEnded(0, 2))
    app.execution_started(started(1, WRITE, at=now))
    app.execution_ended(ExecutionEnded(1, now + 1))
    assert ["mine" in event["run"]["facets"] for event in events] == [False, False, True, False]


def test_facets_that_a_builder_registers_belong_to_its_run() -> None:
    class Registers(AbstractRunFacetBuilder[StageInfo]):
        def build(self, event: StageInfo) -> dict[str, Any]:
            FacetRegistry.register_run_facet("stage", {"id": event.stage_id})
            return {}

    class Factory(OpenLineageEventListenerFactory):
        def create_run_facet_builders(self) -> list[Any]:
            return [Registers()]

    events: list[Any] = []
    app = Application.of(Settings.of({}, {}, "My App", "4.2.0"), readers(FakeCatalog(), Factory), events.append)
    for number in (0, 1):
        app.execution_started(started(number, WRITE))
        app.job_started(JobStarted(1000, ActiveJob(number, Stage(number), stage_ids=(number,)), number))
        app.stage_ended(StageInfo(number))
    for number in (1, 0):
        app.execution_ended(ExecutionEnded(number, 2000))
    assert [event["run"]["facets"].get("stage", {}).get("id") for event in events] == [None, None, 1, 0]


def test_jobs_of_a_sql_execution_are_arguments_of_libraries_builders() -> None:
    class Folders(AbstractInputDatasetBuilder[FileScanRDD]):
        def apply(self, event: FileScanRDD) -> list[Any]:
            files = [file.file_path for part in event.file_partitions for file in part.files]
            return [InputDatasetBuilder("file", folder) for folder in {file.rpartition("/")[0] for file in files}]

    class Factory(OpenLineageEventListenerFactory):
        def create_input_dataset_builder(self) -> list[Any]:
            return [Folders()]

    events: list[Any] = []
    app = Application.of(Settings.of({}, {}, "My App", "4.2.0"), readers(FakeCatalog(), Factory), events.append)
    scan = FileScanRDD("org.apache.spark.sql.execution.datasources.FileScanRDD", 1, files=("/in/t/a", "/in/t/b"))
    numbers = {**node("", (), ((1, "id"),)), "class": "org.apache.spark.sql.catalyst.plans.logical.Range"}
    for number, made in enumerate((plan(insert(1), files("file:/in/u", (1, "a"))), plan(numbers))):
        app.execution_started(started(number, made))
        job = ActiveJob(number, Stage(9, (scan,)), "collect", "file:/out/hadoop", (9,))
        app.job_started(JobStarted(1000, job, number, "night", "two words", "collect at x.py:1"))
        app.execution_ended(ExecutionEnded(number, 2000))
    ends = [event for event in events if event["eventType"] == "COMPLETE"]
    assert [[dataset["name"] for dataset in event["inputs"]] for event in ends] == [["/in/u", "/in/t"], ["/in/t"]]
    assert [[dataset["name"] for dataset in event["outputs"]] for event in ends] == [["/out/t"], []]
    details = ends[0]["run"]["facets"]["spark_jobDetails"]
    said = (details["jobId"], details["jobGroup"], details["jobDescription"], details["jobCallSite"])
    assert said == (0, "night", "two words", "collect at x.py:1")
