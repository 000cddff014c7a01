"""The thread that ends a process whose other threads can't, and says when they are stuck."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from headwater_consumer.monitoring.health import Status
from headwater_consumer.monitoring.metrics import Metrics
from headwater_consumer.monitoring.watchdog import Watchdog

SOON = 20.0


class Process:
    """A process under a watchdog: what it does, whether Java runs, and whether it was ended."""

    def __init__(self, drain_timeout: float = 0.05, patience: float = 300.0) -> None:
        self.now = 1_000.0
        self.status = Status(Metrics(), lambda: self.now, patience=patience)
        self.stop = threading.Event()
        self.ended = threading.Event()
        self.java_end: str | None = None
        self.watchdog = Watchdog(
            self.status,
            self.stop,
            drain_timeout,
            java_end=lambda: self.java_end,
            end=self.ended.set,
            poll_seconds=0.01,
        )


def logged(caplog: pytest.LogCaptureFixture, is_there: Callable[[str], bool]) -> str:
    found: list[str] = []
    for _ in range(int(SOON * 100)):
        found = [record.getMessage() for record in caplog.records if is_there(record.getMessage())]
        if found:
            break
        threading.Event().wait(0.01)
    return found[0]


def test_a_process_that_does_not_stop_in_time_is_ended_and_says_what_it_abandons(
    caplog: pytest.LogCaptureFixture,
) -> None:
    process = Process()
    with process.watchdog, process.status.working("writing batch 7"):
        process.stop.set()
        assert process.ended.wait(SOON)
    (record,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert record.__dict__["abandoned"] == "writing batch 7"
    assert record.__dict__["reason"] == "asked to stop"


def test_a_process_whose_java_has_ended_and_that_does_not_notice_is_ended(caplog: pytest.LogCaptureFixture) -> None:
    process = Process()
    with process.watchdog:
        process.java_end = "Spark's Java process ended with exit code 137"
        assert process.ended.wait(SOON)
    assert [record.__dict__["reason"] for record in caplog.records] == [process.java_end]


def test_a_process_that_stops_in_time_is_left_alone() -> None:
    process = Process(drain_timeout=600)
    with process.watchdog:
        process.stop.set()
    assert not process.ended.is_set()
    assert not process.watchdog._thread.is_alive()


def test_a_batch_that_makes_no_progress_is_logged_once_and_so_is_that_it_moves_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    process = Process(patience=60)
    with process.watchdog, process.status.working("reading batch 3"):
        process.now += 61
        assert logged(caplog, lambda line: "makes no progress" in line)
        process.status.progressed()
        assert logged(caplog, lambda line: "progress again" in line)
    assert len(caplog.records) == 2
