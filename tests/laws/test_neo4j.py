"""The theorem of SPEC over real Neo4j: the same law as in memory, and the same bytes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater_consumer.settle.limits import Limits
from headwater_graph.store import Neo4jStore

from ..feeding import differences, dumped, feed
from ..graph.empty import emptied, opened
from ..servers import Servers
from .model import dump as model_dump
from .strategies import deliveries, event_sets

pytestmark = pytest.mark.end_to_end


@pytest.fixture(scope="module")
def graph(servers: Servers) -> Iterator[Neo4jStore]:
    with opened(servers) as store:
        yield store


@settings(max_examples=120)
@given(data=st.data())
def test_any_delivery_gives_the_dump_of_the_whole_set_at_once_in_neo4j(data: st.DataObject, graph: Neo4jStore) -> None:
    messages = data.draw(event_sets())
    limits = data.draw(st.sampled_from((Limits(), Limits(), Limits(rows=2))))
    emptied(graph)
    for batch in data.draw(deliveries(messages)):
        feed(graph, batch, limits)
    expected, actual = model_dump(messages), dumped(graph)
    assert actual == expected, differences(expected, actual)
