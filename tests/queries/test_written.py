"""The questions against a graph that the real rules and the real store made from events."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

import neo4j
import pytest

from headwater_graph.queries.answers import Answer
from headwater_graph.queries.catalog.finding import find, find_run
from headwater_graph.queries.lineage.columns import column_lineage
from headwater_graph.queries.lineage.lineage import lineage
from headwater_graph.queries.lineage.scope import Scope
from headwater_graph.queries.reader import Neo4jReader
from headwater_graph.queries.runs.history import dataset_versions, job_versions
from headwater_graph.queries.runs.run_diff import last_complete_run, run_diff
from headwater_graph.queries.runs.run_graph import run_graph
from headwater_graph.queries.runs.runs import show_run
from headwater_graph.settings import GraphSettings

from .events import Event, run_event, write

NOW = datetime(2026, 2, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def namespace(graph_server: GraphSettings, driver: neo4j.Driver) -> str:
    """Two days of a small warehouse; returns its namespace."""
    namespace = f"ns-{uuid.uuid4().hex[:12]}"
    write(graph_server, warehouse(namespace))
    return namespace


def warehouse(ns: str) -> list[Event]:
    def event(job: str, day: int, hour: int, kind: str, *sides: Any, **facets: Event) -> Event:
        return run_event(ns, job, f"{ns}-{job}-{day}", kind, f"2026-01-0{day}T{hour:02}:00:00Z", *sides, **facets)

    def orders(kind: str, column: str) -> Event:
        source = {"namespace": ns, "name": "raw", "field": column}
        facets: Event = {
            "schema": {"fields": [{"name": "id", "type": kind}]},
            "columnLineage": {"fields": {"id": {"inputFields": [{**source, "transformations": [{"type": "DIRECT"}]}]}}},
            "symlinks": {"identifiers": [{"namespace": ns, "name": "db.orders", "type": "TABLE"}]},
        }
        return {"name": "s3/orders", "facets": facets}

    def code(version: str) -> Event:
        return {"version": version}

    parent = {"run": {"runId": f"{ns}-dag-1"}, "job": {"namespace": ns, "name": "dag"}}
    split = {"entries": [{"namespace": ns, "name": "x", "inputs": [{"namespace": ns, "name": "db.orders"}]}]}
    return [
        event("dag", 1, 1, "START"),
        event("dag", 1, 9, "COMPLETE"),
        event("load", 1, 2, "START", ["raw"], [], run_parent=parent),
        event("load", 1, 3, "COMPLETE", [], [orders("int", "a")], job_sourceCodeLocation=code("c1")),
        event("split", 1, 4, "START", ["db.orders", "other"], ["x", "y"], job_lineage=split),
        event("split", 1, 5, "COMPLETE"),
        event("stream", 1, 6, "RUNNING", ["x"], ["live"], job_jobType={"processingType": "STREAMING"}),
        event("load", 2, 2, "START", ["raw", "more"], [orders("long", "b")], job_sourceCodeLocation=code("c2")),
        event("load", 2, 3, "FAIL", run_errorMessage={"message": "boom"}),
        event("open", 2, 4, "START", ["x"], ["never"]),
        event("moving", 1, 4, "COMPLETE", ["y"], ["left"]),
        event("moving", 2, 4, "COMPLETE", ["y"], ["moved"]),
        {
            "eventTime": "2026-01-02T08:00:00Z",
            "dataset": {
                "namespace": ns,
                "name": "raw",
                "facets": {"lifecycleStateChange": {"lifecycleStateChange": "DROP"}},
            },
        },
        event("reads_left", 2, 5, "COMPLETE", ["left"], []),
    ]


def lineage_of(reader: Neo4jReader, ns: str, name: str, direction: Any = "upstream", **scope: Any) -> Answer:
    return lineage(reader, find(reader, (ns, name)), direction, NOW, Scope(**scope))


def depths(answer: Answer) -> dict[str, int]:
    return {node.name[-1]: node.depth for node in answer.nodes}


def test_upstream_crosses_aliases_and_obeys_explicit_lineage(reader: Neo4jReader, namespace: str) -> None:
    assert depths(lineage_of(reader, namespace, "x")) == {
        "x": 0, "split": 1, "db.orders": 1, "s3/orders": 1, "load": 2, "raw": 2, "more": 2
    }  # fmt: skip
    assert depths(lineage_of(reader, namespace, "y")) == {"y": 0, "split": 1}
    assert depths(lineage_of(reader, namespace, "other", "downstream")) == {"other": 0, "split": 1}


def test_as_of_the_first_day_the_load_read_less(reader: Neo4jReader, namespace: str) -> None:
    first_day = datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert depths(lineage_of(reader, namespace, "s3/orders", as_of=first_day)) == {
        "s3/orders": 0, "db.orders": 0, "load": 1, "raw": 1
    }  # fmt: skip


def test_status_comes_from_the_events(reader: Neo4jReader, namespace: str) -> None:
    nodes = {node.name[-1]: node for node in lineage_of(reader, namespace, "raw", "downstream").nodes}
    assert nodes["raw"].status == ("dropped",)
    assert nodes["stream"].status == ("streaming",)
    assert nodes["load"].facts["lastRunState"] == "FAIL"
    assert nodes["load"].facts["codeVersion"] == "c2"
    assert nodes["load"].facts["since"] == "2026-01-02T03:00:00.000000Z"
    assert "open" not in nodes


def test_the_last_writer_of_an_orphan_is_named_and_followed(reader: Neo4jReader, namespace: str) -> None:
    left = lineage_of(reader, namespace, "left")
    writer = left.node(left.start[0]).facts["lastWriter"]
    assert writer["job"] == [namespace, "moving"]
    assert writer["run"] == f"{namespace}-moving-1"
    assert set(depths(lineage_of(reader, namespace, "left", former_writers=True))) >= {"left", "moving", "y", "split"}


def test_columns_are_those_of_the_last_run_that_did_not_fail(reader: Neo4jReader, namespace: str) -> None:
    answer = column_lineage(reader, find(reader, (namespace, "db.orders")), "upstream", ())
    assert not answer.nodes
    answer = column_lineage(reader, find(reader, (namespace, "s3/orders")), "upstream", ["id"])
    assert [node.name[1:] for node in answer.nodes] == [("s3/orders", "id"), ("raw", "a")]
    assert answer.edges[0].facts == {"job": [namespace, "load"], "type": "DIRECT"}


def test_runs_show_their_versions_parents_and_facets(reader: Neo4jReader, namespace: str) -> None:
    shown = show_run(reader, find_run(reader, f"{namespace}-split-1"), NOW)
    assert [(use.dataset[1], use.made_by) for use in shown.writes] == [
        ("x", f"{namespace}-split-1"),
        ("y", f"{namespace}-split-1"),
    ]
    assert [use.dataset[1] for use in shown.reads] == ["db.orders", "other"]
    dag = show_run(reader, find_run(reader, f"{namespace}-dag-1"), NOW)
    assert [child.run.id for child in dag.children] == [f"{namespace}-load-1"]
    failed = show_run(reader, find_run(reader, f"{namespace}-load-2"), NOW)
    assert failed.error == "boom"
    assert failed.view.job["sourceCodeLocation"] == {"version": "c2"}
    assert failed.view.outputs[namespace, "s3/orders"][0]["schema"] == {"fields": [{"name": "id", "type": "long"}]}
    still = show_run(reader, find_run(reader, f"{namespace}-open-2"), NOW)
    assert still.run.status == ("silent",)


def test_what_has_changed_since_the_last_complete_run(reader: Neo4jReader, namespace: str) -> None:
    failed = find_run(reader, f"{namespace}-load-2")
    diff = run_diff(reader, last_complete_run(reader, failed), failed, NOW)
    assert ("code version", "c1", "c2") in diff.facts
    assert diff.sides == (f"inputs changed: + {namespace} more",)
    assert diff.schemas == ((f"{namespace} s3/orders", "id int to long"),)
    assert len(diff.columns) == 2
    assert ("job.sourceCodeLocation.version", "c1", "c2") in diff.settings


def test_histories_have_reasons(reader: Neo4jReader, namespace: str) -> None:
    versions = job_versions(reader, find(reader, (namespace, "load"), ("job",)))
    assert [v.reasons for v in versions] == [
        (f"inputs changed: + {namespace} more", "code version changed: c1 to c2"),
        ("first version",),
    ]
    made = dataset_versions(reader, find(reader, (namespace, "s3/orders")))
    assert [(v.state, v.reasons) for v in made] == [("FAIL", ("schema changed: id int to long",)), ("COMPLETE", ())]


def test_the_run_graph_crosses_versions(reader: Neo4jReader, namespace: str) -> None:
    answer = run_graph(reader, find_run(reader, f"{namespace}-load-1"), "downstream", NOW)
    assert [node.name[1] for node in answer.nodes if node.kind == "version"] == ["s3/orders"]
    answer = run_graph(reader, find_run(reader, f"{namespace}-moving-1"), "upstream", NOW)
    assert [node.name[0] for node in answer.nodes if node.kind == "run"] == [f"{namespace}-moving-1"]
