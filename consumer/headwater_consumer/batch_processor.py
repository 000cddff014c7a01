"""Process a batch: from Spark's rows to the graph and to the dead-letter topic.

The guarantee depends on the order of steps. The offsets of a batch are committed to the graph only after every dead letter
is acknowledged and everything else is in the graph; a consumer that starts continues from the committed offsets
(``headwater_consumer.recovery``). After a crash or an unavailable server a step may be repeated; repetition changes nothing.
"""

from __future__ import annotations

import heapq
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from headwater_avro.codec import DEFAULT_DECOMPRESSION, Decompression
from headwater_avro.errors import ServerUnavailable, StoreBusy, StoreExhausted
from headwater_avro.registry import NO_REGISTRY, Schemas
from headwater_avro.signatures import ProducerKeys
from headwater_consumer.kafka.dead_letters import Clock, DeadLetter, DeadLetterSink, now
from headwater_consumer.kafka.messages import Messages, Position
from headwater_consumer.losses import Ranges, deleted_ranges, described_ranges, with_ranges
from headwater_consumer.monitoring.health import Status
from headwater_consumer.monitoring.lock_watch import HeldBy, reporting_lock_holder
from headwater_consumer.monitoring.metrics import BatchSummary
from headwater_consumer.partition import DEAD, STATISTICS, UNREAD, PartitionStatistics, Rejected
from headwater_graph.rules.coalesce import MergedRow, unpack_sources

if TYPE_CHECKING:
    from headwater_consumer.horizon_split import Reasons
    from headwater_graph.apply.batch_writer import BatchPosition, BatchReport, Refused, SplitRun
    from headwater_graph.apply.merged import Portion
    from headwater_graph.store.writer_node import Loss

Result = TypeVar("Result")

logger = logging.getLogger("headwater.consumer")

FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
"""Seconds between two attempts to reach an unavailable server; doubled each time."""

LETTERS_BATCH_BYTES = 64_000_000
"""Bytes of dead letters fetched by position before they are sent."""


class Draining(Exception):
    """Raised out of ``foreachBatch`` so that Spark does not commit a batch that was not completed."""


class Writer(Protocol):
    """What writes joined rows to the graph: `headwater_graph.apply.batch_writer.GraphWriter`."""

    def prepare(self, rows: Iterable[MergedRow]) -> list[Portion]:
        """Prepare rows as far as possible without reading the graph."""

    def write(self, prepared: Iterable[Portion], position: BatchPosition) -> BatchReport:
        """Write what was prepared; raise ServerUnavailable if the graph does not answer."""

    def commit_offsets(self, position: BatchPosition) -> None:
        """Commit a position: everything before its offsets is done; raise ServerUnavailable."""


class Tagged:
    """The tagged rows of a batch, an Arrow table with the schema ``headwater_consumer.partition.TAGGED``."""

    def __init__(self, table: Any) -> None:
        self._table = table
        self.statistics = [
            msgspec.msgpack.decode(payload, type=PartitionStatistics) for payload in self._of(STATISTICS, "payload")
        ]

    def rejected(self) -> Iterator[Rejected]:
        """Yield the messages that can't be used."""
        return (msgspec.msgpack.decode(payload, type=Rejected) for payload in self._of(DEAD, "payload"))

    def rows(self) -> Iterator[MergedRow]:
        """Yield the merged rows, those of all tasks interleaved.

        Each task has read a partition of the same range of times. Without interleaving, the second portion of a large batch
        would be older than the first, and every job would be folded twice.
        """
        interleaved = heapq.merge(*map(_by_progress, self._tasks()), key=itemgetter(0))
        return (row for _, row in interleaved if row[0] not in (DEAD, STATISTICS, UNREAD))

    def _tasks(self) -> Iterator[Any]:
        """Yield the rows of each task as a table; its statistics are its last rows."""
        begin, kinds = 0, self._table["kind"].to_pylist()
        for end, (kind, following) in enumerate(pairwise([*kinds, None]), 1):
            if following is None or (kind == STATISTICS and following != STATISTICS):
                yield self._table.slice(begin, end - begin)
                begin = end

    def forget_rows(self) -> None:
        """Let go of the joined rows, nearly all there is: they are prepared, and a batch waits for the one before."""
        self._table = self._table.filter(pc.is_in(self._table["kind"], pa.array([DEAD, STATISTICS, UNREAD])))

    def unread(self) -> list[Position]:
        """Return the positions of messages that no task could read, because the schema registry did not answer."""
        return [position for sources in self._of(UNREAD, "sources") for position in unpack_sources(sources)]

    def offsets(self) -> dict[str, dict[int, int]]:
        """Return the offset after the last message read, by topic and partition."""
        ends: dict[str, dict[int, int]] = {}
        for partition in self.statistics:
            of_topic = ends.setdefault(partition.topic, {})
            of_topic[partition.partition] = max(partition.end, of_topic.get(partition.partition, 0))
        return ends

    def _of(self, kind: str, column: str) -> Iterator[bytes]:
        """Yield one column of the rows of a kind, without converting the other rows, most of all, to Python values."""
        of_kind = self._table.filter(pc.equal(self._table["kind"], kind))
        return iter(of_kind[column].to_pylist())


