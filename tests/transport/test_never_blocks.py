"""``emit`` neither waits nor raises, whatever the state of Kafka, the network, the disk, the queue or its thread."""

from __future__ import annotations

import contextlib
import json
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.transport import HeadwaterConfig
from headwater.transport.broker import Message
from headwater.transport.counters import TransportCounters
from headwater.transport.preparation import Preparation
from headwater.transport.wire import NotSerialisable

from ..servers import Servers
from .conftest import MakeTransport
from .events import MemoryBroker, arrived, emit_slowest, eventually, run_event, run_ids, spooled_run_ids
from .proxy import FaultyProxy, Mode

MEMBER_NAMES = (
    "run job dataset inputs outputs facets inputFacets outputFacets namespace name runId eventType columnLineage fields "
    "inputFields transformations type sql query errorMessage stackTrace parent value key password debug"
)
MEMBERS = st.sampled_from(MEMBER_NAMES.split())

# Seconds: far above what a loaded machine's scheduler costs, below any of the network's time-outs (Kafka's own are 30 and more).
AT_ONCE = 2.0


def test_events_are_delivered_keyed_by_run(servers: Servers, topic: str, make_transport: MakeTransport) -> None:
    transport = make_transport(bootstrap_servers=servers.kafka_bootstrap_servers, topic=topic)
    for n in range(200):
        transport.emit(run_event(f"r{n % 20}", output=n))
    assert transport.flush(20)
    messages = arrived(servers.kafka_bootstrap_servers, topic, 200)
    assert len(messages) == 200
    assert all(key is not None and key.decode() == json.loads(value)["run"]["runId"] for key, value in messages)
    assert transport.counters().delivered == 200


@pytest.mark.parametrize("mode", ["refuse", "hang", "swallow", "truncate"])
def test_broker_that(
    mode: Mode, proxy: FaultyProxy, topic: str, spool_dir: Path, make_transport: MakeTransport
) -> None:
    proxy.mode = mode
    transport = make_transport(bootstrap_servers=proxy.address, topic=topic)
    assert emit_slowest(transport, 300) < AT_ONCE
    begun = time.monotonic()
    assert not transport.close(1.0)
    assert time.monotonic() - begun < 10
    assert sorted(spooled_run_ids(spool_dir)) == sorted(f"r{n}" for n in range(300))


def test_broker_that_stops_and_starts_again(
    proxy: FaultyProxy, servers: Servers, topic: str, make_transport: MakeTransport
) -> None:
    transport = make_transport(bootstrap_servers=proxy.address, topic=topic, delivery_timeout=1.0, replay_interval=0.2)

    def has_arrived(expected: set[str]) -> bool:
        return run_ids(arrived(servers.kafka_bootstrap_servers, topic, len(expected))) == expected

    # On a busy machine the first event may take longer than the time-out and pass through the spool.
    transport.emit(run_event("before"))
    assert eventually(lambda: has_arrived({"before"}), 30)
    proxy.mode = "refuse"
    spooled = transport.counters().spooled
    assert emit_slowest(transport, 50) < AT_ONCE
    assert eventually(lambda: transport.counters().spooled == spooled + 50)
    proxy.mode = "pass"
    assert eventually(lambda: transport.counters().replayed >= 50, 60)
    assert eventually(lambda: has_arrived({"before", *(f"r{n}" for n in range(50))}), 60)


def test_slow_broker(proxy: FaultyProxy, servers: Servers, topic: str, make_transport: MakeTransport) -> None:
    proxy.delay = 0.2
    transport = make_transport(bootstrap_servers=proxy.address, topic=topic)
    assert emit_slowest(transport, 100) < AT_ONCE
    assert transport.flush(30)
    assert len(arrived(servers.kafka_bootstrap_servers, topic, 100)) == 100


def test_dead_name(spool_dir: Path, make_transport: MakeTransport) -> None:
    transport = make_transport(bootstrap_servers="no-such-host.invalid:9092")
    assert emit_slowest(transport, 100) < AT_ONCE
    assert not transport.close(1.0)
    assert len(spooled_run_ids(spool_dir)) == 100


def test_no_kafka_configured(spool_dir: Path, make_transport: MakeTransport) -> None:
    transport = make_transport(bootstrap_servers="")
    assert emit_slowest(transport, 100) < AT_ONCE
    assert not transport.close(5.0)
    assert len(spooled_run_ids(spool_dir)) == 100


