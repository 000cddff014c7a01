"""What fails a stream, in one line: the cause behind Spark's wrapping, a shortage of memory, the end of Java."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from headwater_avro.errors import HeadwaterError

JAVA_OUT_OF_MEMORY = 3
"""The exit code of a Java that was started with ``-XX:+ExitOnOutOfMemoryError`` and ran out of heap."""

JAVA_ENDS = 5.0
"""Seconds that a Java process whose connections are broken has to end."""

LONGEST_CAUSE = 1_000

_SHORTAGES = (
    "OutOfMemory",
    "MemoryError",
    "Failure allocating buffer",
    "Cannot reserve",
    "Python worker exited unexpectedly",
    "ExecutorLostFailure",
)
"""Texts by which Java, Arrow, Python and Spark say that memory was short, or that a process was killed for it."""

_WRAPPINGS = ("An exception was raised by", "[STREAM_FAILED]", "Job aborted", "An error occurred while calling")
"""How lines begin that Spark and py4j put before the exception that matters."""

_CAUSED_BY, _TRACEBACK = "Caused by: ", "Traceback (most recent call last)"

_EXCEPTION = re.compile(r"(?:: )?(?:[\w$]+\.)+[\w$]*(?:Exception|Error|Failure)\b:? ?")


class StreamFailed(HeadwaterError):
    """The stream ended by itself for a reason that a new start may not change."""


def ran_out_of_memory(fault: BaseException) -> bool:
    """Return whether a batch failed since memory was short, so that a smaller one may succeed."""
    text = _text(fault)
    return isinstance(fault, MemoryError) or any(shortage in text for shortage in _SHORTAGES)


def is_of_spark(fault: BaseException) -> bool:
    """Return whether a fault comes from Spark, or from the connection to its Java process."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return isinstance(fault, PySparkException | Py4JError | OSError | EOFError)


def cause_of(fault: BaseException | str) -> str:
    """Return the line of a fault that says what is wrong: the innermost cause where the outer lines only wrap it."""
    lines = [line.strip() for line in _text(fault).splitlines()]
    said = [line for line in lines if line and not line.startswith(("at ", "===", "... "))]
    if not said:
        return type(fault).__name__ if isinstance(fault, BaseException) else "no reason given"
    causes = [line.removeprefix(_CAUSED_BY) for line in said if line.startswith(_CAUSED_BY)]
    first = said[0]
    if first.startswith(_WRAPPINGS) or "Job aborted" in first:
        # Without a cause of its own the exception stands on the line after the wrapping one.
        first = causes[-1] if causes else _after_wrapping(said)
    return _EXCEPTION.sub("", first, count=1)[:LONGEST_CAUSE] or first[:LONGEST_CAUSE]


def _after_wrapping(said: list[str]) -> str:
    if _TRACEBACK in said[0]:
        return said[-1]
    return next((line for line in said if not line.startswith(_WRAPPINGS)), said[0])


def _text(fault: BaseException | str) -> str:
    from py4j.protocol import Py4JError

    try:
        return str(fault)
    except (Py4JError, OSError) as silent:
        # The text of a Java exception is asked from Java, which may have ended since.
        return f"{type(fault).__name__} (its text is not available: {type(silent).__name__})"


def java_process() -> subprocess.Popen[bytes] | None:
    """Return the Java process that this Python started for Spark; None where there is none, or Java started this Python."""
    from pyspark import SparkContext

    process = getattr(SparkContext._gateway, "proc", None)
    return process if isinstance(process, subprocess.Popen) else None


def end_of_java(fault: BaseException | None = None) -> str | None:
    """Return how Spark's Java process ended, None while it runs; a fault of its connections is followed by its end soon."""
    process = java_process()
    if process is None:
        return None
    try:
        code = process.wait(JAVA_ENDS if fault is not None and _is_of_connection(fault) else 0.0)
    except subprocess.TimeoutExpired:
        return None
    if code == JAVA_OUT_OF_MEMORY:
        return "Spark's Java process ran out of memory: the next start reads smaller parts; raise spark_driver_memory"
    return f"Spark's Java process ended with exit code {code}"


def _is_of_connection(fault: BaseException) -> bool:
    from py4j.protocol import Py4JError, Py4JJavaError

    return isinstance(fault, Py4JError | OSError | EOFError) and not isinstance(fault, Py4JJavaError)


@contextmanager
def spark_faults_in_one_line() -> Iterator[None]:
    """Raise StreamFailed, with the cause alone, for what Spark fails by within this, and where its Java process ends."""
    try:
        yield
    except HeadwaterError:
        raise
    except Exception as fault:
        ended = end_of_java(fault)
        if ended is None and not is_of_spark(fault):
            raise
        raise StreamFailed(ended or f"Spark failed: {cause_of(fault)}") from fault
