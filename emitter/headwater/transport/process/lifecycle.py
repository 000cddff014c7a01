"""The life of a transport in its process: a new sender in each forked child and after a close, one bounded end.

The end is the interpreter's exit, SIGTERM (``termination``) or ``os._exit``, which is replaced by a function that delivers
before it ends the process. Forked children mostly end by ``os._exit``: their events are on disk already, so they wait for
``fork_wait`` only. What a forked child has not delivered at its end is left to the process of ``spool_sender``.
"""

from __future__ import annotations

import atexit
import ctypes
import logging
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from ..background_sender import DELIVERY_SHARE, BackgroundSender
from ..counters import Counters, TransportCounters
from ..settings import HeadwaterConfig
from ..sink import Sink
from ..spool import Spool
from . import spool_sender
from .forking import is_fork_without_exec
from .termination import close_at_sigterm

logger = logging.getLogger("headwater.transport")


JOURNAL_CLOSE_SECONDS = 0.5
"""How long a thread whose events are on disk is given to end."""
ABANDONED_SECONDS = 10.0


class Lifecycle:
    """A transport: one sender in each process, replaced in a forked child and after a close.

    ``make_sink`` must not raise.
    """

    def __init__(
        self, make_sink: Callable[[TransportCounters], Sink], config: HeadwaterConfig, has_spool: bool
    ) -> None:
        self.config = config
        self._make_sink = make_sink
        self._has_spool = has_spool
        self._earlier_counters = Counters()
        self._is_forked = is_fork_without_exec()
        self._is_prepared = False
        self._closes_at_sigterm = False
        self._has_left_events = False
        self._sender = self._new_sender()
        _lifecycles.add(self)

    def _new_sender(self) -> BackgroundSender:
        return BackgroundSender(self._make_sink, self.config.queue_events, self.config.queue_bytes)

    def emit(self, event: Any) -> None:
        """Queue an event and return: takes microseconds and never raises, whatever the state of the network."""
        try:
            if not self._is_prepared:
                self._prepare_for_end()
            self._sender.emit(event)
            if not self._closes_at_sigterm:
                self._closes_at_sigterm = close_at_sigterm(_close_all, _restart_all)
        except Exception:  # the host continues, whatever happens to its lineage
            logger.exception("a lineage event could not be queued")

    def _prepare_for_end(self) -> None:
        """Find out how this process will end; called once in each process."""
        self._is_prepared = True
        _in_use.add(self)
        if _is_multiprocessing_child():
            _hook_multiprocessing()
        elif self._is_forked and self._has_spool:
            # Such children mostly end by os._exit, which runs no exit function.
            self._sender.journal = True

    def send_from_disk(self) -> None:
        """Send what other processes left on disk, without an event of this process; not in a forked child, which may end soon."""
        if not self._is_forked:
            _in_use.add(self)
            self._sender.send_from_disk()

    def flush(self, timeout: float = 5.0) -> bool:
        """Return whether all events so far are delivered (acknowledged by Kafka) within ``timeout`` seconds."""
        return self._sender.flush(timeout)

    def close(self, timeout: float = -1) -> bool:
        """Deliver what can be delivered within ``timeout`` seconds (negative: ``close_timeout``), write the rest to disk.

        Return whether all was delivered. A later ``emit`` starts again.
        """
        limit = self.config.close_timeout if timeout < 0 else timeout
        sender, self._sender = self._sender, self._new_sender()
        self._is_prepared = False
        _in_use.discard(self)
        if sender.journal:
            sender.flush(limit * DELIVERY_SHARE)
        sender.begin_close(limit)
        delivered = sender.wait_closed(limit)
        if not delivered:
            self.note_left_events()
        self._earlier_counters += sender.counters.snapshot()
        return delivered

    def counters(self) -> Counters:
        """Return the counters of this transport's events in this process."""
        return self._earlier_counters + self._sender.counters.snapshot()

    def restart_in_child(self) -> None:
        """Start again after a fork: the thread, the Kafka client and the open files belong to the parent."""
        _never_free(self._sender)
        self._earlier_counters = Counters()
        self._is_forked, self._is_prepared, self._closes_at_sigterm = True, False, False
        self._has_left_events = False
        self._sender = self._new_sender()

    def restart(self) -> None:
        """Start again after ``begin_close``, in a process that continues."""
        self._earlier_counters += self._sender.counters.snapshot()
        self._is_prepared = False
        self._sender = self._new_sender()

    def begin_close(self) -> tuple[BackgroundSender, float]:
        limit = JOURNAL_CLOSE_SECONDS if self.has_journal else self.config.close_timeout
        self._sender.begin_close(limit)
        return self._sender, limit

    @property
    def has_journal(self) -> bool:
        return self._sender.journal

    @property
    def is_in_forked_child(self) -> bool:
        """Return whether this is a forked child whose events on disk can be sent."""
        return self._is_forked and self._has_spool and self.config.names_servers

    def note_left_events(self) -> None:
        """Note that events are on disk that this process does not send any more."""
        self._has_left_events = True

    def deliver_journal(self, begun: float) -> None:
        """Wait for the delivery of a journal, at most ``fork_wait`` after ``begun``."""
        limit = 0.0 if spool_sender.waits_for_kafka(self.config) else self.config.fork_wait
        remaining = max(0.0, begun + limit - time.monotonic())
        if self.has_journal and not self._sender.flush(remaining):
            self.note_left_events()

    def hand_over(self) -> None:
        """Leave what is on disk to another process, if there is something that no living process is about to send."""
        if self.config.replay and (self._has_left_events or self._finds_abandoned_events()):
            spool_sender.start(self.config)

    def on_silence(self) -> None:
        """Leave what is on disk to another process, if this one is a fork: its Kafka client may never connect.

        A lock of the C library that another thread held at the fork is held forever in the child: glibc's address lookup
        and OpenSSL have such locks.
        """
        if self.is_in_forked_child:
            self.note_left_events()
            self.hand_over()

    def _finds_abandoned_events(self) -> bool:
        # Younger ones may be about to be sent by their own process.
        spool = Spool(Path(self.config.spool_dir), self.config.topic, self.config.spool_max_bytes)
        return spool.has_unclaimed(ABANDONED_SECONDS + self.config.fork_wait)


