"""What is missing or unusual, in a real Neo4j."""

from __future__ import annotations

import neo4j
import pytest

from headwater_graph.queries.reader import Neo4jReader
from headwater_graph.queries.reports.reports import MISSING, REPORTS, report, usual_period

from .graph_maker import GraphMaker, at_hour

NOW = at_hour(1000)
ALL = 100_000


@pytest.fixture
def odd(driver: neo4j.Driver, maker: GraphMaker) -> GraphMaker:
    """A graph with one finding for each report."""
    maker.run("blind", ["daily"], ["known"], hour=1, unknown=True, code="1")
    maker.run("reader", ["source"], [], hour=2)
    maker.run("moved", [], ["left"], hour=3)
    maker.run("moved", [], ["other"], hour=4)
    maker.run("uses", ["left", "known"], ["report"], hour=5)
    for day in range(4):
        maker.run("daily", [], ["daily"], hour=10 + 24 * day, run_id=f"{maker.namespace}-daily-{day}")
    maker.run("late", ["daily"], ["report"], hour=10 + 24 * 3 + 49)
    maker.open_run("reader", f"{maker.namespace}-quiet", hour=1)
    maker.run("double", hour=9, run_id=f"{maker.namespace}-double", conflicts=f'[["{maker.namespace}","other"]]')
    maker.store(driver)
    return maker


EXPECTED = {
    "silent": ("reader",),
    "conflicts": ("double",),
    "unknown": ("blind",),
    "no-outputs": ("reader",),
    "unmade": ("source",),
    "orphaned": ("left",),
    "unread": ("other", "report"),
    "stale": ("daily",),
}


@pytest.mark.parametrize("name", REPORTS)
def test_each_report_finds_its_findings_and_nothing_else(name: str, reader: Neo4jReader, odd: GraphMaker) -> None:
    found = report(reader, name, NOW, ALL)
    assert tuple(row[1] for row in found.rows if row[0] == odd.namespace) == EXPECTED[name]
    assert all(len(row) == len(found.head) for row in found.rows)
    assert not found.truncated


def test_a_report_says_that_it_is_truncated(reader: Neo4jReader, odd: GraphMaker) -> None:
    found = report(reader, "unread", NOW, 1)
    assert (len(found.rows), found.truncated) == (1, True)


def test_rows_have_their_facts(reader: Neo4jReader, odd: GraphMaker) -> None:
    ns = odd.namespace

    def row(name: str) -> tuple[str | int, ...]:
        return next(row for row in report(reader, name, NOW, ALL).rows if row[0] == ns)

    assert row("silent") == (ns, "reader", f"{ns}-quiet", "2026-01-01T01:00:00.000000Z")
    assert row("conflicts") == (ns, "double", f"{ns}-double", f"{ns} other")
    assert row("stale") == (
        ns, "daily", "2026-01-04T10:00:00.000000Z", "2026-01-06T11:00:00.000000Z", "1 day, 0:00:00"
    )  # fmt: skip


def test_missing_is_made_of_reports() -> None:
    assert set(MISSING) < set(REPORTS)


def test_two_writes_are_too_few_to_know_a_period() -> None:
    assert usual_period([2, 1]) is None
    assert usual_period([9, 5, 1]) == 4
