"""Messages under a schema id on their way through the consumer: read on the executors, or later by the driver."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headwater_avro.codec import encode_avro
from headwater_avro.errors import ServerUnavailable
from headwater_avro.registry import RegisteredSchema, RegistrySettings
from headwater_consumer.batch_processor import BatchProcessor, Draining
from headwater_consumer.config import HIDDEN, load, read_file
from headwater_consumer.kafka.messages import Message
from headwater_consumer.partition import STATISTICS, TAGGED, UNREAD, PartitionLimits, tag_partition
from headwater_graph.rules.coalesce import unpack_sources

from ..avro.registries import AVRO, JSON, MemorySchemas, Registry, framed, served
from ..command_line import headwater
from ..end_to_end.consuming import Room
from ..feeding import dumped
from ..laws.model import dump as model_dump
from ..servers import Servers
from ..store.empty import emptied, opened
from .kafka_room import run_event
from .test_batch_processor import Bench, Frame
from .test_partition import message, record_batch, rows_of


def under(number: int, run: str) -> bytes:
    return framed(number, json.dumps(run_event(run)).encode())


class Waiting(MemorySchemas):
    """A registry that comes back when it was asked so often."""

    def __init__(self, stored: dict[int, RegisteredSchema], answers_after: int) -> None:
        super().__init__(stored, away=True)
        self.answers_after = answers_after

    def schema(self, number: int) -> RegisteredSchema:
        self.away = len(self.requested) < self.answers_after
        return super().schema(number)


def kinds(messages: list[Message], schemas: MemorySchemas | None) -> list[tuple[str, Any]]:
    rows = rows_of(tag_partition([record_batch(messages)], PartitionLimits(), schemas))
    return [
        (kind, unpack_sources(sources) if kind == UNREAD else key.decode())
        for kind, key, _, sources in rows
        if kind != STATISTICS
    ]


MIXED = [message(1, under(2, "a")), message(2, run_event("b")), message(3, under(9, "c")), message(4, b"nonsense")]


def test_framed_and_plain_messages_are_read_together() -> None:
    found = kinds(MIXED, MemorySchemas({2: JSON}))
    assert found == [("dead", "unknown_schema"), ("dead", "not_decodable"), ("run", "a"), ("run", "b")]


def test_while_the_registry_is_unavailable_framed_messages_are_unread_and_none_is_dead() -> None:
    found = kinds(MIXED, MemorySchemas({2: JSON}, away=True))
    assert found == [("unread", [(1, 1)]), ("unread", [(1, 3)]), ("dead", "not_decodable"), ("run", "b")]


def test_without_a_registry_framed_messages_are_dead_letters() -> None:
    assert [kind for kind, _ in kinds(MIXED, None)] == ["dead", "dead", "dead", "run"]


def over(bench: Bench, schemas: MemorySchemas) -> BatchProcessor:
    """The bench's cycle with a registry."""
    bench.cycle._schemas = schemas
    return bench.cycle


def left_unread(messages: list[Message]) -> Frame:
    """A batch of which the tasks could not ask the registry."""
    frame = Frame(messages)
    batches = tag_partition([record_batch(messages)], PartitionLimits(), MemorySchemas(away=True))
    frame.toArrow = pa.Table.from_batches(batches, TAGGED).slice  # type: ignore[method-assign]
    return frame


def test_the_driver_waits_for_the_registry_and_then_writes_the_whole_batch() -> None:
    bench = Bench(stored=MIXED)
    schemas = Waiting({2: JSON}, answers_after=3)
    over(bench, schemas)(left_unread(MIXED), 0)
    assert schemas.requested == [2, 2, 2, 2, 9]
    assert bench.writer.runs == {"a", "b"}
    assert bench.codes() == ["not_decodable", "unknown_schema"]
    assert bench.status.state.phase == "running"


def test_a_stop_request_ends_the_waiting_for_the_registry_without_completing_the_batch() -> None:
    bench = Bench(stored=MIXED)

    class Stopping(MemorySchemas):
        def schema(self, number: int) -> RegisteredSchema:
            bench.stop.set()
            raise ServerUnavailable("the schema registry", "x", "away")

    with pytest.raises(Draining):
        over(bench, Stopping())(left_unread(MIXED), 0)
    assert bench.status.state.phase == "waiting"
    assert "the schema registry" in (bench.status.state.reason or "")
    assert "graph" not in bench.order


def test_the_registry_is_a_table_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "headwater.toml"
    file.write_text(
        '[kafka]\nbootstrap_servers = "k:1"\n[neo4j]\nuri = "bolt://n:1"\n'
        '[schema_registry]\nurl = "https://r:8081"\nuser = "ada"\npassword = "s3cret"\nca = "/ca.pem"\n'
    )
    loaded = load(environ={"HEADWATER_SCHEMA_REGISTRY_USER": "ben"}, file=read_file({}, tmp_path))
    assert loaded.settings.registry() == RegistrySettings("https://r:8081", "ben", "s3cret", "/ca.pem")
    shown = {setting.name: setting.value for setting in loaded.shown()}
    assert shown["schema_registry_password"] == HIDDEN


@pytest.fixture
def room(servers: Servers, topic: str, tmp_path: Path) -> Room:
    return Room(servers, topic, tmp_path)


@pytest.mark.end_to_end
def test_through_spark_a_registry_that_is_unavailable_at_first_loses_no_message(room: Room, servers: Servers) -> None:
    events = [json.dumps(run_event(f"framed-{number}")).encode() for number in range(40)]
    room.publish([*(framed(1, encode_avro(event)[10:]) for event in events[:20]), *(framed(2, e) for e in events[20:])])
    # More questions than the tasks of the first batch ask: the driver has to wait too.
    registry = Registry({1: AVRO, 2: JSON}, away_for=8)
    with opened(servers) as graph, served(registry) as address:
        emptied(graph)
        room.consume(HEADWATER_SCHEMA_REGISTRY_URL=address)
        assert dumped(graph) == model_dump(events)
    log = (room.folder / "consume.log").read_text()
    assert "waiting for a server" in log
    assert "HTTP 503" in log


@pytest.mark.end_to_end
def test_the_doctor_checks_a_configured_registry(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer() -> Any:
        monkeypatch.setenv("HEADWATER_KAFKA_BOOTSTRAP_SERVERS", servers.kafka_bootstrap_servers)
        done = headwater(servers, "doctor", "--json")
        return done.code, {check["name"]: check for check in json.loads(done.out)["checks"]}.get("Registry")

    assert answer()[1] is None
    registry = Registry({1: AVRO})
    with served(registry) as address:
        monkeypatch.setenv("HEADWATER_SCHEMA_REGISTRY_URL", address)
        assert answer()[1] == {"name": "Registry", "state": "yes", "text": f"answers at {address}; subjects: 1"}
        registry.status = 401
        code, check = answer()
        assert (code, check["state"]) == (3, "away")
        assert "HEADWATER_SCHEMA_REGISTRY_USER" in check["text"]
