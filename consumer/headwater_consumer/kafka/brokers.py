"""Settings of Kafka clients, creation and description of topics, and the errors of a broker that does not answer."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its stubs leave out what it re-exports
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from headwater_avro.errors import ConfigError, ServerUnavailable
from headwater_avro.kafka_refusals import Refusals
from headwater_consumer.config import ConsumerSettings

Client: TypeAlias = dict[str, Any]
"""Settings of librdkafka, at least ``bootstrap.servers``."""

REQUEST_TIMEOUT = 10.0
"""Seconds within which a broker must answer."""

SPARE_BYTES = 65_536
"""How much greater the dead-letter topic's ``max.message.bytes`` is than the source's: room for headers."""

NO_TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAA"
"""The topic id that a broker without topic ids reports."""

_SILENT = {"log_level": 0, "error_cb": lambda _: None}


def kafka_client(bootstrap_servers: str, secured: Mapping[str, str] | None = None) -> Client:
    """Return the settings that all clients of confluent-kafka share; errors are raised by calls, not printed to stderr."""
    return {"bootstrap.servers": bootstrap_servers, "client.id": "headwater-consumer", **_SILENT, **(secured or {})}


def client_of(settings: ConsumerSettings) -> Client:
    """Return the settings of clients for the Kafka of the consumer's settings."""
    return kafka_client(settings.kafka_bootstrap_servers, settings.librdkafka())


def partitions_of(client: Client, topics: Iterable[str]) -> dict[str, int]:
    """Return the number of partitions of each topic, 0 for a topic that does not exist; raise ServerUnavailable."""
    known = _metadata(client).topics
    return {topic: len(known[topic].partitions) if topic in known else 0 for topic in topics}


def cluster_of(client: Client) -> str:
    """Return the id of the Kafka cluster; raise ServerUnavailable."""
    return str(_metadata(client).cluster_id)


def _metadata(client: Client) -> Any:
    refusals = Refusals()
    admin = AdminClient(client | {"error_cb": refusals.heard})
    try:
        return admin.list_topics(timeout=REQUEST_TIMEOUT)
    except KafkaException as fault:
        admin.poll(0)  # delivers the errors of the connection
        raise unreachable(client, fault, refusals.hint) from fault


def topic_id_of(client: Client, topic: str) -> str:
    """Return the id that distinguishes a topic from an earlier topic of the same name.

    It is empty if the topic does not exist or if Kafka has no topic ids. Raises ServerUnavailable.
    """
    admin = AdminClient(client)
    try:
        described = admin.describe_topics(TopicCollection([topic]), request_timeout=REQUEST_TIMEOUT)[topic].result()
    except KafkaException as fault:
        if fault.args[0].code() in _WITHOUT_ID:
            return ""
        raise unreachable(client, fault) from fault
    found = str(described.topic_id)
    return "" if found == NO_TOPIC_ID else found


_WITHOUT_ID = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNSUPPORTED_FEATURE)


def first_offsets(client: Client, topic: str) -> dict[int, int]:
    """Return the log start offset of each partition; earlier messages were deleted. Raises ServerUnavailable."""
    return _offsets(client, topic, OffsetSpec.earliest())  # type: ignore[no-untyped-call]


def end_offsets(client: Client, topic: str) -> dict[int, int]:
    """Return the offset after the last message of each partition. Raises ServerUnavailable."""
    return _offsets(client, topic, OffsetSpec.latest())  # type: ignore[no-untyped-call]


def _offsets(client: Client, topic: str, spec: Any) -> dict[int, int]:
    # The client must live until the answers have come: those of a deleted client never do.
    admin = AdminClient(client)
    requested = {TopicPartition(topic, at): spec for at in range(partitions_of(client, [topic])[topic])}
    if not requested:
        return {}
    try:
        found = admin.list_offsets(requested, request_timeout=REQUEST_TIMEOUT)
        return {place.partition: answer.result().offset for place, answer in found.items()}
    except KafkaException as fault:
        raise unreachable(client, fault) from fault


def unreachable(client: Client, fault: KafkaException, refusal: str | None = None) -> ServerUnavailable:
    """Return the error for a Kafka that does not answer, with its address; ``refusal``: why it refuses the connection."""
    reason = fault.args[0].str() if fault.args and isinstance(fault.args[0], KafkaError) else str(fault)
    hint = refusal or f"start it (`headwater up`) or correct the address ({reason})"
    return ServerUnavailable("Kafka", str(client["bootstrap.servers"]), hint)


def prepare_topics(client: Client, topic: str, dead_letter_topic: str) -> None:
    """Create missing topics, and raise the message limit of the dead-letter topic above that of the topic.

    New topics get the brokers' default number of partitions and replicas. The dead-letter topic is created without a
    retention time, so that letters stay until somebody handles them. Raises ServerUnavailable, ConfigError if the broker
    refuses.
    """
    admin = AdminClient(client)
    partitions = partitions_of(client, (topic, dead_letter_topic))
    if not partitions[topic]:
        _make(admin, NewTopic(topic, num_partitions=-1, replication_factor=-1))
        _await_topic(client, topic)
    if not partitions[dead_letter_topic]:
        largest = _largest_message(admin, topic) + SPARE_BYTES
        config = {"max.message.bytes": str(largest), "retention.ms": "-1"}
        _make(admin, NewTopic(dead_letter_topic, num_partitions=-1, replication_factor=-1, config=config))
    else:
        raise_message_limit(client, topic, dead_letter_topic)


def raise_message_limit(client: Client, topic: str, dead_letter_topic: str) -> None:
    """Raise the message limit of the dead-letter topic above that of the topic, which may have grown.

    Raises ConfigError if the broker refuses.
    """
    admin = AdminClient(client)
    largest = _largest_message(admin, topic)
    if _largest_message(admin, dead_letter_topic) <= largest:
        _enlarge(admin, dead_letter_topic, largest + SPARE_BYTES)


def _make(admin: AdminClient, topic: NewTopic) -> None:
    try:
        admin.create_topics([topic], operation_timeout=REQUEST_TIMEOUT, request_timeout=REQUEST_TIMEOUT)[
            topic.topic
        ].result()
    except KafkaException as fault:
        if fault.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise ConfigError(
                f"the topic {topic.topic} is missing and can't be created: {fault.args[0].str()}"
            ) from fault


def _await_topic(client: Client, topic: str) -> None:
    # A broker reports a new topic with a delay.
    give_up = time.monotonic() + REQUEST_TIMEOUT
    while not partitions_of(client, (topic,))[topic]:
        if time.monotonic() > give_up:
            raise ServerUnavailable("Kafka", str(client["bootstrap.servers"]), f"the new topic {topic} does not appear")
        time.sleep(0.05)


def _largest_message(admin: AdminClient, topic: str) -> int:
    resource = ConfigResource(ResourceType.TOPIC, topic)
    try:
        settings = admin.describe_configs([resource], request_timeout=REQUEST_TIMEOUT)[resource].result()
    except KafkaException as fault:
        raise ConfigError(f"the settings of topic {topic} can't be read: {fault.args[0].str()}") from fault
    return int(settings["max.message.bytes"].value)


def _enlarge(admin: AdminClient, topic: str, largest: int) -> None:
    entry = ConfigEntry("max.message.bytes", str(largest), incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    try:
        admin.incremental_alter_configs([resource], request_timeout=REQUEST_TIMEOUT)[resource].result()
    except KafkaException as fault:
        hint = f"set max.message.bytes of the topic {topic} to {largest} or more"
        raise ConfigError(f"{hint}, since every message must fit there ({fault.args[0].str()})") from fault
