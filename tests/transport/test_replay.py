"""Events on disk are sent when Kafka is available, in small steps, and removed when acknowledged."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.transport.broker import Message
from headwater.transport.counters import TransportCounters
from headwater.transport.spool import DAMAGED, PENDING, Spool, segments
from headwater.transport.spool.replay import MAX_IN_FLIGHT, Replay

from .conftest import MakeTransport
from .events import MemoryBroker, eventually, run_event, spooled_run_ids


def never(message: Message) -> None:
    raise AssertionError(f"{message} was not refused")


def filled_spool(directory: Path, count: int) -> Spool:
    spool = Spool(directory, "t", 10_000_000)
    for n in range(count):
        spool.append(Message(b"k", b"%d" % n))
    spool.close()
    return spool


def test_the_first_record_is_sent_alone(tmp_path: Path) -> None:
    replay = Replay(filled_spool(tmp_path, 3), TransportCounters(), 10.0, active=True, set_aside=never)
    broker = MemoryBroker()
    broker.available = False
    for now in range(5):
        replay.step(broker, float(now))
    assert broker.in_flight() == 1


def test_a_segment_is_removed_when_all_is_acknowledged(tmp_path: Path) -> None:
    counters, broker = TransportCounters(), MemoryBroker()
    replay = Replay(filled_spool(tmp_path, 3), counters, 10.0, active=True, set_aside=never)
    for _ in range(3):
        assert segments(tmp_path, PENDING)
        replay.step(broker, 0.0)
        broker.poll(0)
    replay.step(broker, 0.0)
    assert [message.value for message in broker.received] == [b"0", b"1", b"2"]
    assert segments(tmp_path, PENDING) == []
    assert counters.snapshot().replayed == 3


def test_steps_are_small(tmp_path: Path) -> None:
    broker = MemoryBroker(room=10_000)
    replay = Replay(filled_spool(tmp_path, 3 * MAX_IN_FLIGHT), TransportCounters(), 10.0, active=True, set_aside=never)
    replay.step(broker, 0.0)
    broker.poll(0)
    replay.step(broker, 0.0)
    assert broker.in_flight() == MAX_IN_FLIGHT


def test_a_failed_step_leaves_the_segment_and_waits(tmp_path: Path) -> None:
    broker = MemoryBroker()
    replay = Replay(filled_spool(tmp_path, 3), TransportCounters(), 10.0, active=True, set_aside=never)
    broker.available = False
    replay.step(broker, 0.0)
    broker.recall()
    replay.step(broker, 1.0)
    assert len(segments(tmp_path, PENDING)) == 1
    assert replay.idle_seconds(4.0) == 6.0
    broker.available = True
    for now in (5.0, 11.0, 11.0, 11.0, 11.0):
        replay.step(broker, now)
        broker.poll(0)
    assert [message.value for message in broker.received] == [b"0", b"1", b"2"]
    assert segments(tmp_path, PENDING) == []


def test_a_refused_record_is_set_aside_and_delays_nothing(tmp_path: Path) -> None:
    aside: list[Message] = []
    broker = MemoryBroker(refuses=lambda message: message.value == b"1")
    replay = Replay(filled_spool(tmp_path, 3), TransportCounters(), 10.0, active=True, set_aside=aside.append)
    for _ in range(4):
        replay.step(broker, 0.0)
        broker.poll(0)
    assert aside == [Message(b"k", b"1")]
    assert [message.value for message in broker.received] == [b"0", b"2"]
    assert segments(tmp_path, PENDING) == []


def test_stopping_in_the_middle_leaves_the_segment_to_others(tmp_path: Path) -> None:
    broker = MemoryBroker()
    replay = Replay(filled_spool(tmp_path, 3), TransportCounters(), 10.0, active=True, set_aside=never)
    replay.step(broker, 0.0)
    replay.stop()
    assert len(segments(tmp_path, PENDING)) == 1
    other = Replay(Spool(tmp_path, "t", 10_000), TransportCounters(), 10.0, active=True, set_aside=never)
    other.step(broker, 0.0)
    assert other.idle_seconds(0.0) == 0.0
    other.stop()


def test_a_torn_end_is_counted_as_lost(tmp_path: Path) -> None:
    spool, counters, broker = filled_spool(tmp_path, 2), TransportCounters(), MemoryBroker()
    (path,) = segments(tmp_path, PENDING)
    path.write_bytes(path.read_bytes()[:-1])
    replay = Replay(spool, counters, 10.0, active=True, set_aside=never)
    for _ in range(3):
        replay.step(broker, 0.0)
        broker.poll(0)
    assert counters.snapshot().dropped == {"torn": 1}
    assert segments(tmp_path, PENDING) == []


def test_a_damaged_segment_is_sent_except_for_the_damage_and_set_aside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    spool, counters, broker = filled_spool(tmp_path, 500), TransportCounters(), MemoryBroker()
    (path,) = segments(tmp_path, PENDING)
    data = path.read_bytes()
    path.write_bytes(data[:30] + bytes([data[30] ^ 1]) + data[31:])
    replay = Replay(spool, counters, 10.0, active=True, set_aside=never)
    for _ in range(6):
        replay.step(broker, 0.0)
        broker.poll(0)
    assert len(broker.received) == 499
    assert counters.snapshot().dropped == {"torn": 1}
    assert segments(tmp_path, PENDING) == []
    (aside,) = segments(tmp_path, DAMAGED)
    assert aside.stem == path.stem
    assert f"1 damaged records of spool segment {path.name} are set aside in {aside}" in caplog.text


def test_the_next_emitter_sends_spooled_events(make_transport: MakeTransport, spool_dir: Path) -> None:
    first = make_transport(bootstrap_servers="")
    first.emit(run_event("left"))
    assert not first.close(5)
    broker = MemoryBroker()
    second = make_transport(lambda _: broker)
    second.emit(run_event("new"))
    assert eventually(lambda: second.counters().replayed == 1)
    assert sorted(message.key or b"" for message in broker.received) == [b"left", b"new"]
    assert eventually(lambda: segments(spool_dir, PENDING) == [])


def test_an_emitter_without_replay_leaves_the_spool(make_transport: MakeTransport, spool_dir: Path) -> None:
    first = make_transport(bootstrap_servers="")
    first.emit(run_event("left"))
    first.close(5)
    second = make_transport(lambda _: MemoryBroker(), replay=False, replay_interval=0.01)
    second.emit(run_event("new"))
    assert second.flush(5)
    assert second.close(5)
    assert spooled_run_ids(spool_dir) == ["left"]
