"""The theorem of the specification over real Neo4j: the same bytes as in memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from headwater_avro.times import parse_time
from headwater_graph.apply.limits import TransactionLimits
from headwater_graph.audit.check import check
from headwater_graph.audit.rebuild import rebuild
from headwater_graph.retention.retain import retain, would_remove
from headwater_graph.store.neo4j_store import Neo4jStore

from ..feeding import differences, dumped, feed
from ..servers import Servers
from ..store.empty import emptied, opened
from .horizon import dump_behind
from .model import dump as model_dump
from .strategies import deliveries, event_sets
from .test_horizon import HORIZONS, LIMITS, check_a_run_id_that_is_used_again, time_of

pytestmark = pytest.mark.end_to_end


@pytest.fixture(scope="module")
def graph(servers: Servers) -> Iterator[Neo4jStore]:
    with opened(servers) as store:
        yield store


@settings(max_examples=120)
@given(data=st.data())
def test_any_delivery_gives_the_dump_of_the_whole_set_at_once_in_neo4j(data: st.DataObject, graph: Neo4jStore) -> None:
    messages = data.draw(event_sets())
    limits = data.draw(st.sampled_from((TransactionLimits(), TransactionLimits(), TransactionLimits(rows=2))))
    emptied(graph)
    for batch in data.draw(deliveries(messages)):
        feed(graph, batch, limits)
    expected, actual = model_dump(messages), dumped(graph)
    assert actual == expected, differences(expected, actual)
    assert not list(graph.scan("check/summaries"))


@settings(max_examples=80, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(data=st.data())
def test_events_after_horizons_give_one_dump_in_neo4j(data: st.DataObject, graph: Neo4jStore) -> None:
    first, then = data.draw(event_sets()), []
    emptied(graph)
    feed(graph, first)
    for horizon in sorted(data.draw(st.lists(st.sampled_from(HORIZONS), min_size=1, max_size=2)), key=parse_time):
        removal = would_remove(graph, parse_time(horizon))
        removed = retain(graph, parse_time(horizon), data.draw(st.sampled_from(LIMITS)))
        assert (removed["runs"], removed["job versions"]) == (removal["runs"].count, removal["job versions"].count)
        messages = data.draw(event_sets(6))
        for batch in data.draw(deliveries(messages)):
            feed(graph, batch, data.draw(st.sampled_from(LIMITS)))
        then.append((time_of(horizon), messages))
    expected, actual = dump_behind(first, then), dumped(graph)
    assert actual == expected, differences(expected, actual)
    assert list(check(graph)) == []
    if data.draw(st.booleans()):
        rebuild(graph)
        assert dumped(graph) == expected, differences(expected, dumped(graph))
        assert list(check(graph)) == []


def test_a_removed_last_run_is_not_another_run_of_its_id_in_neo4j(graph: Neo4jStore) -> None:
    emptied(graph)
    check_a_run_id_that_is_used_again(graph)
