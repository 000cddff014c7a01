"""A transport's life in its process: a new engine in each forked child and after a close, one bounded end at exit."""

from __future__ import annotations

import atexit
import ctypes
import logging
import os
import sys
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headwater.transport.counters import Counters, Ledger
from headwater.transport.engine import DELIVERING, Engine
from headwater.transport.settings import HeadwaterConfig
from headwater.transport.sink import Outlet
from headwater.transport.termination import settle_at_sigterm

logger = logging.getLogger("headwater.transport")


class Channel:
    """A transport's engine in this process: a new one in a forked child, and after a close.

    ``make`` builds the far end; it must not raise.
    """

    def __init__(self, make: Callable[[Ledger], Outlet], config: HeadwaterConfig, has_spool: bool) -> None:
        self._make = make
        self._config = config
        self._has_spool = has_spool
        self._past = Counters()
        self._forked = _is_bare_fork()
        self._placed = False
        self._settles_at_sigterm = False
        self._engine = self._new_engine()
        _channels.add(self)

    def _new_engine(self) -> Engine:
        return Engine(self._make, self._config.queue_events, self._config.queue_bytes)

    def emit(self, event: Any) -> None:
        """Hand an event over and return: microseconds, never raises, whatever the state of the network."""
        try:
            if not self._placed:
                self._place()
            self._engine.emit(event)
            if not self._settles_at_sigterm:
                self._settles_at_sigterm = settle_at_sigterm(_settle_all, _resume_all)
            if self._forked and self._config.fork_wait:
                self._engine.flush(self._config.fork_wait)
        except Exception:  # the host's work goes on, whatever happens to its lineage
            logger.exception("a lineage event could not be queued")

    def _place(self) -> None:
        """Find out how this process will end, once in each."""
        self._placed = True
        _in_use.add(self)
        if _is_multiprocessing_child():
            _hook_multiprocessing()
        elif self._forked and self._has_spool:
            # Such children mostly end by os._exit, which runs no exit function.
            self._engine.journal = True

    def flush(self, timeout: float) -> bool:
        """Wait up to ``timeout`` seconds until all events so far are acknowledged; False if some are not."""
        return self._engine.flush(timeout)

    def close(self, timeout: float | None = None) -> bool:
        """Deliver what can be within ``timeout`` seconds (default ``close_timeout``), put the rest to disk."""
        limit = self._config.close_timeout if timeout is None or timeout < 0 else timeout
        engine, self._engine = self._engine, self._new_engine()
        self._placed = False
        _in_use.discard(self)
        if engine.journal:
            engine.flush(limit * DELIVERING)
        engine.end(limit)
        delivered = engine.settle(limit)
        self._past += engine.ledger.counters()
        return delivered

    def counters(self) -> Counters:
        """What became of this process's events so far."""
        return self._past + self._engine.ledger.counters()

    def renew_in_child(self) -> None:
        """Start anew after a fork: the thread, the Kafka client and the open files are the parent's."""
        _never_free(self._engine)
        self._past = Counters()
        self._forked, self._placed, self._settles_at_sigterm = True, False, False
        self._engine = self._new_engine()

    def resume(self) -> None:
        """Start anew after `end`, in a process that lives on."""
        self._past += self._engine.ledger.counters()
        self._placed = False
        self._engine = self._new_engine()

    def end(self) -> tuple[Engine, float]:
        self._engine.end(self._config.close_timeout)
        return self._engine, self._config.close_timeout


_PF_FORKNOEXEC = 0x40
"""The flag by which Linux tells a process that was forked and runs no program of its own."""


def _is_bare_fork() -> bool:
    """Tell whether this process was forked before this module had a channel: schedulers fork a child for each event."""
    try:
        flags = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[6])
    except (OSError, ValueError, IndexError):
        return False  # no Linux: only forks after the first channel are known
    return bool(flags & _PF_FORKNOEXEC)


_channels: weakref.WeakSet[Channel] = weakref.WeakSet()
# A host may let go of a transport that still has events: they are owed until it is closed or the process ends.
_in_use: set[Channel] = set()


_hooked = False


def _is_multiprocessing_child() -> bool:
    process = sys.modules.get("multiprocessing.process")
    return process is not None and process.parent_process() is not None


def _hook_multiprocessing() -> None:
    # Its children run its own finalizers, but no atexit functions (before Python 3.13).
    global _hooked  # a process has one end
    if not _hooked:
        _hooked = True
        from multiprocessing import util

        util.Finalize(None, _at_exit, exitpriority=1)


def _never_free(value: object) -> None:
    # Freeing a Kafka client in a forked child waits for threads that are not there, for ever.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))


def _after_fork_in_child() -> None:
    global _hooked
    _hooked = False
    for channel in list(_channels):
        channel.renew_in_child()
    _in_use.clear()


def _at_exit() -> None:
    _settle_all()
    _log_totals()


def _settle_all() -> None:
    """End all channels side by side: the bound holds for all together."""
    begun = time.monotonic()
    for engine, limit in [channel.end() for channel in list(_channels)]:
        engine.settle(max(0.0, begun + limit - time.monotonic()))


def _resume_all() -> None:
    for channel in list(_channels):
        channel.resume()


def _log_totals() -> None:
    total = counters()
    if total.emitted:
        level = logging.WARNING if total.lost() else logging.INFO
        logger.log(level, "lineage: %s", total)


def counters() -> Counters:
    """What became of the events of this process, over all its transports."""
    return sum((channel.counters() for channel in list(_channels)), Counters())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
atexit.register(_at_exit)
