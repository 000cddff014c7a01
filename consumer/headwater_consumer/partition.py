"""The function that runs on the executors: it turns the messages of a partition into merged rows and dead letters.

``tag_partition`` is passed to ``mapInArrow``. The content of a row's columns depends on its kind:

===============  ====================  ==================================  ============================
kind             key                   payload                             sources
===============  ====================  ==================================  ============================
run              the entity's key      the merged events                   packed (partition, offset)s
job_event        the entity's key      the merged events                   packed (partition, offset)s
dataset_event    the entity's key      the merged events                   packed (partition, offset)s
dead             the reason code       ``Rejected``, in MessagePack        empty
unread           empty                 empty                               packed (partition, offset)s
statistics       empty                 ``PartitionStatistics``, likewise   empty
===============  ====================  ==================================  ============================

The result does not depend on the partition of a message. The writer merges the rows of all partitions; merging here first
is only an optimisation, near the data. Memory is bounded by ``PartitionLimits``: rows are emitted once they have enough
bytes, so a key may have several rows, and a large dead letter is represented by its position instead of its bytes. A message
whose schema registry does not answer is ``unread``: the driver, which can wait, reads it again by its position.

No message ends the task. A message at which the code raises an unexpected exception is rejected as ``not_decodable``: the
detail begins with "unexpected" and names the exception, which is logged with the message's position and should be reported.
Errors that are not about the message still end the task: lack of memory, a server or a file that is unavailable, a missing
package, a wrong setting.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

import msgspec
import pyarrow as pa

from headwater_avro.codec import DEFAULT_DECOMPRESSION, Decompression
from headwater_avro.collection import collection_paused
from headwater_avro.errors import EventRejected, HeadwaterError, ServerUnavailable
from headwater_avro.framing import unframed
from headwater_avro.registry import RegistrySettings, Schemas, schemas_of
from headwater_avro.signatures import ProducerKeys
from headwater_consumer.kafka.messages import Headers, Message
from headwater_graph.rules.coalesce import Coalescer, RowKind, pack_sources

logger = logging.getLogger("headwater.consumer")

TaggedRow: TypeAlias = tuple[RowKind | Literal["dead", "unread", "statistics"], bytes, bytes, bytes]
"""Kind, key, payload, sources."""

DEAD: Final = "dead"
UNREAD: Final = "unread"
STATISTICS: Final = "statistics"

TAGGED = pa.schema([("kind", pa.string()), ("key", pa.binary()), ("payload", pa.binary()), ("sources", pa.binary())])
TAGGED_DDL = "kind string, key binary, payload binary, sources binary"
"""``TAGGED`` in Spark SQL."""

READ_DDL = ("key", "value", "headers", "topic", "partition", "offset", "unix_millis(timestamp) AS timestamp")
"""The columns selected from Spark's Kafka source, in Spark SQL."""

MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class PartitionLimits:
    """Limits in bytes: of events merged in memory, of dead letters passed through Spark, of an Arrow batch, of a task.

    ``decompression`` limits the size of a single decompressed message. A task reads messages until it has read ``task``
    bytes, if that is given, and at least one. With ``keys``, every message must be signed by one of them.
    """

    merged: int = 64 * MEGABYTE
    dead: int = 4 * MEGABYTE
    row_batch: int = 8 * MEGABYTE
    decompression: Decompression = field(default=DEFAULT_DECOMPRESSION)
    task: int | None = None
    keys: ProducerKeys | None = None


DEFAULT_LIMITS = PartitionLimits()


class Rejected(msgspec.Struct, frozen=True, gc=False):
    """A message that can't be used, and the reason; without ``whole`` it has no key, value and headers."""

    message: Message
    code: str
    detail: str
    whole: bool = True


class PartitionStatistics(msgspec.Struct, frozen=True):
    """What a task has read from a partition: messages and bytes, offsets from ``first`` to before ``end``, CPU seconds.

    ``is_partial``: the task stopped at its limit of bytes, and there may be more messages from ``end`` on. ``gaps`` are ranges
    between ``first`` and ``end`` (begin, end) without a message, at most ``MOST_GAPS``, the largest. ``largest`` are the bytes
    of the largest message.
    """

    topic: str
    partition: int
    messages: int
    bytes: int
    first: int
    end: int
    seconds: float
    is_partial: bool = False
    gaps: tuple[tuple[int, int], ...] = ()
    largest: int = 0


