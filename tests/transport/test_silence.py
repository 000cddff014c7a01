"""Kafka that does not answer: what waits for it goes to disk early, and comes back when it answers."""

from __future__ import annotations

import threading
from pathlib import Path

from headwater.transport.broker import MemoryBroker

from .conftest import MakeTransport
from .events import eventually, run_event, spooled_run_ids


def arrived(broker: MemoryBroker) -> set[str]:
    return {(message.key or b"").decode() for message in broker.received}


def test_events_that_wait_go_to_disk_and_are_sent_when_kafka_answers(
    make_transport: MakeTransport, spool_dir: Path
) -> None:
    broker = MemoryBroker()
    broker.available = False
    transport = make_transport(lambda _: broker, spool_after=0.1, replay_interval=3600)
    for n in range(20):
        transport.emit(run_event(f"r{n}"))
    assert eventually(lambda: transport.counters().spooled == 20)
    # From now on each goes to disk at once, but for one that finds out whether Kafka is back.
    for n in range(20, 40):
        transport.emit(run_event(f"r{n}"))
        assert eventually(lambda n=n: transport.counters().spooled + broker.in_flight() >= n + 1)
        assert broker.in_flight() <= 1
    broker.available = True
    transport.emit(run_event("back"))
    assert eventually(lambda: arrived(broker) == {"back", *(f"r{n}" for n in range(40))})
    assert eventually(lambda: not list(spool_dir.glob("*.spool")))


def test_a_slow_kafka_that_answers_is_not_silent(make_transport: MakeTransport) -> None:
    broker = MemoryBroker()
    transport = make_transport(lambda _: broker, spool_after=60)
    for n in range(50):
        transport.emit(run_event(f"r{n}"))
    assert transport.flush(10)
    assert transport.counters().spooled == 0


def test_who_waits_for_the_delivery_is_not_cut_short(make_transport: MakeTransport) -> None:
    broker = MemoryBroker()
    broker.available = False
    transport = make_transport(lambda _: broker, spool_after=0.3)
    transport.emit(run_event("r"))
    threading.Timer(1.0, setattr, (broker, "available", True)).start()
    assert transport.flush(20)
    assert transport.counters().spooled == 0


def test_what_went_to_disk_is_sent_while_closing_if_kafka_is_back(
    make_transport: MakeTransport, spool_dir: Path
) -> None:
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


def test_what_others_left_does_not_delay_the_closing(make_transport: MakeTransport, spool_dir: Path) -> None:
    other = make_transport(bootstrap_servers="")
    other.emit(run_event("other"))
    other.close(5)
    broker = MemoryBroker()
    broker.available = False
    transport = make_transport(lambda _: broker, replay=False)
    assert transport.close(10)
    assert spooled_run_ids(spool_dir) == ["other"]
