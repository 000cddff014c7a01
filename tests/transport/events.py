"""Events to send, a broker in memory, and functions that read events from Kafka and from disk."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from headwater.transport.broker import Done, Message
from headwater.transport.spool import claim, segments


def run_event(run_id: str, event_type: str = "START", **more: Any) -> dict[str, Any]:
    return {
        "eventType": event_type,
        "eventTime": "2024-01-01T00:00:00Z",
        "run": {"runId": run_id, "facets": {}},
        "job": {"namespace": "n", "name": "j", "facets": {}},
        "inputs": [],
        "outputs": [],
    } | more


def emit_slowest(transport: Any, count: int, prefix: str = "r") -> float:
    """Emit ``count`` events; return the longest time that one ``emit`` took, in seconds."""
    slowest = 0.0
    for n in range(count):
        event = run_event(f"{prefix}{n}")
        begun = time.perf_counter()
        transport.emit(event)
        slowest = max(slowest, time.perf_counter() - begun)
    return slowest


def arrived(bootstrap_servers: str, topic: str, count: int, seconds: float = 15.0) -> list[tuple[bytes | None, bytes]]:
    """Return keys and values of the messages in the topic: at least ``count``, or those that came within ``seconds``."""
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "none", "enable.auto.commit": False})
    try:
        partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
        found: list[tuple[bytes | None, bytes]] = []
        deadline = time.monotonic() + seconds
        while len(found) < count and time.monotonic() < deadline:
            found += [(m.key(), m.value() or b"") for m in consumer.consume(1000, timeout=0.2) if not m.error()]
        return found
    finally:
        consumer.close()


def ends(bootstrap_servers: str, topic: str) -> dict[int, int]:
    """Return the offset at which each partition of the topic ends."""
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "none", "enable.auto.commit": False})
    try:
        partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        return {n: consumer.get_watermark_offsets(TopicPartition(topic, n), timeout=10)[1] for n in partitions}
    finally:
        consumer.close()


def arrived_since(bootstrap_servers: str, topic: str, before: dict[int, int]) -> list[bytes]:
    """Return the values of the messages that are in the topic now and were not ``before``; does not wait for others."""
    now = ends(bootstrap_servers, topic)
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "none", "enable.auto.commit": False})
    try:
        consumer.assign([TopicPartition(topic, n, offset) for n, offset in before.items()])
        found: list[bytes] = []
        while len(found) < sum(now[n] - before[n] for n in before):
            found += [message.value() or b"" for message in consumer.consume(1000, timeout=10) if not message.error()]
        return found
    finally:
        consumer.close()


def run_ids(messages: list[tuple[bytes | None, bytes]]) -> set[str]:
    return {json.loads(value)["run"]["runId"] for _, value in messages}


def spooled_run_ids(directory: Path, *suffixes: str) -> list[str]:
    """Return the runIds on disk, oldest first."""
    return [json.loads(value)["run"]["runId"] for _, value in spooled(directory, *suffixes)]


def spooled(directory: Path, *suffixes: str) -> list[tuple[bytes | None, bytes]]:
    """Return keys and values of the messages on disk, oldest first."""
    found: list[tuple[bytes | None, bytes]] = []
    for path in segments(directory, *(suffixes or (".spool",))):
        segment = claim(path)
        assert segment is not None, f"{path} is locked"
        found += [(message.key, message.value) for message in segment.messages()]
        segment.release()
    return found


def eventually(true: Any, seconds: float = 15.0) -> bool:
    """Return whether the function returns true within ``seconds``."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


class MemoryBroker:
    """A broker that stores messages in a list; ``available`` and ``refuses`` set how it responds."""

    def __init__(self, refuses: Callable[[Message], bool] = lambda _: False, room: int = 1_000) -> None:
        self.received: list[Message] = []
        self.available = True
        self._refuses = refuses
        self._room = room
        self._waiting: list[tuple[Message, Done]] = []

    def send(self, message: Message, done: Done) -> bool:
        if len(self._waiting) >= self._room:
            return False
        self._waiting.append((message, done))
        return True

    def poll(self, seconds: float) -> None:
        if not self.available:
            return
        waiting, self._waiting = self._waiting, []
        for message, done in waiting:
            if self._refuses(message):
                done(message, "refused", "configured to refuse")
            else:
                self.received.append(message)
                done(message, "delivered", "")

    def push(self, seconds: float) -> None:
        self.poll(seconds)

    def in_flight(self) -> int:
        return len(self._waiting)

    def recall(self) -> None:
        waiting, self._waiting = self._waiting, []
        for message, done in waiting:
            done(message, "unavailable", "recalled")
