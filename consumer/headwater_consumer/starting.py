"""Determine where a consumer continues: the topic's identity, its checkpoint, missing ranges and lost messages."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headwater_avro.errors import ConfigError, ServerUnavailable
from headwater_consumer.kafka.brokers import Client, first_offsets, partitions_of, topic_id_of
from headwater_consumer.kafka.dead_letters import now
from headwater_consumer.losses import Lost, described, lost_messages, recorded, refusal
from headwater_consumer.recovery import (
    Checkpoint,
    CheckpointDamaged,
    OffsetRanges,
    holds_checkpoint,
    missing_ranges,
    read_checkpoint,
    set_aside,
)
from headwater_graph.apply.batch_writer import BatchPosition, batch_identity
from headwater_graph.store.writer_node import CommittedOffsets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headwater_consumer.config import ConsumerSettings
    from headwater_consumer.kafka.messages import Messages

logger = logging.getLogger("headwater.consumer")

EARLIEST = -2
"""The offset that means the beginning of a partition in Spark's ``startingOffsets``."""


@dataclass(frozen=True, slots=True)
class Start:
    """Where a consumer continues.

    ``committed`` are the graph's committed offsets after corrections, ``changed`` whether there were any. ``ranges`` must be
    read again. ``offsets`` is the option ``startingOffsets`` of a new query; None: the setting applies.
    """

    committed: CommittedOffsets
    known: Checkpoint
    ranges: OffsetRanges
    offsets: str | None
    changed: bool

    @property
    def position(self) -> BatchPosition:
        """The position to write before anything is read; if nothing is read again, the last batch is done."""
        last_done = self.committed.done if self.ranges else batch_identity(self.known.query, self.known.batch)
        query, _, batch = last_done.rpartition("/")
        number = int(batch) if batch else -1
        return BatchPosition(query, number, self.committed.offsets, self.committed.topics, self.committed.losses)


def find_start(
    spark: SparkSession,
    settings: ConsumerSettings,
    kafka: Client,
    checkpoint: str,
    committed: CommittedOffsets,
    messages: Messages,
) -> Start:
    """Return where to continue, given the graph's committed offsets; an unusable checkpoint is moved away.

    Raises ConfigError if the topic was created again, MessagesLost, ServerUnavailable.
    """
    topic = settings.kafka_topic
    corrected = _of_this_topic(spark, settings, checkpoint, committed, topic_id_of(kafka, topic))
    offsets = None
    try:
        known = read_checkpoint(spark, checkpoint)
    except CheckpointDamaged as fault:
        known, offsets = Checkpoint(), corrected.offsets.get(topic)
        folder = set_aside(spark, checkpoint, now())
        begin = "its first start" if offsets is None else "the offsets in the graph"
        extra = {"reason": str(fault), "moved": folder}
        logger.warning("the checkpoint is lost: continuing from %s", begin, extra=extra)
    lost = lost_messages(topic, corrected, known, first_offsets(kafka, topic))
    if lost:
        corrected = _without(topic, lost, corrected, stop=settings.fail_on_data_loss)
        offsets = None if offsets is None else corrected.offsets[topic]
    begins = None if offsets is None else _starting_offsets(topic, offsets, partitions_of(kafka, [topic])[topic])
    return Start(corrected, known, missing_ranges(topic, corrected, known, messages), begins, corrected != committed)


def _of_this_topic(
    spark: SparkSession, settings: ConsumerSettings, checkpoint: str, committed: CommittedOffsets, identity: str
) -> CommittedOffsets:
    """Return the committed offsets with the topic's id, and without those of an earlier topic of the same name."""
    topic = settings.kafka_topic
    if is_another(committed.topics.get(topic, ""), identity):
        if holds_checkpoint(spark, checkpoint):
            if not settings.topic_was_recreated:
                raise created_again(topic)
            folder = set_aside(spark, checkpoint, now())
            logger.warning("the checkpoint of the earlier topic is set aside", extra={"moved": folder})
        logger.warning("the topic was created again: reading it from its beginning", extra={"topic": topic})
        committed = replace(committed, offsets={**committed.offsets, topic: {}}, done="")
    return replace(committed, topics={**committed.topics, topic: identity}) if identity else committed


def is_another(before: str, now: str) -> bool:
    """Return whether two topic ids are known and different."""
    return bool(before and now) and before != now


def created_again(topic: str) -> ConfigError:
    """Return the error for a topic that is not the one whose offsets are known."""
    return ConfigError(
        f"the topic {topic} was deleted and created again: the offsets in the graph and in the checkpoint are those of the "
        "earlier topic. Start once with `headwater consume --topic-was-recreated` (HEADWATER_TOPIC_WAS_RECREATED=true) "
        "to read the new topic from its beginning; the content of the graph stays"
    )


def _without(topic: str, lost: Lost, committed: CommittedOffsets, *, stop: bool) -> CommittedOffsets:
    """Return committed offsets that record the losses and continue after them; with ``stop``, raise MessagesLost."""
    if stop:
        raise refusal(topic, lost)
    logger.error("messages are lost: Kafka has deleted %s", described(topic, lost))
    ends = {partition: end for partition, (_, end) in lost.items()}
    offsets = {**committed.offsets, topic: {**committed.offsets.get(topic, {}), **ends}}
    return replace(committed, offsets=offsets, losses=recorded(topic, lost, committed.losses, now()))


def _starting_offsets(topic: str, offsets: dict[int, int], partitions: int) -> str:
    """Return offsets of all partitions in Spark's form."""
    return json.dumps({topic: {str(at): offsets.get(at, EARLIEST) for at in range(partitions)}})


class SameTopic:
    """Checks, while the consumer runs, that the topic is still the one with which it started."""

    def __init__(self, kafka: Client, topic: str, identity: str) -> None:
        self._kafka, self._topic, self._identity = kafka, topic, identity

    def check(self) -> None:
        """Raise ConfigError if the topic was deleted and created again; do nothing if Kafka does not answer."""
        try:
            found = topic_id_of(self._kafka, self._topic)
        except ServerUnavailable:
            return
        if is_another(self._identity, found):
            raise created_again(self._topic)
        self._identity = found or self._identity
