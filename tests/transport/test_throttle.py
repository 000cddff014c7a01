"""RUNNING events without news are limited to one per interval."""

from __future__ import annotations

from typing import Any

from headwater.transport.preparation.throttle import RUNS, Throttle

from .conftest import MakeTransport
from .events import MemoryBroker, run_event


def running(rows: int = 0, run_id: str = "r", **more: Any) -> dict[str, Any]:
    output = {"namespace": "n", "name": "o", "outputFacets": {"outputStatistics": {"rowCount": rows}}}
    return run_event(run_id, "RUNNING", outputs=[output], eventTime=f"2024-01-01T00:00:{rows % 60:02}Z") | more


def test_statistics_and_time_are_not_news() -> None:
    throttle = Throttle(10.0)
    admitted = [now for now in range(60) if throttle.admits(running(rows=now), float(now))]
    assert admitted == [0, 10, 20, 30, 40, 50]


def test_news_is_sent_at_once() -> None:
    throttle = Throttle(10.0)
    assert throttle.admits(running(), 0.0)
    assert not throttle.admits(running(1), 1.0)
    assert throttle.admits(running(2, inputs=[{"namespace": "n", "name": "i"}]), 2.0)
    assert throttle.admits(running(3, job={"namespace": "n", "name": "j", "facets": {"sql": {"query": "q"}}}), 3.0)
    assert throttle.admits(running(4), 4.0)


def test_runs_are_apart_and_other_types_pass() -> None:
    throttle = Throttle(10.0)
    assert throttle.admits(running(), 0.0)
    assert throttle.admits(running(run_id="other"), 0.0)
    assert all(
        throttle.admits(run_event("r", kind), 0.0) for kind in ("START", "OTHER", "COMPLETE", "FAIL", "COMPLETE")
    )


def test_events_without_a_run_pass() -> None:
    throttle = Throttle(10.0)
    for event in (
        {"job": {"namespace": "n", "name": "j"}},
        {"run": 3, "eventType": "RUNNING"},
        {"run": {"runId": None}},
    ):
        assert throttle.admits(event, 0.0)
        assert throttle.admits(event, 0.0)


def test_memory_is_bounded() -> None:
    throttle = Throttle(10.0)
    for n in range(RUNS + 10):
        throttle.admits(running(run_id=f"r{n}"), 0.0)
    assert throttle.admits(running(run_id="r0"), 1.0)
    assert not throttle.admits(running(run_id=f"r{RUNS}"), 1.0)


def test_throttled_events_are_counted(make_transport: MakeTransport) -> None:
    broker = MemoryBroker()
    transport = make_transport(lambda _: broker)
    for n in range(20):
        transport.emit(running(n))
    assert transport.close(5)
    assert (len(broker.received), transport.counters().throttled) == (1, 19)


def test_an_interval_of_zero_sends_all(make_transport: MakeTransport) -> None:
    broker = MemoryBroker()
    transport = make_transport(lambda _: broker, running_interval=0.0)
    for n in range(20):
        transport.emit(running(n))
    assert transport.close(5)
    assert len(broker.received) == 20
