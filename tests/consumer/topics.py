"""What an operator does to topics on real Kafka: settings, deletion of messages, a topic that is deleted and created again."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from confluent_kafka import TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from headwater_consumer.kafka.brokers import partitions_of

PATIENCE = 60.0


def configure(client: Mapping[str, Any], topic: str, **settings: object) -> None:
    """Set settings of a topic; ``max_message_bytes`` is ``max.message.bytes``."""
    entries = [
        ConfigEntry(name.replace("_", "."), str(value), incremental_operation=AlterConfigOpType.SET)
        for name, value in settings.items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    admin = AdminClient(dict(client))  # its answers end with it
    admin.incremental_alter_configs([resource])[resource].result()


def delete_messages(client: Mapping[str, Any], topic: str, before: Mapping[int, int]) -> None:
    """Delete the messages of each partition before an offset, as retention does; -1: all that are there."""
    places = [TopicPartition(topic, partition, offset) for partition, offset in before.items()]
    admin = AdminClient(dict(client))  # its answers end with it
    for deleted in admin.delete_records(places).values():
        deleted.result(PATIENCE)


def create_again(client: Mapping[str, Any], topic: str, partitions: int) -> None:
    """Delete a topic and create another one of the same name."""
    admin = AdminClient(dict(client))
    admin.delete_topics([topic])[topic].result()
    give_up = time.monotonic() + PATIENCE
    while partitions_of(dict(client), [topic])[topic]:
        assert time.monotonic() < give_up, "the topic is still there"
        time.sleep(0.05)
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result()
    while partitions_of(dict(client), [topic])[topic] != partitions:
        assert time.monotonic() < give_up, "the new topic does not appear"
        time.sleep(0.05)