def test_settings_that_kafka_does_not_know(spool_dir: Path, make_transport: MakeTransport) -> None:
    transport = make_transport(kafka={"no.such.setting": "x"})
    assert emit_slowest(transport, 100) < AT_ONCE
    assert not transport.close(5.0)
    assert len(spooled_run_ids(spool_dir)) == 100


def test_topic_that_is_missing(servers: Servers, spool_dir: Path, make_transport: MakeTransport) -> None:
    # Kafka does not create a topic with this name, so it is missing even on brokers that create topics automatically.
    transport = make_transport(
        bootstrap_servers=servers.kafka_bootstrap_servers, topic="not/a/topic", delivery_timeout=1.0
    )
    assert emit_slowest(transport, 20) < AT_ONCE
    assert eventually(lambda: transport.counters().spooled == 20)
    transport.close(1.0)
    assert len(spooled_run_ids(spool_dir)) == 20


def test_log_in_that_is_refused(servers: Servers, topic: str, spool_dir: Path, make_transport: MakeTransport) -> None:
    login = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "u",
        "sasl.password": "p",
    }
    transport = make_transport(bootstrap_servers=servers.kafka_bootstrap_servers, topic=topic, kafka=login)
    assert emit_slowest(transport, 20) < AT_ONCE
    assert not transport.close(1.0)
    assert len(spooled_run_ids(spool_dir)) == 20


def test_message_larger_than_kafka_takes(
    servers: Servers, topic: str, spool_dir: Path, make_transport: MakeTransport
) -> None:
    transport = make_transport(
        bootstrap_servers=servers.kafka_bootstrap_servers,
        topic=topic,
        max_event_bytes=10_000_000,
        kafka={"compression.type": "none"},
    )
    text = "".join(chr(97 + n * n % 26) for n in range(2_000_000))
    transport.emit(run_event("large", job={"namespace": "n", "name": "j", "facets": {"note": {"text": text}}}))
    assert not transport.flush(20)
    assert transport.counters().spooled == 1
    transport.emit(run_event("small"))
    assert transport.close(5.0)
    assert spooled_run_ids(spool_dir, ".refused") == ["large"]
    assert run_ids(arrived(servers.kafka_bootstrap_servers, topic, 1)) == {"small"}


def test_full_queue(make_transport: MakeTransport) -> None:
    stuck = Stuck()
    transport = make_transport(lambda _: stuck, queue_events=50)
    assert emit_slowest(transport, 500) < AT_ONCE
    assert stuck.reached.wait(5)
    dropped = transport.counters().dropped["queue_full"]
    # The thread may have taken up to a batch of events before it blocked.
    assert 300 <= dropped <= 450
    stuck.go_on.set()


def test_queue_full_by_size(make_transport: MakeTransport) -> None:
    stuck = Stuck()
    transport = make_transport(lambda _: stuck, queue_bytes=1_000_000)
    transport.emit(run_event("first"))
    assert stuck.reached.wait(5)
    facet = {"text": "x" * 100_000}
    for n in range(100):
        transport.emit(run_event(f"r{n}", job={"namespace": "n", "name": "j", "facets": {"note": facet}}))
    # The sizes of the first 32 are not estimated; then ten of 100 kB are a million bytes.
    assert 50 <= transport.counters().dropped["queue_full"] <= 60
    stuck.go_on.set()


def test_thread_that_a_debugger_holds(spool_dir: Path, make_transport: MakeTransport) -> None:
    stuck = Stuck()
    transport = make_transport(lambda _: stuck)
    transport.emit(run_event("taken"))
    assert stuck.reached.wait(5)
    assert emit_slowest(transport, 200) < AT_ONCE
    begun = time.monotonic()
    assert not transport.close(0.5)
    assert time.monotonic() - begun < 10
    # Queued events are on disk; the event that the thread has taken is not.
    assert sorted(spooled_run_ids(spool_dir)) == sorted(f"r{n}" for n in range(200))
    stuck.go_on.set()


