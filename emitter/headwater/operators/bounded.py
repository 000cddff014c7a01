"""Execution of foreign code with a time limit, so that neither its errors nor its duration affect the task.

There are two ways. A daemon thread is cheap, shares the task's memory, and is abandoned at the time limit. A forked child
can be killed and cannot change the task's memory; it returns its result as JSON through a pipe, and an incomplete result
is an error.
"""

from __future__ import annotations

import contextvars
import functools
import logging
import os
import select
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeAlias, TypeVar

import msgspec

from .contract.plain import plain

logger = logging.getLogger(__name__)

Isolation: TypeAlias = Literal["thread", "fork"]
_GRACE = 1.0


class HasCounts(Protocol):
    """An object that counts its failures."""

    counts: Counter[str]


_P = ParamSpec("_P")
_S = TypeVar("_S", bound=HasCounts)


def never_raises(method: Callable[Concatenate[_S, _P], None]) -> Callable[Concatenate[_S, _P], None]:
    """Return the method, with its exceptions logged and counted as ``listener_failed`` instead of raised to the host."""

    @functools.wraps(method)
    def guarded(self: _S, /, *args: _P.args, **kwargs: _P.kwargs) -> None:
        try:
            method(self, *args, **kwargs)
        except Exception:
            self.counts["listener_failed"] += 1
            logger.warning("lineage: %s failed. The task is not affected.", method.__name__, exc_info=True)

    return guarded


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a call: its value, or the reason why there is none."""

    value: Any = None
    fault: str = ""


def run_bounded(work: Callable[[], Any], timeout: float, name: str, isolation: Isolation = "thread") -> Outcome:
    """Call ``work`` for at most ``timeout`` seconds (plus a second to end a child) and return its outcome; never raise.

    The value of a forked child consists of JSON types. A platform without ``fork`` uses a thread.
    """
    runner = _in_fork if isolation == "fork" and hasattr(os, "fork") else _in_thread
    outcome = runner(work, timeout)
    if outcome.fault:
        logger.warning("lineage of %s is not available: %s. The task is not affected.", name, outcome.fault)
    return outcome


def _in_thread(work: Callable[[], Any], timeout: float) -> Outcome:
    outcome: list[Outcome] = []
    context = contextvars.copy_context()
    thread = threading.Thread(
        target=lambda: outcome.append(context.run(_guarded, work)), name="headwater-lineage", daemon=True
    )
    thread.start()
    thread.join(timeout)
    return outcome[0] if outcome else _late(timeout)


def _guarded(work: Callable[[], Any]) -> Outcome:
    """Return the outcome of a call; its exceptions end here, ``SystemExit`` and ``KeyboardInterrupt`` included."""
    try:
        return Outcome(work())
    except BaseException as fault:
        logger.debug("lineage code raised", exc_info=True)
        return Outcome(fault=f"{type(fault).__name__}: {fault}")


def _late(timeout: float) -> Outcome:
    return Outcome(fault=f"it took longer than {timeout:g} s")


def _in_fork(work: Callable[[], Any], timeout: float) -> Outcome:
    deadline = time.monotonic() + timeout
    read_end, write_end = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        _child(work, write_end)
    os.close(write_end)
    try:
        answer = _read_until(read_end, deadline)
    finally:
        os.close(read_end)
        _end(child)
    if answer is None:
        return _late(timeout)
    try:
        members = msgspec.json.decode(answer)
    except msgspec.DecodeError:
        return Outcome(fault="the child process ended without a result")
    return Outcome(members.get("value"), members["fault"])


def _child(work: Callable[[], Any], write_end: int) -> None:
    """Write the outcome and exit; a child that returned would continue the host's program."""
    try:
        # The host's signal handlers do not apply here: a signal ends the child.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        outcome = _guarded(work)
        answer = msgspec.json.encode({"value": plain(outcome.value), "fault": outcome.fault})
        while answer:
            answer = answer[os.write(write_end, answer) :]
    finally:
        os._exit(0)


def _read_until(read_end: int, deadline: float) -> bytes | None:
    """Return everything up to the end of the pipe, or None if the end is not reached in time."""
    content = bytearray()
    while True:
        ready, _, _ = select.select([read_end], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return None
        part = os.read(read_end, 1 << 16)
        if not part:
            return bytes(content)
        content += part


def _end(child: int) -> None:
    """Wait for the child; if it still runs, send SIGTERM, and SIGKILL after ``_GRACE`` seconds."""
    deadline = time.monotonic() + _GRACE
    try:
        if os.waitpid(child, os.WNOHANG)[0]:
            return
        os.kill(child, signal.SIGTERM)
        while time.monotonic() < deadline:
            if os.waitpid(child, os.WNOHANG)[0]:
                return
            time.sleep(0.005)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    except (ChildProcessError, ProcessLookupError):
        # The host waits for all children itself (SIGCHLD ignored).
        return