MOST_GAPS = 100
"""Transactions and compaction leave many small gaps; deletion leaves one or two large ones."""


class _Counts(msgspec.Struct):
    """What a task has read so far from a partition, in the order of the offsets."""

    first: int
    end: int
    messages: int = 0
    bytes: int = 0
    largest: int = 0
    gaps: list[tuple[int, int]] = msgspec.field(default_factory=list)

    def add(self, offset: int, size: int) -> None:
        self.messages += 1
        self.bytes += size
        self.largest = max(self.largest, size)
        if offset > self.end:
            self.gaps.append((self.end, offset))
            if len(self.gaps) > MOST_GAPS:
                self.gaps.remove(min(self.gaps, key=lambda gap: gap[1] - gap[0]))
        self.first = min(self.first, offset)
        self.end = max(self.end, offset + 1)


def tag_partition(
    batches: Iterable[pa.RecordBatch], limits: PartitionLimits = DEFAULT_LIMITS, schemas: Schemas | None = None
) -> Iterator[pa.RecordBatch]:
    """Turn messages (columns of ``READ_DDL``) into tagged rows (``TAGGED``); ``schemas`` are those of framed messages."""
    return tag_messages(messages_of(batches), limits, schemas)


def tag_messages(
    messages: Iterable[Message], limits: PartitionLimits = DEFAULT_LIMITS, schemas: Schemas | None = None
) -> Iterator[pa.RecordBatch]:
    """Turn messages into tagged rows (``TAGGED``), as ``tag_partition`` does."""
    with collection_paused():
        yield from _in_batches(_tagged(messages, limits, schemas), limits.row_batch)


def tag_partition_with(
    registry: RegistrySettings, batches: Iterable[pa.RecordBatch], limits: PartitionLimits = DEFAULT_LIMITS
) -> Iterator[pa.RecordBatch]:
    """Do the same as ``tag_partition``, with a schema registry whose schemas are cached for the process."""
    return tag_partition(batches, limits, schemas_of(registry))


def _tagged(messages: Iterable[Message], limits: PartitionLimits, schemas: Schemas | None) -> Iterator[TaggedRow]:
    started = time.thread_time()
    merger, carried, read, is_partial = MessageMerger(schemas, limits.decompression, keys=limits.keys), 0, 0, False
    merged = merger.coalescer
    counts: dict[tuple[str, int], _Counts] = {}
    for message in messages:
        size = len(message.value or b"")
        place = (message.topic, message.partition)
        if place not in counts:
            counts[place] = _Counts(message.offset, message.offset)
        counts[place].add(message.offset, size)
        try:
            fault = merger.add(message)
        except ServerUnavailable:
            yield (UNREAD, b"", b"", pack_sources([message.position]))
        else:
            if fault is not None:
                carried += size + len(message.key or b"")
                yield dead_row(message, fault, whole=carried <= limits.dead)
        if merged.size > limits.merged:
            yield from merged.rows()
        read += size + len(message.key or b"") + sum(len(name) + len(text or b"") for name, text in message.headers)
        if limits.task is not None and read >= limits.task:
            is_partial = True
            break
    yield from merged.rows()
    seconds = time.thread_time() - started
    for (topic, partition), read_of in counts.items():
        counted = (read_of.messages, read_of.bytes, read_of.first, read_of.end, seconds, is_partial)
        statistics = PartitionStatistics(topic, partition, *counted, tuple(read_of.gaps), read_of.largest)
        yield (STATISTICS, b"", msgspec.msgpack.encode(statistics), b"")


UNRELATED_TO_MESSAGE = (HeadwaterError, ImportError, MemoryError, OSError)
"""Exceptions that may be raised while a message is read, but would be raised at other messages too."""

MAX_DETAIL = 300
"""Characters of an unexpected exception's text that a dead letter contains."""


