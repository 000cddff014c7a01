"""A ``with`` block is a run: what it reads and writes, how it ends, and whose child it is."""

from __future__ import annotations

import asyncio
import datetime as dt
import sys
from typing import Any

import pytest
from openlineage.client.facet_v2 import schema_dataset

from headwater import lineage
from headwater.transport.validation import faults_of_line
from headwater.transport.wire import to_json, to_tree

from .conftest import RecordingTransport


def test_a_run_from_start_to_complete(transport: RecordingTransport) -> None:
    with lineage.run("shop", "orders") as run:
        run.reads("postgres://db", "public.orders", facets={"schema": {"fields": [{"name": "id", "type": "int"}]}})
        run.reads("postgres://db", "public.orders", input_facets={"inputStatistics": {"rowCount": 3}})
        run.writes("s3://lake", "orders", output_facets={"outputStatistics": {"rowCount": 2}})
        run.add_run_facet("tags", {"tags": [{"key": "a", "value": "b", "source": "me"}]})
        run.add_job_facet("sql", {"query": "SELECT 1"})
    start, complete = transport.events
    assert (start["eventType"], complete["eventType"]) == ("START", "COMPLETE")
    assert start["run"]["runId"] == complete["run"]["runId"] == run.run_id
    assert start["inputs"] == []
    ((dataset),) = complete["inputs"]
    assert (dataset["namespace"], dataset["name"]) == ("postgres://db", "public.orders")
    assert dataset["facets"]["schema"]["fields"] == [{"name": "id", "type": "int"}]
    assert dataset["inputFacets"]["inputStatistics"]["rowCount"] == 3
    assert complete["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] == 2
    assert complete["job"]["facets"]["sql"]["query"] == "SELECT 1"
    assert start["eventTime"] <= complete["eventTime"]


def test_the_events_are_valid_openlineage(transport: RecordingTransport) -> None:
    schema = schema_dataset.SchemaDatasetFacet(fields=[schema_dataset.SchemaDatasetFacetFields("id", "int")])
    period = (dt.datetime(2024, 1, 1, tzinfo=dt.UTC), dt.datetime(2024, 1, 2, tzinfo=dt.UTC))
    with lineage.run("shop", "outer", nominal_time=period, environment=["PATH"]) as run:
        run.reads("ns", "d", facets={"schema": schema})
        inner = lineage.run("shop", "inner")
        inner.start()
        inner.writes("ns", "e")
        inner.fail(ZeroDivisionError("no"))
    assert [faults_of_line(to_json(to_tree(event))) for event in transport.events] == [[], [], [], []]


def test_automatic_facets(transport: RecordingTransport, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGION", "eu")
    monkeypatch.setenv("HEADWATER_ENVIRONMENT_VARIABLES", "REGION, UNSET_ONE")
    with lineage.run("n", "j", nominal_time=(dt.datetime(2024, 1, 1, tzinfo=dt.UTC), None)):
        pass
    facets = transport.events[0]["run"]["facets"]
    assert facets["processing_engine"]["version"] == sys.version.split()[0]
    assert facets["environmentVariables"]["environmentVariables"] == [{"name": "REGION", "value": "eu"}]
    assert facets["nominalTime"]["nominalStartTime"] == "2024-01-01T00:00:00+00:00"
    assert "nominalEndTime" not in facets["nominalTime"]
    job_type = transport.events[0]["job"]["facets"]["jobType"]
    assert (job_type["processingType"], job_type["integration"]) == ("BATCH", "PYTHON")
    assert job_type["_schemaURL"].endswith("#/$defs/JobFacet")


@pytest.mark.parametrize(
    ("error", "event_type"),
    [
        (ValueError("no"), "FAIL"),
        (SystemExit(1), "FAIL"),
        (SystemExit(0), "COMPLETE"),
        (SystemExit(), "COMPLETE"),
        (KeyboardInterrupt(), "ABORT"),
        (asyncio.CancelledError(), "ABORT"),
    ],
)
def test_how_a_run_ends(transport: RecordingTransport, error: BaseException, event_type: str) -> None:
    with pytest.raises(type(error)), lineage.run("n", "j"):
        raise error
    assert [event["eventType"] for event in transport.events] == ["START", event_type]


def test_an_error_is_reported_with_its_stack_trace(transport: RecordingTransport) -> None:
    with pytest.raises(ValueError, match="too bad"), lineage.run("n", "j"):
        raise ValueError("too bad")
    message = transport.events[1]["run"]["facets"]["errorMessage"]
    assert message["message"] == "too bad"
    assert message["programmingLanguage"] == "PYTHON"
    assert message["stackTrace"].endswith("ValueError: too bad\n")
    assert "test_an_error_is_reported_with_its_stack_trace" in message["stackTrace"]


def test_nested_runs_know_parent_and_root(transport: RecordingTransport) -> None:
    with lineage.run("n", "a") as a, lineage.run("n", "b") as b, lineage.run("n", "c"):
        pass
    assert transport.parents() == {"a": None, "b": "a", "c": "b"}
    start_of_c = transport.events[2]["run"]["facets"]["parent"]
    assert start_of_c["run"]["runId"] == b.run_id
    assert start_of_c["root"] == {"run": {"runId": a.run_id}, "job": {"namespace": "n", "name": "a"}}
    assert lineage.current() is None


def test_an_explicit_parent(transport: RecordingTransport) -> None:
    with lineage.run("n", "a", parent=lineage.RunReference("airflow", "dag", "p")):
        pass
    assert transport.events[0]["run"]["facets"]["parent"]["job"] == {"namespace": "airflow", "name": "dag"}


def test_running_sends_everything_reported_so_far(transport: RecordingTransport) -> None:
    with lineage.run("n", "j", processing_type="STREAMING") as run:
        run.reads("ns", "d")
        run.running()
        run.writes("ns", "e")
    assert [event["eventType"] for event in transport.events] == ["START", "RUNNING", "COMPLETE"]
    # An event does not change after it was emitted.
    assert [len(event["outputs"]) for event in transport.events] == [0, 0, 1]


def test_a_run_ends_once(transport: RecordingTransport) -> None:
    with lineage.run("n", "j") as run:
        run.fail(ValueError("handled"))
    assert [event["eventType"] for event in transport.events] == ["START", "FAIL"]


def test_without_a_with_block(transport: RecordingTransport) -> None:
    run = lineage.run("n", "j", run_id="my-id")
    run.start()
    run.abort()
    assert [(event["eventType"], event["run"]["runId"]) for event in transport.events] == [
        ("START", "my-id"),
        ("ABORT", "my-id"),
    ]


@pytest.mark.parametrize(("namespace", "name"), [(None, "d"), ("ns", 3), ("", "d"), ("ns", "a\nb"), ("n" * 2001, "d")])
def test_an_invalid_dataset_is_omitted_without_raising(
    transport: RecordingTransport, namespace: Any, name: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with lineage.run("n", "j") as run:
        run.reads(namespace, name)
        run.writes("ns", "good")
    assert transport.events[1]["inputs"] == []
    assert len(transport.events[1]["outputs"]) == 1
    assert "incomplete" in caplog.text


def test_bad_facets_and_a_transport_that_raises_do_not_reach_the_code(
    transport: RecordingTransport, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with lineage.run("n", "j") as run:
        run.reads("ns", "d", facets=3)  # type: ignore[arg-type]
        monkeypatch.setattr(transport, "emit", lambda event: 1 / 0)
    assert caplog.text.count("is incomplete") == 2
