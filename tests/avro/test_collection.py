"""Pauses of the cyclic collector: nested, in several threads, and after exceptions."""

from __future__ import annotations

import gc
import sys
import weakref
from threading import Barrier, Thread

import pytest

from headwater_avro import collection
from headwater_avro.collection import collection_paused


def test_the_collector_is_disabled_within_a_pause_and_enabled_afterwards() -> None:
    with collection_paused():
        assert not gc.isenabled()
        with collection_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ValueError, match="failed"), collection_paused():
        raise ValueError("failed")
    assert gc.isenabled()


def test_a_disabled_collector_stays_disabled() -> None:
    gc.disable()
    try:
        with collection_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_the_thread_that_began_a_pause_ends_it() -> None:
    """A busy server always has a working thread, and must collect nevertheless."""
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
    """An object that refers to itself."""

    def __init__(self) -> None:
        self.itself = self


def test_objects_that_survive_a_pause_are_not_traversed_at_its_end() -> None:
    collections: list[str] = []

    def record(phase: str, _: dict[str, int]) -> None:
        collections.append(phase)

    gc.collect()
    with collection_paused():
        values = [[number] for number in range(100_000)]
        gc.callbacks.append(record)
    try:
        young = gc.get_count()[0]
        assert not collections
    finally:
        gc.callbacks.remove(record)
    assert young < 1_000 < len(values)


def test_cycles_of_many_pauses_are_collected_eventually(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collection, "COLLECT_AFTER", 10_000)
    # Tests before this one may have had far more memory in use at their last collection.
    monkeypatch.setattr(collection, "_in_use", sys.getallocatedblocks())
    references = []
    for _ in range(22):
        with collection_paused():
            references += [weakref.ref(Node()) for _ in range(1_000)]
    there = sum(reference() is not None for reference in references)
    assert 0 < there < 15_000


def test_objects_released_after_a_pause_do_not_cause_collections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a server with many successive answers would run a full collection every hundred answers."""
    monkeypatch.setattr(collection, "COLLECT_AFTER", 100_000)
    collections: list[int] = []

    def record(phase: str, details: dict[str, int]) -> None:
        if phase == "start" and details["generation"] == 2:
            collections.append(1)

    with collection_paused():
        gc.collect()
        monkeypatch.setattr(collection, "_in_use", sys.getallocatedblocks())
    gc.callbacks.append(record)
    try:
        for _ in range(20):
            with collection_paused():
                answer = [[str(number)] for number in range(20_000)]
            assert len(answer) == 20_000
            del answer
    finally:
        gc.callbacks.remove(record)
    assert not collections
