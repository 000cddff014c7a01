"""Apache Kafka as a single broker that is also its controller (KRaft)."""

from __future__ import annotations

import base64
import os
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headwater_avro.errors import ServerUnavailable

from .files import replace_text
from .java import Program
from .server import LOOPBACK, Place, is_open, run_tool

_ANSWER = 2.0
_TOPICS_MADE = 30.0
_POLL = 0.05

_SETTINGS = """\
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller}
advertised.listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
controller.quorum.voters=1@{host}:{controller}
log.dirs={data}
auto.create.topics.enable=false
num.partitions=1
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
"""

_LOGGING = """\
status = warn
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p %c{1}: %m%n
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
logger.settings.name = org.apache.kafka.common.config
logger.settings.level = warn
logger.kafkaSettings.name = kafka.server.KafkaConfig
logger.kafkaSettings.level = warn
"""

SOURCE_BYTES = 1_048_588
"""The largest message of the event topic in bytes; Kafka's default."""

DEAD_LETTER_BYTES = 2 * SOURCE_BYTES
"""The largest dead letter in bytes: an unchanged message with additional headers."""

LINEAGE_TOPICS: Mapping[str, int] = {"lineage.events": 4, "lineage.events.dead": 1}
"""The topics of a stack and their partitions."""

_DEAD = ".dead"


class KafkaBroker:
    """The Kafka of a stack; HEADWATER_KAFKA_HEAP sets its heap (512m)."""

    name = "kafka"
    title = "Kafka"
    groups = ("kafka",)
    port_count = 2

    def install(self, place: Place, jars: Sequence[Path]) -> None:
        port, controller = place.ports
        data = place.folder / "data"
        place.folder.mkdir(parents=True, exist_ok=True)
        text = _SETTINGS.format(host=LOOPBACK, port=port, controller=controller, data=data)
        replace_text(_settings(place), text)
        replace_text(place.folder / "log4j2.properties", _LOGGING)
        if not (data / "meta.properties").exists():
            self._format(place, jars)

    def command(self, place: Place, jars: Sequence[Path]) -> Sequence[str]:
        heap = os.environ.get("HEADWATER_KAFKA_HEAP") or "512m"
        program = Program("kafka.Kafka", jars, [str(_settings(place))], _flags(place), heap)
        return program.command(place.folder / "java.args")

    def answers(self, place: Place) -> bool:
        if not is_open(place.ports[0]):
            return False
        from confluent_kafka import KafkaException

        try:
            return bool(admin(place.address).list_topics(timeout=_ANSWER).brokers)
        except KafkaException:
            return False

    def _format(self, place: Place, jars: Sequence[Path]) -> None:
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "_")
        arguments = ["format", "-t", cluster, "-c", str(_settings(place))]
        program = Program("kafka.tools.StorageTool", jars, arguments, _flags(place))
        command = program.command(place.folder / "format.args")
        run_tool(self.title, command, place.folder / "format.log", os.environ)


def admin(bootstrap_servers: str) -> Any:
    """Return a Kafka admin client that does not write to stderr while the broker is starting."""
    from confluent_kafka.admin import AdminClient

    return AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})


def make_topics(bootstrap_servers: str, topics: Mapping[str, int] = LINEAGE_TOPICS) -> None:
    """Create the topics (name to partitions) that do not exist, without a retention time, so that events can be replayed.

    A topic whose name ends in ``.dead`` accepts larger messages than the others. Returns when the broker serves them all;
    raises KafkaException, or ServerUnavailable if it does not within 30 seconds.
    """
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]

    new = [NewTopic(name, partitions, 1, config=_topic_settings(name)) for name, partitions in topics.items()]
    client = admin(bootstrap_servers)  # its futures end with it
    for made in client.create_topics(new, request_timeout=_TOPICS_MADE).values():
        try:
            made.result()
        except KafkaException as fault:
            if fault.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise
    _await_topics(client, bootstrap_servers, topics)


def _await_topics(client: Any, bootstrap_servers: str, topics: Mapping[str, int]) -> None:
    # The controller reports a topic as created before the broker knows it.
    end = time.monotonic() + _TOPICS_MADE
    while not _serves(client, topics):
        if time.monotonic() > end:
            raise ServerUnavailable(
                "Kafka", bootstrap_servers, f"it has created {', '.join(topics)} but does not serve them"
            )
        time.sleep(_POLL)


def _serves(client: Any, topics: Mapping[str, int]) -> bool:
    known = client.list_topics(timeout=_TOPICS_MADE).topics
    partitions = [part for name in topics if name in known for part in known[name].partitions.values()]
    return len(partitions) >= sum(topics.values()) and all(part.leader > 0 for part in partitions)


def _topic_settings(name: str) -> dict[str, str]:
    size = DEAD_LETTER_BYTES if name.endswith(_DEAD) else SOURCE_BYTES
    return {"retention.ms": "-1", "max.message.bytes": str(size)}


def _settings(place: Place) -> Path:
    return place.folder / "server.properties"


def _flags(place: Place) -> list[str]:
    logging = place.folder / "log4j2.properties"
    return [f"-Dlog4j2.configurationFile={logging}", "-Djava.awt.headless=true", "-XX:+UseSerialGC"]
