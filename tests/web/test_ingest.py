"""The ingest gateway: OpenLineage's contract, acknowledged by Kafka."""

from __future__ import annotations

import json
from typing import Any

import pytest
from confluent_kafka import Consumer
from starlette.testclient import TestClient

from headwater_web import KafkaOutlet, MemoryOutlet, NoOutlet, Outlet, WebSettings, create_app

from ..given_answers import GivenAnswers
from ..servers import Servers

RUN = {
    "eventTime": "2026-01-01T00:00:00Z",
    "eventType": "COMPLETE",
    "run": {"runId": "r1"},
    "job": {"namespace": "ns", "name": "j"},
}


def client_of(outlet: Outlet, **settings: Any) -> TestClient:
    return TestClient(create_app(GivenAnswers(), outlet, WebSettings(**settings)))


def test_an_event_is_passed_on_byte_for_byte() -> None:
    outlet = MemoryOutlet()
    body = json.dumps(RUN, indent=3).encode()
    answer = client_of(outlet).post("/api/v1/lineage", content=body)
    assert (answer.status_code, answer.content) == (201, b"")
    assert outlet.received == [body]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", "not_decodable"),
        (b"[]", "not_an_object"),
        (b"{}", "not_an_event"),
        (json.dumps(RUN | {"eventTime": "soon"}).encode(), "bad_event_time"),
        (json.dumps(RUN | {"run": {}}).encode(), "missing_identity"),
    ],
)
def test_an_event_that_can_not_be_used_is_refused_with_its_code(body: bytes, code: str) -> None:
    outlet = MemoryOutlet()
    answer = client_of(outlet).post("/api/v1/lineage", content=body)
    assert (answer.status_code, answer.json()["code"]) == (422, code)
    assert outlet.received == []


def test_a_batch_that_is_all_in_kafka_has_no_answer_body() -> None:
    outlet = MemoryOutlet()
    answer = client_of(outlet).post("/api/v1/lineage/batch", json=[RUN, RUN])
    assert (answer.status_code, answer.content) == (204, b"")
    assert len(outlet.received) == 2
    assert client_of(outlet).post("/api/v1/lineage/batch", json=[]).status_code == 204


def test_a_batch_names_the_events_that_failed() -> None:
    outlet = MemoryOutlet()
    answer = client_of(outlet).post("/api/v1/lineage/batch", json=[RUN, {}, RUN, 7])
    assert answer.status_code == 200
    told = answer.json()
    assert told["status"] == "partial_success"
    assert told["summary"] == {"received": 4, "successful": 2, "failed": 2, "retriable": 0, "non_retriable": 2}
    assert [(each["index"], each["retriable"]) for each in told["failed_events"]] == [(1, False), (3, False)]
    assert len(outlet.received) == 2
    away = client_of(MemoryOutlet(fate="unavailable")).post("/api/v1/lineage/batch", json=[RUN]).json()
    assert away["failed_events"] == [{"index": 0, "reason": "Kafka does not answer", "retriable": True}]


def test_back_pressure_is_429_and_an_absent_kafka_503() -> None:
    busy = client_of(MemoryOutlet(busy=True)).post("/api/v1/lineage", json=RUN)
    assert (busy.status_code, busy.headers["retry-after"]) == (429, "5")
    for outlet in (MemoryOutlet(fate="unavailable"), NoOutlet()):
        away = client_of(outlet).post("/api/v1/lineage", json=RUN)
        assert (away.status_code, away.headers["retry-after"]) == (503, "5")
    assert client_of(MemoryOutlet(fate="refused")).post("/api/v1/lineage", json=RUN).status_code == 413


def test_sizes_are_limited() -> None:
    small = client_of(MemoryOutlet(), max_body=100, max_batch=1)
    assert small.post("/api/v1/lineage", content=b"x" * 101).status_code == 413
    assert small.post("/api/v1/lineage", content=iter([b"x" * 60, b"x" * 60])).status_code == 413
    few = client_of(MemoryOutlet(), max_batch=1)
    assert few.post("/api/v1/lineage/batch", json=[RUN, RUN]).status_code == 413
    assert few.post("/api/v1/lineage/batch", content=b'{"a": 1}').status_code == 400


def test_events_reach_a_real_topic_under_the_key_of_their_run(servers: Servers, topic: str) -> None:
    kafka = KafkaOutlet({"bootstrap.servers": servers.kafka_bootstrap_servers}, topic, WebSettings())
    client = client_of(kafka)
    assert client.post("/api/v1/lineage", json=RUN).status_code == 201
    assert client.post("/api/v1/lineage/batch", json=[RUN]).status_code == 204
    settings = {
        "bootstrap.servers": servers.kafka_bootstrap_servers,
        "group.id": topic,
        "auto.offset.reset": "earliest",
    }
    consumer = Consumer(settings)
    try:
        consumer.subscribe([topic])
        found = [message for _ in range(2) if (message := consumer.poll(30)) is not None]
    finally:
        consumer.close()
    assert [(message.key(), json.loads(message.value() or b"")) for message in found] == [(b"r1", RUN)] * 2


def test_a_kafka_that_is_not_there_is_told_within_the_patience() -> None:
    kafka = KafkaOutlet({"bootstrap.servers": "127.0.0.1:1", "log_level": 0}, "t", WebSettings(ingest_patience=1.0))
    assert client_of(kafka).post("/api/v1/lineage", json=RUN).status_code == 503
