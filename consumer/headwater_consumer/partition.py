"""What runs on the executors: the messages of one partition become joined rows and dead letters, in one stream.

``tag_partition`` is handed to ``mapInArrow``. Its rows have a kind, and what the other columns hold goes by it:

===============  ====================  ==================================  ============================
kind             key                   payload                             sources
===============  ====================  ==================================  ============================
run              the entity's key      the joined events                   packed (partition, offset)s
job_event        the entity's key      the joined events                   packed (partition, offset)s
dataset_event    the entity's key      the joined events                   packed (partition, offset)s
dead             the reason code       MessagePack of `Rejected`           empty
unread           empty                 empty                               packed (partition, offset)s
tally            empty                 MessagePack of `Tally`              empty
===============  ====================  ==================================  ============================

Nothing here looks at which partition a message is in: joining is the graph's business, this is only the cheap first
step of it, near the data. Memory is bounded by ``Limits``: rows are given out whenever they hold enough bytes, so that
one key may have several rows, and a large dead letter goes by its position instead of its bytes. A message whose schema
the registry can't tell now is ``unread``: the driver, which can wait, reads it again by its position.

No message ends the task. One at which the code fails in a way that it doesn't know is ``not_decodable``, as is any message
that can't be read: the detail begins with "unexpected" and names the exception, which is logged with the message's position
and should be reported. What is not about the message ends the task as ever: no memory left, a server or a file that is away,
a package that is missing, a setting that is wrong.
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
from headwater_consumer.kafka.messages import Headers, Message
from headwater_graph.rules.coalesce import Coalescer, RowKind, pack_sources

logger = logging.getLogger("headwater.consumer")

Row: TypeAlias = tuple[RowKind | Literal["dead", "unread", "tally"], bytes, bytes, bytes]
"""Kind, key, payload, sources."""

DEAD: Final = "dead"
UNREAD: Final = "unread"
TALLY: Final = "tally"

TAGGED = pa.schema([("kind", pa.string()), ("key", pa.binary()), ("payload", pa.binary()), ("sources", pa.binary())])
TAGGED_DDL = "kind string, key binary, payload binary, sources binary"
"""`TAGGED` in the words of Spark SQL."""

READ_DDL = ("key", "value", "headers", "topic", "partition", "offset", "unix_millis(timestamp) AS timestamp")
"""What is selected of Spark's Kafka source, in Spark SQL."""

MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """Bytes: of events held back to be merged, of dead letters carried through Spark, of one Arrow batch, of a task.

    ``decompression`` limits what a single compressed message may hold. A task reads messages until it has read ``task``
    bytes, if that is given, and at least one.
    """

    joined: int = 64 * MEGABYTE
    dead: int = 4 * MEGABYTE
    row_batch: int = 8 * MEGABYTE
    decompression: Decompression = field(default=DEFAULT_DECOMPRESSION)
    task: int | None = None


DEFAULT_LIMITS = Limits()


class Rejected(msgspec.Struct, frozen=True, gc=False):
    """A message that can't be used, and why; one that is not ``whole`` has neither key, value nor headers here."""

    message: Message
    code: str
    detail: str
    whole: bool = True


class Tally(msgspec.Struct, frozen=True):
    """What one task read of one partition: messages and bytes, offsets from ``first`` to before ``end``, CPU seconds.

    ``is_partial`` says that it stopped at its limit of bytes: there may be more messages from ``end`` on.
    """

    topic: str
    partition: int
    messages: int
    bytes: int
    first: int
    end: int
    seconds: float
    is_partial: bool = False


def tag_partition(
    batches: Iterable[pa.RecordBatch], limits: Limits = DEFAULT_LIMITS, schemas: Schemas | None = None
) -> Iterator[pa.RecordBatch]:
    """Turn messages (columns of `READ_DDL`) into tagged rows (`TAGGED`); ``schemas`` reads those that are framed."""
    with collection_paused():
        yield from _in_batches(_tagged(batches, limits, schemas), limits.row_batch)


def tag_partition_with(
    registry: RegistrySettings, batches: Iterable[pa.RecordBatch], limits: Limits = DEFAULT_LIMITS
) -> Iterator[pa.RecordBatch]:
    """As `tag_partition`, with a schema registry; what one task learned of it the next one in the process knows."""
    return tag_partition(batches, limits, schemas_of(registry))


