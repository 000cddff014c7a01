"""Concurrent requests while others wait: for decoding, for an unavailable Kafka, for hanging servers."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from headwater.transport.kafka_errors import DeliveryStatus
from headwater_avro.codec import read_message
from headwater_avro.errors import ServerUnavailable
from headwater_avro.events import Event
from headwater_graph.queries.reader import Row
from headwater_graph.queries.reports.reports import Report
from headwater_stack import make_topics
from headwater_stack.kafka_broker import KafkaBroker
from headwater_web import KafkaSink, MemorySink, WebSettings, create_app
from headwater_web import ingest as gateway

from ..given_answers import GivenAnswers
from ..servers import Servers, broker_of_its_own
from ..transport.proxy import FaultyProxy
from ..transport.test_authorisation import free_ports
from .raw import PATIENCE, sent, serving

JSON = ("Host: localhost", "Content-Type: application/json")
EVENT = json.dumps(
    {
        "eventTime": "2026-01-01T00:00:00Z",
        "eventType": "COMPLETE",
        "run": {"runId": "r1"},
        "job": {"namespace": "ns", "name": "j"},
    }
).encode()
GRAPH = "/api/v1/graph"
SEARCH = "/api/v1/graph/search?text=x"


class Gate:
    """A barrier where threads wait until it is opened."""

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self.opened = threading.Event()

    def passed(self) -> None:
        self.entered.release()
        assert self.opened.wait(PATIENCE), "the gate was not opened"

    def await_entered(self, count: int) -> None:
        for _ in range(count):
            assert self.entered.acquire(timeout=PATIENCE), "no thread reached the gate"


class SlowSink(MemorySink):
    """A sink whose events wait at a gate."""

    def __init__(self, gate: Gate) -> None:
        super().__init__()
        self.gate = gate

    def send(self, events: Sequence[bytes]) -> list[DeliveryStatus]:
        self.gate.passed()
        return super().send(events)


def posted(pool: ThreadPoolExecutor, port: int, count: int) -> list[Future[tuple[int, bytes]]]:
    return [pool.submit(sent, port, "/api/v1/lineage", *JSON, method="POST", body=EVENT) for _ in range(count)]


@contextmanager
def waiting_posts(port: int, gate: Gate, count: int, entered: int) -> Iterator[list[Future[tuple[int, bytes]]]]:
    """Yield posts that wait at a gate, which opens at the end."""
    with ThreadPoolExecutor(count) as pool:
        try:
            found = posted(pool, port, count)
            gate.await_entered(entered)
            yield found
        finally:
            gate.opened.set()


@pytest.mark.parametrize(("target", "body"), [("/api/v1/lineage", EVENT), ("/api/v1/lineage/batch", b"[%s]" % EVENT)])
def test_health_is_answered_while_an_event_is_decoded(
    monkeypatch: pytest.MonkeyPatch, target: str, body: bytes
) -> None:
    gate = Gate()

    def slowly(value: bytes) -> Event:
        gate.passed()
        return read_message(value)

    monkeypatch.setattr(gateway, "read_message", slowly)
    with serving(create_app(GivenAnswers(), MemorySink(), WebSettings())) as port, ThreadPoolExecutor(1) as pool:
        try:
            decoded = pool.submit(sent, port, target, *JSON, method="POST", body=body)
            gate.await_entered(1)
            assert sent(port, "/healthz", "Host: localhost") == (200, b"ok\n")
            assert not decoded.done()
        finally:
            gate.opened.set()
        assert decoded.result()[0] in (201, 204)


def test_two_events_are_decoded_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once, most, lock = 0, 0, threading.Lock()

    def counted(value: bytes) -> Event:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        threading.Event().wait(0.02)
        with lock:
            at_once -= 1
        return read_message(value)

    monkeypatch.setattr(gateway, "read_message", counted)
    with serving(create_app(GivenAnswers(), MemorySink(), WebSettings())) as port, ThreadPoolExecutor(20) as pool:
        assert {post.result()[0] for post in posted(pool, port, 20)} == {201}
    assert most == 2


def test_health_readiness_and_questions_are_answered_while_posts_wait_for_kafka() -> None:
    gate = Gate()
    with (
        serving(create_app(GivenAnswers(), SlowSink(gate), WebSettings())) as port,
        waiting_posts(port, gate, 60, entered=40) as posts,
    ):
        for target in ("/healthz", "/readyz", "/readyz?for=any", SEARCH):
            assert sent(port, target, "Host: localhost")[0] == 200
        assert not any(post.done() for post in posts)
    assert {post.result()[0] for post in posts} == {201}


def test_health_is_answered_while_questions_wait_for_the_graph() -> None:
    gate = Gate()

    def hangs(**_: object) -> list[Row]:
        gate.passed()
        return []

    graph = GivenAnswers({"find/datasets": hangs, "find/dataset_by_tail": hangs, "catalog/answers": hangs})
    app = create_app(graph, MemorySink(), WebSettings())
    with serving(app) as port, ThreadPoolExecutor(60) as pool:
        try:
            target = "/api/v1/graph/lineage/upstream?name=x"
            questions = [pool.submit(sent, port, target, "Host: localhost") for _ in range(60)]
            gate.await_entered(40)
            assert sent(port, "/healthz", "Host: localhost")[0] == 200
            assert sent(port, "/readyz?for=ingest", "Host: localhost")[0] == 200
            assert sent(port, "/api/v1/lineage", *JSON, method="POST", body=EVENT)[0] == 201
            assert sent(port, "/readyz", "Host: localhost")[0] == 503
            assert not any(question.done() for question in questions)
        finally:
            gate.opened.set()


def test_a_request_beyond_the_capacity_is_refused_with_retry_after() -> None:
    gate = Gate()
    app = create_app(GivenAnswers(), SlowSink(gate), WebSettings(ingest_requests=3))
    with serving(app) as port, waiting_posts(port, gate, 3, entered=3) as posts:
        status, body = sent(port, "/api/v1/lineage", *JSON, method="POST", body=EVENT)
        assert (status, b"at most 3 requests" in body) == (503, True)
        assert sent(port, "/api/v1/lineage/batch", *JSON, method="POST", body=b"[]")[0] == 503
        gate.opened.set()
        assert {post.result()[0] for post in posts} == {201}
        assert sent(port, "/api/v1/lineage", *JSON, method="POST", body=EVENT)[0] == 201


def test_bodies_beyond_the_byte_limit_are_refused_but_not_a_single_one() -> None:
    gate = Gate()
    app = create_app(GivenAnswers(), SlowSink(gate), WebSettings(ingest_bytes=len(EVENT) * 2 - 1))
    with serving(app) as port:
        with waiting_posts(port, gate, 1, entered=1) as posts:
            status, body = sent(port, "/api/v1/lineage", *JSON, method="POST", body=EVENT)
            assert (status, b"bytes" in body) == (503, True)
        assert posts[0].result()[0] == 201
        large = EVENT + b" " * len(EVENT) * 2
        assert sent(port, "/api/v1/lineage", *JSON, method="POST", body=large)[0] == 201


def test_a_body_that_never_ends_times_out_and_releases_its_reservation() -> None:
    app = create_app(GivenAnswers(), MemorySink(), WebSettings(receive_timeout=0.2, ingest_requests=1))
    head = "POST /api/v1/lineage HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"
    with serving(app) as port, socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(head.encode())
        assert connection.recv(1_000).startswith(b"HTTP/1.1 408 ")
        assert sent(port, "/api/v1/lineage", *JSON, method="POST", body=EVENT)[0] == 201


def test_a_single_request_tries_an_unavailable_kafka_and_others_are_refused() -> None:
    kafka = KafkaSink({"bootstrap.servers": "127.0.0.1:1"}, "t", WebSettings(ingest_patience=1.0))
    assert kafka.send([EVENT]) == ["unavailable"]
    with kafka._attempt(), pytest.raises(ServerUnavailable):
        kafka.send([EVENT])
    assert kafka.send([EVENT]) == ["unavailable"]


@pytest.mark.timeout(300)
def test_senders_do_not_wait_for_ingest_patience_while_no_broker_is_reachable() -> None:
    kafka = KafkaSink({"bootstrap.servers": "127.0.0.1:1"}, "t", WebSettings(ingest_patience=600))
    assert kafka.send([EVENT, EVENT]) == ["unavailable", "unavailable"]


def test_events_are_delivered_again_when_an_unreachable_kafka_comes_back(servers: Servers, topic: str) -> None:
    proxy = FaultyProxy(servers.kafka_bootstrap_servers)
    try:
        kafka = KafkaSink({"bootstrap.servers": proxy.address}, topic, WebSettings(ingest_patience=600))
        assert kafka.send([EVENT]) == ["delivered"]
        proxy.mode = "refuse"
        assert kafka.send([EVENT]) == ["unavailable"]
        proxy.mode = "pass"
        deadline = time.monotonic() + PATIENCE
        while kafka.send([EVENT]) != ["delivered"]:
            assert time.monotonic() < deadline
    finally:
        proxy.close()


def test_health_is_answered_before_posts_to_an_unavailable_kafka(monkeypatch: pytest.MonkeyPatch) -> None:
    """Real sockets and the real Kafka client: 60 posts at once, then 60 more after the failure is known."""
    kafka = KafkaSink({"bootstrap.servers": "127.0.0.1:1"}, "t", WebSettings(ingest_patience=8.0))
    # As long as the patience, so that a slow machine has time for the other answers.
    monkeypatch.setattr(gateway, "DOWN_SECONDS", 8.0)
    with serving(create_app(GivenAnswers(), kafka, WebSettings())) as port, ThreadPoolExecutor(60) as pool:
        first = posted(pool, port, 60)
        for target in ("/healthz", "/readyz", SEARCH):
            assert sent(port, target, "Host: localhost")[0] == 200
        assert not any(post.done() for post in first)
        assert {post.result()[0] for post in first} == {503}
        later = posted(pool, port, 60)
        assert {post.result()[0] for post in later} == {503}
        assert sent(port, "/readyz?for=ingest", "Host: localhost")[0] == 503
        assert sent(port, "/readyz?for=any", "Host: localhost")[0] == 200


def test_a_report_that_reads_a_whole_topic_serves_a_single_request_at_a_time() -> None:
    gate = Gate()

    def letters() -> Report:
        gate.passed()
        return Report("dead-letters", "", ("code", "messages"), (("not_an_event", 1),))

    app, target = (
        create_app(GivenAnswers(), MemorySink(), WebSettings(), letters=letters),
        f"{GRAPH}/reports/dead-letters",
    )
    with serving(app) as port, ThreadPoolExecutor(1) as pool:
        try:
            first = pool.submit(sent, port, target, "Host: localhost")
            gate.await_entered(1)
            assert sent(port, target, "Host: localhost")[0] == 429
        finally:
            gate.opened.set()
        assert first.result()[0] == sent(port, target, "Host: localhost")[0] == 200


@pytest.mark.parametrize("part", ["", "G", "GET /healthz HTTP/1.1\r\nHost: local"])
def test_a_connection_without_a_complete_request_is_closed(part: str) -> None:
    settings = WebSettings(receive_timeout=0.2)
    with serving(create_app(GivenAnswers(), MemorySink(), settings), settings) as port:
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
            connection.sendall(part.encode())
            assert connection.recv(1_000) == b""
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" + part.encode())
            answer = b"".join(iter(lambda: connection.recv(1_000), b""))
            assert (answer[:15], answer[-3:]) == (b"HTTP/1.1 200 OK", b"ok\n")


def test_a_slow_response_does_not_time_out() -> None:
    gate, settings = Gate(), WebSettings(receive_timeout=0.2)
    app = create_app(GivenAnswers(), SlowSink(gate), settings)
    with serving(app, settings) as port:
        with waiting_posts(port, gate, 1, entered=1) as posts:
            threading.Event().wait(3 * settings.receive_timeout)
            assert not posts[0].done()
        assert posts[0].result()[0] == 201


def test_readiness_and_events_recover_when_kafka_comes_back(tmp_path: Path) -> None:
    ports = free_ports(2)
    kafka = KafkaSink({"bootstrap.servers": f"127.0.0.1:{ports[0]}"}, "t", WebSettings(ingest_patience=30.0))
    with pytest.raises(ServerUnavailable):
        kafka.check()
    app = create_app(GivenAnswers(), kafka, WebSettings())
    with serving(app) as port, ThreadPoolExecutor(1) as pool:
        assert sent(port, "/readyz?for=ingest", "Host: localhost")[0] == 503
        (early,) = posted(pool, port, 1)
        with broker_of_its_own(KafkaBroker(), tmp_path, ports) as address:
            make_topics(address, {"t": 1})
            assert early.result()[0] in (201, 503)
            deadline = time.monotonic() + PATIENCE
            while sent(port, "/readyz?for=ingest", "Host: localhost")[0] != 200:
                assert time.monotonic() < deadline
                time.sleep(0.2)
            assert {post.result()[0] for post in posted(pool, port, 5)} == {201}


def test_concurrent_readiness_requests_share_a_check() -> None:
    gate, checks = Gate(), []

    def answers(**_: object) -> list[Row]:
        checks.append(1)
        gate.passed()
        return []

    with (
        serving(create_app(GivenAnswers({"catalog/answers": answers}), MemorySink(), WebSettings())) as port,
        ThreadPoolExecutor(30) as pool,
    ):
        found = [pool.submit(sent, port, "/readyz", "Host: localhost") for _ in range(30)]
        gate.await_entered(1)
        gate.opened.set()
        assert {answer.result()[0] for answer in found} == {200}
        # On a slow machine, later requests may find the first check too old.
        assert len(checks) < 10


def test_readiness_reports_the_reason_for_each_part() -> None:
    def away(**_: object) -> list[Row]:
        raise ServerUnavailable("Neo4j", "bolt://secret:7687", "start it")

    def answer(sink: MemorySink, target: str, graph: GivenAnswers) -> tuple[int, bytes]:
        with serving(create_app(graph, sink, WebSettings())) as port:
            return sent(port, target, "Host: localhost")

    without_graph, without_kafka = GivenAnswers({"catalog/answers": away}), MemorySink(status="unavailable")
    assert answer(MemorySink(), "/readyz", without_graph)[0] == 503
    assert answer(MemorySink(), "/readyz?for=questions", without_graph)[0] == 503
    assert answer(MemorySink(), "/readyz?for=ingest", without_graph) == (200, b"ready\n")
    assert answer(MemorySink(), "/readyz?for=any", without_graph) == (200, b"ready\n")
    assert answer(without_kafka, "/readyz", GivenAnswers()) == (200, b"ready\n")
    assert answer(without_kafka, "/readyz?for=other", GivenAnswers())[0] == 422
    status, body = answer(without_kafka, "/readyz?for=any", without_graph)
    report = json.loads(body)
    assert status == report["status"] == 503
    assert report["parts"] == {"questions": "Neo4j does not answer", "ingest": "Kafka does not answer"}
    assert b"secret" not in body
