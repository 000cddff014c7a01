"""The consumer as a process: connections, assembly of its parts, and signals."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from headwater_avro.errors import ConfigError, HeadwaterError
from headwater_avro.registry import NO_REGISTRY, Schemas, schemas_of
from headwater_consumer.batch_processor import BatchProcessor, Writer
from headwater_consumer.faults import spark_faults_in_one_line
from headwater_consumer.kafka.brokers import Client, client_of, cluster_of, prepare_topics
from headwater_consumer.kafka.dead_letters import KafkaDeadLetters
from headwater_consumer.kafka.messages import KafkaMessages
from headwater_consumer.monitoring.health import HealthServer, Status
from headwater_consumer.monitoring.metrics import Metrics
from headwater_consumer.monitoring.watchdog import Watchdog
from headwater_consumer.session import jars_of, spark_session
from headwater_consumer.stream import Stream

if TYPE_CHECKING:
    from headwater_consumer.config import ConsumerSettings
    from headwater_graph.store.neo4j_store import Neo4jStore

logger = logging.getLogger("headwater.consumer")

OpenWriter: TypeAlias = "Callable[[ConsumerSettings], Writer]"
"""Connects to the graph; raises ServerUnavailable if it does not answer."""


@dataclass(frozen=True, slots=True)
class Spark:
    """Spark's requirements on the machine: the jars of its Kafka source and, unless JAVA_HOME is set, a Java home."""

    jars: Sequence[Path]
    java_home: Path | None = None


def consume(
    settings: ConsumerSettings,
    *,
    available_now: bool,
    spark: Spark | None = None,
    open_writer: OpenWriter | None = None,
) -> None:
    """Update the graph until SIGTERM or SIGINT, or with ``available_now`` until the topic is read.

    Messages that the checkpoint counts as done but that are missing in the graph are read first. Raises ServerUnavailable if
    Kafka or Neo4j does not answer at the start, ConfigError for wrong settings, StreamFailed if the stream fails. A server
    that becomes unavailable later is waited for.
    """
    found = spark or Spark(jars_of(settings.spark_jars))
    if not found.jars:
        raise ConfigError("HEADWATER_SPARK_JARS is not set: `headwater consume` fetches the jars, or name them")
    schemas = schemas_for(settings)
    settings.keys()  # a wrong file ends the start, before anything is connected
    stop, metrics = threading.Event(), Metrics()
    status = Status(metrics, patience=settings.progress_timeout)
    kafka = client_of(settings)
    with ExitStack() as exits:
        exits.enter_context(_stopped_by_signals(stop))
        exits.enter_context(Watchdog(status, stop, settings.drain_timeout))
        exits.enter_context(spark_faults_in_one_line())
        if settings.http_port:
            exits.enter_context(HealthServer(status, metrics, settings.http_host, settings.http_port))
        prepare_topics(kafka, settings.kafka_topic, settings.dead_letter_topic)
        writer = (open_writer or open_graph)(settings)
        graph = _neo4j_of(writer)
        _note_commits(writer, status)
        if graph is not None:
            threading.Thread(target=_warm_up, args=(graph,), name="headwater-warming", daemon=True).start()
        session = exits.enter_context(spark_session(settings, found.jars, found.java_home))
        # Spark takes SIGINT for itself when it starts.
        exits.enter_context(_stopped_by_signals(stop))
        dead_letters = KafkaDeadLetters(settings.dead_letter_topic, kafka, metrics.dead_letter_refused)
        messages = KafkaMessages(settings.kafka_topic, kafka)
        processor = BatchProcessor(
            writer,
            dead_letters,
            messages,
            status,
            stop=stop,
            schemas=schemas,
            decompression=settings.decompression(),
            keys=settings.keys(),
            held_by=graph.held_by if graph else None,
        )
        checkpoint = checkpoint_of(settings, kafka)
        stream = Stream(session, settings, processor, status, kafka, checkpoint=checkpoint, stop=stop)
        logger.info("consuming", extra={"topic": settings.kafka_topic, "kafka": settings.kafka_bootstrap_servers})
        if graph is not None:
            stream.catch_up(graph.committed_offsets(), messages)
        stream.run(available_now=available_now)
    logger.info("stopped")


def _neo4j_of(writer: Writer) -> Neo4jStore | None:
    """Return the writer's store; None if it is not a ``Neo4jStore``."""
    from headwater_graph.store.neo4j_store import Neo4jStore

    store = getattr(writer, "store", None)
    return store if isinstance(store, Neo4jStore) else None


def _note_commits(writer: Writer, status: Status) -> None:
    """Let every committed transaction count as progress: a batch may need many."""
    from headwater_graph.apply.batch_writer import GraphWriter

    if isinstance(writer, GraphWriter):
        writer.committed = status.progressed


def _warm_up(graph: Neo4jStore) -> None:
    """Warm up Neo4j while Spark starts; errors are only logged, since the first batch reports them."""
    from headwater_graph.store.plan_cache import warm_up

    try:
        warm_up(graph)
    except HeadwaterError as fault:
        logger.info("the graph was not warmed up", extra={"reason": str(fault)})


def schemas_for(settings: ConsumerSettings) -> Schemas:
    """Return the schemas of the configured registry, or ``NO_REGISTRY``; raise ConfigError for wrong settings."""
    registry = settings.registry()
    return NO_REGISTRY if registry is None else schemas_of(registry)


def open_graph(settings: ConsumerSettings) -> Writer:
    """Connect to Neo4j, create the graph's schema if it is missing, and return a writer.

    Raises ServerUnavailable, ConfigError if the account is refused.
    """
    from headwater_graph.apply.batch_writer import GraphWriter
    from headwater_graph.settings import graph_settings
    from headwater_graph.store import schema
    from headwater_graph.store.neo4j_store import Neo4jStore

    where = graph_settings(**settings.neo4j())
    schema.init(where)
    return GraphWriter(Neo4jStore(where, holder=f"{socket.gethostname()}:{os.getpid()}"))


def checkpoint_of(settings: ConsumerSettings, kafka: Client) -> str:
    """Return the folder of Spark's checkpoint: the setting, else a folder under ``home`` by Kafka cluster and topic."""
    if settings.checkpoint:
        return settings.checkpoint
    return str(settings.home.expanduser() / "checkpoint" / cluster_of(kafka) / settings.kafka_topic)


@contextmanager
def _stopped_by_signals(stop: threading.Event) -> Iterator[None]:
    """Set ``stop`` at SIGTERM and SIGINT; the second SIGINT interrupts as usual."""

    def request_stop(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        # Setting the event here could block on a lock that the interrupted thread holds.
        threading.Thread(target=stop.set, name="headwater-stop").start()

    before = {number: signal.signal(number, request_stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
