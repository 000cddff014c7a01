"""What differs between two runs: from events through the real records, and in a real Neo4j."""

from __future__ import annotations

import json
from typing import Any

import neo4j
import pytest

from headwater_graph.model.records import Facets, Listing, Naming, RunRecord, pack
from headwater_graph.queries.catalog.finding import NotFound, find_run
from headwater_graph.queries.reader import Neo4jReader
from headwater_graph.queries.runs.run_diff import last_complete_run, run_diff

from .graph_maker import GraphMaker, at_hour

NOW = at_hour(100)


def facets(**values: Any) -> Facets:
    return {name: (1, 1, json.dumps(value).encode()) for name, value in values.items()}


def record(maker: GraphMaker, *, run: dict[str, Any], schema: list[Any], columns: dict[str, Any], code: str) -> bytes:
    """The record of a run of ``load`` that reads raw and writes orders."""
    of_output = facets(schema={"fields": schema}, columnLineage={"fields": columns})
    of_job = facets(sourceCodeLocation={"version": code, "_producer": code}, deleted={"_deleted": True})
    return pack(
        RunRecord(
            jobs={(maker.namespace, "load"): Naming(1, 1, of_job)},
            first=1,
            last=1,
            facets=facets(**run),
            inputs={(maker.namespace, "raw"): Listing(1, 1, 1, {}, facets(inputStatistics={"rowCount": 3}))},
            outputs={(maker.namespace, "orders"): Listing(1, 1, 1, of_output, {})},
        )
    )


def source(maker: GraphMaker, column: str) -> dict[str, Any]:
    return {"inputFields": [{"namespace": maker.namespace, "name": "raw", "field": column}, {"name": "no key"}, 7]}


def test_a_diff_has_all_that_differs(reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker) -> None:
    ns = maker.namespace
    feed1 = maker.run("feed", [], ["raw"], hour=1)
    worked = maker.run("load", ["raw"], ["orders"], hour=2, code="c1", codeVersion="c1")
    feed2 = maker.run("feed", [], ["raw"], hour=3)
    failed = maker.run("load", ["raw", "more"], ["orders"], hour=4, code="c2", codeVersion="c2", state="FAIL")
    records = {
        worked: record(
            maker,
            run={"spark": {"conf": {"shuffle": "200", "same": 1}}, "nominalTime": {"nominalStartTime": "1"}},
            schema=[{"name": "id", "type": "int"}],
            columns={"id": source(maker, "a")},
            code="c1",
        ),
        failed: record(
            maker,
            run={"spark": {"conf": {"shuffle": "10", "same": 1}}, "extra": {"list": [1]}},
            schema=[{"name": "id", "type": "long"}, {"name": "day"}, {"type": "nameless"}],
            columns={"id": source(maker, "b")},
            code="c2",
        ),
    }
    for node in maker.nodes.values():
        if node.get("id") in records:
            node["record"] = records[node["id"]]
    maker.store(driver)
    last = last_complete_run(reader, find_run(reader, failed))
    assert last.name == (worked,)
    diff = run_diff(reader, last, find_run(reader, failed), NOW)
    assert [fact[0] for fact in diff.facts] == ["state", "job version", "code version"]
    assert diff.sides == (f"inputs changed: + {ns} more",)
    assert diff.read_versions == (
        (
            f"{ns} raw",
            f"written 2026-01-01T01:00:00.000000Z by run {feed1}",
            f"written 2026-01-01T03:00:00.000000Z by run {feed2}",
        ),
    )
    assert diff.schemas == ((f"{ns} orders", "+ day, id int to long"),)
    assert diff.columns == (("+", (ns, "raw", "b", ns, "orders", "id")), ("-", (ns, "raw", "a", ns, "orders", "id")))
    assert diff.settings == (
        ("job.sourceCodeLocation.version", "c1", "c2"),
        ("run.extra.list", None, [1]),
        ("run.spark.conf.shuffle", "200", "10"),
    )
    assert "deleted" not in diff.after.view.job
    assert not diff.is_empty
    assert run_diff(reader, last, last, NOW).is_empty


def test_without_a_complete_run_before_it_there_is_no_diff(
    reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker
) -> None:
    only = maker.run("load", ["raw"], ["orders"], state="FAIL")
    maker.store(driver)
    with pytest.raises(NotFound, match="no run of this job was COMPLETE"):
        last_complete_run(reader, find_run(reader, only))


def test_an_open_run_is_compared_with_the_last_before_its_last_event(
    reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker
) -> None:
    done = maker.run("load", ["raw"], ["orders"], hour=1)
    maker.run("load", ["raw"], ["orders"], hour=9)
    still = maker.open_run("load", f"{maker.namespace}-open", hour=5)
    maker.store(driver)
    assert last_complete_run(reader, find_run(reader, still)).name == (done,)
