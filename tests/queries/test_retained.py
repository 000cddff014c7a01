"""What the answers say where retention has removed runs and versions, after the real rules and the real store did it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from headwater_avro.times import micros_of
from headwater_graph.queries.catalog.finding import find, find_run
from headwater_graph.queries.lineage.lineage import lineage
from headwater_graph.queries.lineage.scope import Scope
from headwater_graph.queries.reader import Neo4jReader
from headwater_graph.queries.runs.history import JobVersionLine, dataset_versions, job_versions
from headwater_graph.queries.runs.runs import show_run
from headwater_graph.retention.retain import retain
from headwater_graph.settings import GraphSettings
from headwater_graph.store.neo4j_store import Neo4jStore

from ..servers import Servers
from ..store.empty import emptied, opened
from .events import Event, run_event, write

NOW = datetime(2026, 2, 1, tzinfo=UTC)
HORIZON = datetime(2026, 1, 10, tzinfo=UTC)


@pytest.fixture
def store(servers: Servers) -> Iterator[Neo4jStore]:
    """Retention is of the whole graph, and its horizon would be there for the tests after this one."""
    with opened(servers) as store:
        yield emptied(store)
        emptied(store)


@pytest.fixture
def namespace(graph_server: GraphSettings, store: Neo4jStore) -> str:
    """Three versions of `load` before the horizon and one after; `idle` and `moved` wrote only before it."""
    ns = f"ns-{uuid.uuid4().hex[:12]}"

    def event(job: str, day: int, reads: list[str], writes: list[str]) -> Event:
        return run_event(ns, job, f"{ns}-{job}-{day}", "COMPLETE", f"2026-01-{day:02}T01:00:00Z", reads, writes)

    write(
        graph_server,
        [
            event("load", 1, ["a"], ["x"]),
            event("load", 2, ["a", "b"], ["x"]),
            event("load", 3, ["c"], ["x"]),
            event("load", 20, ["c", "d"], ["x"]),
            event("other", 4, ["a"], ["shared"]),
            event("idle", 5, ["a"], ["shared"]),
            event("idle", 6, ["a"], ["shared"]),
            event("moved", 7, ["a"], ["left"]),
            event("moved", 8, ["a"], ["elsewhere"]),
            event("reader", 21, ["left"], []),
        ],
    )
    retain(store, micros_of(HORIZON))
    return ns


def numbered(lines: list[JobVersionLine]) -> list[tuple[int, bool, tuple[str, ...]]]:
    return [(line.number, line.oldest, line.reasons) for line in lines]


def test_versions_retain_their_numbers(reader: Neo4jReader, namespace: str) -> None:
    load = find(reader, (namespace, "load"), ("job",))
    four = (4, False, (f"inputs changed: + {namespace} d",))
    three = (3, True, ("retention removed the versions before it",))
    assert numbered(job_versions(reader, load)) == [four, three]
    assert numbered(job_versions(reader, load, limit=1)) == [four]
    assert numbered(job_versions(reader, load, below=4)) == [three]
    assert job_versions(reader, load, below=3) == []


def test_the_last_of_several_writers_is_named_though_its_run_is_removed(reader: Neo4jReader, namespace: str) -> None:
    answer = lineage(reader, find(reader, (namespace, "shared")), "upstream", NOW)
    writer = answer.node(answer.start[0]).facts["lastWriter"]
    assert (writer["job"], writer["run"]) == ([namespace, "idle"], f"{namespace}-idle-6")
    assert writer["version"]


def test_as_of_a_time_before_the_horizon_the_answer_says_that_it_may_be_incomplete(
    reader: Neo4jReader, namespace: str
) -> None:
    x = find(reader, (namespace, "x"))
    notes = [
        lineage(reader, x, "upstream", NOW, Scope(as_of=day)).notes
        for day in (datetime(2026, 1, 9, tzinfo=UTC), HORIZON)
    ]
    horizon = "2026-01-10T00:00:00.000000Z"
    said = f"the answer may be incomplete: retention has removed what was no longer valid at {horizon}"
    assert notes == [(said,), ()]


def test_a_version_of_a_removed_run_names_its_job_and_run(reader: Neo4jReader, namespace: str) -> None:
    made = dataset_versions(reader, find(reader, (namespace, "shared")))
    assert [(version.made_by, version.job) for version in made] == [(f"{namespace}-idle-6", (namespace, "idle"))]
    removed = show_run(reader, find_run(reader, f"{namespace}-idle-6"), NOW)
    assert removed.run.status == ("removed",)


def test_a_last_writer_whose_run_is_removed_is_named(reader: Neo4jReader, namespace: str) -> None:
    answer = lineage(reader, find(reader, (namespace, "left")), "upstream", NOW, Scope(former_writers=True))
    (left,) = answer.nodes
    assert left.status == ("no writer now",)
    assert left.facts["lastWriter"] == {
        "run": f"{namespace}-moved-7", "state": "COMPLETE", "at": "2026-01-07T01:00:00.000000Z"
    }  # fmt: skip
