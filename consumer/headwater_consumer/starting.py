"""Where a consumer goes on: which topic this is, what its checkpoint says, what the graph lacks and what is lost."""

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
"""The offset that stands for a partition's beginning in Spark's ``startingOffsets``."""


@dataclass(frozen=True, slots=True)
class Start:
    """Where a consumer goes on.

    ``mark`` is what the graph says, put right; ``changed`` tells that the graph does not say it yet. ``ranges`` is to be
    read again. ``offsets`` is where a new query begins, as Spark's option ``startingOffsets``; None: as the settings say.
    """

    mark: CommittedOffsets
    known: Checkpoint
    ranges: OffsetRanges
    offsets: str | None
    changed: bool

    @property
    def position(self) -> BatchPosition:
        """What the graph is to say before anything is read; where nothing is read again, the last batch is done."""
        said = self.mark.done if self.ranges else batch_identity(self.known.query, self.known.batch)
        query, _, batch = said.rpartition("/")
        number = int(batch) if batch else -1
        return BatchPosition(query, number, self.mark.offsets, self.mark.topics, self.mark.losses)


def find_start(
    spark: SparkSession,
    settings: ConsumerSettings,
    kafka: Client,
    checkpoint: str,
    mark: CommittedOffsets,
    messages: Messages,
) -> Start:
    """Return where to go on from what the graph says; a checkpoint that can't be used is moved away.

    Raises ConfigError where the topic was created again, MessagesLost, ServerUnavailable.
    """
    topic = settings.kafka_topic
    found = _of_this_topic(spark, settings, checkpoint, mark, topic_id_of(kafka, topic))
    offsets = None
    try:
        known = read_checkpoint(spark, checkpoint)
    except CheckpointDamaged as fault:
        known, offsets = Checkpoint(), found.offsets.get(topic)
        folder = set_aside(spark, checkpoint, now())
        begin = "its first start" if offsets is None else "the offsets in the graph"
        logger.warning("the checkpoint is lost: going on from %s", begin, extra={"reason": str(fault), "moved": folder})
    lost = lost_messages(topic, found, known, first_offsets(kafka, topic))
    if lost:
        found = _without(topic, lost, found, stop=settings.fail_on_data_loss)
        offsets = None if offsets is None else found.offsets[topic]
    spelled = None if offsets is None else _spelled(topic, offsets, partitions_of(kafka, [topic])[topic])
    return Start(found, known, missing_ranges(topic, found, known, messages), spelled, found != mark)


def _of_this_topic(
    spark: SparkSession, settings: ConsumerSettings, checkpoint: str, mark: CommittedOffsets, identity: str
) -> CommittedOffsets:
    """Return the mark with the topic's identity, and without offsets of an earlier topic of the same name."""
    topic = settings.kafka_topic
    if is_another(mark.topics.get(topic, ""), identity):
        if holds_checkpoint(spark, checkpoint):
            if not settings.topic_was_recreated:
                raise created_again(topic)
            folder = set_aside(spark, checkpoint, now())
            logger.warning("the checkpoint of the earlier topic is set aside", extra={"moved": folder})
        logger.warning("the topic was created again: reading it from its beginning", extra={"topic": topic})
        mark = replace(mark, offsets={**mark.offsets, topic: {}}, done="")
    return replace(mark, topics={**mark.topics, topic: identity}) if identity else mark


def is_another(before: str, now: str) -> bool:
    """Tell whether two topic ids are those of two topics; without one of them nothing is known."""
    return bool(before and now) and before != now


def created_again(topic: str) -> ConfigError:
    """Return the error that says that the topic is not the one whose offsets are known."""
    return ConfigError(
        f"the topic {topic} was deleted and created again: the offsets in the graph and in the checkpoint are those of the "
        "earlier topic. Start once with `headwater consume --topic-was-recreated` (HEADWATER_TOPIC_WAS_RECREATED=true) "
        "to read the new topic from its beginning; what the graph has stays"
    )


def _without(topic: str, lost: Lost, mark: CommittedOffsets, *, stop: bool) -> CommittedOffsets:
    """Return a mark that records what is lost and goes on behind it; raises MessagesLost where the consumer is to stop."""
    if stop:
        raise refusal(topic, lost)
    logger.error("messages are lost: Kafka has deleted %s", described(topic, lost))
    ends = {partition: end for partition, (_, end) in lost.items()}
    offsets = {**mark.offsets, topic: {**mark.offsets.get(topic, {}), **ends}}
    return replace(mark, offsets=offsets, losses=recorded(topic, lost, mark.losses, now()))


def _spelled(topic: str, offsets: dict[int, int], partitions: int) -> str:
    """Return offsets as Spark wants them, with all partitions."""
    return json.dumps({topic: {str(at): offsets.get(at, EARLIEST) for at in range(partitions)}})


class SameTopic:
    """Whether the topic is still the one that the consumer began with, asked for while it runs."""

    def __init__(self, kafka: Client, topic: str, identity: str) -> None:
        self._kafka, self._topic, self._identity = kafka, topic, identity

    def check(self) -> None:
        """Raise ConfigError where the topic was deleted and created again; a Kafka that is away says nothing."""
        try:
            found = topic_id_of(self._kafka, self._topic)
        except ServerUnavailable:
            return
        if is_another(self._identity, found):
            raise created_again(self._topic)
        self._identity = found or self._identity
