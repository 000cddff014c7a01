"""Messages that Kafka has deleted before they were in the graph, and a topic that was deleted and created again."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from headwater_graph.store.neo4j_store import Neo4jStore

from ..consumer.topics import create_again, delete_messages
from ..feeding import differences, dumped
from ..golden.cases import all_cases
from ..laws.model import dump as model_dump
from .consuming import PATIENCE, Room

pytestmark = pytest.mark.end_to_end

MESSAGES = [message for case in all_cases() for message in case.messages]
FEW, MORE, MOST = MESSAGES[:10], MESSAGES[10:30], MESSAGES[30:80]
ALL = dict.fromkeys(range(4), -1)


def client(room: Room) -> dict[str, Any]:
    return {"bootstrap.servers": room.servers.kafka_bootstrap_servers}


def consumed(room: Room, **settings: str) -> tuple[int, str]:
    """Run the consumer to its end; its exit code and what it has logged."""
    log = room.folder / "consume.log"
    before = len(log.read_text()) if log.exists() else 0
    code = room.start("--available-now", **settings).wait(PATIENCE)
    return code, log.read_text()[before:]


def writer_of(graph: Neo4jStore) -> dict[str, Any]:
    records, _, _ = graph.driver.execute_query("MATCH (w:Writer {name: 'consumer'}) RETURN properties(w) AS writer")
    return dict(records[0]["writer"])


def restored_to(graph: Neo4jStore, writer: dict[str, Any]) -> None:
    """Let the graph say what it said earlier, as one that was restored from an older copy does."""
    graph.driver.execute_query("MATCH (w:Writer {name: 'consumer'}) SET w = $writer", writer=writer)


def doctored(room: Room) -> str:
    command = [sys.executable, "-m", "headwater_cli", "doctor"]
    return subprocess.run(command, env=room.environment(), capture_output=True, text=True, check=False).stdout


def test_a_restored_graph_whose_missing_messages_kafka_has_deleted_stops_the_consumer(
    room: Room, graph: Neo4jStore
) -> None:
    room.publish(FEW)
    room.consume()
    before = writer_of(graph)
    room.publish(MORE)
    room.consume()
    restored_to(graph, before)
    delete_messages(client(room), room.topic, ALL)
    room.publish(MOST)

    code, log = consumed(room)
    assert code == 1, log
    written = json.loads(before["offsets"])[room.topic]
    ends = {partition: end for partition, end in firsts(room).items() if end > written.get(str(partition), 0)}
    for partition, end in ends.items():
        begin = written.get(str(partition), 0)
        assert f"{room.topic}/{partition} from {begin} to {end - 1} ({end - begin})" in log
    assert f"{len(MORE)} offsets" in log
    assert "HEADWATER_FAIL_ON_DATA_LOSS=false" in log
    assert writer_of(graph)["offsets"] == before["offsets"]

    code, log = consumed(room, HEADWATER_FAIL_ON_DATA_LOSS="false")
    assert code == 0, log
    assert f"{len(MORE)} messages were deleted by Kafka before they were in the graph" in doctored(room)

    code, log = consumed(room)
    assert code == 0, log
    expected, actual = model_dump(FEW + MORE + MOST), dumped(graph)
    assert actual == expected, differences(expected, actual)


def firsts(room: Room) -> dict[int, int]:
    from headwater_consumer.kafka.brokers import first_offsets

    return first_offsets(client(room), room.topic)


def test_messages_deleted_before_they_were_read_stop_the_consumer_with_their_offsets(
    room: Room, graph: Neo4jStore
) -> None:
    room.publish(FEW)
    room.consume()
    room.publish(MORE)
    delete_messages(client(room), room.topic, ALL)
    room.publish(MOST)
    code, log = consumed(room)
    assert code == 1, log
    assert f"{len(MORE)} offsets" in log
    assert "Python Proxy" not in log
    code, log = consumed(room, HEADWATER_FAIL_ON_DATA_LOSS="false")
    assert code == 0, log
    expected, actual = model_dump(FEW + MOST), dumped(graph)
    assert actual == expected, differences(expected, actual)


def test_a_first_start_on_a_topic_whose_first_messages_are_deleted_is_not_a_loss(room: Room, graph: Neo4jStore) -> None:
    room.publish(FEW)
    delete_messages(client(room), room.topic, ALL)
    room.publish(MORE)
    code, log = consumed(room)
    assert code == 0, log
    expected, actual = model_dump(MORE), dumped(graph)
    assert actual == expected, differences(expected, actual)


def test_a_topic_created_again_is_refused_without_the_setting_and_read_completely_with_it(
    room: Room, graph: Neo4jStore
) -> None:
    room.publish(FEW)
    room.consume()
    create_again(client(room), room.topic, 4)
    room.publish(MOST)

    code, log = consumed(room)
    assert code == 2, log
    assert f"the topic {room.topic} was deleted and created again" in log
    assert "--topic-was-recreated" in log

    process = room.start("--available-now", "--topic-was-recreated")
    assert process.wait(PATIENCE) == 0, (room.folder / "consume.log").read_text()[-3000:]
    expected, actual = model_dump(FEW + MOST), dumped(graph)
    assert actual == expected, differences(expected, actual)

    # Left set, as in a container, the setting changes nothing more.
    room.publish(MORE)
    code, log = consumed(room, HEADWATER_TOPIC_WAS_RECREATED="true")
    assert code == 0, log
    assert "set aside" not in log
    expected, actual = model_dump(FEW + MOST + MORE), dumped(graph)
    assert actual == expected, differences(expected, actual)


def test_a_topic_created_again_is_read_completely_if_the_checkpoint_was_deleted(room: Room, graph: Neo4jStore) -> None:
    room.publish(FEW)
    room.consume()
    create_again(client(room), room.topic, 4)
    room.publish(MOST)
    code, log = consumed(room, HEADWATER_CHECKPOINT=str(room.folder / "another"))
    assert code == 0, log
    expected, actual = model_dump(FEW + MOST), dumped(graph)
    assert actual == expected, differences(expected, actual)
