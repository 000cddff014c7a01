"""The Spark query from Kafka to the graph: its start, supervision, stop and restart.

After a stop request, the batches in progress are completed and committed, and the next batch raises before it does anything,
so that Spark commits nothing that was not read. A query that fails while Kafka is unavailable is started again from its
checkpoint once Kafka answers; any other failure ends the consumer, because it would recur.
"""

from __future__ import annotations

import json
import logging
import threading
import time
import uuid
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from headwater_avro.errors import HeadwaterError, ServerUnavailable
from headwater_consumer.batch_processor import FIRST_WAIT, LONGEST_WAIT, BatchProcessor, Draining, query_of
from headwater_consumer.faults import StreamFailed, cause_of, end_of_java, is_of_spark
from headwater_consumer.kafka.brokers import Client, first_offsets, partitions_of
from headwater_consumer.kafka.messages import KafkaMessages
from headwater_consumer.losses import lost_messages, refusal, unread_ranges
from headwater_consumer.monitoring.health import Status
from headwater_consumer.monitoring.progress import ProgressLog
from headwater_consumer.partition import (
    READ_DDL,
    TAGGED_DDL,
    PartitionLimits,
    PartitionStatistics,
    tag_partition,
    tag_partition_with,
)
from headwater_consumer.parts import ONE_MESSAGE, Parts, Planned, share_of
from headwater_consumer.recovery import Checkpoint, OffsetRanges, not_done, planned_ranges, portions
from headwater_consumer.single_message import FirstMessage
from headwater_consumer.starting import SameTopic, Start, find_start
from headwater_consumer.write_behind import WriteBehind
from headwater_graph.store.writer_node import CommittedOffsets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from headwater_consumer.batch_processor import Batch
    from headwater_consumer.config import ConsumerSettings
    from headwater_consumer.kafka.messages import Message, Messages

logger = logging.getLogger("headwater.consumer")

QUERY = "headwater"
POLL_SECONDS = 0.2
"""Seconds between two checks of the query."""

BETWEEN_CHECKS = 10.0
"""Seconds between two checks of the topic's id."""

SILENCE = 15.0
"""Seconds without a sign of life from Spark after which the connection to Kafka is checked."""


GROUP = f"headwater-consumer-{uuid.uuid4()}"
"""The group of all reads of this process, which commits nothing: Spark keeps Kafka clients, and what they fetched, by group.

With a group for each read, every part of a batch would leave clients behind that hold on to messages for minutes.
"""


def tagged_stream(
    spark: SparkSession, settings: ConsumerSettings, most: int | None = None, begin: str | None = None
) -> DataFrame:
    """Return the stream of tagged rows (`headwater_consumer.partition`) that the topic's messages become.

    Each task stops after ``most`` bytes of messages, if that is given. ``begin`` are the offsets of a new query, if they
    are not those of the settings.
    """
    from pyspark.sql import functions as sql

    options = {
        "subscribe": settings.kafka_topic,
        "startingOffsets": begin or settings.starting_offsets,
        "maxOffsetsPerTrigger": str(settings.max_offsets_per_trigger),
    }
    messages = spark.readStream.format("kafka").options(**source_options(settings), **options).load()
    counts = [
        sql.count_if(sql.col("kind") == kind).alias(kind) for kind in ("run", "job_event", "dataset_event", "dead")
    ]
    return _tagged(messages, settings, most).observe(QUERY, *counts)


def tagged_again(
    spark: SparkSession, settings: ConsumerSettings, ranges: OffsetRanges, most: int | None = None
) -> DataFrame:
    """Return the tagged rows of a part of the topic; each task stops behind ``most`` bytes of messages."""
    topic = settings.kafka_topic
    begins, ends = ({str(at): bounds[side] for at, bounds in ranges.items()} for side in (0, 1))
    options = {
        "assign": json.dumps({topic: sorted(ranges)}),
        "startingOffsets": json.dumps({topic: begins}),
        "endingOffsets": json.dumps({topic: ends}),
    }
    messages = spark.read.format("kafka").options(**source_options(settings), **options).load()
    return _tagged(messages, settings, most)


