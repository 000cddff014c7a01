"""``active_since``: inactive jobs, and datasets that only they read or write, are left out of any answer."""

from __future__ import annotations

from datetime import datetime

import neo4j
import pytest

from headwater_graph.queries.catalog.activity import active
from headwater_graph.queries.catalog.entity import entity
from headwater_graph.queries.catalog.finding import find
from headwater_graph.queries.catalog.search import search
from headwater_graph.queries.lineage.columns import column_lineage
from headwater_graph.queries.lineage.impact import impact
from headwater_graph.queries.lineage.scope import Scope
from headwater_graph.queries.reader import Neo4jReader
from headwater_graph.queries.reports.reports import report

from .graph_maker import GraphMaker, at_hour

NOW = at_hour(100)
SINCE = at_hour(50)


@pytest.fixture
def stored(maker: GraphMaker, driver: neo4j.Driver) -> GraphMaker:
    maker.run("old", ["raw"], [f"left-{maker.namespace}"], hour=1)
    maker.run("new", ["raw"], [f"used-{maker.namespace}"], hour=60)
    maker.column("old", ("raw", "a"), (f"left-{maker.namespace}", "b"))
    maker.column("new", ("raw", "a"), (f"used-{maker.namespace}", "c"))
    maker.store(driver)
    return maker


@pytest.mark.parametrize(("since", "jobs"), [(None, ["new", "old"]), (SINCE, ["new"]), (at_hour(61), [])])
def test_a_dataset_is_shown_with_its_active_jobs(
    reader: Neo4jReader, stored: GraphMaker, since: datetime | None, jobs: list[str]
) -> None:
    shown = entity(reader, find(reader, (stored.namespace, "raw")), NOW, since)
    assert [node.name[1] for node in shown.downstream] == jobs


def test_columns_are_followed_through_active_jobs(reader: Neo4jReader, stored: GraphMaker) -> None:
    raw = find(reader, (stored.namespace, "raw"), ("dataset",))
    every = column_lineage(reader, raw, "downstream")
    assert [node.name[2] for node in every.nodes] == ["a", "b", "c"]
    answer = column_lineage(reader, raw, "downstream", active_since=SINCE)
    assert [node.name[2] for node in answer.nodes] == ["a", "c"]
    assert answer.question["activeSince"].startswith("2026-01-03T02")
    reached = impact(reader, raw, NOW, columns=["a"], scope=Scope(active_since=SINCE))
    assert {node.name[1] for node in reached.nodes if node.kind == "job"} == {"new"}


def test_search_and_reports_leave_out_what_is_inactive(reader: Neo4jReader, stored: GraphMaker) -> None:
    ns = stored.namespace
    found = search(reader, ns, ("dataset",))
    # Of equal matches the one with more edges, then the latest, is first.
    assert [node.name[1] for node in active(reader, found, None)] == [f"used-{ns}", f"left-{ns}"]
    assert [node.name[1] for node in active(reader, found, SINCE)] == [f"used-{ns}"]

    def unread(since: datetime | None) -> list[str | int]:
        rows = report(reader, "unread", NOW, 100_000, active_since=since).rows
        return [row[1] for row in rows if row[0] == ns]

    assert unread(None) == [f"left-{ns}", f"used-{ns}"]
    assert unread(SINCE) == [f"used-{ns}"]
