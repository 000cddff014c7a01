"""The pause of the cyclic collector: over nested work, in several threads, and whatever way the work ends."""

from __future__ import annotations

import gc
import sys
import weakref
from threading import Barrier, Thread

import pytest

from headwater_avro import collection
from headwater_avro.collection import collection_paused


def test_the_collector_is_off_within_and_on_afterwards() -> None:
    with collection_paused():
        assert not gc.isenabled()
        with collection_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ValueError, match="gone wrong"), collection_paused():
        raise ValueError("gone wrong")
    assert gc.isenabled()


def test_who_had_it_off_keeps_it_off() -> None:
    gc.disable()
    try:
        with collection_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_whoever_began_a_pause_ends_it() -> None:
    """A busy server has some thread at work at any time; it must collect all the same."""
    begun, go_on = Barrier(2), Barrier(2)

    def work() -> None:
        with collection_paused():
            begun.wait()
            go_on.wait()

    thread = Thread(target=work)
    with collection_paused():
        thread.start()
        begun.wait()
        assert not gc.isenabled()
    assert gc.isenabled()
    go_on.wait()
    thread.join()
    assert gc.isenabled()
    with collection_paused():
        assert not gc.isenabled()


class Node:
    """A value that is in a cycle with itself."""

    def __init__(self) -> None:
        self.itself = self


def test_what_outlives_a_pause_is_not_looked_through_at_its_end() -> None:
    looked: list[str] = []

    def look(phase: str, _: dict[str, int]) -> None:
        looked.append(phase)

    gc.collect()
    with collection_paused():
        kept = [[number] for number in range(100_000)]
        gc.callbacks.append(look)
    try:
        young = gc.get_count()[0]
        assert not looked
    finally:
        gc.callbacks.remove(look)
    assert young < 1_000 < len(kept)


def test_cycles_that_pauses_left_are_found_after_enough_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collection, "LOOK_THROUGH", 10_000)
    left = []
    for _ in range(20):
        with collection_paused():
            left += [weakref.ref(Node()) for _ in range(1_000)]
    there = sum(one() is not None for one in left)
    assert 0 < there < 15_000


def test_what_is_let_go_of_after_a_pause_is_no_reason_to_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that gives an answer after the other would else pause for all its values each hundredth time."""
    monkeypatch.setattr(collection, "LOOK_THROUGH", 100_000)
    looked: list[int] = []

    def look(phase: str, told: dict[str, int]) -> None:
        if phase == "start" and told["generation"] == 2:
            looked.append(1)

    with collection_paused():
        gc.collect()
        monkeypatch.setattr(collection, "_in_use", sys.getallocatedblocks())
    gc.callbacks.append(look)
    try:
        for _ in range(20):
            with collection_paused():
                answer = [[str(number)] for number in range(20_000)]
            assert len(answer) == 20_000
            del answer
    finally:
        gc.callbacks.remove(look)
    assert not looked
