"""A consumer as a process: how it stops, what its exit tells, and that nothing is lost by it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

import pytest

from headwater_consumer.monitoring.watchdog import ABANDONED

from ..transport.events import eventually
from .kafka_room import Room, run_event

pytestmark = pytest.mark.end_to_end

SCRIPT = Path(__file__).with_name("slow_consumer.py")
RUNS = 60


@dataclass
class Process:
    popen: subprocess.Popen[str]
    log: Path

    def lines(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    def until(self, line: str) -> None:
        give_up = time.monotonic() + 120
        while line not in self.lines():
            assert self.popen.poll() is None, self.popen.stderr
            assert time.monotonic() < give_up, f"{line!r} was not reached"
            time.sleep(0.05)


@contextmanager
def consumer(room: Room, seconds: float, *flags: str, **settings: object) -> Iterator[Process]:
    log = room.folder / "graph.log"
    given = {f"HEADWATER_{name.upper()}": str(value) for name, value in settings.items()}
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith("HEADWATER_")},
        "HEADWATER_KAFKA_BOOTSTRAP_SERVERS": room.bootstrap_servers,
        "HEADWATER_KAFKA_TOPIC": room.topic,
        "HEADWATER_NEO4J_URI": "bolt://127.0.0.1:1",
        "HEADWATER_CHECKPOINT": str(room.folder / "checkpoint"),
        **given,
    }
    command = [sys.executable, str(SCRIPT), str(log), str(seconds), *flags]
    with subprocess.Popen(command, env=environ, stderr=subprocess.PIPE, text=True) as popen:
        try:
            yield Process(popen, log)
        finally:
            if popen.poll() is None:
                popen.kill()


def committed(room: Room) -> list[int]:
    names = (path.name for path in (room.folder / "checkpoint" / "commits").iterdir())
    return sorted(int(name) for name in names if name.isdigit())


def events_of(stderr: str) -> list[str]:
    return [json.loads(line)["event"] for line in stderr.splitlines() if line.startswith("{")]


def get(port: int, path: str) -> str:
    with urlopen(f"http://127.0.0.1:{port}{path}") as lines:
        return str(lines.read().decode())


def test_after_a_stop_request_the_consumer_commits_the_current_batch_starts_no_other_and_exits_with_0(
    room: Room, unused_port: Callable[[], int]
) -> None:
    room.send([run_event(f"r{number}") for number in range(RUNS)])
    port = unused_port()
    with consumer(room, 1.5, max_offsets_per_trigger=20, http_port=port) as process:
        process.until("begin 1")
        assert "headwater_batches_total 1.0" in get(port, "/metrics")
        assert json.loads(get(port, "/readyz"))["batch"] == 0
        process.popen.send_signal(signal.SIGTERM)
        _, stderr = process.popen.communicate(timeout=60)
    assert process.popen.returncode == 0, stderr
    begun = [line for line in process.lines() if line.startswith(("begin", "end"))]
    assert begun == ["begin 0", "end 0", "begin 1", "end 1"]
    assert committed(room) == [0, 1]
    assert events_of(stderr)[-1] == "stopped"
    assert "Traceback" not in stderr
    room.stream(max_offsets_per_trigger=20).run(available_now=True)
    by_process = {line.removeprefix("run ") for line in process.lines() if line.startswith("run ")}
    assert by_process | room.writer.runs == {f"r{number}" for number in range(RUNS)}
    assert not by_process & room.writer.runs


def java_of(process: subprocess.Popen[str]) -> int:
    """Return the process id of a consumer's Java."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return next(int(child) for child in children if Path(f"/proc/{child}/comm").read_text().strip() == "java")


def is_running(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_consumer_whose_batch_does_not_end_stops_within_its_time_and_says_what_it_abandons(room: Room) -> None:
    room.send([run_event("one")])
    with consumer(room, 3_000, drain_timeout=1) as process:
        process.until("begin 0")
        java = java_of(process.popen)
        process.popen.send_signal(signal.SIGTERM)
        _, stderr = process.popen.communicate(timeout=60)
    assert process.popen.returncode == ABANDONED, stderr
    lines = [json.loads(line) for line in stderr.splitlines() if line.startswith("{")]
    assert (lines[-1]["abandoned"], lines[-1]["reason"]) == ("writing batch 0", "asked to stop")
    assert eventually(lambda: not is_running(java), 60)
    assert "Traceback" not in stderr
    room.consume()
    assert room.writer.runs == {"one"}


def test_a_consumer_whose_java_ends_fails_in_one_line_and_the_next_one_continues(room: Room) -> None:
    room.send([run_event("one")])
    with consumer(room, 0) as process:
        process.until("end 0")
        os.kill(java_of(process.popen), signal.SIGKILL)
        _, stderr = process.popen.communicate(timeout=90)
    assert process.popen.returncode == 1, stderr
    assert stderr.splitlines()[-1] == "headwater: Spark's Java process ended with exit code -9"
    assert "Traceback" not in stderr
    room.send([run_event("two")])
    room.consume()
    assert "two" in room.writer.runs
