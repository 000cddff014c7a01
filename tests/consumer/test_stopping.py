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
def consumer(room: Room, seconds: float, **settings: object) -> Iterator[Process]:
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
    command = [sys.executable, str(SCRIPT), str(log), str(seconds)]
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
    with urlopen(f"http://127.0.0.1:{port}{path}") as answer:
        return str(answer.read().decode())


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
