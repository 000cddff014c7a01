"""openlineage-python's client with its own configuration, and the shared transport of a process."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openlineage.client import OpenLineageClient, event_v2
from openlineage.client.facet_v2 import parent_run, schema_dataset

from headwater.transport import HeadwaterTransport, default_transport
from headwater.transport import default as default_module
from headwater.transport.client import ClientTransport
from headwater.transport.default import build, forget_default_transport
from headwater.transport.memory import SilentTransport
from headwater_avro.framing import unframed
from headwater_avro.registry import RegisteredSchema

from ..avro.registries import AVRO, JSON, MemorySchemas
from ..servers import Servers
from .conftest import MakeTransport
from .events import MemoryBroker, arrived, eventually, run_event

RUN = "0190f5c8-0000-7000-8000-000000000001"


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    import os

    for name in list(os.environ):
        if name.startswith(("OPENLINEAGE", "HEADWATER_KAFKA", "HEADWATER_EMITTER")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HEADWATER_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    forget_default_transport(1.0)
    yield
    forget_default_transport(1.0)


def start_event() -> event_v2.RunEvent:
    schema = schema_dataset.SchemaDatasetFacet(fields=[schema_dataset.SchemaDatasetFacetFields("c", "int")])
    parent = parent_run.ParentRunFacet(run=parent_run.Run(RUN), job=parent_run.Job("n", "p"))
    return event_v2.RunEvent(
        eventTime="2024-01-01T00:00:00Z",
        eventType=event_v2.RunState.START,
        run=event_v2.Run(RUN, facets={"parent": parent}),
        job=event_v2.Job("n", "j"),
        inputs=[event_v2.InputDataset("ns", "d", facets={"schema": schema})],
    )


def test_configured_by_environment(servers: Servers, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "headwater.transport.HeadwaterTransport")
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__BOOTSTRAP_SERVERS", servers.kafka_bootstrap_servers)
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TOPIC", topic)
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__KAFKA", '{"linger.ms": 5}')
    client = OpenLineageClient()
    client.emit(start_event())
    assert client.close(20)
    ((key, value),) = arrived(servers.kafka_bootstrap_servers, topic, 1)
    sent = json.loads(value)
    assert key == RUN.encode()
    assert sent["eventType"] == "START"
    assert sent["inputs"][0]["facets"]["schema"]["fields"] == [{"name": "c", "type": "int", "fields": []}]
    assert sent["run"]["facets"]["parent"]["_schemaURL"].endswith("#/$defs/ParentRunFacet")


def test_configured_by_file(servers: Servers, topic: str, tmp_path: Path) -> None:
    (tmp_path / "openlineage.yml").write_text(
        textwrap.dedent(
            f"""
            transport:
              type: headwater.transport.HeadwaterTransport
              bootstrap_servers: {servers.kafka_bootstrap_servers}
              topic: {topic}
            """
        )
    )
    client = OpenLineageClient()
    assert isinstance(client.transport, HeadwaterTransport)
    client.emit(start_event())
    assert client.close(20)
    assert len(arrived(servers.kafka_bootstrap_servers, topic, 1)) == 1
    # Headwater's own parts use the same settings, without openlineage-python's client.
    shared = default_transport()
    assert isinstance(shared, HeadwaterTransport)
    assert shared.config.topic == topic


def test_every_kind_of_event(make_transport: MakeTransport) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from openlineage.client import run as older
    broker = MemoryBroker()
    transport = make_transport(lambda _: broker)
    at = "2024-01-01T00:00:00Z"
    older_run: Any = older.RunEvent(older.RunState.COMPLETE, at, older.Run(RUN), older.Job("n", "old"), "p")
    for event in (
        start_event(),
        event_v2.JobEvent(eventTime=at, job=event_v2.Job("n", "j")),
        event_v2.DatasetEvent(eventTime=at, dataset=event_v2.StaticDataset("ns", "d")),
        older_run,
        run_event("a dict"),
        run_event("mixed", inputs=[event_v2.InputDataset("ns", "d")]),
    ):
        transport.emit(event)
    assert transport.close(5)
    assert [message.key for message in broker.received] == [
        RUN.encode(),
        b"job:n/j",
        b"dataset:ns/d",
        RUN.encode(),
        b"a dict",
        b"mixed",
    ]
    assert all(b":null" not in message.value for message in broker.received)


def test_without_configuration_it_is_headwaters_transport() -> None:
    shared = default_transport()
    assert isinstance(shared, HeadwaterTransport)
    assert default_transport() is shared


def test_disabled() -> None:
    silent = build({"OPENLINEAGE_DISABLED": "true"}, ())
    assert isinstance(silent, SilentTransport)
    silent.emit(run_event("r"))
    assert silent.flush()
    assert silent.close()


def test_another_transport_of_openlineage_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "file")
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__LOG_FILE_PATH", str(tmp_path / "events.jsonl"))
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__APPEND", "true")
    shared = default_transport()
    assert isinstance(shared, ClientTransport)
    shared.emit(start_event())
    shared.emit(run_event("a dict"))
    assert shared.flush(10)
    lines = (tmp_path / "events.jsonl").read_text().splitlines()
    assert [json.loads(line)["run"]["runId"] for line in lines] == [RUN, "a dict"]
    assert shared.counters().delivered == 2


def test_another_transport_that_fails_is_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "no.such.Transport")
    shared = default_transport()
    shared.emit(start_event())
    assert eventually(lambda: shared.counters().dropped == {"transport_error": 1})
    assert not shared.close(5)


def test_a_configuration_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "openlineage.yml").write_text("transport: {type: file}\nfacets: {no_such: 1}\n")
    assert isinstance(default_transport(), HeadwaterTransport)


def test_importing_costs_no_kafka() -> None:
    program = "import sys, headwater.transport, headwater.lineage; print('confluent_kafka' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_shared_transport_is_made_once() -> None:
    import threading

    made: list[Any] = []
    threads = [threading.Thread(target=lambda: made.append(default_transport())) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(transport) for transport in made}) == 1
    assert default_module._shared is made[0]


def test_avro_by_setting(make_transport: MakeTransport) -> None:
    codec = pytest.importorskip("headwater_avro.codec", reason="needs the extra avro")
    broker = MemoryBroker()
    transport = make_transport(lambda _: broker, format="avro")
    run_id = str(uuid.uuid4())
    transport.emit(run_event(run_id))
    assert transport.close(5)
    assert broker.received[0].value[:2] == b"\xc3\x01"
    assert broker.received[0].key == run_id.encode()
    assert json.loads(codec.event_json(broker.received[0].value))["run"]["runId"] == run_id


@pytest.mark.parametrize(("form", "kind"), [("avro", AVRO), ("json", JSON)])
def test_messages_are_framed_where_a_schema_id_is_set(
    form: str, kind: RegisteredSchema, make_transport: MakeTransport
) -> None:
    broker = MemoryBroker()
    transport = make_transport(lambda _: broker, format=form, schema_id=258)
    transport.emit(run_event("r"))
    # The envelope can only hold an eventType that is a string: other events are sent as plain JSON.
    transport.emit(run_event("odd", 5 if form == "avro" else "START"))  # type: ignore[arg-type]
    assert transport.close(5)
    framed, odd = (message.value for message in broker.received)
    assert framed[:5] == b"\x00\x00\x00\x01\x02"
    opened = [unframed(value, MemorySchemas({258: kind})) for value in (framed, odd)]
    assert [json.loads(text or b"")["run"]["runId"] for text in opened] == ["r", "odd"]
    assert odd.startswith(b"{" if form == "avro" else b"\x00")