def _tagged(messages: DataFrame, settings: ConsumerSettings, most: int | None) -> DataFrame:
    registry = settings.registry()
    tag = tag_partition if registry is None else partial(tag_partition_with, registry)
    limits = PartitionLimits(decompression=settings.decompression(), task=most, keys=settings.keys())
    return messages.selectExpr(*READ_DDL).mapInArrow(partial(tag, limits=limits), TAGGED_DDL)


def source_options(settings: ConsumerSettings) -> dict[str, str]:
    """Return the options of Spark's Kafka source that do not select messages.

    ``minPartitions`` stays unset: dividing a partition among tasks would separate the events of a run.
    """
    java = {f"kafka.{name}": value for name, value in settings.java_client().items()}
    return java | {
        "kafka.bootstrap.servers": settings.kafka_bootstrap_servers,
        "failOnDataLoss": str(settings.fail_on_data_loss).lower(),
        "includeHeaders": "true",
        "kafka.isolation.level": "read_committed",
        "kafka.group.id": GROUP,
    }


READING_ENDS = 45.0
"""Seconds that the reading of a batch has to say over what Java ended: it may fetch the message at fault from Kafka."""


class Stream:
    """The query and its supervision."""

    def __init__(
        self,
        spark: SparkSession,
        settings: ConsumerSettings,
        processor: BatchProcessor,
        status: Status,
        kafka: Client,
        *,
        checkpoint: str,
        stop: threading.Event,
    ) -> None:
        self._spark = spark
        self._settings = settings
        self._processor = processor
        self._messages = KafkaMessages(settings.kafka_topic, kafka)
        self._committed = CommittedOffsets()
        self._batches = WriteBehind(processor, self._parts_of_batch)
        self._parts = Parts(
            processor,
            self._messages,
            self._frame_again,
            settings.batch_bytes,
            settings.home.expanduser() / "part-bytes" / settings.kafka_topic,
        )
        self._status = status
        self._kafka = kafka
        self._checkpoint = checkpoint
        self._stop = stop
        self._kafka_checked = self._topic_checked = time.monotonic()
        self._begin: str | None = None
        self._same_topic: SameTopic | None = None

    def run(self, *, available_now: bool) -> None:
        """Run until a stop is requested or, with ``available_now``, until all messages present at the start are in the graph.

        Raises MessagesLost if Kafka has deleted unread messages, ConfigError if the topic was created again, and StreamFailed
        if the query ends for another reason.
        """
        progress = ProgressLog(self._status)
        self._spark.streams.addListener(progress)
        try:
            while not self._stop.is_set() and not self._run_once(available_now):
                self._await_kafka()
        except HeadwaterError as fault:
            self._status.enter("failed", str(fault))
            raise
        finally:
            self._spark.streams.removeListener(progress)

    def catch_up(self, committed: CommittedOffsets, messages: Messages) -> None:
        """Write messages that the checkpoint counts as done and that are missing in the graph (``committed``).

        Returns early if a stop is requested. Raises ServerUnavailable if Kafka does not answer, and the error of a batch.
        """
        start = find_start(self._spark, self._settings, self._kafka, self._checkpoint, committed, messages)
        self._take_over(start)
        try:
            if start.changed:
                self._processor.commit_offsets(start.position)
        except Draining:
            return
        self._read_again(start.ranges, start.known)

    def _take_over(self, start: Start) -> None:
        topic, committed = self._settings.kafka_topic, start.committed
        self._same_topic = SameTopic(self._kafka, topic, committed.topics.get(topic, ""))
        self._begin, self._committed = start.offsets, committed
        self._processor.set_offsets(committed.offsets, committed.topics)
        self._status.lost(sum(loss.end - loss.begin for loss in committed.losses))
        self._processor.record_losses(committed.losses, lambda: (topic, first_offsets(self._kafka, topic)))

    def _check_topic(self) -> None:
        """Raise ConfigError if the topic was created again since the consumer started."""
        self._topic_checked = time.monotonic()
        if self._same_topic is not None:
            self._same_topic.check()

    def _read_again(self, ranges: OffsetRanges, known: Checkpoint) -> None:
        parts = list(portions(ranges, self._settings.max_offsets_per_trigger))
        for number, part in enumerate(parts, 1):
            if self._stop.is_set():
                return
            logger.info(
                "reading messages again that are missing in the graph", extra={"part": number, "parts": len(parts)}
            )
            # Only the last part completes the batch.
            batch_id = known.batch if number == len(parts) else known.batch - 1
            try:
                for batch in self._read(self._portion(part, batch_id, known.query)):
                    self._processor.write(batch)
            except Draining:
                return
            except Exception as fault:
                if not is_of_spark(fault):
                    raise
                partitions_of(self._kafka, [self._settings.kafka_topic])
                raise StreamFailed(f"reading again failed: {cause_of(fault)}") from fault

    def _portion(self, ranges: OffsetRanges, batch_id: int, query_id: str) -> Planned:
        """Return a part of the topic as a batch of its own."""
        share = share_of(self._settings.batch_bytes, len(ranges))
        frame = tagged_again(self._spark, self._settings, ranges, share)
        return Planned(frame, batch_id, lambda: self._not_done(ranges, query_id, batch_id), query_id)

    def _parts_of_batch(self, frame: Any, batch_id: int) -> Iterator[Batch]:
        query_id, topic = query_of(frame), self._settings.kafka_topic

        def ranges() -> OffsetRanges:
            planned = planned_ranges(self._spark, self._checkpoint, topic, batch_id)
            return self._not_done(planned, query_id, batch_id)

        return self._read(Planned(frame, batch_id, ranges, query_id))

    def _not_done(self, ranges: OffsetRanges, query_id: str, batch_id: int) -> OffsetRanges:
        """Return what of a batch was not in the graph at the start: a consumer that ended over a part goes on behind it."""
        return not_done(ranges, self._settings.kafka_topic, self._committed, query_id, batch_id)

    def _frame_again(self, ranges: OffsetRanges, most: int) -> Any:
        """Return a frame of tagged rows of ranges of the batch, for ``Parts``."""
        if most != ONE_MESSAGE:
            return tagged_again(self._spark, self._settings, ranges, most)
        ((partition, (begin, end)),) = ranges.items()
        find = partial(self._first_message, partition, begin, end)
        return FirstMessage(find, self._settings.decompression(), self._settings.registry(), self._settings.keys())

    def _first_message(self, partition: int, begin: int, end: int) -> Message | None:
        """Return the first message of a range; raise MessagesLost if Kafka has deleted one that Spark may not skip."""
        found = self._messages.first_message(partition, begin, end)
        if self._settings.fail_on_data_loss and (found is None or found.offset > begin):
            topic = self._settings.kafka_topic
            start = first_offsets(self._kafka, topic).get(partition, begin)
            if start > begin:
                raise refusal(topic, {partition: (begin, min(start, end))})
        return found

    def _read(self, planned: Planned) -> Iterator[Batch]:
        """Yield the parts of a batch; the last one has the offsets that Spark may have skipped, if that is allowed."""
        if self._settings.fail_on_data_loss:
            yield from self._parts.read(planned)
            return
        ranges, tasks = planned.ranges(), list[PartitionStatistics]()
        for part in self._parts.read(planned):
            tasks += part.tagged.statistics
            is_last = part.batch_id == planned.batch_id
            yield replace(part, unread=unread_ranges(ranges, tasks)) if is_last else part

    def _run_once(self, available_now: bool) -> bool:
        """Run the query to its end; return whether the work is complete."""
        self._check_topic()
        self._batches.begin()
        query = self._start(available_now)
        self._status.enter("running")
        try:
            self._follow(query)
        except Exception as broken:
            self._check_java(broken)
            raise
        finally:
            if end_of_java() is None:
                query.stop()
            self._batches.wait()
        if self._stop.is_set() or isinstance(self._batches.failure, Draining):
            return True
        fault = query.exception()
        return (fault is None and self._batches.failure is None) or self._judge(fault)

    def _check_java(self, fault: Exception) -> None:
        """Raise StreamFailed where Java has ended: the batch that it ended over may know more than that."""
        ended = end_of_java(fault)
        if ended is not None:
            reported = self._batches.failure_of_reading(READING_ENDS)
            raise (reported if isinstance(reported, StreamFailed) else StreamFailed(ended)) from fault

    def _start(self, available_now: bool) -> StreamingQuery:
        topic = self._settings.kafka_topic
        share = share_of(self._settings.batch_bytes, partitions_of(self._kafka, [topic])[topic])
        writer = (
            tagged_stream(self._spark, self._settings, share, self._begin)
            .writeStream.queryName(QUERY)
            .option("checkpointLocation", self._checkpoint)
            .foreachBatch(self._batches)
        )
        if available_now:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime=f"{self._settings.trigger_milliseconds} milliseconds").start()

    def _follow(self, query: StreamingQuery) -> None:
        while query.isActive and not self._stop.is_set() and self._batches.failure is None:
            self._stop.wait(POLL_SECONDS)
            if time.monotonic() - self._topic_checked > BETWEEN_CHECKS:
                self._check_topic()
            if self._is_silent():
                self._kafka_answers()
        if self._stop.is_set():
            self._status.enter("stopping")
            logger.info("stopping after the batch in progress")
            self._await_commit(query)

    def _await_commit(self, query: StreamingQuery) -> None:
        """Wait until the batch in progress is committed; ``BatchProcessor.check_gate`` rejects the next one."""
        while query.isActive and not self._is_idle(query):
            time.sleep(POLL_SECONDS / 4)

    def _is_idle(self, query: StreamingQuery) -> bool:
        if self._batches.is_busy:
            return False
        # Spark commits after foreachBatch returns, and reports progress after the commit.
        reported, handed_over = query.lastProgress, self._batches.handed_over
        return handed_over is None or (reported is not None and reported["batchId"] >= handed_over)

    def _judge(self, ended: Any) -> bool:
        # Of what a batch failed by Spark has the text alone.
        fault = self._batches.failure or ended
        if isinstance(fault, BaseException) and not is_of_spark(fault):
            raise fault
        ended_java = end_of_java(self._batches.failure)
        if ended_java is None and not self._kafka_answers():
            return False
        cause = ended_java or f"the stream ended: {cause_of(fault)}"
        if ended_java is None:
            self._explain()
        self._status.enter("failed", cause)
        raise StreamFailed(cause) from fault

    def _explain(self) -> None:
        """Raise a more specific error than Spark's: the topic was created again, or Kafka has deleted unread messages."""
        self._check_topic()
        topic = self._settings.kafka_topic
        committed = CommittedOffsets(self._status.state.offsets or {})
        lost = lost_messages(topic, committed, Checkpoint(), first_offsets(self._kafka, topic))
        if lost:
            raise refusal(topic, lost)

    def _await_kafka(self) -> None:
        wait = FIRST_WAIT
        while not self._stop.is_set() and not self._kafka_answers():
            self._stop.wait(wait)
            wait = min(wait * 2, LONGEST_WAIT)

    def _is_silent(self) -> bool:
        quiet = min(self._status.silence(), time.monotonic() - self._kafka_checked)
        return quiet > SILENCE and not self._batches.is_busy

    def _kafka_answers(self) -> bool:
        """Return whether Kafka answers; if not, set the status, since Spark reports nothing for a minute."""
        self._kafka_checked = time.monotonic()
        try:
            partitions_of(self._kafka, [self._settings.kafka_topic])
        except ServerUnavailable as fault:
            if self._status.enter("waiting", str(fault)):
                logger.warning("waiting for a server", extra={"reason": str(fault)})
            return False
        return True
