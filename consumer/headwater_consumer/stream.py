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
from functools import partial
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException

from headwater_avro.errors import HeadwaterError, ServerUnavailable
from headwater_consumer.batch_processor import FIRST_WAIT, LONGEST_WAIT, BatchProcessor, Draining
from headwater_consumer.health import Status
from headwater_consumer.kafka.brokers import Client, first_offsets, partitions_of
from headwater_consumer.losses import lost_messages, refusal
from headwater_consumer.partition import READ_DDL, TAGGED_DDL, PartitionLimits, tag_partition, tag_partition_with
from headwater_consumer.progress import ProgressLog
from headwater_consumer.recovery import Checkpoint, OffsetRanges, portions
from headwater_consumer.starting import SameTopic, Start, find_start
from headwater_consumer.write_behind import WriteBehind
from headwater_graph.store.writer_node import CommittedOffsets

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from headwater_consumer.config import ConsumerSettings
    from headwater_consumer.kafka.messages import Messages

logger = logging.getLogger("headwater.consumer")

QUERY = "headwater"
POLL_SECONDS = 0.2
"""Seconds between two checks of the query."""

BETWEEN_CHECKS = 10.0
"""Seconds between two checks of the topic's id."""

SILENCE = 15.0
"""Seconds without a sign of life from Spark after which the connection to Kafka is checked."""


class StreamFailed(HeadwaterError):
    """The stream ended for a reason that a restart may not change."""


def tagged_stream(spark: SparkSession, settings: ConsumerSettings, begin: str | None = None) -> DataFrame:
    """Return the stream of tagged rows (``headwater_consumer.partition``) of the topic's messages.

    ``begin`` are the starting offsets of a new query; None: the setting applies.
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
    return _tagged(messages, settings).observe(QUERY, *counts)


def tagged_again(spark: SparkSession, settings: ConsumerSettings, ranges: OffsetRanges) -> DataFrame:
    """Return the tagged rows of a part of the topic."""
    topic = settings.kafka_topic
    begins, ends = ({str(at): bounds[side] for at, bounds in ranges.items()} for side in (0, 1))
    options = {
        "assign": json.dumps({topic: sorted(ranges)}),
        "startingOffsets": json.dumps({topic: begins}),
        "endingOffsets": json.dumps({topic: ends}),
    }
    return _tagged(spark.read.format("kafka").options(**source_options(settings), **options).load(), settings)


def _tagged(messages: DataFrame, settings: ConsumerSettings) -> DataFrame:
    registry = settings.registry()
    tag = tag_partition if registry is None else partial(tag_partition_with, registry)
    limits = PartitionLimits(decompression=settings.decompression())
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
        "groupIdPrefix": "headwater-consumer",
    }


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
        self._batches = WriteBehind(processor)
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
                self._processor.mark(start.position)
        except Draining:
            return
        self._read_again(start.ranges, start.known)

    def _take_over(self, start: Start) -> None:
        topic, committed = self._settings.kafka_topic, start.committed
        self._same_topic = SameTopic(self._kafka, topic, committed.topics.get(topic, ""))
        self._begin = start.offsets
        self._processor.set_offsets(committed.offsets, committed.topics)
        self._status.lost(sum(loss.end - loss.begin for loss in committed.losses))

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
                self._processor(tagged_again(self._spark, self._settings, part), batch_id, known.query)
            except Draining:
                return
            except PySparkException as fault:
                partitions_of(self._kafka, [self._settings.kafka_topic])
                raise StreamFailed(f"reading again failed: {_cause(str(fault))}") from fault

    def _run_once(self, available_now: bool) -> bool:
        """Run the query to its end; return whether the work is complete."""
        self._check_topic()
        self._batches.begin()
        query = self._start(available_now)
        self._status.enter("running")
        try:
            self._follow(query)
        finally:
            query.stop()
            self._batches.wait()
        if self._stop.is_set() or isinstance(self._batches.failure, Draining):
            return True
        fault = query.exception()
        return (fault is None and self._batches.failure is None) or self._judge(fault)

    def _start(self, available_now: bool) -> StreamingQuery:
        writer = (
            tagged_stream(self._spark, self._settings, self._begin)
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

    def _judge(self, fault: Any) -> bool:
        if self._batches.failure is not None:
            raise self._batches.failure
        if not self._kafka_answers():
            return False
        self._explain()
        raise StreamFailed(f"the stream ended: {_cause(str(fault))}")

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


def _cause(text: str) -> str:
    """Return the first informative line of a Java exception; if Python has passed the exception on, that of its cause."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if _PASSED_ON in text:
        lines = [line.removeprefix(_CAUSED_BY) for line in lines if line.startswith(_CAUSED_BY)] or lines[-1:]
    return next((line for line in lines if not line.startswith(("at ", "==="))), "no reason given")[:1_000]


_PASSED_ON, _CAUSED_BY = "An exception was raised by the Python Proxy", "Caused by: "
