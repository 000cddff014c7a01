"""Whether this process is a fork, and a lock that keeps forks out of the imports and connections of the emitter's thread.

A child that is forked while another thread of its parent imports a module finds the module half initialised, or its lock
held forever.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LONGEST_WAIT = 10.0
"""A fork does not wait longer, in seconds."""

# Reentrant: an imported module may fork.
_lock = threading.RLock()
_held = threading.local()


@contextmanager
def without_forks() -> Iterator[None]:
    """Make the forks of other threads wait for the end of the block."""
    with _lock:
        yield


def _before_fork() -> None:
    _held.is_held = _lock.acquire(timeout=_LONGEST_WAIT)


def _after_fork_in_parent() -> None:
    if _held.__dict__.pop("is_held", False):
        _lock.release()


def _after_fork_in_child() -> None:
    global _lock
    _held.__dict__.clear()
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)


_PF_FORKNOEXEC = 0x40
"""Linux's flag for a process that was forked and has not executed a program of its own."""


def is_fork_without_exec() -> bool:
    """Return whether this process was forked before its first transport: schedulers fork a child for each event."""
    try:
        flags = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[6])
    except (OSError, ValueError, IndexError):
        return False  # not Linux: only forks after the first transport are detected
    return bool(flags & _PF_FORKNOEXEC)
