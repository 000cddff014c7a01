"""Batches handed from the one who reads to the one who writes: side by side, in their order, and no failure lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from headwater_avro.errors import StoreRefused
from headwater_consumer.batch_processor import BatchProcessor, Draining
from headwater_consumer.write_behind import WriteBehind

SOON = 10.0


class Steps:
    """The halves of a cycle as a test steers them: writing waits until it may."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.may_write = threading.Event()
        self.faults: dict[int, Exception] = {}
        self.failure: BaseException | None = None
        self.stopping = False

    def check_gate(self) -> None:
        if self.stopping:
            raise Draining

    def failed(self, fault: BaseException) -> BaseException:
        self.failure = self.failure or fault
        return fault

    def read(self, parts: int, batch_id: int) -> Iterator[int]:
        """Read a batch of so many parts."""
        for _ in range(parts):
            self.check_gate()
            self.done.append(f"read {batch_id}")
            yield batch_id

    def write(self, batch_id: int) -> None:
        assert self.may_write.wait(SOON)
        if fault := self.faults.get(batch_id):
            self.failure = fault
            raise fault
        self.done.append(f"written {batch_id}")


@pytest.fixture
def steps() -> Steps:
    return Steps()


@pytest.fixture
def batches(steps: Steps) -> WriteBehind:
    cycle: Any = steps
    read: Any = steps.read
    return WriteBehind(cycle, read)


def test_a_batch_is_read_while_the_one_before_is_written(steps: Steps, batches: WriteBehind) -> None:
    batches(1, 0)
    assert steps.done == ["read 0"]
    assert batches.is_busy
    second = threading.Thread(target=batches, args=(1, 1))
    second.start()
    while "read 1" not in steps.done:
        assert second.is_alive()
    assert batches.handed_over == 0
    steps.may_write.set()
    second.join(SOON)
    batches.finish()
    assert steps.done == ["read 0", "read 1", "written 0", "written 1"]
    assert batches.handed_over == 1
    assert not batches.is_busy


def test_the_exception_of_a_batch_is_raised_to_the_next_which_is_not_written(
    steps: Steps, batches: WriteBehind
) -> None:
    steps.may_write.set()
    steps.faults[0] = StoreRefused("no")
    batches(1, 0)
    with pytest.raises(StoreRefused):
        batches(1, 1)
    assert batches.handed_over == 0
    assert steps.done == ["read 0", "read 1"]
    assert batches.failure is steps.faults[0]
    with pytest.raises(StoreRefused):
        batches.finish()


def test_waiting_raises_nothing(steps: Steps, batches: WriteBehind) -> None:
    steps.may_write.set()
    steps.faults[0] = StoreRefused("no")
    batches.wait()
    batches(1, 0)
    batches.wait()
    assert batches.failure is steps.faults[0]
    batches.begin()
    assert batches.failure is None


def test_a_stopping_consumer_reads_no_further(steps: Steps, batches: WriteBehind) -> None:
    steps.stopping = True
    with pytest.raises(Draining):
        batches(1, 0)
    assert batches.handed_over is None
    assert not batches.is_busy


def test_a_batch_read_after_a_stop_request_is_not_handed_over(steps: Steps, batches: WriteBehind) -> None:
    batches(1, 0)
    with ThreadPoolExecutor() as pool:
        second = pool.submit(batches, 1, 1)
        while "read 1" not in steps.done:
            assert not second.done()
        steps.stopping = True
        steps.may_write.set()
        assert isinstance(second.exception(SOON), Draining)
    assert batches.handed_over == 0
    assert "written 0" in steps.done


def test_the_fake_has_the_halves_of_the_real_cycle() -> None:
    assert all(callable(getattr(BatchProcessor, half)) for half in ("write", "check_gate", "failed"))


def test_a_batch_in_parts_is_handed_over_part_by_part_and_counts_with_the_last(
    steps: Steps, batches: WriteBehind
) -> None:
    steps.may_write.set()
    batches(3, 0)
    batches.finish()
    assert sorted(steps.done) == ["read 0"] * 3 + ["written 0"] * 3
    assert batches.handed_over == 0


def test_a_consumer_that_stops_between_the_parts_of_a_batch_does_not_hand_it_over(
    steps: Steps, batches: WriteBehind
) -> None:
    with ThreadPoolExecutor() as pool:
        batch = pool.submit(batches, 3, 0)
        while steps.done.count("read 0") < 2:
            assert not batch.done()
        steps.stopping = True
        steps.may_write.set()
        assert isinstance(batch.exception(SOON), Draining)
    assert batches.handed_over is None
    assert steps.done.count("written 0") == 1


def test_what_reading_fails_by_is_the_failure(steps: Steps) -> None:
    fault = OSError("Java is gone")

    def fails(*_: Any) -> Iterator[int]:
        raise fault

    processor: Any = steps
    broken: Any = WriteBehind(processor, fails)  # type: ignore[arg-type]
    with pytest.raises(OSError, match="Java is gone"):
        broken(1, 0)
    assert broken.failure is fault
