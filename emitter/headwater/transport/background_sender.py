"""The queue of a transport, the one daemon thread behind it, and how both end.

Theory of operation. ``emit`` must cost microseconds and must not wait for the network, the disk or a lock that another
thread holds for long. So it only appends a reference to the queue. The thread does everything else, serialising included;
the first event starts it, so importing and configuring cost nothing and a fork before the first event is harmless.

The invariant: each event belongs to one owner at a time (the queue, the thread, or the caller that closes), and the last
owner delivers it, writes it to disk, or counts it as dropped or throttled. Only the event that an unresponsive thread is
processing when the process ends has no such outcome.

- While the process runs, the thread moves events from the queue to its sink.
- At the end, ``begin_close`` sets a deadline. Until then the thread delivers; after it, the thread writes the rest to
  disk. ``wait_closed`` waits for that. If the thread does not respond, the caller empties the queue into a second sink,
  which writes to a file of its own: both take items from the queue, which returns each item once.
- Events that come later (from other ``atexit`` functions) are written to disk by their caller: no thread remains that
  could send them.

With ``journal``, an event is on disk before ``emit`` returns (about a millisecond), and the thread sends what is there.
This is for processes that may end without notice, as forked children do. ``send_from_disk`` starts the thread without an
event, for what other processes left.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from .counters import TransportCounters
from .queue import EMPTY, EventQueue
from .sink import Sink

logger = logging.getLogger("headwater.transport")

BATCH = 100
DELIVERY_SHARE = 0.8
"""The part of the closing time that is for delivery; the rest is for the disk."""


CHECK_SPOOL = object()
"""A control item: there are new events on disk."""


class FlushRequest:
    """A caller that waits until all events before the request are delivered."""

    def __init__(self) -> None:
        self.completed = threading.Event()
        self.delivered = False


class BackgroundSender:
    """The queue and the thread of one transport in one process."""

    def __init__(self, make_sink: Callable[[TransportCounters], Sink], max_events: int, max_bytes: int) -> None:
        self.counters = TransportCounters()
        self.queue = EventQueue(max_events, max_bytes)
        self._make_sink = make_sink
        # Reentrant: a signal handler may emit while its own thread starts the sender.
        self._lock = threading.RLock()
        self._thread: threading.Thread | None = None
        self._flush_requests: list[FlushRequest] = []
        self._deadline: float | None = None
        self._thread_finished = threading.Event()
        self._closing = False
        self._last_flush = FlushRequest()
        self._sink: Sink | None = None
        self._late_sink: Sink | None = None
        self._lost = 0
        self._faults = 0
        self._journal_is_awaited = False
        self.journal = False

    def emit(self, event: Any) -> None:
        """Queue the event; takes microseconds and never raises."""
        self.counters.emitted.increment()
        if self._closing:
            self._store_late(event)
        elif self.journal:
            self._store_late(event)
            self.queue.add_control(CHECK_SPOOL)
            self._start()
        elif not self.queue.offer(event):
            self.counters.add_dropped("queue_full")
        elif self._thread is None:
            self._start()

    def send_from_disk(self) -> None:
        """Start the thread, which sends what is on disk, although this process has not emitted an event."""
        if self._thread is None:
            self._start()

    def _start(self) -> None:
        with self._lock:
            if self._thread is not None:
                return
            self._thread = threading.Thread(target=self._run, name="headwater-emitter", daemon=True)
            try:
                self._thread.start()
            except RuntimeError:  # the interpreter is ending, or the process may have no more threads
                self._closing = True
                self._thread_finished.set()
                self._store_queue()

    def flush(self, timeout: float) -> bool:
        """Return whether all events so far are delivered within ``timeout`` seconds; an event on disk is not."""
        if self._thread is None:
            return True
        if self.journal:
            return self._flush_journal(timeout)
        request = FlushRequest()
        self.queue.add_control(request)
        return _wait(request.completed.is_set, timeout) and request.delivered

    def _flush_journal(self, timeout: float) -> bool:
        if self._late_sink is None:
            return True
        self._journal_is_awaited = True
        self.queue.add_control(CHECK_SPOOL)
        try:
            return _wait(self._late_sink.all_delivered, timeout)
        finally:
            self._journal_is_awaited = False

    def begin_close(self, timeout: float) -> None:
        """Accept no more events into the queue and give the thread ``timeout`` seconds; does not wait for it."""
        with self._lock:
            self._closing = True
            self._deadline = time.monotonic() + timeout * DELIVERY_SHARE
            if self._thread is not None:
                self.queue.add_control(self._last_flush)

    def wait_closed(self, timeout: float) -> bool:
        """Wait at most ``timeout`` seconds for the thread; return True if all was delivered, False if the rest is on disk."""
        if self._thread is None:
            return True
        if not _wait(self._thread_finished.is_set, timeout):
            logger.warning("the lineage emitter's thread does not respond; its queue is written to disk")
        self._store_queue()
        return self._last_flush.delivered

    def _store_queue(self) -> None:
        while (item := self.queue.take(0)) is not EMPTY:
            if not isinstance(item, FlushRequest) and item is not CHECK_SPOOL:
                self._store_late(item)

    def _store_late(self, event: Any) -> None:
        # In a sink of its own: the thread may never release the other one.
        with self._lock:
            if self._late_sink is None:
                self._late_sink = self._make_sink(self.counters)
            if not self._guarded(self._late_sink.store, event):
                self.counters.add_dropped("fault")
            # Released, so that the thread, or the next emitter, can read it.
            self._guarded(self._late_sink.release)

    def _run(self) -> None:
        self._sink = sink = self._make_sink(self.counters)
        while self._deadline is None:
            self._guarded(self._step, sink)
        self._guarded(sink.begin_closing)
        while time.monotonic() < self._deadline and (len(self.queue) or sink.pending()):
            self._guarded(self._step, sink)
        self._guarded(self._finish, sink)
        self._thread_finished.set()

    def _guarded(self, step: Callable[..., None], *arguments: Any) -> bool:
        # The one guard of the emitter: no error in it may end its thread or reach the host.
        try:
            step(*arguments)
        except Exception:
            self._faults += 1
            if self._faults <= 10:
                logger.exception("a fault in the lineage emitter; please report it")
            time.sleep(min(0.1, 0.001 * self._faults))
            return False
        return True

    def _step(self, sink: Sink) -> None:
        urgent = bool(self._flush_requests) or self._deadline is not None
        is_awaited = urgent or self._journal_is_awaited
        item = self.queue.take(0 if urgent else self._idle_seconds(sink))
        for _ in range(BATCH):
            if item is EMPTY:
                break
            self._process(item, sink.accept, sink)
            item = self.queue.take(0)
        if item is not EMPTY:
            self._process(item, sink.accept, sink)
        sink.work(0.05 if is_awaited and sink.pending() else 0.0, urgent)
        # While closing, events on disk may still be delivered: ``_finish`` completes the requests.
        if self._deadline is None and not sink.pending() and not len(self.queue):
            self._complete_flushes(sink)

    def _idle_seconds(self, sink: Sink) -> float:
        if self._journal_is_awaited:
            return 0.0 if sink.pending() else 0.01
        return min(5.0, max(0.05, sink.idle_seconds()))

    def _process(self, item: Any, handle: Callable[[Any], None], sink: Sink) -> None:
        if isinstance(item, FlushRequest):
            self._flush_requests.append(item)
        elif item is CHECK_SPOOL:
            sink.check_spool()
        elif not self._guarded(handle, item):
            self.counters.add_dropped("fault")

    def _complete_flushes(self, sink: Sink) -> None:
        requests, self._flush_requests = self._flush_requests, []
        if not requests:
            return
        delivered = sink.all_delivered() and not self._has_lost_more()
        for request in requests:
            request.delivered = delivered
            request.completed.set()

    def _has_lost_more(self) -> bool:
        before, self._lost = self._lost, self.counters.snapshot().lost()
        return self._lost > before

    def _finish(self, sink: Sink) -> None:
        while (item := self.queue.take(0)) is not EMPTY:
            self._process(item, sink.store, sink)
        sink.release()
        self._complete_flushes(sink)


def _wait(condition: Callable[[], bool], seconds: float) -> bool:
    # Not Event.wait, which holds a lock for a moment: a signal handler that interrupts it there and waits too would hang.
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.002)
    return True
