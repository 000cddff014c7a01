"""Kafka to Neo4j by Spark: the dump is the same bytes however the events were delivered (the theorem, on real servers)."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headwater_graph.store.neo4j_store import Neo4jStore

from ..feeding import differences, dumped
from ..golden.cases import all_cases
from ..laws.model import dump as model_dump
from .consuming import PATIENCE, Room, until_batch, until_writer

pytestmark = pytest.mark.end_to_end

MESSAGES = [message for case in all_cases() for message in case.messages]
FEW = MESSAGES[:10]


def agrees(graph: Neo4jStore, messages: list[bytes]) -> None:
    expected, actual = model_dump(messages), dumped(graph)
    assert actual == expected, differences(expected, actual)


def test_events_fed_once_give_the_dump_of_the_reference_model(room: Room, graph: Neo4jStore) -> None:
    room.publish(MESSAGES)
    room.consume()
    agrees(graph, MESSAGES)


def test_events_fed_twice_shuffled_in_batches_of_one_give_the_same_bytes(room: Room, graph: Neo4jStore) -> None:
    shuffled = FEW * 2
    random.Random(3).shuffle(shuffled)
    room.publish(shuffled)
    # Spark rounds its share of each partition up, so a batch has one message of each of the four at most.
    room.consume(HEADWATER_MAX_OFFSETS_PER_TRIGGER="1")
    agrees(graph, FEW)


def test_a_consumer_killed_and_started_again_neither_loses_nor_repeats_messages(room: Room, graph: Neo4jStore) -> None:
    shuffled = MESSAGES * 2
    random.Random(4).shuffle(shuffled)
    room.publish(shuffled)
    process = room.start(HEADWATER_MAX_OFFSETS_PER_TRIGGER="60")
    until_batch(graph, 1, process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    room.consume(HEADWATER_MAX_OFFSETS_PER_TRIGGER="1000")
    agrees(graph, MESSAGES)


def test_messages_that_spark_counts_as_done_and_the_graph_misses_are_read_again(room: Room, graph: Neo4jStore) -> None:
    process = room.start()
    until_writer(graph, process)
    with graph.driver.session() as session, session.begin_transaction() as other:
        other.run("MATCH (w:Writer {name: 'consumer'}) SET w.holder = 'another'").consume()
        room.publish(FEW)
        done = room.folder / "checkpoint" / "commits" / "0"
        end = time.monotonic() + PATIENCE
        while not done.exists():
            assert process.poll() is None, "the consumer ended"
            assert time.monotonic() < end, "the batch is not handed over"
            time.sleep(0.1)
        process.send_signal(signal.SIGKILL)
        process.wait()
        other.rollback()
    assert dumped(graph) == b""
    room.consume(HEADWATER_MAX_OFFSETS_PER_TRIGGER="7")
    agrees(graph, FEW)
    room.consume()
    log = (room.folder / "consume.log").read_text()
    assert 1 <= log.count("reading messages again that are missing in the graph") <= len(FEW)


CLIENT = """
from datetime import UTC, datetime
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
client = OpenLineageClient()
for state, inputs, outputs in (
    (RunState.START, [InputDataset("db", "orders")], []),
    (RunState.COMPLETE, [], [OutputDataset("db", "report")]),
):
    client.emit(RunEvent(eventTime=datetime.now(UTC).isoformat(), eventType=state, job=Job("plain", "report"),
                         run=Run("0190a000-0000-7000-8000-000000000001"), producer="urn:test",
                         inputs=inputs, outputs=outputs))
client.close()
"""


def test_a_plain_openlineage_client_and_real_events_reach_the_graph(
    room: Room, graph: Neo4jStore, example_data: Path
) -> None:
    settings = {
        "OPENLINEAGE__TRANSPORT__TYPE": "kafka",
        "OPENLINEAGE__TRANSPORT__TOPIC": room.topic,
        "OPENLINEAGE__TRANSPORT__CONFIG": json.dumps({"bootstrap.servers": room.servers.kafka_bootstrap_servers}),
    }
    subprocess.run([sys.executable, "-c", CLIENT], env=room.environment(**settings), check=True, timeout=120)
    real = [path.read_bytes() for path in sorted((example_data / "openlineage/events").glob("*/events/*.json"))]
    assert len(real) == 10
    room.publish(real)
    room.consume()
    lines = [json.loads(line) for line in dumped(graph).splitlines()]
    (run,) = [line for line in lines if line["kind"] == "run" and line["id"].startswith("0190a000")]
    assert (run["state"], run["reads"][0][0], run["writes"][0][0]) == ("COMPLETE", ["db", "orders"], ["db", "report"])
    assert set(model_dump(real).splitlines()) <= set(dumped(graph).splitlines())
