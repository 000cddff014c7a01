"""Running somebody's PySpark program with the listener on, and everything else as ``python program.py`` would have it."""

from __future__ import annotations

import logging
import os
import runpy
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from .session import active, instrument

logger = logging.getLogger("headwater.spark")

Error = tuple[str, str | None]


def run(program: str, args: Sequence[str] = ()) -> int:
    """Run ``program`` as ``__main__``; return its exit code.

    The listener is put on as soon as the program has a SparkSession. Tracebacks are printed as Python prints them, without
    the frames of this function.
    """
    _hook_sessions()
    _hook_exits()
    sys.argv = [program, *args]
    sys.path[0] = str(Path(program).resolve().parent)
    code, error = _run(program)
    for one in active():
        one.close(error)
    return code


def _run(program: str) -> tuple[int, Error | None]:
    try:
        runpy.run_path(program, run_name="__main__")
    except SystemExit as left:
        return _exit_code(left)
    except BaseException as fault:  # noqa: BLE001 - as the interpreter itself would: print it, exit 1
        _print(fault)
        return (130 if isinstance(fault, KeyboardInterrupt) else 1), _told(fault)
    return 0, None


def _exit_code(left: SystemExit) -> tuple[int, Error | None]:
    if left.code is None:
        return 0, None
    if isinstance(left.code, int):
        return left.code, None if left.code == 0 else (f"the program exited with code {left.code}", None)
    print(left.code, file=sys.stderr)
    return 1, (str(left.code), None)


def _told(fault: BaseException) -> Error:
    return f"{type(fault).__name__}: {fault}", "".join(traceback.format_exception(fault))


def _print(fault: BaseException) -> None:
    frames = fault.__traceback__
    while frames is not None and _is_ours(frames.tb_frame):
        frames = frames.tb_next
    sys.excepthook(type(fault), fault.with_traceback(frames or fault.__traceback__), frames or fault.__traceback__)


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename in {__file__, runpy.__file__, "<frozen runpy>"}


def _hook_sessions() -> None:
    """Put the listener on as soon as there is a context, which every classic session has; a Connect session has none."""
    try:
        import pyspark
        from pyspark.sql import SparkSession
    except ImportError:
        logger.warning("no lineage will be told: pyspark is not installed here")
        return
    builder = SparkSession.Builder
    get_or_create: Callable[[Any], Any] = builder.getOrCreate

    def with_listener(self: Any) -> Any:
        session = get_or_create(self)
        instrument(session)
        return session

    setattr(builder, "getOrCreate", with_listener)  # noqa: B010 - a method is replaced on purpose
    if hasattr(pyspark, "SparkContext"):  # a client's PySpark, for Connect alone, has none
        _hook_contexts(pyspark.SparkContext)


def _hook_contexts(kind: type[Any]) -> None:
    initialise: Callable[..., None] = kind.__init__

    def initialised(self: Any, *args: Any, **kwargs: Any) -> None:
        initialise(self, *args, **kwargs)
        instrument(self)

    setattr(kind, "__init__", initialised)  # noqa: B010 - as above


def _hook_exits() -> None:
    """``os._exit`` and SIGTERM end a process without its exit handlers: tell what is known first."""
    leave, process = os._exit, os.getpid()

    def exit_at_once(status: int) -> None:
        if os.getpid() == process:
            _close_all(None if status == 0 else (f"the program exited with code {status}", None))
        leave(status)

    setattr(os, "_exit", exit_at_once)  # noqa: B010 - as above
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminated)


def _terminated(number: int, _frame: FrameType | None) -> None:
    _close_all(("the program was ended by SIGTERM", None), 5.0)
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _close_all(error: Error | None, timeout: float = 15.0) -> None:
    for one in active():
        one.close(error, timeout)