def test_thirty_two_threads_at_once(servers: Servers, topic: str, make_transport: MakeTransport) -> None:
    transport = make_transport(bootstrap_servers=servers.kafka_bootstrap_servers, topic=topic)
    slowest: list[float] = []
    threads = [
        threading.Thread(target=lambda k=k: slowest.append(emit_slowest(transport, 50, f"t{k}-"))) for k in range(32)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(slowest) < 2 * AT_ONCE
    assert transport.flush(30)
    assert transport.counters().emitted == transport.counters().delivered == 1600
    assert len(run_ids(arrived(servers.kafka_bootstrap_servers, topic, 1600))) == 1600


def test_signal_handler_that_interrupts_emit(make_transport: MakeTransport) -> None:
    broker = MemoryBroker()
    transport = make_transport(lambda _: broker)
    handled = 0

    def emit_again(*_: Any) -> None:
        nonlocal handled
        handled += 1
        transport.emit(run_event(f"signal{handled}"))

    before = signal.signal(signal.SIGALRM, emit_again)
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    try:
        emitted = 0
        deadline = time.monotonic() + 10
        while handled < 200 and time.monotonic() < deadline:
            transport.emit(run_event(f"main{emitted}"))
            emitted += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert handled >= 200
    delivered = transport.close(20)
    counted = transport.counters()
    assert delivered == (not counted.lost())
    assert counted.emitted == emitted + handled
    assert len(broker.received) + counted.lost() == counted.emitted


def test_event_that_cannot_be_written(make_transport: MakeTransport) -> None:
    broker = MemoryBroker()
    transport = make_transport(lambda _: broker)
    endless: dict[str, Any] = {}
    endless["again"] = endless
    for event in (run_event("loop", more=endless), object(), None, [], run_event("good", more={1, 2})):
        transport.emit(event)
    assert not transport.close(5)
    assert [json.loads(message.value)["run"]["runId"] for message in broker.received] == ["good"]
    assert transport.counters().dropped == {"not_serialisable": 4}


def test_broker_port_that_fails_in_every_call(make_transport: MakeTransport) -> None:
    class Broken(MemoryBroker):
        def poll(self, seconds: float) -> None:
            raise OSError("no more descriptors")

    transport = make_transport(lambda _: Broken())
    assert emit_slowest(transport, 20) < AT_ONCE
    begun = time.monotonic()
    assert not transport.close(1.0)
    assert time.monotonic() - begun < 10


def test_a_fault_of_the_emitter_itself_is_counted(
    make_transport: MakeTransport, caplog: pytest.LogCaptureFixture
) -> None:
    class Faulty(MemoryBroker):
        def send(self, message: Message, done: Any) -> bool:
            if message.key == b"bad":
                raise KeyError("a fault")
            return super().send(message, done)

    broker = Faulty()
    transport = make_transport(lambda _: broker)
    for run_id in ("a", "bad", "b"):
        transport.emit(run_event(run_id))
    assert not transport.close(5)
    assert [message.key for message in broker.received] == [b"a", b"b"]
    assert transport.counters().dropped == {"fault": 1}
    assert "KeyError: 'a fault'" in caplog.text


def test_avro_without_its_extra(make_transport: MakeTransport, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastavro", None)
    broker = MemoryBroker()
    # The id belongs to the Avro schema: JSON must not be framed with it.
    transport = make_transport(lambda _: broker, format="avro", schema_id=1)
    transport.emit(run_event("r"))
    assert transport.close(5)
    assert json.loads(broker.received[0].value)["run"]["runId"] == "r"


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(MEMBERS, inner, max_size=4),
    max_leaves=25,
)


@settings(max_examples=400)
@given(event=st.dictionaries(MEMBERS, values, max_size=6), limit=st.integers(1, 300))
def test_events_of_any_shape_are_sent_or_counted(event: dict[str, Any], limit: int) -> None:
    preparation = Preparation(HeadwaterConfig(max_event_bytes=limit), TransportCounters())
    with contextlib.suppress(NotSerialisable):
        for message in preparation.messages(event, 0.0):
            assert isinstance(json.loads(message.value), dict)


class Stuck(MemoryBroker):
    """A broker whose first ``send`` blocks the emitter's thread until it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = threading.Event()
        self.go_on = threading.Event()

    def send(self, message: Message, done: Any) -> bool:
        self.reached.set()
        self.go_on.wait(30)
        return super().send(message, done)
