"""Foreign code run within a time, so that neither its errors nor its slowness reach the task.

Two ways. A daemon thread is cheap, sees everything the task sees, and is abandoned when its time is up. A forked
child can be killed and can change nothing in the task's memory; it hands its result back as JSON through a pipe, and
a result that didn't arrive whole counts as none.
"""

from __future__ import annotations

import contextvars
import logging
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import msgspec

from .contract.plain import plain

logger = logging.getLogger(__name__)

Isolation: TypeAlias = Literal["thread", "fork"]
_GRACE = 1.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it: a value, or the reason why there is none."""

    value: Any = None
    fault: str = ""


def run_bounded(work: Callable[[], Any], timeout: float, name: str, isolation: Isolation = "thread") -> Outcome:
    """Run the work for at most ``timeout`` seconds (plus a second to end a child); never raises what the work raises.

    In a fork the value comes back as JSON has it. Where the platform can't fork, a thread is used.
    """
    runner = _in_fork if isolation == "fork" and hasattr(os, "fork") else _in_thread
    outcome = runner(work, timeout)
    if outcome.fault:
        logger.warning("lineage of %s was not told: %s. This does not change the task.", name, outcome.fault)
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
    """The one place where everything that lineage code raises ends: `SystemExit` and `KeyboardInterrupt` in it are
    its own."""
    try:
        return Outcome(work())
    except BaseException as fault:
        logger.debug("lineage code raised", exc_info=True)
        return Outcome(fault=f"{type(fault).__name__}: {fault}")


def _late(timeout: float) -> Outcome:
    return Outcome(fault=f"it took longer than {timeout:g} s")


def _in_fork(work: Callable[[], Any], timeout: float) -> Outcome:
    deadline = time.monotonic() + timeout
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _child(work, writing)
    os.close(writing)
    try:
        told = _read_until(reading, deadline)
    finally:
        os.close(reading)
        _end(child)
    if told is None:
        return _late(timeout)
    try:
        members = msgspec.json.decode(told)
    except msgspec.DecodeError:
        return Outcome(fault="the child process ended before it had answered")
    return Outcome(members.get("value"), members["fault"])


def _child(work: Callable[[], Any], writing: int) -> None:
    """Work, answer, and leave without returning: a child that returned would run the host's program a second time."""
    try:
        # The host's handlers are about the host's work; here a signal just ends the child.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        outcome = _guarded(work)
        answer = msgspec.json.encode({"value": plain(outcome.value), "fault": outcome.fault})
        while answer:
            answer = answer[os.write(writing, answer) :]
    finally:
        os._exit(0)


def _read_until(reading: int, deadline: float) -> bytes | None:
    """Everything up to the end of the pipe, or None if that isn't there in time."""
    told = bytearray()
    while True:
        ready, _, _ = select.select([reading], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return None
        part = os.read(reading, 1 << 16)
        if not part:
            return bytes(told)
        told += part


def _end(child: int) -> None:
    """Reap the child, ending it first if it still runs: asked for `_GRACE` seconds, then killed."""
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
        # The host reaps all children itself (SIGCHLD ignored): nothing is left to do.
        return
