"""Any other transport of openlineage-python, behind this package's queue and thread: it can't block or fail the host."""

from __future__ import annotations

import copy
import logging
import os
from collections.abc import Mapping
from functools import partial
from typing import Any

from openlineage.client import OpenLineageClient
from openlineage.client.transport.noop import NoopConfig, NoopTransport

from .counters import TransportCounters
from .process.forking import without_forks
from .process.lifecycle import Lifecycle
from .settings import HeadwaterConfig
from .sink import Sink

logger = logging.getLogger("headwater.transport")


def client_settings() -> dict[str, Any] | None:
    """Return the settings of the transport that openlineage-python is configured with, and its ``filters``; else None."""
    config = OpenLineageClient(transport=NoopTransport(NoopConfig())).config
    transport = dict(config.transport or {})
    if not transport.get("type") and not os.environ.get("OPENLINEAGE_URL"):
        return None
    return transport | ({"filters": config.filters} if config.filters else {})


class ClientSink(Sink):
    """openlineage-python's client, created on the emitter's thread at the first event."""

    def __init__(self, counters: TransportCounters, settings: Mapping[str, Any] | None = None) -> None:
        self._counters = counters
        self._settings = settings
        self._client: OpenLineageClient | None = None
        self._warned = False

    def accept(self, event: Any) -> None:
        try:
            if self._client is None:
                with without_forks():
                    self._client = _client(self._settings)
            # The client accepts its own classes only; its transports write dicts as well.
            emit: Any = self._client.transport.emit if isinstance(event, dict) else self._client.emit
            emit(event)
        except Exception as fault:  # noqa: BLE001  transports may raise anything
            self._counters.add_dropped("transport_error")
            if not self._warned:
                self._warned = True
                logger.warning("a lineage event is lost, the transport failed: %r", fault)
        else:
            self._counters.delivered.increment()

    def release(self) -> None:
        if self._client is not None:
            self._client.close(1.0)

    def store(self, event: Any) -> None:
        self._counters.add_dropped("transport_error")


def _client(settings: Mapping[str, Any] | None) -> OpenLineageClient:
    """Return the client with the transport of ``settings``, else with the one that it is configured with itself."""
    if not settings:
        return OpenLineageClient()
    if "console" in (settings["type"], *(part["type"] for part in settings.get("transports", {}).values())):
        _show_console_events()
    # The client's factory removes members of what it is given.
    return OpenLineageClient(config={"transport": copy.deepcopy(dict(settings))})


def _show_console_events() -> None:
    """Let the log show the events that openlineage-python's console transport logs at INFO."""
    console = logging.getLogger("openlineage.client.transport.console")
    console.setLevel(logging.INFO)
    if not console.hasHandlers():
        console.addHandler(logging.StreamHandler())


class ClientTransport(Lifecycle):
    """The transport of ``settings``, else the one that openlineage-python is configured with, behind this package's queue."""

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        make_sink = partial(ClientSink, settings=settings)
        super().__init__(make_sink, HeadwaterConfig.from_dict({}), has_spool=False)