class MessageMerger:
    """Merges messages into ``coalescer``; no error about a message is raised."""

    def __init__(
        self,
        schemas: Schemas | None = None,
        decompression: Decompression = DEFAULT_DECOMPRESSION,
        bounds: Mapping[str, int] | None = None,
        keys: ProducerKeys | None = None,
    ) -> None:
        self.coalescer = Coalescer(bounds, decompression)
        self._schemas = schemas
        self._decompression = decompression
        self._keys = keys
        self._logged: set[type[Exception]] = set()

    def add(self, message: Message) -> EventRejected | None:
        """Merge a message; return the reason if it can't be used, else None.

        Raises ServerUnavailable if the schema registry does not answer.
        """
        value, schemas, check = message.value, self._schemas, None
        try:
            headers = headers_of(message)
            if self._keys is not None:
                # Before anything else is done with the content of a message whose producer is not known.
                check = self._keys.signer(value, headers).check
            if schemas is not None:
                value = unframed(value, schemas, self._decompression)
            self.coalescer.add(value, headers, source=message.position, check=check)
        except EventRejected as fault:
            return fault
        except UNRELATED_TO_MESSAGE:
            raise
        except Exception as fault:  # noqa: BLE001 - one message must not end the task
            return self._unexpected(message, fault)
        return None

    def _unexpected(self, message: Message, fault: Exception) -> EventRejected:
        """Return the rejection for an unexpected exception; each class of exception is logged once."""
        kind = type(fault)
        if kind not in self._logged:
            self._logged.add(kind)
            where = f"{message.topic}, partition {message.partition}, offset {message.offset}"
            logger.error("unexpected %s at the message in %s: please report it", kind.__name__, where, exc_info=fault)
        # A text from the message may contain half a surrogate pair, which a header can't represent.
        text = str(fault).partition("\n")[0][:MAX_DETAIL].encode("utf-8", "backslashreplace").decode("utf-8")
        return EventRejected("not_decodable", f"unexpected {kind.__name__}: {text}")


def messages_of(batches: Iterable[pa.RecordBatch]) -> Iterator[Message]:
    """Yield the messages of record batches with the columns of ``READ_DDL``."""
    for batch in batches:
        columns = {name: batch.column(name) for name in batch.schema.names}
        yield from map(
            Message,
            columns["topic"].to_pylist(),
            columns["partition"].to_pylist(),
            columns["offset"].to_pylist(),
            columns["timestamp"].to_pylist(),
            columns["key"].to_pylist(),
            columns["value"].to_pylist(),
            _headers(columns["headers"]),
        )


def _headers(column: Any) -> Iterator[Headers]:
    # Much cheaper than to_pylist() of a list of structs, which makes a dictionary for every header.
    names, values = (part.to_pylist() for part in column.flatten().flatten())
    at = 0
    for length in column.value_lengths().to_pylist():
        end = at + (length or 0)
        yield tuple(zip(names[at:end], values[at:end], strict=True))
        at = end


def headers_of(message: Message) -> Sequence[tuple[str, bytes]]:
    """Return the headers that have a value; a null header says nothing about the form of the message."""
    return [(name, value) for name, value in message.headers if value is not None]


def dead_row(message: Message, fault: EventRejected, *, whole: bool) -> TaggedRow:
    """Return the tagged row of a message that can't be used."""
    carried_message = message if whole else msgspec.structs.replace(message, key=None, value=None, headers=())
    rejected = Rejected(carried_message, fault.code, fault.detail, whole)
    return (DEAD, fault.code.encode(), msgspec.msgpack.encode(rejected), b"")


def _in_batches(rows: Iterable[TaggedRow], most: int) -> Iterator[pa.RecordBatch]:
    rows_so_far: list[TaggedRow] = []
    size = 0
    for row in rows:
        rows_so_far.append(row)
        size += len(row[1]) + len(row[2]) + len(row[3])
        if size > most:
            yield _batch(rows_so_far)
            rows_so_far, size = [], 0
    if rows_so_far:
        yield _batch(rows_so_far)


def _batch(rows: list[TaggedRow]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    return pa.record_batch(
        [pa.array(column, field.type) for column, field in zip(columns, TAGGED, strict=True)], TAGGED
    )
