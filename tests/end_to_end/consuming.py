"""The consumer as a user runs it: ``headwater consume`` in a process of its own, on real servers."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Producer

import headwater_stack
from headwater_graph.store.neo4j_store import Neo4jStore

from ..servers import Servers

PATIENCE = 300
"""Seconds after which a consumer that has still not done its work is taken for hung."""


@dataclass(frozen=True, slots=True)
class Room:
    """Where a consumer works: its servers, its topic, and a folder for checkpoint and log."""

    servers: Servers
    topic: str
    folder: Path

    def environment(self, **more: str) -> dict[str, str]:
        stored = {
            name: value for name, value in os.environ.items() if not name.startswith(("HEADWATER_", "OPENLINEAGE"))
        }
        caches = {name: os.environ[name] for name in ("HEADWATER_CACHE",) if name in os.environ}
        return (
            stored
            | caches
            | {
                "HEADWATER_HOME": str(self.folder / "home"),
                "HEADWATER_KAFKA_BOOTSTRAP_SERVERS": self.servers.kafka_bootstrap_servers,
                "HEADWATER_KAFKA_TOPIC": self.topic,
                "HEADWATER_NEO4J_URI": self.servers.neo4j_uri,
                "HEADWATER_NEO4J_USER": self.servers.neo4j_user,
                "HEADWATER_NEO4J_PASSWORD": self.servers.neo4j_password,
                "HEADWATER_CHECKPOINT": str(self.folder / "checkpoint"),
                "JAVA_HOME": str(headwater_stack.spark_java_home()),
                "PYSPARK_PYTHON": sys.executable,
            }
            | more
        )

    def start(self, *flags: str, **settings: str) -> subprocess.Popen[bytes]:
        """Start ``headwater consume`` in the background."""
        command = [sys.executable, "-m", "headwater_cli", "consume", *flags]
        with (self.folder / "consume.log").open("ab") as log:
            return subprocess.Popen(command, env=self.environment(**settings), stdout=log, stderr=log)

    def log(self) -> str:
        """Return what consumers have logged so far."""
        return (self.folder / "consume.log").read_text()

    def consume(self, **settings: str) -> None:
        """Consume all that is there, and fail with the end of the log where that fails."""
        done = self.start("--available-now", **settings).wait(PATIENCE)
        assert done == 0, self.log()[-3000:]

    def publish(self, messages: Iterable[bytes]) -> None:
        """Put messages on the topic with keys as stock clients choose them: not by run."""
        producer = Producer({"bootstrap.servers": self.servers.kafka_bootstrap_servers})
        dice = random.Random(5)
        for message in messages:
            producer.produce(self.topic, message, key=str(dice.randint(0, 9)))
            producer.poll(0)
        assert producer.flush(30) == 0


def written_batch(store: Neo4jStore) -> int:
    """Return the number of the batch that was written last, -1 before the first."""
    records, _, _ = store.driver.execute_query("MATCH (w:Writer) RETURN w.batch AS batch")
    # A writer that has only stored the id of its topic has no batch yet.
    return -1 if not records or records[0]["batch"] is None else records[0]["batch"]


def until_writer(store: Neo4jStore, process: subprocess.Popen[bytes]) -> None:
    """Wait until the consumer has stored the id of its topic, which it does before it reads anything."""
    _until(lambda: bool(store.driver.execute_query("MATCH (w:Writer) RETURN w").records), process)


def until_batch(store: Neo4jStore, number: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until a batch is written."""
    _until(lambda: written_batch(store) >= number, process)


def _until(holds: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert process.poll() is None, "the consumer ended"
        assert time.monotonic() < end, "the consumer is hung"
        time.sleep(0.1)
