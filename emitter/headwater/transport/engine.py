"""The queue, the one daemon thread behind it, and how both end.

`emit` only puts a reference into the queue. Everything else, from serialising on, is done by the thread, which is
started by the first event, so that importing and configuring cost nothing and a fork before it harms nothing.

At the end of the interpreter `settle` gives the thread ``close_timeout`` to deliver, then to put the rest to disk. If
the thread doesn't answer, the caller puts the queue to disk itself. Events that come later still (from other
``atexit`` functions) are written to disk by their caller: there is nobody left to wait for.

With ``journal``, an event is on disk before `emit` returns (about a millisecond), and the thread sends what is there:
for processes that may end without notice, by ``os._exit``, as forked children do.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from headwater.transport.counters import Ledger
from headwater.transport.queue import NOTHING, Intake
from headwater.transport.sink import Outlet

logger = logging.getLogger("headwater.transport")

BATCH = 100
DELIVERING = 0.8
"""The part of the closing time for delivery; the rest is for the disk."""


LOOK = object()
"""Tells the thread that there is something new on disk."""


class Ticket:
    """A caller's wish to know when all that came before it is delivered."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.delivered = False


class Engine:
    """One transport's queue and thread in one process."""

    def __init__(self, outlet: Callable[[Ledger], Outlet], max_events: int, max_bytes: int) -> None:
        self.ledger = Ledger()
        self.intake = Intake(max_events, max_bytes)
        self._make_outlet = outlet
        # Reentrant: a signal handler may emit while its own thread starts the engine.
        self._lock = threading.RLock()
        self._thread: threading.Thread | None = None
        self._tickets: list[Ticket] = []
        self._deadline: float | None = None
        self._settled = threading.Event()
        self._ended = False
        self._last = Ticket()
        self._outlet: Outlet | None = None
        self._late: Outlet | None = None
        self._lost = 0
        self._faults = 0
        self.journal = False

    def emit(self, event: Any) -> None:
        """Hand the event over; microseconds, and never raises."""
        self.ledger.emitted.tick()
        if self._ended:
            self._store_late(event)
        elif self.journal:
            self._store_late(event)
            self.intake.put(LOOK)
            self._start()
        elif not self.intake.offer(event):
            self.ledger.drop("queue_full")
        elif self._thread is None:
            self._start()

    def _start(self) -> None:
        with self._lock:
            if self._thread is not None:
                return
            self._thread = threading.Thread(target=self._run, name="headwater-emitter", daemon=True)
            try:
                self._thread.start()
            except RuntimeError:  # the interpreter is ending, or the process may have no more threads
                self._ended = True
                self._settled.set()
                self._salvage()

    def flush(self, timeout: float) -> bool:
        """Wait until all events so far are delivered; False if some are not after ``timeout`` s, or on disk."""
        if self._thread is None:
            return True
        if self.journal:
            return self._flush_journal(timeout)
        ticket = Ticket()
        self.intake.put(ticket)
        return _wait(ticket.reached, timeout) and ticket.delivered

    def _flush_journal(self, timeout: float) -> bool:
        assert self._late is not None
        deadline = time.monotonic() + timeout
        while not self._late.settled():
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.005)
        return True

    def end(self, timeout: float) -> None:
        """Take no more events into the queue, and give the thread ``timeout`` seconds; does not wait for it."""
        with self._lock:
            self._ended = True
            self._deadline = time.monotonic() + timeout * DELIVERING
            if self._thread is not None:
                self.intake.put(self._last)

    def settle(self, timeout: float) -> bool:
        """Wait for the end, at most ``timeout`` seconds; True if all was delivered, False if the rest went to disk."""
        if self._thread is None:
            return True
        if not _wait(self._settled, timeout):
            logger.warning("the lineage emitter's thread does not answer; its queue goes to disk")
        self._salvage()
        return self._last.delivered

    def _salvage(self) -> None:
        while (item := self.intake.take(0)) is not NOTHING:
            if not isinstance(item, Ticket) and item is not LOOK:
                self._store_late(item)

    def _store_late(self, event: Any) -> None:
        # An outlet of its own: the thread may hold the other one for ever.
        with self._lock:
            if self._late is None:
                self._late = self._make_outlet(self.ledger)
            if not self._guarded(self._late.store, event):
                self.ledger.drop("fault")
            # Closed, so that the thread, or the next emitter, can have it.
            self._guarded(self._late.give_up)

    def _run(self) -> None:
        self._outlet = outlet = self._make_outlet(self.ledger)
        while self._deadline is None:
            self._guarded(self._turn, outlet)
        self._guarded(outlet.begin_closing)
        while time.monotonic() < self._deadline and (len(self.intake) or outlet.pending()):
            self._guarded(self._turn, outlet)
        self._guarded(self._end, outlet)
        self._settled.set()

    def _guarded(self, step: Callable[..., None], *arguments: Any) -> bool:
        # The one guard of the emitter: whatever goes wrong in it must not end its thread, nor reach the host.
        try:
            step(*arguments)
        except Exception:
            self._faults += 1
            if self._faults <= 10:
                logger.exception("the lineage emitter stumbled")
            time.sleep(min(0.1, 0.001 * self._faults))
            return False
        return True

    def _turn(self, outlet: Outlet) -> None:
        hurry = bool(self._tickets) or self._deadline is not None
        item = self.intake.take(0 if hurry else self._patience(outlet))
        for _ in range(BATCH):
            if item is NOTHING:
                break
            self._take(item, outlet)
            item = self.intake.take(0)
        if item is not NOTHING:
            self._take(item, outlet)
        outlet.work(0.05 if hurry and outlet.pending() else 0.0, hurry)
        # While closing, what is on disk may still be delivered: the end answers.
        if self._deadline is None and not outlet.pending() and not len(self.intake):
            self._answer(outlet)

    def _patience(self, outlet: Outlet) -> float:
        return min(5.0, max(0.05, outlet.idle()))

    def _take(self, item: Any, outlet: Outlet) -> None:
        if isinstance(item, Ticket):
            self._tickets.append(item)
        elif item is LOOK:
            outlet.look()
        elif not self._guarded(outlet.accept, item):
            self.ledger.drop("fault")

    def _answer(self, outlet: Outlet) -> None:
        tickets, self._tickets = self._tickets, []
        if not tickets:
            return
        delivered = outlet.settled() and not self._lost_more()
        for ticket in tickets:
            ticket.delivered = delivered
            ticket.reached.set()

    def _lost_more(self) -> bool:
        before, self._lost = self._lost, self.ledger.counters().lost()
        return self._lost > before

    def _end(self, outlet: Outlet) -> None:
        while (item := self.intake.take(0)) is not NOTHING:
            if isinstance(item, Ticket):
                self._tickets.append(item)
            elif item is not LOOK and not self._guarded(outlet.store, item):
                self.ledger.drop("fault")
        outlet.give_up()
        delivered = outlet.settled() and not self._lost_more()
        for ticket in self._tickets:
            ticket.delivered = delivered
            ticket.reached.set()


def _wait(reached: threading.Event, seconds: float) -> bool:
    # Event.wait holds a lock for a moment: a signal handler that interrupts it there and waits, too, would wait for ever.
    deadline = time.monotonic() + seconds
    while not reached.is_set():
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.002)
    return True
