"""Retention on real servers: the command, what the stream refuses afterwards, and a graph that was restored."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest

from headwater_consumer.kafka.brokers import kafka_client
from headwater_consumer.kafka.dead_letters import letters_on
from headwater_graph.audit.check import check
from headwater_graph.store.neo4j_store import Neo4jStore

from ..feeding import differences, dumped, feed
from ..laws.horizon import dump_behind
from ..laws.model import dump as model_dump
from ..laws.wire import instant
from ..store.empty import emptied
from .consuming import Room

pytestmark = pytest.mark.end_to_end

HORIZON = "2026-01-10T00:00:00Z"


def event(run: str, day: int, kind: str = "COMPLETE", **more: Any) -> bytes:
    answer: dict[str, Any] = {
        "eventTime": f"2026-01-{day:02}T00:00:00Z",
        "eventType": kind,
        "run": {"runId": run},
        "job": {"namespace": "n", "name": "j"},
        "inputs": [{"namespace": "n", "name": "in"}],
        "outputs": [{"namespace": "n", "name": f"out{day // 5}"}],
    }
    return json.dumps(answer | more).encode()


def headwater(room: Room, *arguments: str, code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "headwater_cli", *arguments],
        env=room.environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def codes(room: Room) -> Counter[str]:
    client = kafka_client(room.servers.kafka_bootstrap_servers)
    letters = {letter.identity: letter for _, letter in letters_on(client, f"{room.topic}.dead")}
    return Counter(letter.code for letter in letters.values())


FIRST = [
    *(event(f"r{day}", day) for day in range(1, 15)),
    event("open", 2, "START"),
    event("open-late", 12, "START"),
]
REFUSED = [event("unknown", 3), event("r2", 4), event("parted", 5, "START"), event("r14-parent", 9)]
TAKEN = [event("parted", 11), event("open", 6, "COMPLETE"), event("open-late", 7, "RUNNING"), event("new", 15)]


def test_runs_before_the_horizon_are_removed_and_their_later_events_are_dead_letters(
    room: Room, graph: Neo4jStore
) -> None:
    room.publish(FIRST)
    room.consume()
    shown = headwater(room, "graph", "retain", "--older-than", HORIZON)
    assert "nothing is changed" in shown
    assert dumped(graph) == model_dump(FIRST)
    answer = json.loads(headwater(room, "graph", "retain", "--older-than", HORIZON, "--apply", "--json"))
    assert answer["horizon"] == "2026-01-10T00:00:00.000000Z"
    assert answer["removed"]["runs"] == answer["going"]["runs"]["count"] == 9
    assert answer["going"]["runs"]["oldest"] == "2026-01-01T00:00:00.000000Z"
    assert "only moves forward" in headwater(room, "graph", "retain", "--older-than", "2026-01-09", "--apply", code=2)
    room.publish([*TAKEN, *REFUSED, *TAKEN])
    room.consume()
    horizon = instant(HORIZON)
    assert horizon is not None
    expected, actual = dump_behind(FIRST, [(horizon, [*REFUSED, *TAKEN])]), dumped(graph)
    assert actual == expected, differences(expected, actual)
    assert codes(room) == {"before_horizon": len(REFUSED)}
    assert list(check(graph)) == []


def offsets(graph: Neo4jStore) -> str:
    records, _, _ = graph.driver.execute_query("MATCH (w:Writer) RETURN w.offsets AS offsets")
    return str(records[0]["offsets"])


def test_a_graph_restored_from_an_older_copy_or_created_again_gets_the_missing_messages(
    room: Room, graph: Neo4jStore
) -> None:
    room.publish(FIRST[:8])
    room.consume()
    copy = offsets(graph)
    assert sum(json.loads(copy)[room.topic].values()) == 8
    room.publish(FIRST[8:])
    room.consume()
    assert sum(json.loads(offsets(graph))[room.topic].values()) == len(FIRST), "a second start forgot partitions"
    emptied(graph)
    feed(graph, FIRST[:8])
    graph.driver.execute_query("MATCH (w:Writer {name: 'consumer'}) SET w.offsets = $offsets", offsets=copy)
    room.consume()
    assert dumped(graph) == model_dump(FIRST)
    emptied(graph)
    room.consume()
    assert dumped(graph) == model_dump(FIRST)
