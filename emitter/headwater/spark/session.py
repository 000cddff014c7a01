"""Putting the listener on a session, and taking it off at the end of the process."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
from dataclasses import dataclass
from typing import Any, Protocol

from .extension.attached import Attached
from .extension.builtin import built_in
from .extension.loading import Extensions, found_factories, found_nodes
from .jvm.driver import Driver, SessionCatalog
from .listener import Listener
from .runs.application import Application
from .runs.plan_context import Knowledge
from .runs.settings import Settings

logger = logging.getLogger("headwater.spark")

_DRAIN_SECONDS = 15.0


class Transport(Protocol):
    """Where events go."""

    def emit(self, event: Any) -> None:
        """Hand an event over without waiting."""

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait until what was handed over is delivered."""
        ...


@dataclass(slots=True)
class Instrumentation:
    """One instrumented application."""

    listener: Listener
    transport: Transport
    process: int
    closed: bool = False

    def close(self, error: tuple[str, str | None] | None = None, timeout: float = _DRAIN_SECONDS) -> None:
        """Tell what is left and how the program ended; a second call does nothing."""
        if self.closed or self.process != os.getpid():
            return  # a forked child has neither the JVM nor the worker
        self.closed = True
        begun = time.monotonic()
        try:
            self.listener.drain(timeout)
            self.listener.application.end(int(time.time() * 1000), error)
            self.transport.flush(max(1.0, timeout - (time.monotonic() - begun)))
        except Exception as fault:  # noqa: BLE001 - at the end of a job, too, its result must stay what it is
            self.listener.fault(fault)


_active: dict[str, Instrumentation] = {}
_lock = threading.Lock()


def instrument(spark: Any, transport: Transport | None = None) -> Instrumentation | None:
    """Tell the lineage of everything that this session's application does from now on.

    Args: ``spark``, a classic ``SparkSession`` or a ``SparkContext``; ``transport``, else headwater's default one.
    Never raises: what fails is one warning, and the job runs on without lineage (then None is returned).
    Calling it again for the same application changes nothing.
    """
    try:
        return _instrument(spark, transport)
    except Exception as fault:  # noqa: BLE001 - the promise to the job
        logger.warning("no lineage will be told, the job is not affected: %s", fault)
        return None


def _instrument(spark: Any, transport: Transport | None) -> Instrumentation | None:
    session = getattr(spark, "_jsparkSession", None)
    context = _context(spark) if session is None else spark.sparkContext
    if context is None:
        logger.warning(_CONNECT)
        return None
    with _lock:
        known = _active.get(context.applicationId)
        if known is not None and not known.closed:
            return known
        for earlier in _active.values():
            earlier.close()  # a process has one SparkContext at a time, so theirs has ended
        made = _attach(context, session, transport or _default_transport())
        _active[context.applicationId] = made
    atexit.register(made.close)
    return made


_CONNECT = (
    "no lineage will be told: this is a Spark Connect session, whose plans are in a server that this program can't see into"
    " (a classic session, made with a master in place of a remote, is told)"
)


def _context(spark: Any) -> Any:
    """``spark`` if it is a context; of a Connect session the context of its server, where that runs in this process."""
    if hasattr(spark, "_jsc"):
        return spark
    import pyspark

    known = getattr(pyspark, "SparkContext", None)  # a client's PySpark has none
    return None if known is None else known._active_spark_context


def _default_transport() -> Transport:
    from ..transport import default_transport

    return default_transport()


def _attach(context: Any, session: Any, transport: Transport) -> Instrumentation:
    driver = Driver.attach(context, session)
    conf = dict(context.getConf().getAll())
    settings = Settings.of(conf, os.environ, context.appName, context.version)
    catalog = SessionCatalog.of(driver)
    factories = [*found_factories(os.environ), built_in(catalog, settings.plans)]
    extensions = Extensions.load(factories, own=1, spark_context=context)
    knowledge = Knowledge(catalog, extensions, Attached(found_nodes(os.environ), extensions.context))
    application = Application.of(settings, knowledge, transport.emit)
    listener = Listener(driver, application)
    application.start(int(context.startTime))
    listener.start()
    return Instrumentation(listener, transport, os.getpid())


def active() -> list[Instrumentation]:
    """The applications instrumented in this process, oldest first."""
    return list(_active.values())