def _by_progress(table: Any) -> Iterator[tuple[float, Any]]:
    """Yield the rows of a task, each with the fraction of the task's rows that precede it."""
    columns = (zip(*(column.to_pylist() for column in batch.columns), strict=True) for batch in table.to_batches())
    return ((at / table.num_rows, row) for at, row in enumerate(chain.from_iterable(columns)))


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch that was read: its prepared rows, its query and number, and the seconds by phase so far.

    ``unread`` are its offsets without a message, if it is known that Spark may have skipped some.
    """

    tagged: Tagged
    prepared: list[Portion]
    query_id: str
    batch_id: int
    seconds: dict[str, float]
    unread: Ranges = ()


class BatchProcessor:
    """Processes batches; called with a frame of tagged rows and the batch's number.

    ``read`` does the steps that need no graph, ``write`` the others.
    """

    def __init__(
        self,
        writer: Writer,
        dead_letters: DeadLetterSink,
        messages: Messages,
        status: Status,
        *,
        stop: threading.Event,
        schemas: Schemas = NO_REGISTRY,
        decompression: Decompression = DEFAULT_DECOMPRESSION,
        keys: ProducerKeys | None = None,
        held_by: HeldBy | None = None,
        clock: Clock = now,
        first_wait: float = FIRST_WAIT,
    ) -> None:
        self._writer = writer
        self._dead_letters = dead_letters
        self._messages = messages
        self._status = status
        self._stop = stop
        self._schemas = schemas
        self._decompression = decompression
        self._keys = keys
        self._held_by = held_by
        self._clock = clock
        self._first_wait = first_wait
        self._offsets: dict[str, dict[int, int]] = {}
        self._topics: dict[str, str] = {}
        self._losses: tuple[Loss, ...] = ()
        self._first_offsets: Callable[[], tuple[str, Mapping[int, int]]] | None = None
        self.failure: BaseException | None = None

    def set_offsets(self, offsets: dict[str, dict[int, int]], topics: Mapping[str, str] | None = None) -> None:
        """Set the offsets that the graph has already, so that each batch commits the offsets of all partitions.

        ``topics`` are Kafka's ids of the topics.
        """
        self._offsets = _merged(self._offsets, offsets)
        self._topics = self._topics | dict(topics or {})

    def record_losses(
        self, losses: tuple[Loss, ...], first_offsets: Callable[[], tuple[str, Mapping[int, int]]]
    ) -> None:
        """Record, beside the earlier ``losses``, unread offsets of batches that Kafka has deleted.

        ``first_offsets`` returns the topic and its log start offsets, and raises ServerUnavailable.
        """
        self._losses, self._first_offsets = losses, first_offsets

    def commit_offsets(self, position: BatchPosition) -> None:
        """Commit the offsets of a position between batches. Raises Draining if the consumer is stopping."""
        self._patiently(lambda: self._writer.commit_offsets(position))

    def __call__(self, frame: Any, batch_id: int, query_id: str | None = None) -> None:
        self.write(self.read(frame, batch_id, query_id))

    def read(self, frame: Any, batch_id: int, query_id: str | None = None) -> Batch:
        """Let Spark read and merge the messages of a frame, and prepare them; raise Draining if a stop is requested.

        Without ``query_id``, the id of the streaming query comes from the frame. A frame that raises ServerUnavailable is
        read again until the server answers.
        """
        self.check_gate()
        seconds: dict[str, float] = {}
        with self._status.working(f"reading batch {batch_id}"):
            with _timed(seconds, "read"):
                tagged = Tagged(self._patiently(frame.toArrow))
            with _timed(seconds, "join"):
                prepared = self._writer.prepare(tagged.rows())
                tagged.forget_rows()
        return Batch(tagged, prepared, query_id or query_of(frame), batch_id, seconds)

    def check_gate(self) -> None:
        """Raise Draining if a stop is requested."""
        if self._stop.is_set():
            raise self.failed(Draining())

    def write(self, batch: Batch) -> None:
        """Write a batch to the graph and its rejected messages to the dead letters, then commit its offsets.

        Raises Draining if a stop is requested while a server is unavailable.
        """
        seconds, dead = dict(batch.seconds), Counter[str]()
        try:
            with self._status.working(f"writing batch {batch.batch_id}"), _timed(seconds, "total"):
                with _timed(seconds, "dead_letters"):
                    self._send_dead_letters(batch.tagged, dead)
                report = self._write(batch, dead)
            self._conclude(batch, report, dead, {**report.phase_seconds, **seconds})
        except BaseException as fault:
            self.failed(fault)
            raise

    def failed(self, fault: BaseException) -> BaseException:
        """Store the exception by which a batch failed first, because Spark passes on only its text."""
        self.failure = self.failure or fault
        return fault

    def _write(self, batch: Batch, dead: Counter[str]) -> BatchReport:
        from headwater_graph.apply.batch_writer import BatchPosition

        self._offsets = _merged(self._offsets, batch.tagged.offsets())
        losses = self._with_deleted(batch.unread)
        position = BatchPosition(batch.query_id, batch.batch_id, self._offsets, self._topics, losses)
        again = self._read_again(batch.tagged.unread(), dead)
        with reporting_lock_holder(self._status, self._held_by):
            prepared = [*batch.prepared, *self._writer.prepare(again)]
            report = self._patiently(lambda: self._writer.write(prepared, position))
            while report.split_runs:
                report = report.then(self._write_split_runs(report.split_runs, replace(position, offsets={}), dead))
            self._send_refused(report.refused, dead)
            if self._offsets and not report.committed:
                self._patiently(lambda: self._writer.commit_offsets(position))
        if losses:
            self._status.lost(sum(loss.end - loss.begin for loss in losses))
        return report

    def _with_deleted(self, unread: Ranges) -> tuple[Loss, ...]:
        """Return the losses to record with a batch, and go on behind them; nothing if Kafka deleted none of its messages."""
        if not unread or self._first_offsets is None:
            return ()
        topic, starts = self._patiently(self._first_offsets)
        lost = deleted_ranges(unread, starts)
        if not lost:
            return ()
        text = described_ranges(topic, lost)
        logger.error("messages are lost: Kafka deleted them before they were read: %s", text)
        self._losses = with_ranges(topic, lost, self._losses, self._clock())
        ends = {at: max(end, self._offsets.get(topic, {}).get(at, 0)) for at, _, end in sorted(lost)}
        self._offsets = _merged(self._offsets, {topic: ends})
        return self._losses

    def _read_again(self, positions: list[Position], dead: Counter[str]) -> list[MergedRow]:
        """Read the messages that the tasks left unread, once the registry answers."""
        if not positions:
            return []
        rows, refused = self._merge_again(positions)
        self._send_by_position(refused, dead)
        return rows

    def _write_split_runs(self, split_runs: list[SplitRun], position: BatchPosition, dead: Counter[str]) -> BatchReport:
        sources = [source for run in split_runs for source in unpack_sources(run.sources)]
        rows, older = self._merge_again(sources, split_runs)
        self._send_by_position(older, dead)
        prepared = self._writer.prepare(rows)
        return self._patiently(lambda: self._writer.write(prepared, position))

    def _merge_again(
        self, positions: list[Position], split_runs: Iterable[SplitRun] = ()
    ) -> tuple[list[MergedRow], Reasons]:
        """Merge messages by position, without the older ones of split runs; wait while a server is unavailable."""
        from headwater_consumer.horizon_split import part

        return self._patiently(
            lambda: part(self._messages.fetch(positions), split_runs, self._schemas, self._decompression, self._keys)
        )

    def _send_dead_letters(self, tagged: Tagged, dead: Counter[str]) -> None:
        carried: list[DeadLetter] = []
        elsewhere: dict[Position, tuple[str, str]] = {}
        for rejected in tagged.rejected():
            dead[rejected.code] += 1
            if rejected.whole:
                carried.append(DeadLetter(rejected.message, rejected.code, rejected.detail, self._clock()))
            else:
                elsewhere[rejected.message.position] = (rejected.code, rejected.detail)
        if carried:
            self._patiently(lambda: self._dead_letters.send(carried))
        self._fetch_and_send(elsewhere)

    def _send_refused(self, refused: Iterable[Refused], dead: Counter[str]) -> None:
        reasons: dict[Position, tuple[str, str]] = {}
        for entity in refused:
            for position in unpack_sources(entity.sources):
                reasons[position] = (entity.code, entity.detail)
        self._send_by_position(reasons, dead)

    def _send_by_position(self, reasons: Mapping[Position, tuple[str, str]], dead: Counter[str]) -> None:
        dead.update(code for code, _ in reasons.values())
        self._fetch_and_send(reasons)

    def _fetch_and_send(self, reasons: Mapping[Position, tuple[str, str]]) -> None:
        if reasons:
            self._patiently(lambda: self._send_fetched(reasons))

    def _send_fetched(self, reasons: Mapping[Position, tuple[str, str]]) -> None:
        letters: list[DeadLetter] = []
        left, size = set(reasons), 0
        for message in self._messages.fetch(reasons):
            left.discard(message.position)
            letters.append(DeadLetter(message, *reasons[message.position], self._clock()))
            size += len(message.value or b"")
            if size > LETTERS_BATCH_BYTES:
                self._dead_letters.send(letters)
                letters, size = [], 0
        if letters:
            self._dead_letters.send(letters)
        for position in sorted(left):
            logger.error("message deleted before it could be dead-lettered", extra={"position": position})

    def _patiently(self, step: Callable[[], Result]) -> Result:
        wait = self._first_wait
        while True:
            try:
                result = step()
                self._status.progressed()
                return result
            except (ServerUnavailable, StoreBusy, StoreExhausted) as fault:
                if self._status.enter("waiting", str(fault)):
                    logger.warning("waiting for a server", extra={"reason": str(fault)})
            self._status.progressed()
            if self._stop.wait(wait):
                raise Draining
            wait = min(wait * 2, LONGEST_WAIT)

    def _conclude(self, batch: Batch, report: BatchReport, dead: Counter[str], seconds: dict[str, float]) -> None:
        statistics = batch.tagged.statistics
        summary = BatchSummary(
            query_id=batch.query_id,
            batch_id=batch.batch_id,
            offsets=self._offsets,
            messages=sum(partition.messages for partition in statistics),
            bytes=sum(partition.bytes for partition in statistics),
            dead=dict(dead),
            late_runs=report.late_runs,
            refolded_versions=report.refolded_versions,
            deferred_transactions=report.deferred_transactions,
            seconds=seconds,
        )
        self._status.batch_written(summary)
        logger.info("batch written", extra=summary.flat())


def query_of(frame: Any) -> str:
    """Return the id of the streaming query that hands over a frame."""
    return str(frame.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId"))


def _merged(before: dict[str, dict[int, int]], more: dict[str, dict[int, int]]) -> dict[str, dict[int, int]]:
    return before | {topic: before.get(topic, {}) | offsets for topic, offsets in more.items()}


@contextmanager
def _timed(seconds: dict[str, float], phase: str) -> Iterator[None]:
    started = time.perf_counter()
    try:
        yield
    finally:
        seconds[phase] = time.perf_counter() - started
