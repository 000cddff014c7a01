"""Processes of this machine, distinguished from later ones with the same id."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_START_TIME = 22 - 3


@dataclass(frozen=True, slots=True)
class Process:
    """A process: its id, and the time of its start in the form of the operating system."""

    pid: int
    born: str  # the name in state files of running stacks


def is_alive(process: Process) -> bool:
    """Return whether this process still runs, not another one with its id."""
    _reap(process.pid)
    return bool(process.born) and start_of(process.pid) == process.born


def _reap(pid: int) -> None:
    # A dead child of this process keeps its id until it is waited for; only its parent can wait for it.
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def start_of(pid: int) -> str | None:
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
