"""Batches read in parts: where they are divided, what happens when memory is short, and that the graph gets the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

from headwater_consumer.batch_processor import BatchProcessor
from headwater_consumer.faults import StreamFailed
from headwater_consumer.kafka.messages import Message
from headwater_consumer.monitoring.health import Status
from headwater_consumer.monitoring.metrics import Metrics
from headwater_consumer.partition import TAGGED, PartitionLimits, PartitionStatistics, tag_partition
from headwater_consumer.parts import LEAST, ONE_MESSAGE, Parts, Planned, first_part, left, share_of
from headwater_consumer.recovery import OffsetRanges

from .fakes import CollectedDeadLetters, InMemoryMessages
from .kafka_room import CollectingWriter, run_event
from .test_partition import message, record_batch

MEGABYTE = 1_000_000
NO_MEMO = Path("no-such-folder") / "memo"


class Frame:
    """As much of a DataFrame as a batch needs: one task a partition; ``fault`` is raised where there is one."""

    def __init__(self, messages: list[Message], most: int | None, fault: BaseException | None = None) -> None:
        self._messages = messages
        self._limits = PartitionLimits(task=most)
        self._fault = fault
        context = SimpleNamespace(getLocalProperty={"sql.streaming.queryId": "q"}.get)
        self.sparkSession = SimpleNamespace(sparkContext=context)

    def toArrow(self) -> pa.Table:
        if self._fault is not None:
            raise self._fault
        batches: list[pa.RecordBatch] = []
        for partition in sorted({item.partition for item in self._messages}):
            of_task = [item for item in self._messages if item.partition == partition]
            batches += tag_partition([record_batch(of_task)], self._limits)
        return pa.Table.from_batches(batches, TAGGED)


class Topic:
    """Messages of a topic, and a consumer that reads all of them as batch 7, at most ``most`` bytes at a time.

    A frame of more than ``memory`` bytes fails as Java does without memory.
    """

    def __init__(self, messages: Iterable[Message], most: int, memory: int | None = None, memo: Path = NO_MEMO) -> None:
        self.messages = list(messages)
        self.most = most
        self.memory = memory
        self.writer = CollectingWriter()
        self.sink = CollectedDeadLetters()
        self.read_again: list[OffsetRanges] = []
        self.planned = 0
        stored = InMemoryMessages(self.messages)
        self.status = Status(Metrics())
        self.cycle = BatchProcessor(self.writer, self.sink, stored, self.status, stop=SimpleNamespace(is_set=bool))  # type: ignore[arg-type]
        self.memo = memo
        self.stored = stored
        self.start()

    def start(self) -> None:
        """Begin as a new process does."""
        self.parts = Parts(self.cycle, self.stored, self._again, self.most, self.memo)

    def ranges(self) -> OffsetRanges:
        self.planned += 1
        ends: OffsetRanges = {}
        for item in self.messages:
            first, end = ends.get(item.partition, (item.offset, 0))
            ends[item.partition] = (min(first, item.offset), max(end, item.offset + 1))
        return ends

    def consume(self, batch_id: int = 7) -> int:
        """Return in how many parts all was read."""
        whole = Planned(self._frame(self.messages, share_of(self.most, len(self.ranges()))), batch_id, self.ranges)
        self.planned, count = 0, 0
        for batch in self.parts.read(whole):
            self.cycle.write(batch)
            count += 1
        return count

    def _again(self, ranges: OffsetRanges, most: int) -> Frame:
        self.read_again.append(ranges)
        found = list(self._within(ranges))
        return self._frame(found[:1] if most == ONE_MESSAGE else found, most)

    def _within(self, ranges: OffsetRanges) -> Iterator[Message]:
        for item in self.messages:
            begin, end = ranges.get(item.partition, (0, 0))
            if begin <= item.offset < end:
                yield item

    def _frame(self, messages: list[Message], most: int) -> Frame:
        needed = sum(len(item.value or b"") for item in messages)
        is_short = self.memory is not None and needed > self.memory
        return Frame(messages, most, MemoryError("java.lang.OutOfMemoryError: Java heap space") if is_short else None)


def events(count: int, size: int, partitions: int = 3) -> list[Message]:
    """Messages of about a size, one run each, spread over partitions."""
    text = "x" * size
    return [
        message(100 + number // partitions, run_event(f"r{number}", producer=text), partition=number % partitions)
        for number in range(count)
    ]


def test_a_batch_of_light_messages_is_one_part_and_its_offsets_are_not_looked_up() -> None:
    topic = Topic(events(30, 100), most=MEGABYTE)
    assert topic.consume() == 1
    assert topic.read_again == []
    assert topic.planned == 0
    assert [position.batch_id for position in topic.writer.positions] == [7]


def test_a_heavy_batch_is_read_in_parts_and_the_graph_gets_every_run_once() -> None:
    topic = Topic(events(30, 1_000), most=6_000)
    assert topic.consume() > 3
    assert topic.writer.runs == {f"r{number}" for number in range(30)}
    assert {len(payloads) for payloads in topic.writer.rows.values()} == {1}
    assert topic.writer.batch_positions[-1].offsets == {"t": {0: 110, 1: 110, 2: 110}}


def test_only_the_last_part_has_the_number_of_the_batch_and_all_have_offsets() -> None:
    topic = Topic(events(30, 1_000), most=6_000)
    parts = topic.consume()
    assert [position.batch_id for position in topic.writer.positions] == [6] * (parts - 1) + [7]
    ends = [sum(position.offsets["t"].values()) for position in topic.writer.positions]
    assert ends == sorted(set(ends))


def test_dead_letters_of_a_batch_in_parts_are_sent_once_each() -> None:
    bad = [message(100 + number, b"{bad" + bytes(2_000), partition=3) for number in range(5)]
    topic = Topic([*events(9, 1_000), *bad], most=6_000)
    assert topic.consume() > 2
    assert [letter.message for letter in topic.sink.letters] == bad


def test_a_message_greater_than_a_part_may_be_is_a_part_of_its_own() -> None:
    topic = Topic(events(4, 50_000, partitions=1), most=10)
    assert topic.consume() == 4
    assert topic.writer.runs == {"r0", "r1", "r2", "r3"}


def test_offsets_without_messages_do_not_hold_up_a_batch_in_parts() -> None:
    topic = Topic([message(1, run_event("one")), message(900, run_event("two")), message(990, b"x")], most=10)
    topic.consume()
    assert topic.writer.runs == {"one", "two"}
    assert len(topic.sink.letters) == 1


@pytest.mark.parametrize("memory", [40 * MEGABYTE, 3 * MEGABYTE, 1_500_000])
def test_a_batch_that_does_not_fit_into_memory_is_read_again_in_smaller_parts(memory: int) -> None:
    topic = Topic(events(60, MEGABYTE), most=64 * MEGABYTE, memory=memory)
    topic.consume()
    assert topic.writer.runs == {f"r{number}" for number in range(60)}
    assert {len(payloads) for payloads in topic.writer.rows.values()} == {1}


def test_a_shortage_is_remembered_and_parts_grow_back() -> None:
    topic = Topic(events(12, MEGABYTE), most=64 * MEGABYTE, memory=5 * MEGABYTE)
    topic.consume(7)
    topic.memory = None
    before = len(topic.read_again)
    topic.consume(8)
    assert len(topic.read_again) > before
    for number in range(9, 15):
        topic.consume(number)
    before = len(topic.read_again)
    assert topic.consume(15) == 1
    assert len(topic.read_again) == before


def test_a_single_message_that_does_not_fit_ends_the_consumer_with_its_position_size_and_what_to_do() -> None:
    huge = message(5, b"{" + bytes(3 * MEGABYTE), partition=2)
    topic = Topic([message(4, run_event("one"), partition=2), huge], most=8 * MEGABYTE, memory=2 * MEGABYTE)
    with pytest.raises(StreamFailed) as raised:
        topic.consume()
    line = str(raised.value)
    assert "partition 2, offset 5 (3,000,001 bytes)" in line
    assert "raise the memory limit" in line
    assert "\n" not in line
    assert topic.writer.runs == {"one"}


def test_a_start_after_the_end_of_java_begins_with_a_single_message_and_parts_grow_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    topic = Topic(events(12, MEGABYTE), most=64 * MEGABYTE, memory=5 * MEGABYTE, memo=tmp_path / "below" / "t")
    with monkeypatch.context() as java:
        java.setattr("headwater_consumer.parts.end_of_java", lambda fault: "Spark's Java process ran out of memory")
        with pytest.raises(MemoryError):
            topic.consume()
        topic.start()
    assert topic.memo.read_text() == str(ONE_MESSAGE)
    assert topic.consume() > 1
    assert topic.read_again[0] == {0: (100, 104)}
    assert topic.writer.runs == {f"r{number}" for number in range(12)}
    topic.memory = None
    for number in range(8, 14):
        topic.consume(number)
    assert not topic.memo.exists()
    assert topic.consume(14) == 1


def test_parts_stay_small_while_messages_are_larger_than_the_share_of_a_task(tmp_path: Path) -> None:
    heavy, light = events(6, 3 * MEGABYTE), events(60, 1_000)
    topic = Topic(heavy, most=6 * MEGABYTE, memo=tmp_path / "t")
    topic.memo.write_text(str(ONE_MESSAGE))
    topic.start()
    assert topic.consume() == 6
    assert topic.memo.exists()
    topic.messages = light
    for number in range(8, 12):
        topic.consume(number)
    assert not topic.memo.exists()
    assert topic.writer.runs == {f"r{number}" for number in range(60)}


def test_single_messages_are_read_over_offsets_without_one_and_over_messages_without_a_value(tmp_path: Path) -> None:
    empty = message(500, None, key=None)
    topic = Topic([message(1, run_event("one")), empty, message(900, run_event("two"))], most=10, memo=tmp_path / "t")
    topic.memo.write_text(str(ONE_MESSAGE))
    topic.start()
    topic.consume()
    assert topic.writer.runs == {"one", "two"}
    assert [letter.message for letter in topic.sink.letters] == [empty]


def test_a_memo_that_can_not_be_read_is_none(tmp_path: Path) -> None:
    topic = Topic(events(3, 100), most=MEGABYTE, memo=tmp_path / "t")
    topic.memo.write_text("half a wri")
    topic.start()
    assert topic.consume() == 1


def test_another_fault_is_raised_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    topic = Topic(events(3, 100), most=MEGABYTE)
    monkeypatch.setattr(Frame, "toArrow", lambda _: (_ for _ in ()).throw(KeyError("bug")))
    with pytest.raises(KeyError):
        topic.consume()


def test_the_first_part_of_a_range_is_chosen_by_the_size_of_its_messages() -> None:
    rest = {0: (0, 1_000), 1: (500, 900)}
    weights = {0: 100_000.0, 1: 1_000_000.0}
    assert first_part(rest, 10 * MEGABYTE, {}) == rest
    assert first_part(rest, 10 * MEGABYTE, weights) == {0: (0, 40), 1: (500, 504)}
    assert first_part(rest, 10 * MEGABYTE, {1: 1e9}) == {0: (0, 1_000)}
    assert first_part({1: (500, 900)}, 10 * MEGABYTE, {1: 1e9}) == {1: (500, 501)}
    assert first_part(rest, LEAST, {}) == {0: (0, 1_000)}
    assert first_part(rest, ONE_MESSAGE, weights) == {0: (0, 1_000)}


def test_partitions_of_heavy_messages_are_not_read_side_by_side_beyond_the_bytes_of_a_part() -> None:
    rest = dict.fromkeys(range(8), (0, 10))
    weights = dict.fromkeys(rest, 3.0 * MEGABYTE)
    assert first_part(rest, 10 * MEGABYTE, weights) == {0: (0, 1), 1: (0, 1), 2: (0, 1)}


def test_what_is_left_begins_where_tasks_stopped() -> None:
    rest = {0: (0, 1_000), 1: (500, 900), 2: (5, 6)}
    stopped = PartitionStatistics("t", 0, 3, 9, 0, 30, 0.0, is_partial=True)
    finished = PartitionStatistics("t", 1, 3, 9, 500, 899, 0.0)
    assert left(rest, rest, [stopped, finished]) == {0: (30, 1_000)}
    assert left(rest, {0: (0, 40), 1: (500, 504)}, [stopped]) == {0: (30, 1_000), 1: (504, 900), 2: (5, 6)}
