"""The ingest gateway: OpenLineage's contract, acknowledged by Kafka."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from headwater.transport.kafka_errors import delivery_status
from headwater.transport.send_and_wait import message_of_line
from headwater_web import DisabledSink, EventSink, KafkaSink, MemorySink, WebSettings, create_app
from headwater_web.ingest import message_key

from ..given_answers import GivenAnswers
from ..servers import Servers
from .raw import client_of

RUN = {
    "eventTime": "2026-01-01T00:00:00Z",
    "eventType": "COMPLETE",
    "run": {"runId": "r1"},
    "job": {"namespace": "ns", "name": "j"},
}


def gateway(sink: EventSink, **settings: Any) -> TestClient:
    return client_of(create_app(GivenAnswers(), sink, WebSettings(**settings)))


def test_an_event_is_forwarded_byte_for_byte() -> None:
    sink = MemorySink()
    body = json.dumps(RUN, indent=3).encode()
    answer = gateway(sink).post("/api/v1/lineage", content=body)
    assert (answer.status_code, answer.content) == (201, b"")
    assert sink.received == [body]


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
def test_an_invalid_event_is_refused_with_its_code(body: bytes, code: str) -> None:
    sink = MemorySink()
    answer = gateway(sink).post("/api/v1/lineage", content=body)
    assert (answer.status_code, answer.json()["code"]) == (422, code)
    assert sink.received == []


def test_a_fully_acknowledged_batch_has_an_empty_response() -> None:
    sink = MemorySink()
    answer = gateway(sink).post("/api/v1/lineage/batch", json=[RUN, RUN])
    assert (answer.status_code, answer.content) == (204, b"")
    assert len(sink.received) == 2
    assert gateway(sink).post("/api/v1/lineage/batch", json=[]).status_code == 204


def test_a_batch_names_the_events_that_failed() -> None:
    sink = MemorySink()
    answer = gateway(sink).post("/api/v1/lineage/batch", json=[RUN, {}, RUN, 7])
    assert answer.status_code == 200
    body = answer.json()
    assert body["status"] == "partial_success"
    assert body["summary"] == {"received": 4, "successful": 2, "failed": 2, "retriable": 0, "non_retriable": 2}
    assert [(event["index"], event["retriable"]) for event in body["failed_events"]] == [(1, False), (3, False)]
    assert len(sink.received) == 2
    away = gateway(MemorySink(status="unavailable")).post("/api/v1/lineage/batch", json=[RUN]).json()
    assert away["failed_events"] == [{"index": 0, "reason": "Kafka does not answer", "retriable": True}]


def test_back_pressure_is_429_and_an_absent_kafka_503() -> None:
    busy = gateway(MemorySink(busy=True)).post("/api/v1/lineage", json=RUN)
    assert (busy.status_code, busy.headers["retry-after"]) == (429, "5")
    for sink in (MemorySink(status="unavailable"), DisabledSink()):
        away = gateway(sink).post("/api/v1/lineage", json=RUN)
        assert (away.status_code, away.headers["retry-after"]) == (503, "5")
    assert gateway(MemorySink(status="refused")).post("/api/v1/lineage", json=RUN).status_code == 413


def test_sizes_are_limited() -> None:
    small = gateway(MemorySink(), max_body=100, max_batch=1)
    assert small.post("/api/v1/lineage", content=b"x" * 101).status_code == 413
    assert small.post("/api/v1/lineage", content=iter([b"x" * 60, b"x" * 60])).status_code == 413
    few = gateway(MemorySink(), max_batch=1)
    assert few.post("/api/v1/lineage/batch", json=[RUN, RUN]).status_code == 413
    assert few.post("/api/v1/lineage/batch", content=b'{"a": 1}').status_code == 400


TEXT = st.text(max_size=4)
PART = st.dictionaries(
    st.sampled_from(["runId", "namespace", "name", "facets"]), TEXT | st.none() | st.integers(), max_size=4
)
EVENTS: st.SearchStrategy[Any] = st.dictionaries(
    st.sampled_from(["run", "job", "dataset", "eventTime"]), PART | TEXT | st.just([]), max_size=4
)


@given(EVENTS | TEXT | st.lists(TEXT, max_size=1))
def test_an_event_has_the_key_that_the_emitter_gives_it(event: Any) -> None:
    line = json.dumps(event).encode()
    assert message_key(line) == message_of_line(line).key
    assert message_key(line[:-1]) == message_of_line(line[:-1]).key


def test_the_key_of_a_large_event_is_found_without_decoding_all_of_it() -> None:
    wide = json.dumps(RUN | {"run": {"facets": {"wide": [[]] * 1_000_000}, "runId": "r1"}}).encode()
    tracemalloc.start()
    try:
        assert message_key(wide) == b"r1"
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_events_reach_a_real_topic_under_the_key_of_their_run(servers: Servers, topic: str) -> None:
    kafka = KafkaSink({"bootstrap.servers": servers.kafka_bootstrap_servers}, topic, WebSettings())
    client = gateway(kafka)
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


def test_an_unavailable_kafka_is_reported_within_ingest_patience() -> None:
    kafka = KafkaSink({"bootstrap.servers": "127.0.0.1:1", "log_level": 0}, "t", WebSettings(ingest_patience=1.0))
    assert gateway(kafka).post("/api/v1/lineage", json=RUN).status_code == 503


def test_an_event_above_kafkas_limit_is_refused_without_a_broker() -> None:
    kafka = KafkaSink({"bootstrap.servers": "127.0.0.1:1", "message.max.bytes": 1_000}, "t", WebSettings())
    assert kafka.send([json.dumps(RUN).encode() + b" " * 2_000]) == ["refused"]


def test_errors_that_the_same_message_causes_again_are_refusals() -> None:
    permanent = (
        KafkaError.MSG_SIZE_TOO_LARGE,
        KafkaError.RECORD_LIST_TOO_LARGE,
        KafkaError.INVALID_RECORD,
        KafkaError.INVALID_MSG,
    )
    assert {delivery_status(KafkaError(code)) for code in permanent} == {"refused"}
    transient = (KafkaError._MSG_TIMED_OUT, KafkaError._ALL_BROKERS_DOWN, KafkaError.TOPIC_AUTHORIZATION_FAILED)
    assert {delivery_status(KafkaError(code)) for code in transient} == {"unavailable"}
    assert delivery_status(None) == "delivered"
