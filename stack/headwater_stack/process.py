"""Processes that outlive the command that started them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from headwater_graph.processes import Process, is_alive, start_of

__all__ = ["Process", "is_alive", "spawn", "stop"]

_POLL = 0.05
_KILLED = 5.0


def spawn(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> Process:
    """Start ``command`` in a separate session with its output in ``log``; an earlier log is renamed to ``.1``."""
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.exists():
        log.replace(log.with_name(log.name + ".1"))
    output = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    redirections = (
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(log), output, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    )
    # Not subprocess.Popen, which warns about a child that outlives this process.
    pid = os.posix_spawn(command[0], list(command), environment, file_actions=redirections, setsid=True)
    return Process(pid, start_of(pid) or "")


def stop(processes: Sequence[Process], patience: float) -> None:
    """End processes: send SIGTERM, wait ``patience`` seconds for all of them, then kill."""
    _signal(processes, signal.SIGTERM)
    if rest := _wait(processes, patience):
        _signal(rest, signal.SIGKILL)
        _wait(rest, _KILLED)


def _signal(processes: Sequence[Process], number: signal.Signals) -> None:
    for process in filter(is_alive, processes):
        with suppress(ProcessLookupError):
            os.kill(process.pid, number)


def _wait(processes: Sequence[Process], patience: float) -> list[Process]:
    end = time.monotonic() + patience
    while (rest := list(filter(is_alive, processes))) and time.monotonic() < end:
        time.sleep(_POLL)
    return rest
