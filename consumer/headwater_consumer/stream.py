"""Kafka to the graph as one Spark query: started, watched, drained, started again.

Stopping goes through a gate. Once asked, the batches under way are finished and committed, and the next one raises before
it does anything: Spark then commits nothing that was not read. A query that fails while Kafka is away is started again
from its checkpoint when Kafka answers; any other failure ends the consumer, since repeating it would repeat it.
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
LOOK = 0.2
"""Seconds between two looks at the query."""

BETWEEN_CHECKS = 10.0
"""Seconds from one look at the topic's id to the next."""

SILENCE = 15.0
"""Seconds without a sign of life from Spark after which Kafka is asked whether it is there."""


class StreamFailed(HeadwaterError):
    """The stream ended by itself for a reason that a new start may not change."""


def tagged_stream(spark: SparkSession, settings: ConsumerSettings, begin: str | None = None) -> DataFrame:
    """Return the stream of tagged rows (`headwater_consumer.partition`) that the topic's messages become.

    ``begin`` are the offsets of a new query, where they are not to be those of the settings.
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
    """Return the options of Spark's Kafka source that do not say what is read.

    ``minPartitions`` stays unset: splitting a partition over tasks would part the events of a run.
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
    """The query and what watches it."""

    def __init__(
        self,
        spark: SparkSession,
        settings: ConsumerSettings,
        cycle: BatchProcessor,
        status: Status,
        kafka: Client,
        *,
        checkpoint: str,
        stop: threading.Event,
    ) -> None:
        self._spark = spark
        self._settings = settings
        self._cycle = cycle
        self._batches = WriteBehind(cycle)
        self._status = status
        self._kafka = kafka
        self._checkpoint = checkpoint
        self._stop = stop
        self._asked = self._checked = time.monotonic()
        self._begin: str | None = None
        self._same_topic: SameTopic | None = None

    def run(self, *, available_now: bool) -> None:
        """Return when asked to stop or, with ``available_now``, when everything there at the start is in the graph.

        Raises MessagesLost where Kafka has deleted what was to be read, ConfigError where the topic was created again, and
        StreamFailed where the query ends for another reason.
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

    def catch_up(self, mark: CommittedOffsets, messages: Messages) -> None:
        """Bring into the graph what it lacks of what the checkpoint counts as done; ``mark`` tells what it has.

        Returns early when asked to stop. Raises ServerUnavailable where Kafka goes away, and what a batch fails by.
        """
        start = find_start(self._spark, self._settings, self._kafka, self._checkpoint, mark, messages)
        self._take_over(start)
        try:
            if start.changed:
                self._cycle.mark(start.position)
        except Draining:
            return
        self._read_again(start.ranges, start.known)

    def _take_over(self, start: Start) -> None:
        topic, committed = self._settings.kafka_topic, start.committed
        self._same_topic = SameTopic(self._kafka, topic, committed.topics.get(topic, ""))
        self._begin = start.offsets
        self._cycle.go_on_from(committed.offsets, committed.topics)
        self._status.lost(sum(loss.end - loss.begin for loss in committed.losses))

    def _check_topic(self) -> None:
        """Raise ConfigError where the topic was created again since the consumer began; asked for every few seconds."""
        self._checked = time.monotonic()
        if self._same_topic is not None:
            self._same_topic.check()

    def _read_again(self, ranges: OffsetRanges, known: Checkpoint) -> None:
        parts = list(portions(ranges, self._settings.max_offsets_per_trigger))
        for number, part in enumerate(parts, 1):
            if self._stop.is_set():
                return
            logger.info("reading again what the graph lacks", extra={"part": number, "parts": len(parts)})
            # The batch is done with the last of it.
            batch_id = known.batch if number == len(parts) else known.batch - 1
            try:
                self._cycle(tagged_again(self._spark, self._settings, part), batch_id, known.query)
            except Draining:
                return
            except PySparkException as fault:
                partitions_of(self._kafka, [self._settings.kafka_topic])
                raise StreamFailed(f"reading again failed: {_cause(str(fault))}") from fault

    def _run_once(self, available_now: bool) -> bool:
        """Run the query to its end; tell whether that was the end of the work."""
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
            self._stop.wait(LOOK)
            if time.monotonic() - self._checked > BETWEEN_CHECKS:
                self._check_topic()
            if self._is_silent():
                self._look_for_kafka()
        if self._stop.is_set():
            self._status.enter("stopping")
            logger.info("stopping after the batch under way")
            self._drain(query)

    def _drain(self, query: StreamingQuery) -> None:
        """Wait until the batch under way is committed; the gate of the cycle keeps the next one out."""
        while query.isActive and not self._is_idle(query):
            time.sleep(LOOK / 4)

    def _is_idle(self, query: StreamingQuery) -> bool:
        if self._batches.is_busy:
            return False
        # The commit follows the return of what foreachBatch called, and the progress report follows the commit.
        reported, handed_over = query.lastProgress, self._batches.handed_over
        return handed_over is None or (reported is not None and reported["batchId"] >= handed_over)

    def _judge(self, fault: Any) -> bool:
        if self._batches.failure is not None:
            raise self._batches.failure
        if not self._look_for_kafka():
            return False
        self._explain()
        raise StreamFailed(f"the stream ended: {_cause(str(fault))}")

    def _explain(self) -> None:
        """Raise what says more than Spark does: the topic was created again, or Kafka has deleted what was to be read."""
        self._check_topic()
        topic = self._settings.kafka_topic
        mark = CommittedOffsets(self._status.state.offsets or {})
        lost = lost_messages(topic, mark, Checkpoint(), first_offsets(self._kafka, topic))
        if lost:
            raise refusal(topic, lost)

    def _await_kafka(self) -> None:
        wait = FIRST_WAIT
        while not self._stop.is_set() and not self._look_for_kafka():
            self._stop.wait(wait)
            wait = min(wait * 2, LONGEST_WAIT)

    def _is_silent(self) -> bool:
        quiet = min(self._status.silence(), time.monotonic() - self._asked)
        return quiet > SILENCE and not self._batches.is_busy

    def _look_for_kafka(self) -> bool:
        """Ask Kafka whether it is there, and note it if not: Spark says nothing for a minute."""
        self._asked = time.monotonic()
        try:
            partitions_of(self._kafka, [self._settings.kafka_topic])
        except ServerUnavailable as fault:
            if self._status.enter("waiting", str(fault)):
                logger.warning("waiting for a server", extra={"reason": str(fault)})
            return False
        return True


def _cause(text: str) -> str:
    """Return the first line of a Java exception that says something; of one that Python has passed on, the cause's."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if _PASSED_ON in text:
        lines = [line.removeprefix(_CAUSED_BY) for line in lines if line.startswith(_CAUSED_BY)] or lines[-1:]
    return next((line for line in lines if not line.startswith(("at ", "==="))), "no reason told")[:1_000]


_PASSED_ON, _CAUSED_BY = "An exception was raised by the Python Proxy", "Caused by: "
