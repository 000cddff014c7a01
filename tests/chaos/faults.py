"""The faults of a schedule, on a real consumer and the servers of a local stack."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import headwater_stack
from headwater_stack.home import Home
from headwater_stack.process import stop

from ..end_to_end.consuming import Room
from .schedule import Step

POLL = 0.1
WORKS = 900.0
"""Seconds after which a consumer that writes nothing counts as hung."""

PATIENCE = 30.0
"""Seconds that a server has to end."""


class Faults:
    """A consumer that is started again whenever it ends, and what happens to it and to its servers."""

    def __init__(self, room: Room, home: Path, settings: Mapping[str, str]) -> None:
        self._room = room
        self._home = home
        self._settings = settings
        self._consumer: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._run()
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self._kill()
        headwater_stack.up(self._home)

    def pause(self, seconds: float) -> None:
        """Wait; a consumer that ends meanwhile is started again."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._run()
            time.sleep(POLL)

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds; a consumer that ends meanwhile is started again."""
        give_up = time.monotonic() + WORKS
        while not holds():
            assert time.monotonic() < give_up, f"the consumer writes nothing: {self._room.log()[-2_000:]}"
            self.pause(POLL)

    def happen(self, step: Step) -> None:
        """Let the fault of a step happen, and undo it after its time."""
        match step.fault:
            case "kill the consumer":
                self._kill()
            case "freeze Neo4j":
                self._freeze("neo4j", step.seconds)
            case "restart Neo4j":
                self._restart("neo4j", step.seconds, PATIENCE)
            case "restart Kafka":
                self._restart("kafka", step.seconds, PATIENCE)
            case "kill Kafka":
                self._restart("kafka", step.seconds, 0.0)
            case "tear the checkpoint":
                self._kill()
                self._tear(step.choice)
            case unknown:
                raise ValueError(unknown)
        self._run()

    def _run(self) -> None:
        if self._consumer is None or self._consumer.poll() is not None:
            self._consumer = self._room.start(**self._settings)

    def _kill(self) -> None:
        if self._consumer is not None:
            kill(self._consumer)
        self._consumer = None

    def _tear(self, choice: float) -> None:
        """Cut a file of the checkpoint in half, as a full disk does; there is none before the first batch."""
        folder = self._room.folder / "checkpoint"
        files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
        if files:
            torn = files[int(choice * len(files))]
            torn.write_bytes(torn.read_bytes()[: torn.stat().st_size // 2])

    def _freeze(self, server: str, seconds: float) -> None:
        pid = self._pid(server)
        os.kill(pid, signal.SIGSTOP)
        try:
            self.pause(seconds)
        finally:
            os.kill(pid, signal.SIGCONT)

    def _restart(self, server: str, seconds: float, patience: float) -> None:
        process = Home.at(self._home).read_state()[server].process
        assert process is not None
        stop([process], patience)
        self.pause(seconds)
        headwater_stack.up(self._home)

    def _pid(self, server: str) -> int:
        process = Home.at(self._home).read_state()[server].process
        assert process is not None
        return process.pid


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all below it at once."""
    for pid in [process.pid, *descendants(process.pid)] if process.poll() is None else []:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


def descendants(pid: int) -> Iterator[int]:
    """Yield the processes below a process: Spark's Java, and the workers below that."""
    with suppress(FileNotFoundError, ProcessLookupError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in (thread / "children").read_text().split():
                yield int(child)
                yield from descendants(int(child))
