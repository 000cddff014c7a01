"""A topic and its dead letters as a test sees them: what it sends, what lies there, and a stream over it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confluent_kafka import Producer

from headwater_consumer.batch_processor import BatchProcessor
from headwater_consumer.config import ConsumerSettings, load
from headwater_consumer.kafka.brokers import kafka_client
from headwater_consumer.kafka.dead_letters import DeadLetter, KafkaDeadLetters, letters_on, send_message, writing
from headwater_consumer.kafka.messages import KafkaMessages
from headwater_consumer.monitoring.health import Status
from headwater_consumer.monitoring.metrics import Metrics
from headwater_consumer.stream import Stream
from headwater_graph.apply.batch_writer import BatchPosition, BatchReport, Refused, batch_identity
from headwater_graph.apply.merged import Portion
from headwater_graph.rules.coalesce import MergedRow
from headwater_graph.store.writer_node import CommittedOffsets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass
class CollectingWriter:
    """A graph that keeps rows by kind and key; raises ``faults`` first, one per call; refuses the keys of ``refuses``."""

    rows: dict[tuple[str, bytes], list[bytes]] = field(default_factory=dict)
    positions: list[BatchPosition] = field(default_factory=list)
    batch_positions: list[BatchPosition] = field(default_factory=list)
    faults: Iterator[Exception] = field(default_factory=lambda: iter(()))
    refuses: dict[bytes, Any] = field(default_factory=dict)

    def prepare(self, rows: Iterable[MergedRow]) -> list[Portion]:
        return [Portion(list(rows))]

    def write(self, prepared: Iterable[Portion], position: BatchPosition) -> BatchReport:
        for fault in self.faults:
            raise fault
        refused = []
        for kind, key, payload, sources in chain.from_iterable(portion.rows for portion in prepared):
            if key in self.refuses:
                refused.append(Refused(kind, key, sources, *self.refuses[key]))
            else:
                self.rows.setdefault((kind, key), []).append(payload)
        self.positions.append(position)
        if not refused:
            self.batch_positions.append(position)
        return report(refused=refused, committed=not refused)

    def commit_offsets(self, position: BatchPosition) -> None:
        self.batch_positions.append(position)

    def committed_offsets(self) -> CommittedOffsets:
        return (
            CommittedOffsets(
                self.batch_positions[-1].offsets,
                batch_identity(self.batch_positions[-1].query_id, self.batch_positions[-1].batch_id),
            )
            if self.batch_positions
            else CommittedOffsets()
        )

    @property
    def runs(self) -> set[str]:
        return {key.decode() for kind, key in self.rows if kind == "run"}


def report(**given: Any) -> BatchReport:
    """A report of a batch in which nothing happened but what is told."""
    nothing: dict[str, Any] = {
        "late_runs": 0,
        "refolded_versions": 0,
        "deferred_transactions": 0,
        "phase_seconds": {},
        "refused": [],
    }
    return BatchReport(**nothing | given)


def run_event(run: str, **more: Any) -> dict[str, Any]:
    """A COMPLETE event of a run."""
    event = {
        "eventType": "COMPLETE",
        "eventTime": "2025-01-01T00:00:00Z",
        "run": {"runId": run},
        "job": {"namespace": "n", "name": "j"},
        "outputs": [{"namespace": "n", "name": "d"}],
    }
    return event | more


@dataclass
class Room:
    """A topic on real Kafka, a folder for checkpoints, and a Spark session if a stream runs in this process."""

    bootstrap_servers: str
    topic: str
    folder: Path
    spark: SparkSession | None = None
    writer: CollectingWriter = field(default_factory=CollectingWriter)
    stop: threading.Event = field(default_factory=threading.Event)
    metrics: Metrics = field(default_factory=Metrics)

    def __post_init__(self) -> None:
        self.client = kafka_client(self.bootstrap_servers)
        self.status = Status(self.metrics)

    def settings(self, **flags: Any) -> ConsumerSettings:
        addresses = {"kafka_bootstrap_servers": self.bootstrap_servers, "kafka_topic": self.topic, "neo4j_uri": "-"}
        return load(flags=addresses | flags).settings

    def send(self, values: Iterable[Any], **message: Any) -> None:
        """Send each value (bytes as they are, anything else as JSON), with the key, headers and so on that are given."""
        producer = Producer(writing(self.client))
        for value in values:
            send_message(producer, self.topic, value=_octets(value), **message)
        assert producer.flush(60) == 0

    def send_in_transactions(self, transactions: Sequence[Sequence[Any]], **message: Any) -> None:
        """Send the values of each transaction, which leaves an offset without a message behind them."""
        producer = Producer(writing(self.client) | {"transactional.id": self.topic})
        producer.init_transactions(60)
        for values in transactions:
            producer.begin_transaction()
            for value in values:
                producer.produce(self.topic, value=_octets(value), **message)
            producer.commit_transaction(60)

    def consume(self, **flags: Any) -> None:
        """Run the stream until what is on the topic is with the writer."""
        stream = self.stream(**flags)
        stream.catch_up(self.writer.committed_offsets(), KafkaMessages(self.topic, self.client))
        stream.run(available_now=True)

    def stream(self, **flags: Any) -> Stream:
        assert self.spark is not None
        settings = self.settings(**flags)
        dead_letters = KafkaDeadLetters(settings.dead_letter_topic, self.client, self.metrics.dead_letter_refused)
        messages = KafkaMessages(self.topic, self.client)
        cycle = BatchProcessor(
            self.writer,
            dead_letters,
            messages,
            self.status,
            stop=self.stop,
            decompression=settings.decompression(),
            first_wait=0.1,
        )
        return Stream(
            self.spark,
            settings,
            cycle,
            self.status,
            self.client,
            checkpoint=str(self.folder / "checkpoint"),
            stop=self.stop,
        )

    def letters(self) -> list[DeadLetter]:
        """What lies on the dead-letter topic, distinct letters only."""
        found = {letter.identity: letter for _, letter in letters_on(self.client, f"{self.topic}.dead")}
        return list(found.values())

    def stored(self, positions: Iterable[tuple[int, int]]) -> list[Any]:
        """The messages of the topic at some positions."""
        return list(KafkaMessages(self.topic, self.client).fetch(positions))


def _octets(value: Any) -> bytes | None:
    return value if isinstance(value, bytes | None) else json.dumps(value).encode()
