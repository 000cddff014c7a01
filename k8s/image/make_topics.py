"""Create the topics of events and dead letters: ``make-topics --partitions N --replicas N [--config NAME=VALUE]…``.

Existing topics stay unchanged, so this can run again at any time. Exit codes as everywhere: 0 the topics exist,
2 wrong settings or Kafka refuses, 3 Kafka does not answer.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from headwater_avro.errors import ConfigError, HeadwaterError, ServerUnavailable
from headwater_consumer.config import ConsumerSettings, load
from headwater_consumer.kafka.brokers import Client, kafka_client, partitions_of, prepare_topics

_TIMEOUT = 30.0


def make(settings: ConsumerSettings, partitions: int, replicas: int, config: Mapping[str, str]) -> bool:
    """Create missing topics; return whether the topic of events was missing. Raises ServerUnavailable, ConfigError."""
    client = kafka_client(settings.kafka_bootstrap_servers, settings.librdkafka())
    missing = not partitions_of(client, (settings.kafka_topic,))[settings.kafka_topic]
    if missing:
        _create(client, NewTopic(settings.kafka_topic, partitions, replicas, config=dict(config)))
    prepare_topics(client, settings.kafka_topic, settings.dead_letter_topic)
    return missing


def _create(client: Client, topic: NewTopic) -> None:
    admin = AdminClient(client)  # its futures need it alive
    try:
        admin.create_topics([topic], operation_timeout=_TIMEOUT)[topic.topic].result()
    except KafkaException as fault:
        if fault.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise ConfigError(f"the topic {topic.topic} cannot be created: {fault.args[0].str()}") from fault


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make-topics")
    parser.add_argument("--partitions", type=int, required=True)
    parser.add_argument("--replicas", type=int, required=True)
    parser.add_argument("--config", type=_pair, action="append", default=[])
    return parser.parse_args(arguments)


def main() -> int:
    """Read the arguments and HEADWATER_KAFKA_*; return the exit code."""
    arguments = _parse(sys.argv[1:])
    try:
        settings = load(environ=os.environ, needs=frozenset({"kafka"})).settings
        was_missing = make(settings, arguments.partitions, arguments.replicas, dict(arguments.config))
    except HeadwaterError as fault:
        print(f"make-topics: {fault}", file=sys.stderr)
        return 3 if isinstance(fault, ServerUnavailable) else 2
    status = "was created" if was_missing else "exists"
    print(f"{settings.kafka_topic} {status}; dead letters are sent to {settings.dead_letter_topic}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
