"""The kernel that runs on executors, without Spark: record batches of messages in, record batches of tagged rows out."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import pyarrow as pa
import pytest
import zstandard

from headwater_avro.codec import Decompression
from headwater_avro.errors import ConfigError, EventRejected
from headwater_avro.registry import RegisteredSchema
from headwater_consumer.horizon_split import part
from headwater_consumer.kafka.messages import Message
from headwater_consumer.partition import (
    DEAD,
    MOST_GAPS,
    STATISTICS,
    TAGGED,
    PartitionLimits,
    PartitionStatistics,
    Rejected,
    TaggedRow,
    headers_of,
    messages_of,
    tag_partition,
)
from headwater_graph.rules.coalesce import Coalescer, unpack_sources

from ..avro.registries import JSON, MemorySchemas, framed
from .kafka_room import run_event

READ = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.int64()),
    ]
)


def message(offset: int, value: Any, **changed: Any) -> Message:
    octets = value if isinstance(value, bytes | None) else json.dumps(value).encode()
    given: dict[str, Any] = {"topic": "t", "partition": 1, "offset": offset, "timestamp": 5, "key": b"k", "headers": ()}
    return Message(value=octets, **given | changed)


def record_batch(messages: Iterable[Message]) -> pa.RecordBatch:
    rows = [
        {**msgspec.structs.asdict(item), "headers": [{"key": name, "value": value} for name, value in item.headers]}
        for item in messages
    ]
    return pa.RecordBatch.from_pylist(rows, READ)


def tagged(messages: list[Message], limits: PartitionLimits | None = None) -> list[TaggedRow]:
    return rows_of(tag_partition([record_batch(messages)], limits or PartitionLimits()))


def rows_of(batches: Iterable[pa.RecordBatch]) -> list[TaggedRow]:
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def of_kind(rows: list[TaggedRow], kind: str) -> list[TaggedRow]:
    return [row for row in rows if row[0] == kind]


def test_record_batches_return_messages_unchanged() -> None:
    stored = [
        message(1, b"a", headers=(("x", b"1"), ("x", None))),
        message(2, None, key=None),
        message(3, b"", partition=2, headers=(("y", b""),)),
    ]
    batch = record_batch(stored)
    assert list(messages_of([batch])) == stored
    assert list(messages_of([batch.slice(1), batch.slice(0, 1)])) == [*stored[1:], stored[0]]


def test_null_headers_are_empty() -> None:
    batch = record_batch([message(1, b"a"), message(2, b"b", headers=(("x", b"1"),))])
    nothing = batch.set_column(
        2, READ.field("headers"), pa.array([None, [{"key": "x", "value": b"1"}]], READ.field("headers").type)
    )
    assert [item.headers for item in messages_of([nothing])] == [(), (("x", b"1"),)]


def test_headers_without_a_value_do_not_determine_the_form_of_a_message() -> None:
    assert list(headers_of(message(1, b"a", headers=(("x", None), ("y", b"1"))))) == [("y", b"1")]


def test_events_of_one_run_become_one_row_that_names_its_messages() -> None:
    rows = tagged(
        [message(offset, run_event("r", eventType=kind)) for offset, kind in enumerate(("START", "COMPLETE"))]
    )
    ((_, key, _, sources),) = of_kind(rows, "run")
    assert key == b"r"
    assert [tuple(position) for position in unpack_sources(sources)] == [(1, 0), (1, 1)]


def test_an_unusable_message_becomes_a_dead_row_and_the_others_are_merged() -> None:
    poison = message(1, b"{bad", headers=(("a", b"b"), ("c", None)))
    rows = tagged([message(0, run_event("one")), poison, message(2, run_event("two"))])
    ((_, code, payload, _),) = of_kind(rows, DEAD)
    rejected = msgspec.msgpack.decode(payload, type=Rejected)
    assert (code, rejected.code, rejected.message, rejected.whole) == (b"not_decodable", "not_decodable", poison, True)
    assert {row[1] for row in of_kind(rows, "run")} == {b"one", b"two"}


def test_dead_letters_beyond_the_limit_have_only_their_position() -> None:
    limits = PartitionLimits(dead=1_000)
    rows = tagged([message(offset, b"{" + b"x" * 600) for offset in range(3)], limits)
    rejected = [msgspec.msgpack.decode(payload, type=Rejected) for _, _, payload, _ in of_kind(rows, DEAD)]
    assert [item.whole for item in rejected] == [True, False, False]
    assert [item.message.position for item in rejected] == [(1, 0), (1, 1), (1, 2)]
    assert [item.message.value for item in rejected[1:]] == [None, None]
    assert sum(len(row[2]) for row in rows) < 2_000


def test_rows_are_emitted_once_they_have_enough_bytes() -> None:
    limits = PartitionLimits(merged=10_000)
    messages = [message(offset, run_event("r", producer="x" * 3_000)) for offset in range(10)]
    rows = of_kind(tagged(messages, limits), "run")
    assert len(rows) == 3
    assert sorted(position[1] for row in rows for position in unpack_sources(row[3])) == list(range(10))


def test_record_batches_stay_within_their_limit_for_any_number_of_rows() -> None:
    messages = [message(offset, run_event(f"r{offset}", producer="x")) for offset in range(200)]
    batches = list(tag_partition([record_batch(messages)], PartitionLimits(row_batch=2_000)))
    assert len(batches) > 3
    assert all(batch.nbytes < 6_000 for batch in batches)
    assert all(batch.schema == TAGGED for batch in batches)


def test_messages_are_read_lazily() -> None:
    taken = []

    def source() -> Iterator[pa.RecordBatch]:
        for offset in range(5):
            taken.append(offset)
            yield record_batch([message(offset, run_event(f"r{offset}", producer="x" * 2_000))])

    first = next(iter(tag_partition(source(), PartitionLimits(merged=1, row_batch=1))))
    assert first.num_rows == 1
    assert taken == [0]


def test_statistics_count_messages_bytes_and_offsets_of_each_partition() -> None:
    rows = tagged([message(7, b"{bad"), message(9, b""), message(3, b"{}", partition=2)])
    tallies = {
        item.partition: item
        for item in (msgspec.msgpack.decode(row[2], type=PartitionStatistics) for row in of_kind(rows, STATISTICS))
    }
    assert (tallies[1].messages, tallies[1].bytes, tallies[1].first, tallies[1].end) == (2, 4, 7, 10)
    assert (tallies[2].messages, tallies[2].bytes, tallies[2].first, tallies[2].end) == (1, 2, 3, 4)
    assert (tallies[1].gaps, tallies[2].gaps) == (((8, 9),), ())


def test_statistics_contain_the_largest_gaps_between_messages() -> None:
    small = [message(offset, b"{}") for offset in range(0, 6 * MOST_GAPS, 3)]
    rows = tagged([*small, message(10_000, b"{}"), message(10_002, b"{}")])
    (tally,) = (msgspec.msgpack.decode(row[2], type=PartitionStatistics) for row in of_kind(rows, STATISTICS))
    assert len(tally.gaps) == MOST_GAPS
    assert max(tally.gaps, key=lambda gap: gap[1] - gap[0]) == (6 * MOST_GAPS - 2, 10_000)


def test_no_messages_give_no_rows() -> None:
    assert tagged([]) == []


def rejected_of(rows: list[TaggedRow]) -> list[Rejected]:
    return [msgspec.msgpack.decode(payload, type=Rejected) for _, _, payload, _ in of_kind(rows, DEAD)]


# ---- messages at which the code fails -----------------------------------------------------------------------------------

CLOUD_EVENTS = (("content-type", b"application/cloudevents+json"),)


def test_a_cloud_event_with_data_outside_ascii_is_a_dead_letter_and_the_others_are_merged() -> None:
    poison = message(1, b'{"data_base64":"\xc3\xa9"}', headers=CLOUD_EVENTS)
    rows = tagged([message(0, run_event("one")), poison, message(2, run_event("two"))])
    assert [item.code for item in rejected_of(rows)] == ["not_an_event"]
    assert {row[1] for row in of_kind(rows, "run")} == {b"one", b"two"}


class Failing(MemorySchemas):
    """A registry in which the schemas of some ids make the code that reads them fail."""

    def __init__(self, faults: dict[int, BaseException]) -> None:
        super().__init__({2: JSON})
        self.faults = faults

    def schema(self, number: int) -> RegisteredSchema:
        if number in self.faults:
            raise self.faults[number]
        return super().schema(number)


def under(number: int, run: str) -> bytes:
    return framed(number, json.dumps(run_event(run)).encode())


FAULTS: dict[int, BaseException] = {3: KeyError("\ud800\nsecond line"), 4: ZeroDivisionError("x" * 5_000)}
MIXED = [message(0, under(2, "a")), *(message(at, under(at, "b")) for at in (3, 4)), message(9, under(2, "c"))]


def test_an_unexpected_exception_makes_a_dead_letter_that_names_it() -> None:
    rows = rows_of(tag_partition([record_batch(MIXED)], PartitionLimits(), Failing(FAULTS)))
    first, second = rejected_of(rows)
    assert (first.code, first.detail) == ("not_decodable", "unexpected KeyError: '\\ud800\\nsecond line'")
    assert second.detail.startswith("unexpected ZeroDivisionError: xxx")
    assert len(second.detail) < 400
    assert [item.message.position for item in (first, second)] == [(1, 3), (1, 4)]
    assert [row[1] for row in of_kind(rows, "run")] == [b"a", b"c"]


def test_the_text_of_an_unexpected_exception_is_one_line_of_valid_unicode() -> None:
    fault = ZeroDivisionError("half \ud800\nsecond line")
    rows = rows_of(tag_partition([record_batch([message(3, under(3, "b"))])], PartitionLimits(), Failing({3: fault})))
    assert [item.detail for item in rejected_of(rows)] == ["unexpected ZeroDivisionError: half \\ud800"]


def test_the_driver_rejects_such_a_message_in_the_same_way() -> None:
    rows, refused = part(MIXED, (), Failing(FAULTS))
    assert [row[1] for row in rows] == [b"a", b"c"]
    assert {position: code for position, (code, _) in refused.items()} == dict.fromkeys(
        [(1, 3), (1, 4)], "not_decodable"
    )


def test_a_registered_schema_that_is_nested_too_deep_does_not_end_the_task() -> None:
    schemas = MemorySchemas({2: JSON, 3: RegisteredSchema("AVRO", "[" * 100_000)})
    rows = rows_of(tag_partition([record_batch(MIXED[:2])], PartitionLimits(), schemas))
    assert [item.code for item in rejected_of(rows)] == ["not_decodable"]
    assert [row[1] for row in of_kind(rows, "run")] == [b"a"]


def test_each_class_of_unexpected_exception_is_logged_once_with_its_position(caplog: pytest.LogCaptureFixture) -> None:
    schemas = Failing({3: KeyError("a"), 4: KeyError("b"), 5: ZeroDivisionError("c")})
    with caplog.at_level(logging.ERROR, "headwater.consumer"):
        list(tag_partition([record_batch(message(at, under(at, "b")) for at in (3, 4, 5))], PartitionLimits(), schemas))
    assert [record.getMessage().partition(": ")[0] for record in caplog.records] == [
        "unexpected KeyError at the message in t, partition 1, offset 3",
        "unexpected ZeroDivisionError at the message in t, partition 1, offset 5",
    ]
    assert all(record.exc_info for record in caplog.records)


@pytest.mark.parametrize(
    "fault", [MemoryError(), OSError("no file"), ImportError("zstandard"), ConfigError("wrong")], ids=repr
)
def test_errors_unrelated_to_the_message_make_no_dead_letter(fault: BaseException) -> None:
    with pytest.raises(type(fault)):
        list(tag_partition([record_batch([message(3, under(3, "b"))])], PartitionLimits(), Failing({3: fault})))


def test_a_rejected_message_does_not_change_merged_rows() -> None:
    facets = {"f": {"a": 1}}
    good = json.dumps(run_event("r", job={"namespace": "n", "name": "j", "facets": facets})).encode()
    coalescer, alone = Coalescer({"late": 10**18}), Coalescer()
    for item in (good, b'{"data_base64":"\xc3\xa9"}', json.dumps(run_event("late")).encode(), good[:-1], good):
        try:
            coalescer.add(item, CLOUD_EVENTS if b"base64" in item else (), source=(0, 0))
        except EventRejected:
            assert item is not good
    for _ in range(2):
        alone.add(good, source=(0, 0))
    assert coalescer.size == alone.size == 2 * len(good)
    assert list(coalescer.rows()) == list(alone.rows())


# ---- compressed messages -------------------------------------------------------------------------------------------------


def compressed(run: str, size: int) -> bytes:
    return zstandard.compress(json.dumps(run_event(run, producer="x" * size)).encode())


def test_compressed_messages_count_with_their_decompressed_size() -> None:
    messages = [message(offset, compressed("r", 3_000)) for offset in range(10)]
    assert sum(len(item.value or b"") for item in messages) < 5_000
    rows = of_kind(tagged(messages, PartitionLimits(merged=10_000)), "run")
    assert len(rows) == 3


@pytest.mark.parametrize("schemas", [None, MemorySchemas()], ids=["no registry", "registry"])
def test_a_compressed_message_beyond_the_limits_is_too_large(schemas: MemorySchemas | None) -> None:
    messages = [message(0, compressed("small", 1_000)), message(1, compressed("large", 9_000))]
    for limits in (Decompression(5_000, 10_000, 5_000), Decompression(10_000, 2, 5_000)):
        rows = rows_of(tag_partition([record_batch(messages)], PartitionLimits(decompression=limits), schemas))
        assert [(item.code, item.message.offset) for item in rejected_of(rows)] == [("too_large", 1)]
        assert [row[1] for row in of_kind(rows, "run")] == [b"small"]
        again, refused = part(messages, (), schemas or MemorySchemas(), limits)
        assert [row[1] for row in again] == [b"small"]
        assert [code for code, _ in refused.values()] == ["too_large"]


def test_a_task_stops_behind_its_limit_of_bytes_and_says_so() -> None:
    messages = [message(number, run_event(f"r{number}")) for number in range(10)]
    size = len(messages[0].value or b"") + 1
    rows = tagged(messages, PartitionLimits(task=3 * size))
    assert [row[1] for row in of_kind(rows, "run")] == [b"r0", b"r1", b"r2"]
    (tally,) = (msgspec.msgpack.decode(row[2], type=PartitionStatistics) for row in of_kind(rows, STATISTICS))
    assert (tally.messages, tally.end, tally.is_partial) == (3, 3, True)


def test_a_task_reads_one_message_whatever_its_limit_and_one_that_reads_all_is_not_partial() -> None:
    messages = [message(number, run_event(f"r{number}")) for number in range(3)]
    assert len(of_kind(tagged(messages, PartitionLimits(task=0)), "run")) == 1
    (row,) = of_kind(tagged(messages, PartitionLimits(task=10_000)), STATISTICS)
    assert not msgspec.msgpack.decode(row[2], type=PartitionStatistics).is_partial


def test_headers_and_keys_count_towards_the_limit_of_a_task() -> None:
    heavy = [message(number, run_event(f"r{number}"), headers=(("h", bytes(1_000)),)) for number in range(5)]
    assert len(of_kind(tagged(heavy, PartitionLimits(task=2_000)), "run")) == 2
