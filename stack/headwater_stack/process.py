"""Processes that outlive the command that started them, distinguished from later processes with the same id."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_POLL = 0.05
_START_TIME = 22 - 3
_KILLED = 5.0


@dataclass(frozen=True, slots=True)
class Process:
    """A process: its id, and the time of its start in the form of the operating system."""

    pid: int
    born: str  # the name in state files of running stacks


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
    return Process(pid, _start_of(pid) or "")


def is_alive(process: Process) -> bool:
    """Return whether this process still runs, not another one with its id."""
    _reap(process.pid)
    return bool(process.born) and _start_of(process.pid) == process.born


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


def _reap(pid: int) -> None:
    # A dead child of this process keeps its id until it is waited for; only its parent can wait for it.
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _start_of(pid: int) -> str | None:
    """Return the time of the start of a process, None if it does not exist or is a zombie."""
    return _start_by_proc(pid) if (_PROC / "self" / "stat").exists() else _start_by_ps(pid)


def _start_by_proc(pid: int) -> str | None:
    folder = _PROC / str(pid)
    try:
        stat = (folder / "stat").read_text(encoding="utf-8", errors="replace")
        threads = len(list((folder / "task").iterdir()))
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name, in parentheses, may hold spaces; what follows it is numbered from 3.
    fields = stat.rpartition(")")[2].split()
    boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    # A process whose main thread is dead still holds its ports and files until its other threads end.
    return None if fields[0] in "ZX" and threads <= 1 else f"{boot}/{fields[_START_TIME]}"


def _start_by_ps(pid: int) -> str | None:
    command = ["ps", "-o", "stat=,lstart=", "-p", str(pid)]
    state, _, started = (
        subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip().partition(" ")
    )
    return None if not started or state.startswith("Z") else started.strip()