_lifecycles: weakref.WeakSet[Lifecycle] = weakref.WeakSet()
# A host may drop its reference to a transport with undelivered events: it must live until it is closed or the process ends.
_in_use: set[Lifecycle] = set()


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
    # Freeing a Kafka client in a forked child waits forever for threads that don't exist there.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))


def _after_fork_in_child() -> None:
    global _hooked
    _hooked = False
    for lifecycle in list(_lifecycles):
        lifecycle.restart_in_child()
    _in_use.clear()


def _at_exit() -> None:
    _close_all()
    _log_totals()


def _close_all() -> None:
    """Close all transports at the same time: the time limit holds for all together."""
    _deliver_journals()
    _close(list(_lifecycles))
    _hand_over()


def _close(lifecycles: list[Lifecycle]) -> None:
    begun = time.monotonic()
    for lifecycle, (sender, limit) in [(lifecycle, lifecycle.begin_close()) for lifecycle in lifecycles]:
        if not sender.wait_closed(max(0.0, begun + limit - time.monotonic())):
            lifecycle.note_left_events()


def _deliver_journals() -> None:
    begun = time.monotonic()
    _in_each_forked_child(lambda lifecycle: lifecycle.deliver_journal(begun))


def _hand_over() -> None:
    _in_each_forked_child(Lifecycle.hand_over)


def _in_each_forked_child(step: Callable[[Lifecycle], None]) -> None:
    for lifecycle in list(_lifecycles):
        if lifecycle.is_in_forked_child:
            try:
                step(lifecycle)
            except Exception:  # the process ends, whatever happens to its lineage; the events are on disk
                logger.exception("lineage events stay on disk")


_end_process = os._exit
_leaving = threading.local()


def _exit_after_delivery(status: int) -> NoReturn:
    """Deliver within the usual limits and end the process; what a journal has is on disk and needs no closing."""
    try:
        if not _leaving.__dict__.get("is_leaving"):
            _leaving.is_leaving = True
            _deliver_journals()
            _close([lifecycle for lifecycle in list(_lifecycles) if not lifecycle.has_journal])
            _hand_over()
    finally:
        _end_process(status)


def _restart_all() -> None:
    for lifecycle in list(_lifecycles):
        lifecycle.restart()


def _log_totals() -> None:
    total = counters()
    if total.emitted:
        level = logging.WARNING if total.lost() else logging.INFO
        logger.log(level, "lineage: %s", total)


def counters() -> Counters:
    """Return the counters of this process's events, over all its transports."""
    return sum((lifecycle.counters() for lifecycle in list(_lifecycles)), Counters())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
atexit.register(_at_exit)
# Not with the first event: what a host, or headwater's Spark listener, does at ``os._exit`` comes before and may emit.
setattr(os, "_exit", _exit_after_delivery)  # noqa: B010 - a function is replaced on purpose
