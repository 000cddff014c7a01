"""Instrumentation of a session, from the call to the end of the process."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from .extension.attached import AttachedNodes
from .extension.builtin import built_in
from .extension.loading import Extensions, found_factories, found_nodes
from .extension.registry import FacetRegistry
from .jvm.driver import Driver, SessionCatalog, debug_facts
from .listener import Listener
from .runs.application import Application
from .runs.plan_context import PlanReaders
from .runs.settings import Settings

logger = logging.getLogger("headwater.spark")

_CLOSE_SECONDS = 15.0


class Transport(Protocol):
    """A transport of events."""

    def emit(self, event: Any) -> None:
        """Accept an event without waiting."""

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait until the accepted events are delivered; return whether they are."""


@dataclass(slots=True)
class Instrumentation:
    """An instrumented application; ``error`` is why its program failed, known before it ends."""

    listener: Listener
    transport: Transport
    process: int
    closed: bool = False
    error: tuple[str, str | None] | None = None

    def close(self, error: tuple[str, str | None] | None = None, timeout: float = _CLOSE_SECONDS) -> None:
        """Emit the remaining events and the end of the application; a second call does nothing."""
        if self.closed or self.process != os.getpid():
            return  # a forked child has neither the JVM nor the worker
        self.closed = True
        begun = time.monotonic()
        try:
            self.listener.stop(timeout)
            self.listener.application.end(int(time.time() * 1000), error or self.error)
            self.transport.flush(max(1.0, timeout - (time.monotonic() - begun)))
        except Exception as fault:  # noqa: BLE001 - the job's result must not change at its end either
            self.listener.fault(fault)


_active: dict[str, Instrumentation] = {}
_lock = threading.Lock()


def instrument(spark: Any, transport: Transport | None = None) -> Instrumentation | None:
    """Emit the lineage of everything that this session's application does from now on.

    ``spark`` is a classic ``SparkSession`` or a ``SparkContext``; ``transport`` defaults to headwater's default transport.
    Never raises: after a failure, which is logged as a warning, the job runs without lineage and the result is None.
    Another call for the same application changes nothing.
    """
    try:
        return _instrument(spark, transport)
    except Exception as fault:  # noqa: BLE001 - the job must not fail
        logger.warning("lineage is not available, the job is not affected: %s", fault)
        return None


def _instrument(spark: Any, transport: Transport | None) -> Instrumentation | None:
    session = getattr(spark, "_jsparkSession", None)
    context = _context(spark) if session is None else spark.sparkContext
    if context is None:
        logger.warning(_CONNECT)
        return None
    conf = dict(context.getConf().getAll())
    settings = Settings.of(conf, os.environ, context.appName, context.version)
    if settings.is_disabled:
        return None
    with _lock:
        known = _active.get(context.applicationId)
        if known is not None and not known.closed:
            return known
        for earlier in _active.values():
            earlier.close()  # a process has one SparkContext at a time, so the earlier ones have ended
        if settings.not_obeyed:
            logger.warning("these settings have no effect on lineage: %s", ", ".join(settings.not_obeyed))
        transport = transport or _transport(settings)
        is_classic = session is not None or context is spark
        instrumentation = _attach(context, session, transport, settings, conf, is_classic)
        _active[context.applicationId] = instrumentation
    atexit.register(instrumentation.close)
    return instrumentation


_CONNECT = (
    "lineage is not available: this is a Spark Connect session, whose plans are in a server that this program cannot read;"
    " use a classic session, created with a master instead of a remote"
)


def _context(spark: Any) -> Any:
    """Return ``spark`` if it is a context; for a Connect session the context of its server, if that is in this process."""
    if hasattr(spark, "_jsc"):
        return spark
    import pyspark

    kind = getattr(pyspark, "SparkContext", None)  # the pure client has none
    return None if kind is None else kind._active_spark_context


def _transport(settings: Settings) -> Transport:
    """Return the transport of the Spark configuration, else that of the process."""
    from ..transport import default_transport
    from ..transport.default import configured_transport

    return default_transport() if settings.transport is None else configured_transport(settings.transport, os.environ)


def _attach(
    context: Any, session: Any, transport: Transport, settings: Settings, conf: Mapping[str, str], is_classic: bool
) -> Instrumentation:
    found = found_factories(os.environ)
    driver = Driver.attach(context, session, all_jobs=bool(found))
    catalog = SessionCatalog.of(driver)
    requested = settings.facet_rules.requested
    debug = debug_facts(context, conf) if "debug" in requested else None
    factories = [*found, built_in(catalog, "spark.logicalPlan" in requested, debug)]
    extensions = Extensions.load(factories, own=1, spark_context=context)
    readers = PlanReaders(catalog, extensions, AttachedNodes(found_nodes(os.environ), extensions.context))
    application = Application.of(settings, readers, transport.emit, debug)
    FacetRegistry.attach(extensions.context, is_classic=is_classic)
    listener = Listener(driver, application)
    application.start(int(context.startTime))
    listener.start()
    return Instrumentation(listener, transport, os.getpid())


def active() -> list[Instrumentation]:
    """Return the applications instrumented in this process, oldest first."""
    return list(_active.values())
