"""Execution of a PySpark program with lineage, otherwise as ``python program.py`` executes it."""

from __future__ import annotations

import importlib
import logging
import os
import runpy
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from .session import active, instrument

logger = logging.getLogger("headwater.spark")

Error = tuple[str, str | None]

_TERMINATION_SECONDS = 8.0


def run(program: str, args: Sequence[str] = ()) -> int:
    """Run ``program`` as ``__main__`` and return its exit code.

    The program is instrumented as soon as it has a SparkContext. Tracebacks are printed as Python prints them, without the
    frames of this function.
    """
    _hook_sessions()
    _hook_exits()
    sys.argv = [program, *args]
    sys.path[0] = str(Path(program).resolve().parent)
    code, error = _run(program)
    _close_at_end(error)
    return code


def _close_at_end(error: Error | None) -> None:
    """Close the applications, or let the interpreter's exit close them, after the threads that it waits for."""
    here = threading.current_thread()
    waits = any(thread.is_alive() and not thread.daemon and thread is not here for thread in threading.enumerate())
    for application in active():
        application.error = error
        if not waits:
            application.close()


def _run(program: str) -> tuple[int, Error | None]:
    try:
        runpy.run_path(program, run_name="__main__")
    except SystemExit as exit_:
        return _exit_code(exit_)
    except BaseException as fault:  # noqa: BLE001 - as the interpreter: print it, exit 1
        _print(fault)
        return (130 if isinstance(fault, KeyboardInterrupt) else 1), _error(fault)
    return 0, None


def _exit_code(exit_: SystemExit) -> tuple[int, Error | None]:
    code = exit_.code
    if code is None or isinstance(code, int):
        return code or 0, _exit_error(code)
    print(code, file=sys.stderr)
    return 1, (str(code), None)


def _exit_error(code: int | None) -> Error | None:
    return (f"the program exited with code {code}", None) if code else None


def _error(fault: BaseException) -> Error:
    return f"{type(fault).__name__}: {fault}", "".join(traceback.format_exception(fault))


def _print(fault: BaseException) -> None:
    frames = fault.__traceback__
    while frames is not None and _is_internal(frames.tb_frame):
        frames = frames.tb_next
    sys.excepthook(type(fault), fault.with_traceback(frames or fault.__traceback__), frames or fault.__traceback__)


def _is_internal(frame: FrameType) -> bool:
    return frame.f_code.co_filename in {__file__, runpy.__file__, "<frozen runpy>"}


def _hook_sessions() -> None:
    """Instrument sessions and contexts as they are created; a Connect session has no context."""
    try:
        import pyspark
        from pyspark.sql import SparkSession
    except ImportError:
        logger.warning("lineage is not available: pyspark is not installed")
        return
    builder = SparkSession.Builder
    get_or_create: Callable[[Any], Any] = builder.getOrCreate

    def with_listener(self: Any) -> Any:
        session = get_or_create(self)
        instrument(session)
        return session

    setattr(builder, "getOrCreate", with_listener)  # noqa: B010 - a method is replaced on purpose
    if hasattr(pyspark, "SparkContext"):  # the pure client, for Connect only, has none
        _hook_contexts(pyspark.SparkContext)


def _hook_contexts(kind: type[Any]) -> None:
    initialise: Callable[..., None] = kind.__init__

    def initialised(self: Any, *args: Any, **kwargs: Any) -> None:
        initialise(self, *args, **kwargs)
        instrument(self)

    setattr(kind, "__init__", initialised)  # noqa: B010 - as above


def _hook_exits() -> None:
    """Emit the remaining events before ``os._exit`` and SIGTERM, which skip exit handlers."""
    # The transport replaces os._exit, too: it has to be imported before, so that it delivers what is emitted here.
    importlib.import_module("headwater.transport")
    leave, process = os._exit, os.getpid()

    def exit_at_once(status: int) -> None:
        if os.getpid() == process:
            _close_all(_exit_error(status))
        leave(status)

    setattr(os, "_exit", exit_at_once)  # noqa: B010 - as above
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminated)


def _terminated(number: int, _frame: FrameType | None) -> None:
    # Another thread closes, as this one may be inside a call of the JVM, whose connection it must not use now.
    closing = threading.Thread(target=_close_all, args=(("the program was ended by SIGTERM", None), 5.0), daemon=True)
    closing.start()
    closing.join(_TERMINATION_SECONDS)
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _close_all(error: Error | None, timeout: float = 15.0) -> None:
    for application in active():
        application.close(error, timeout)
