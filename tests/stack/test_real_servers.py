"""The real Kafka and the real Neo4j through their whole life, in a home of their own."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import neo4j
import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import ConfigResource  # type: ignore[attr-defined]
from neo4j.exceptions import AuthError

import headwater_stack
from headwater_stack import DEAD_LETTER_BYTES, SOURCE_BYTES, Addresses
from headwater_stack.kafka_broker import admin

pytestmark = pytest.mark.end_to_end

_LISTENING = "0A"
_LOOPBACK = ("0100007F", "0000000000000000FFFF00000100007F")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("real")
    headwater_stack.up(home)
    yield home
    headwater_stack.down(home)


def pids(home: Path) -> tuple[int, int]:
    kafka, neo4j = headwater_stack.status(home).servers
    assert kafka.pid is not None
    assert neo4j.pid is not None
    return kafka.pid, neo4j.pid


def get(addresses: Addresses, cypher: str, password: str | None = None) -> list[object]:
    auth = (addresses.neo4j_user, password or addresses.neo4j_password)
    with neo4j.GraphDatabase.driver(addresses.neo4j_uri, auth=auth) as driver:
        return [record[0] for record in driver.execute_query(cypher).records]


def send(addresses: Addresses, value: bytes) -> None:
    producer = Producer({"bootstrap.servers": addresses.kafka_bootstrap_servers})
    producer.produce("lineage.events", value)
    assert producer.flush(30) == 0


def received(addresses: Addresses, count: int) -> set[bytes | None]:
    settings = {
        "bootstrap.servers": addresses.kafka_bootstrap_servers,
        "group.id": "t",
        "auto.offset.reset": "earliest",
    }
    consumer = Consumer(settings)
    try:
        consumer.subscribe(["lineage.events"])
        values: set[bytes | None] = set()
        deadline = time.monotonic() + 60
        while len(values) < count and time.monotonic() < deadline:
            message = consumer.poll(1)
            if message is not None and message.error() is None:
                values.add(message.value())
        return values
    finally:
        consumer.close()


def listening_addresses(pid: int) -> set[str]:
    """Tell the local addresses, in hexadecimal, that a process listens on."""
    sockets = {str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()}
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTENING and f"socket:[{fields[9]}]" in sockets:
                found.add(fields[1].partition(":")[0])
    return found


def test_the_topics_are_there_and_a_dead_letter_may_be_bigger_than_its_event(home: Path) -> None:
    client = admin(headwater_stack.up(home).kafka_bootstrap_servers)
    topics = client.list_topics(timeout=10).topics
    names = ["lineage.events", "lineage.events.dead"]
    assert [len(topics[name].partitions) for name in names] == [4, 1]
    resources = [ConfigResource(ConfigResource.Type.TOPIC, name) for name in names]
    settings = [answer.result() for answer in client.describe_configs(resources).values()]
    assert [int(setting["max.message.bytes"].value) for setting in settings] == [SOURCE_BYTES, DEAD_LETTER_BYTES]
    assert SOURCE_BYTES < DEAD_LETTER_BYTES


def test_topics_that_are_there_are_left_alone(home: Path) -> None:
    headwater_stack.make_topics(headwater_stack.up(home).kafka_bootstrap_servers)


def test_a_second_up_finds_the_first(home: Path) -> None:
    first, processes = headwater_stack.up(home), pids(home)
    assert headwater_stack.up(home) == first
    assert pids(home) == processes
    assert headwater_stack.status(home).is_up


@pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="needs Linux's /proc to list listening sockets")
def test_nothing_listens_beyond_the_loopback_address(home: Path) -> None:
    headwater_stack.up(home)
    for pid in pids(home):
        listening = listening_addresses(pid)
        assert listening
        assert listening <= set(_LOOPBACK)


def test_neo4j_takes_its_generated_password_and_no_other(home: Path) -> None:
    addresses = headwater_stack.up(home)
    assert get(addresses, "RETURN 1") == [1]
    with pytest.raises(AuthError):
        get(addresses, "RETURN 1", password="neo4j")


def test_no_list_of_processes_shows_the_password(home: Path) -> None:
    password = headwater_stack.up(home).neo4j_password
    for pid in pids(home):
        assert password.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
    assert not list(home.rglob("initial-password"))


def test_data_survive_kill_9_and_down_and_up_until_they_are_reset(home: Path) -> None:
    first = headwater_stack.up(home)
    send(first, b"before the kill")
    get(first, "CREATE (:Kept {name: 'before'})")
    kafka, neo4j = pids(home)

    os.kill(kafka, signal.SIGKILL)
    assert headwater_stack.up(home) == first
    assert pids(home)[0] != kafka
    assert pids(home)[1] == neo4j
    send(first, b"after the kill")

    assert headwater_stack.down(home)
    assert headwater_stack.addresses(home) is None
    assert headwater_stack.up(home) == first
    assert received(first, 2) == {b"before the kill", b"after the kill"}
    assert get(first, "MATCH (n:Kept) RETURN n.name") == ["before"]

    anew = headwater_stack.up(home, reset=True)
    assert anew.neo4j_password != first.neo4j_password
    assert get(anew, "MATCH (n) RETURN count(n)") == [0]
    assert admin(anew.kafka_bootstrap_servers).list_topics(timeout=10).topics.keys() >= {"lineage.events"}
