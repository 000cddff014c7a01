"""Kafka does not respond: waiting events are written to disk early, and sent when it responds again."""

from __future__ import annotations

import threading
from pathlib import Path

from .conftest import MakeTransport
from .events import MemoryBroker, eventually, run_event, spooled_run_ids


def arrived(broker: MemoryBroker) -> set[str]:
    return {(message.key or b"").decode() for message in broker.received}


def test_waiting_events_are_written_to_disk_and_sent_when_kafka_responds(
    make_transport: MakeTransport, spool_dir: Path
) -> None:
    broker = MemoryBroker()
    broker.available = False
    transport = make_transport(lambda _: broker, spool_after=0.1, replay_interval=3600)
    for n in range(20):
        transport.emit(run_event(f"r{n}"))
    assert eventually(lambda: transport.counters().spooled == 20)
    # From now on each event is written to disk at once, except one that finds out whether Kafka is back.
    for n in range(20, 40):
        transport.emit(run_event(f"r{n}"))
        assert eventually(lambda n=n: transport.counters().spooled + broker.in_flight() >= n + 1)
        assert broker.in_flight() <= 1
    broker.available = True
    transport.emit(run_event("back"))
    assert eventually(lambda: arrived(broker) == {"back", *(f"r{n}" for n in range(40))})
    assert eventually(lambda: not list(spool_dir.glob("*.spool")))


def test_a_slow_kafka_counts_as_available(make_transport: MakeTransport) -> None:
    broker = MemoryBroker()
    transport = make_transport(lambda _: broker, spool_after=60)
    for n in range(50):
        transport.emit(run_event(f"r{n}"))
    assert transport.flush(10)
    assert transport.counters().spooled == 0


def test_a_flush_waits_for_the_delivery(make_transport: MakeTransport) -> None:
    broker = MemoryBroker()
    broker.available = False
    transport = make_transport(lambda _: broker, spool_after=0.3)
    transport.emit(run_event("r"))
    threading.Timer(1.0, setattr, (broker, "available", True)).start()
    assert transport.flush(20)
    assert transport.counters().spooled == 0


def test_spooled_events_are_sent_while_closing_if_kafka_is_back(make_transport: MakeTransport, spool_dir: Path) -> None:
    broker = MemoryBroker()
    broker.available = False
    transport = make_transport(lambda _: broker, spool_after=0.1, replay_interval=3600)
    for n in range(20):
        transport.emit(run_event(f"r{n}"))
    assert eventually(lambda: transport.counters().spooled == 20)
    broker.available = True
    assert transport.close(10)
    assert arrived(broker) == {f"r{n}" for n in range(20)}
    assert list(spool_dir.glob("*.spool")) == []


def test_events_of_other_emitters_do_not_delay_the_closing(make_transport: MakeTransport, spool_dir: Path) -> None:
    other = make_transport(bootstrap_servers="")
    other.emit(run_event("other"))
    other.close(5)
    broker = MemoryBroker()
    broker.available = False
    transport = make_transport(lambda _: broker, replay=False)
    assert transport.close(10)
    assert spooled_run_ids(spool_dir) == ["other"]
