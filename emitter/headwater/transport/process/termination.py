"""SIGTERM without a handler of the host: the events are delivered or spooled before the process dies.

The default disposition ends a process without its exit functions, and the queue with it. ``close_at_sigterm`` sets a
handler that ends open runs (``before_sigterm_ends``), closes the transports (bounded by ``close_timeout``), restores the
default and sends the signal again, so that the exit status stays "killed by SIGTERM". A handler of the host is never
replaced; one that the host sets later replaces this one. A forked child starts with the default again.

Python runs its handlers in the main thread, between two bytecode instructions: a main thread inside a long call of a C
library delays SIGTERM until the end of that call. On Linux a thread therefore listens to the descriptor of
``signal.set_wakeup_fd`` and does the handler's work if the main thread does not begin with it.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import logging
import os
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

logger = logging.getLogger("headwater.transport")

MAIN_THREAD_SECONDS = 0.5
"""How long the main thread has to begin, before the listening thread closes the transports instead."""

_CREDENTIALS = struct.Struct("3i")


class _Termination:
    """What SIGTERM does in one process."""

    def __init__(self, close: Callable[[], None], restart: Callable[[], None]) -> None:
        self._close = close
        self._restart = restart
        self._process = os.getpid()
        self._starts: Iterator[int] = itertools.count()
        self._closing_thread: int | None = None
        self._sockets: tuple[socket.socket, socket.socket] | None = None

    def handle(self, _number: int, _frame: FrameType | None) -> None:
        """Close the transports and die of the signal; in the main thread."""
        if next(self._starts) == 0:
            self._end_process()
        # A second signal in the same thread interrupts the closing, which continues when this returns.
        while self._closing_thread not in (None, threading.get_ident()):
            time.sleep(0.01)

    def _end_process(self) -> None:
        self._closing_thread = threading.get_ident()
        try:
            # A child forked by C code still has its parent's handler.
            if os.getpid() == self._process:
                if self._process != 1:
                    _call_before_end()
                self._close()
        except Exception:  # the process must die, whatever happens to its lineage
            logger.exception("the lineage emitter's transports could not be closed")
        finally:
            if os.getpid() == 1:
                # The kernel ignores a default SIGTERM for the first process of a container: the program continues.
                self._restart()
                self._closing_thread, self._starts = None, itertools.count()
            else:
                _restore_default()
                os.kill(os.getpid(), signal.SIGTERM)

    def listen(self) -> None:
        """Start the listening thread, where the system reports which process a signal was sent to."""
        if not hasattr(socket, "SO_PASSCRED"):
            return
        receiver, sender = self._sockets = socket.socketpair()
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        sender.setblocking(False)
        previous = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
        if previous != -1:
            # An event loop's: it runs in the main thread, which is seldom busy elsewhere for long.
            signal.set_wakeup_fd(previous, warn_on_full_buffer=False)
            _forward(receiver, previous)
            self._close_sockets()
            return
        try:
            threading.Thread(
                target=self._listen, args=(receiver,), name="headwater-emitter-sigterm", daemon=True
            ).start()
        except RuntimeError:  # no more threads: the handler in the main thread remains
            self.stop_listening()

    def _listen(self, receiver: socket.socket) -> None:
        while True:
            try:
                number, ancillary, _, _ = receiver.recvmsg(1, socket.CMSG_SPACE(_CREDENTIALS.size))
            except OSError:
                return
            if not number:
                return
            # A child forked by C code writes to the same socket until it starts a program: the signal was the child's.
            if number[0] == signal.SIGTERM and _sender(ancillary) == self._process:
                self._replace_main_thread()

    def _replace_main_thread(self) -> None:
        time.sleep(MAIN_THREAD_SECONDS)
        # The descriptor reports signals that the host handles, too.
        if signal.getsignal(signal.SIGTERM) == self.handle and next(self._starts) == 0:
            self._end_process()

    def stop_listening(self) -> None:
        """Restore the descriptor; the thread, if there is one, ends."""
        if self._sockets is not None:
            previous = signal.set_wakeup_fd(-1)
            if previous not in (-1, self._sockets[1].fileno()):
                signal.set_wakeup_fd(previous, warn_on_full_buffer=False)
            self._close_sockets()

    def _close_sockets(self) -> None:
        sockets, self._sockets = self._sockets, None
        for end in sockets or ():
            end.close()


_before_end: list[Callable[[], None]] = []

ENDING_SECONDS = 1.0
"""How long functions before the end may take if the main thread is busy: it may hold a lock that they need."""


def before_sigterm_ends(function: Callable[[], None]) -> None:
    """Call a function when SIGTERM ends this process, before the transports are closed; it must not wait.

    It is not called for the first process of a container, which continues, nor if the host handles SIGTERM.
    """
    _before_end.append(function)


def _call_before_end() -> None:
    if threading.get_ident() == threading.main_thread().ident:
        _call_all()
        return
    thread = threading.Thread(target=_call_all, name="headwater-emitter-ending", daemon=True)
    thread.start()
    thread.join(ENDING_SECONDS)


def _call_all() -> None:
    for function in _before_end:
        try:
            function()
        except Exception:  # the events so far are still to be delivered
            logger.exception("what precedes the end of the process failed")


_current: _Termination | None = None


def close_at_sigterm(close: Callable[[], None], restart: Callable[[], None]) -> bool:
    """Call ``close`` before SIGTERM ends the process, unless the host handles that signal; once in a process.

    ``restart`` is called afterwards in a process that SIGTERM does not end. Return False outside the main thread, which
    alone may set handlers: the caller has to call again from there.
    """
    global _current  # a process has one disposition
    if threading.get_ident() != threading.main_thread().ident:
        return False
    if _current is None and sys.platform != "win32" and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        termination = _Termination(close, restart)
        try:
            signal.signal(signal.SIGTERM, termination.handle)
        except ValueError:  # the main thread of a subinterpreter, which has no signals
            return True
        _current = termination
        termination.listen()
    return True


def _restore_default() -> None:
    if threading.get_ident() == threading.main_thread().ident:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        return
    # Python sets dispositions in the main thread only, which is not available here.
    libc = ctypes.CDLL(None)
    libc.signal.argtypes, libc.signal.restype = [ctypes.c_int, ctypes.c_void_p], ctypes.c_void_p
    libc.signal(signal.SIGTERM, None)


def _sender(ancillary: list[tuple[int, int, bytes]]) -> int | None:
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
            return int(_CREDENTIALS.unpack_from(data)[0])
    return None


def _forward(receiver: socket.socket, descriptor: int) -> None:
    # Signals between the two changes of the descriptor were the event loop's.
    receiver.setblocking(False)
    with contextlib.suppress(OSError):
        os.write(descriptor, receiver.recv(4096))


_masks = threading.local()


def _before_fork() -> None:
    # Python drops signals that come to a child before its fork is complete: they are blocked until then.
    if _current is not None:
        _masks.previous = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})


def _after_fork() -> None:
    previous = _masks.__dict__.pop("previous", None)
    if previous is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


def _reset_in_child() -> None:
    global _current
    termination, _current = _current, None
    if termination is not None:
        termination.stop_listening()
        if signal.getsignal(signal.SIGTERM) == termination.handle:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_reset_in_child)
