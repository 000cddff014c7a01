"""The golden cases through the rules: over a store in memory, and again over real Neo4j."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headwater_graph.store.neo4j_store import Neo4jStore

from ..fake_graph.store import FakeStore
from ..feeding import differences, dumped, feed
from ..servers import Servers
from ..store.empty import emptied, opened
from .cases import Case, all_cases

CASES = list(all_cases())


def _name(case: Case) -> str:
    return f"{case.rule} {case.title}"


@pytest.fixture(scope="module")
def graph(servers: Servers) -> Iterator[Neo4jStore]:
    with opened(servers) as store:
        yield store


@pytest.mark.parametrize("case", CASES, ids=_name)
def test_a_case_gives_its_dump(case: Case) -> None:
    store = FakeStore()
    feed(store, case.messages)
    assert dumped(store) == case.dump, differences(case.dump, dumped(store))


@pytest.mark.parametrize("case", CASES, ids=_name)
def test_a_case_gives_its_dump_message_by_message_backwards(case: Case) -> None:
    store = FakeStore()
    for message in reversed(case.messages):
        feed(store, [message])
    assert dumped(store) == case.dump, differences(case.dump, dumped(store))


@pytest.mark.end_to_end
@pytest.mark.parametrize("case", CASES, ids=_name)
def test_a_case_gives_its_dump_in_neo4j(case: Case, graph: Neo4jStore) -> None:
    feed(emptied(graph), case.messages)
    assert dumped(graph) == case.dump, differences(case.dump, dumped(graph))
