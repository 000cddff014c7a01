"""The archive and the replay on real Kafka, by the commands: what came back is what was there, and so is the graph."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from confluent_kafka import Producer

import headwater_stack
from headwater_consumer.archive.parts import parts_of
from headwater_consumer.archive.reader import check_archive, messages_in
from headwater_consumer.archive.storage import Folder
from headwater_consumer.kafka.brokers import kafka_client
from headwater_consumer.kafka.dead_letters import writing
from headwater_consumer.kafka.messages import Message, messages_on
from headwater_stack.kafka_broker import admin

from ..fake_graph.store import FakeStore
from ..feeding import dumped, feed
from ..servers import Servers

Sent = tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]]]


def run_event(number: int, kind: str) -> bytes:
    event = {
        "eventType": kind,
        "eventTime": f"2026-01-01T{number % 24:02d}:00:00Z",
        "run": {"runId": f"run-{number}"},
        "job": {"namespace": "ns", "name": f"job-{number % 5}", "facets": {"who": {"größe": number}}},
        "inputs": [{"namespace": "ns", "name": f"d{number % 3}"}],
        "outputs": [{"namespace": "ns", "name": f"d{number % 3 + 1}"}],
    }
    return json.dumps(event, ensure_ascii=False).encode()


def answer(runs: int) -> list[Sent]:
    """Events of runs, some with headers and without keys, and messages that are none."""
    sent: list[Sent] = []
    for number in range(runs):
        key = None if number % 7 == 0 else f"run-{number}".encode()
        sent += [
            (key, run_event(number, kind), [("ce_type", b"ol"), ("odd", b"\xff")]) for kind in ("START", "COMPLETE")
        ]
    return [*sent, (b"\xfe\xff", b"\x00\xff\x00", []), (b"tombstone", None, [("h", None)]), (b"k", b"{", [])]


class Ground:
    """Topics of a test, and the command line pointed at them."""

    def __init__(self, servers: Servers, folder: Path) -> None:
        self.address, self.folder = servers.kafka_bootstrap_servers, folder
        self.topics: list[str] = []

    def topic(self, name: str) -> str:
        headwater_stack.make_topics(self.address, {name: 4, f"{name}.dead": 1})
        self.topics += [name, f"{name}.dead"]
        return name

    def send(self, topic: str, messages: Sequence[Sent]) -> None:
        producer = Producer(writing(kafka_client(self.address)))
        for key, value, headers in messages:
            producer.produce(topic, value=value, key=key, headers=list(headers))
        assert producer.flush(30) == 0

    def on(self, topic: str) -> list[Message]:
        return list(messages_on(kafka_client(self.address), topic))

    def command(self, topic: str, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "headwater_cli", *arguments]

    def environment(self, topic: str) -> dict[str, str]:
        return os.environ | {"HEADWATER_KAFKA_BOOTSTRAP_SERVERS": self.address, "HEADWATER_KAFKA_TOPIC": topic}

    def run(self, topic: str, *arguments: str, code: int = 0) -> str:
        done = subprocess.run(
            self.command(topic, *arguments),
            env=self.environment(topic),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done.stdout

    def wipe(self) -> None:
        client = admin(self.address)
        for deleted in client.delete_topics(self.topics).values():
            deleted.result()
        self.topics = []


@pytest.fixture
def ground(servers: Servers, tmp_path: Path) -> Iterator[Ground]:
    found = Ground(servers, tmp_path)
    yield found
    if found.topics:
        found.wipe()


def graph_of(messages: Sequence[Message]) -> bytes:
    """The dump of an empty graph after these messages."""
    store = FakeStore()
    feed(store, [message.value for message in messages if message.value is not None])
    return dumped(store)


def carried(message: Message) -> tuple[bytes | None, bytes | None, object]:
    return (message.key, message.value, message.headers)


def test_a_replayed_archive_gives_the_same_graph(ground: Ground, tmp_path: Path) -> None:
    name, folder = f"kept-{os.getpid()}-{time.time_ns()}", str(tmp_path / "archive")
    ground.send(ground.topic(name), answer(60))
    before = ground.on(name)
    assert json.loads(ground.run(name, "archive", folder, "--available-now", "--json"))["messages"] == len(before)
    assert sorted(messages_in(Folder(tmp_path / "archive"), name), key=lambda m: m.position) == before
    ground.wipe()
    assert ground.run(name, "archive", folder, "--check").endswith("all whole\n")

    assert json.loads(ground.run(name, "replay", "--archive", folder, "--json")) == {
        "topic": name,
        "messages": len(before),
    }
    ground.topics = [name, f"{name}.dead"]
    after = ground.on(name)
    assert sorted(map(carried, after), key=repr) == sorted(map(carried, before), key=repr)
    assert graph_of(after) == graph_of(before)
    assert graph_of([*before, *after]) == graph_of(before)
    # The topic is another one now: its offsets would be taken for those of the first.
    assert ground.run(name, "archive", folder, "--available-now", code=2) == ""


def test_a_topic_is_replayed_to_another_topic_from_a_time(ground: Ground) -> None:
    name = f"again-{os.getpid()}-{time.time_ns()}"
    ground.send(ground.topic(name), answer(3))
    time.sleep(0.05)
    moment = max(message.timestamp for message in ground.on(name)) + 1
    time.sleep(0.05)
    late: list[Sent] = [(b"late", run_event(99, "COMPLETE"), [])]
    ground.send(name, late)
    other = ground.topic(f"{name}-other")
    since = f"{moment / 1000:.3f}"
    iso = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment // 1000)) + f".{since.partition('.')[2]}Z"
    assert ground.run(name, "replay", "--to", other, "--from-time", iso) == f"1 messages sent to {other}\n"
    assert [carried(message) for message in ground.on(other)] == [(b"late", run_event(99, "COMPLETE"), ())]
    assert ground.run(name, "replay", code=2) == ""
    assert ground.run(name, "replay", "--to", f"{name}-missing", code=2) == ""


def test_an_archive_killed_repeatedly_has_every_message_once(ground: Ground, tmp_path: Path) -> None:
    name, folder = f"killed-{os.getpid()}-{time.time_ns()}", tmp_path / "archive"
    ground.topic(name)
    choose = random.Random(4)
    arguments = ("archive", str(folder), "--file-megabytes", "0.005", "--file-minutes", "0.01")
    for _ in range(4):
        process = subprocess.Popen(
            ground.command(name, *arguments),
            env=ground.environment(name),
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        ground.send(name, answer(40))
        until = time.monotonic() + 60
        files = len(list(folder.rglob("*.zst")))
        while len(list(folder.rglob("*.zst"))) == files and time.monotonic() < until:
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(choose.random() * 0.2)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    stopped = subprocess.Popen(
        ground.command(name, *arguments), env=ground.environment(name), stdout=subprocess.DEVNULL
    )
    while (
        sum(part.end - part.begin for each in parts_of(Folder(folder).names(name)).values() for part in each) < 4 * 83
    ):
        assert stopped.poll() is None
        time.sleep(0.05)
    stopped.send_signal(signal.SIGTERM)
    assert stopped.wait(30) == 0
    assert sorted(messages_in(Folder(folder), name), key=lambda message: message.position) == ground.on(name)
    checked = check_archive(Folder(folder), name)
    # As many messages in the files as on the topic: none stands in two files.
    assert (checked.messages, checked.faults) == (4 * 83, ())


def test_an_unavailable_kafka_is_reported(tmp_path: Path) -> None:
    environment = os.environ | {"HEADWATER_KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1"}
    command = [sys.executable, "-m", "headwater_cli", "archive", str(tmp_path), "--available-now"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert "127.0.0.1:1" in done.stderr
