"""The theorem of the specification over a store in memory: order, duplicates, batches and limits change nothing."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from headwater_graph.apply.limits import TransactionLimits

from ..fake_graph.store import FakeStore
from ..feeding import differences, dumped, feed
from .model import dump as model_dump
from .strategies import deliveries, event_sets

PLENTY = TransactionLimits()
# So little that nearly everything that a late event changes is deferred.
SCARCE = (
    TransactionLimits(rows=1),
    TransactionLimits(rows=2),
    TransactionLimits(runs=1, rows=3),
    TransactionLimits(rows=4),  # two deferred folds together
)


@settings(max_examples=1000)
@given(st.data())
def test_any_delivery_of_an_event_set_gives_the_dump_of_the_whole_set_at_once(data: st.DataObject) -> None:
    messages = data.draw(event_sets())
    store = FakeStore()
    for batch in data.draw(deliveries(messages)):
        feed(store, batch, PLENTY)
    expected, actual = model_dump(messages), dumped(store)
    assert actual == expected, differences(expected, actual)


@settings(max_examples=800)
@given(st.data())
def test_deferred_work_gives_the_same_dump(data: st.DataObject) -> None:
    messages = data.draw(event_sets())
    limits = data.draw(st.sampled_from(SCARCE))
    store = FakeStore()
    for batch in data.draw(deliveries(messages)):
        feed(store, batch, limits)
    assert not store.tables["DeferredWork"]
    expected, actual = model_dump(messages), dumped(store)
    assert actual == expected, differences(expected, actual)


@settings(max_examples=200)
@given(st.data())
def test_a_batch_delivered_again_writes_no_run(data: st.DataObject) -> None:
    messages = data.draw(event_sets())
    store = FakeStore()
    feed(store, messages)
    before = dumped(store)
    assert feed(store, messages).runs == 0
    assert dumped(store) == before