def _tagged(batches: Iterable[pa.RecordBatch], limits: Limits, schemas: Schemas | None) -> Iterator[Row]:
    started = time.thread_time()
    joining, carried, read, is_partial = Joining(schemas, limits.decompression), 0, 0, False
    joined = joining.coalescer
    counts: dict[tuple[str, int], list[int]] = {}
    for message in messages_of(batches):
        size = len(message.value or b"")
        _count(counts, message, size)
        try:
            fault = joining.add(message)
        except ServerUnavailable:
            yield (UNREAD, b"", b"", pack_sources([message.position]))
            continue
        if fault is not None:
            carried += size + len(message.key or b"")
            yield dead_row(message, fault, whole=carried <= limits.dead)
        if joined.size > limits.joined:
            yield from joined.rows()
        read += size + len(message.key or b"") + sum(len(name) + len(text or b"") for name, text in message.headers)
        if limits.task is not None and read >= limits.task:
            is_partial = True
            break
    yield from joined.rows()
    seconds = time.thread_time() - started
    for (topic, partition), (messages, octets, first, end) in counts.items():
        tally = Tally(topic, partition, messages, octets, first, end, seconds, is_partial)
        yield (TALLY, b"", msgspec.msgpack.encode(tally), b"")


NOT_ABOUT_THE_MESSAGE = (HeadwaterError, ImportError, MemoryError, OSError)
"""What may be raised while a message is read, and would be raised at other messages too."""

MOST_DETAIL = 300
"""Characters of an unexpected exception's text that a dead letter tells."""


class Joining:
    """Messages joined one by one, in ``coalescer``; nothing about a message ends it."""

    def __init__(
        self,
        schemas: Schemas | None = None,
        decompression: Decompression = DEFAULT_DECOMPRESSION,
        bounds: Mapping[str, int] | None = None,
    ) -> None:
        self.coalescer = Coalescer(bounds, decompression)
        self._schemas = schemas
        self._decompression = decompression
        self._logged: set[type[Exception]] = set()

    def add(self, message: Message) -> EventRejected | None:
        """Join a message; return why it can't be used, None where it can.

        Raises ServerUnavailable while the schema registry can't tell what a framed message is.
        """
        value, schemas = message.value, self._schemas
        try:
            if schemas is not None:
                value = unframed(value, schemas, self._decompression)
            self.coalescer.add(value, headers_of(message), source=message.position)
        except EventRejected as fault:
            return fault
        except NOT_ABOUT_THE_MESSAGE:
            raise
        except Exception as fault:  # noqa: BLE001 - one message must not end the task
            return self._unexpected(message, fault)
        return None

    def _unexpected(self, message: Message, fault: Exception) -> EventRejected:
        """Return the rejection of a message at which the code failed; each class of exception is logged once."""
        kind = type(fault)
        if kind not in self._logged:
            self._logged.add(kind)
            where = f"{message.topic}, partition {message.partition}, offset {message.offset}"
            logger.error("unexpected %s at the message in %s: please report it", kind.__name__, where, exc_info=fault)
        # Half a surrogate pair, as a text from the message may have, goes into no header.
        text = str(fault).partition("\n")[0][:MOST_DETAIL].encode("utf-8", "backslashreplace").decode("utf-8")
        return EventRejected("not_decodable", f"unexpected {kind.__name__}: {text}")


def messages_of(batches: Iterable[pa.RecordBatch]) -> Iterator[Message]:
    """Yield the messages of record batches with the columns of `READ_DDL`."""
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
    # Far cheaper than to_pylist() of a list of structs, which makes a dictionary for every header.
    names, values = (part.to_pylist() for part in column.flatten().flatten())
    at = 0
    for length in column.value_lengths().to_pylist():
        end = at + (length or 0)
        yield tuple(zip(names[at:end], values[at:end], strict=True))
        at = end


def headers_of(message: Message) -> Sequence[tuple[str, bytes]]:
    """Return the headers that have a value: a null one tells nothing about how to read the message."""
    return [(name, value) for name, value in message.headers if value is not None]


def _count(counts: dict[tuple[str, int], list[int]], message: Message, size: int) -> None:
    count = counts.get((message.topic, message.partition))
    if count is None:
        counts[message.topic, message.partition] = [1, size, message.offset, message.offset + 1]
        return
    count[0] += 1
    count[1] += size
    count[2] = min(count[2], message.offset)
    count[3] = max(count[3], message.offset + 1)


def dead_row(message: Message, fault: EventRejected, *, whole: bool) -> Row:
    """Return the tagged row of a message that can't be used."""
    kept = message if whole else msgspec.structs.replace(message, key=None, value=None, headers=())
    rejected = Rejected(kept, fault.code, fault.detail, whole)
    return (DEAD, fault.code.encode(), msgspec.msgpack.encode(rejected), b"")


def _in_batches(rows: Iterable[Row], most: int) -> Iterator[pa.RecordBatch]:
    held: list[Row] = []
    size = 0
    for row in rows:
        held.append(row)
        size += len(row[1]) + len(row[2]) + len(row[3])
        if size > most:
            yield _batch(held)
            held, size = [], 0
    if held:
        yield _batch(held)


def _batch(rows: list[Row]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    return pa.record_batch(
        [pa.array(column, field.type) for column, field in zip(columns, TAGGED, strict=True)], TAGGED
    )
