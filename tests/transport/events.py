"""Events to send, and functions that read them from Kafka and from disk."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, TopicPartition

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


def run_ids(messages: list[tuple[bytes | None, bytes]]) -> set[str]:
    return {json.loads(value)["run"]["runId"] for _, value in messages}


def spooled_run_ids(directory: Path, *suffixes: str) -> list[str]:
    """Return the runIds on disk, oldest first."""
    found = []
    for path in segments(directory, *(suffixes or (".spool",))):
        segment = claim(path)
        assert segment is not None, f"{path} is locked"
        found += [json.loads(message.value)["run"]["runId"] for message in segment.messages()]
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
