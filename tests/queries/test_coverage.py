"""Completeness of lineage by producer, version and engine."""

from __future__ import annotations

import json
from typing import Any

from headwater_graph.queries.reader import Row
from headwater_graph.queries.reports.coverage import coverage
from headwater_graph.rules.coalesce import Coalescer

from ..given_answers import GivenAnswers

SPARK = "https://example.com/tree/1.54.0/integration/spark"


def record(run: dict[str, Any], **sides: Any) -> bytes:
    event = {"eventTime": "2026-01-01T00:00:00Z", "eventType": "COMPLETE", "run": {"runId": "r", "facets": run}}
    coalescer = Coalescer()
    coalescer.add(json.dumps({**event, "job": {"namespace": "n", "name": "j"}, **sides}).encode())
    (row,) = coalescer.rows()
    return row[2]


def test_jobs_are_counted_by_the_producer_of_their_last_run() -> None:
    engine = {"_producer": SPARK, "name": "spark", "version": "4.2.0", "openlineageAdapterVersion": "1.54.0"}
    columns = {"namespace": "n", "name": "d", "facets": {"columnLineage": {"fields": {}}, "schema": {}}}
    rows: list[Row] = [
        {"lineageUnknown": None, "record": record({"processing_engine": engine}, outputs=[columns])},
        {"lineageUnknown": True, "record": record({"processing_engine": engine})},
        {"lineageUnknown": None, "record": record({"x": {"_producer": "https://example.com/v2.1/dbt"}})},
        {"lineageUnknown": None, "record": record({})},
    ]
    found = coverage(GivenAnswers({"reports/coverage": rows}))
    assert found.rows == (
        ("https://example.com/tree/integration/spark", "1.54.0", "spark 4.2.0", 2, 1, 1, 1),
        ("", "", "", 1, 1, 0, 0),
        ("https://example.com/dbt", "2.1", "", 1, 1, 0, 0),
    )
    page = coverage(GivenAnswers({"reports/coverage": rows}), limit=1, skip=1)
    assert (page.rows, page.truncated) == (found.rows[1:2], True)
