"""Golden cases with a horizon: events, `# horizon: TIME`, later events, `---`, the dump; in memory, in Neo4j, by the model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import pytest

from headwater_avro.times import parse_time
from headwater_graph.audit.check import check
from headwater_graph.audit.rebuild import rebuild
from headwater_graph.retention.retain import retain
from headwater_graph.store.neo4j_store import Neo4jStore

from ...fake_graph.store import FakeStore
from ...feeding import differences, dumped, feed
from ...laws.horizon import dump_behind
from ...laws.wire import instant
from ...servers import Servers
from ...store.empty import emptied, opened

MARK = b"# horizon: "


@dataclass(frozen=True, slots=True)
class Case:
    """Messages before the horizon was set and after it, and the dump that they give."""

    title: str
    first: list[bytes]
    horizon: str
    then: list[bytes]
    dump: bytes


def read(path: Path) -> Case:
    told, _, dump = path.read_bytes().partition(b"---\n")
    lines = told.splitlines()
    (at,) = (number for number, line in enumerate(lines) if line.startswith(MARK))
    first, then = ([line for line in part if not line.startswith(b"#")] for part in (lines[:at], lines[at + 1 :]))
    return Case(lines[0].decode().removeprefix("# title: "), first, lines[at].removeprefix(MARK).decode(), then, dump)


CASES = [read(path) for path in sorted(Path(__file__).parent.glob("*.golden"))]


def by_title(case: Case) -> str:
    return case.title


@pytest.fixture(scope="module")
def graph(servers: Servers) -> Iterator[Neo4jStore]:
    with opened(servers) as store:
        yield store


@pytest.mark.parametrize("case", CASES, ids=by_title)
def test_the_model_gives_the_dump(case: Case) -> None:
    time = instant(case.horizon)
    assert time is not None
    actual = dump_behind(case.first, [(time, case.then)])
    assert actual == case.dump, differences(case.dump, actual)


@pytest.mark.parametrize("case", CASES, ids=by_title)
def test_a_case_gives_its_dump_in_every_order_of_what_comes_after(case: Case) -> None:
    for order in permutations(case.then):
        store = FakeStore()
        feed(store, case.first)
        retain(store, parse_time(case.horizon))
        for message in order:
            feed(store, [message])
        assert dumped(store) == case.dump, differences(case.dump, dumped(store))
        rebuild(store)
        assert dumped(store) == case.dump
        assert list(check(store)) == []


@pytest.mark.end_to_end
@pytest.mark.parametrize("case", CASES, ids=by_title)
def test_a_case_gives_its_dump_in_neo4j(case: Case, graph: Neo4jStore) -> None:
    feed(emptied(graph), case.first)
    retain(graph, parse_time(case.horizon))
    feed(graph, case.then)
    assert dumped(graph) == case.dump, differences(case.dump, dumped(graph))
    assert list(check(graph)) == []
