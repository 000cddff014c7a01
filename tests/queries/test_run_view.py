"""The facets of a run are read as they count in the graph: those that a later snapshot leaves out do not (specification 2.7)."""

from __future__ import annotations

import json
from typing import Any

from headwater_graph.queries.runs.run_view import run_view
from headwater_graph.rules.coalesce import Coalescer

SNAPSHOT = {"processingType": "STREAMING", "emissionPattern": {"eventContentMode": "COMPLETE_SNAPSHOT"}}


def record(*events: dict[str, Any]) -> bytes:
    coalescer = Coalescer()
    for minute, event in enumerate(events):
        common = {"eventTime": f"2026-01-01T00:{minute:02}:00Z", "eventType": "RUNNING", "run": {"runId": "r"}}
        coalescer.add(json.dumps(common | {"job": {"namespace": "n", "name": "j"}} | event).encode())
    (row,) = coalescer.rows()
    return row[2]


def listing(name: str) -> list[dict[str, Any]]:
    return [{"namespace": "n", "name": name, "facets": {"schema": {"of": name}}, "inputFacets": {"rows": {"n": 1}}}]


def test_a_snapshot_run_shows_the_datasets_of_its_last_listing() -> None:
    job = {"job": {"namespace": "n", "name": "j", "facets": {"jobType": SNAPSHOT}}}
    view = run_view(record({"inputs": listing("removed")} | job, {"inputs": listing("stays")}))
    assert view.inputs == {("n", "stays"): ({"schema": {"of": "stays"}}, {"rows": {"n": 1}})}
    plain = run_view(record({"inputs": listing("removed")}, {"inputs": listing("stays")}))
    assert list(plain.inputs) == [("n", "removed"), ("n", "stays")]


def test_deleted_facets_are_absent_and_a_placeholder_has_none() -> None:
    job = {"job": {"namespace": "n", "name": "j", "facets": {"sql": {"query": "x"}}}}
    deleted = {"job": {"namespace": "n", "name": "j", "facets": {"sql": {"_deleted": True}}}}
    assert run_view(record(job)).job == {"sql": {"query": "x"}}
    assert run_view(record(job, deleted)).job == {}
    assert run_view(None).value() == {}
