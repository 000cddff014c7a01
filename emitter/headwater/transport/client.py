"""Any other transport of openlineage-python, kept from blocking or failing the host by our queue and thread."""

from __future__ import annotations

import logging
import os
from typing import Any

from openlineage.client import OpenLineageClient
from openlineage.client.transport.noop import NoopConfig, NoopTransport

from headwater.transport.counters import Counters, Ledger
from headwater.transport.forking import without_forks
from headwater.transport.lifecycle import Channel
from headwater.transport.settings import HeadwaterConfig

logger = logging.getLogger("headwater.transport")


def client_settings() -> dict[str, Any] | None:
    """The transport that openlineage-python is configured with (and ``filters``, if any), not made; else None."""
    config = OpenLineageClient(transport=NoopTransport(NoopConfig())).config
    transport = dict(config.transport or {})
    if not transport.get("type") and not os.environ.get("OPENLINEAGE_URL"):
        return None
    return transport | ({"filters": config.filters} if config.filters else {})


class ClientOutlet:
    """openlineage-python's client, made on the emitter's thread at the first event."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._client: OpenLineageClient | None = None
        self._said = False

    def accept(self, event: Any) -> None:
        try:
            if self._client is None:
                with without_forks():
                    self._client = OpenLineageClient()
            # The client takes its own classes only; its transports write dicts just as well.
            emit: Any = self._client.transport.emit if isinstance(event, dict) else self._client.emit
            emit(event)
        except Exception as fault:  # noqa: BLE001  transports are free to raise anything
            self._ledger.drop("transport_error")
            if not self._said:
                self._said = True
                logger.warning("a lineage event is lost, the transport failed: %r", fault)
        else:
            self._ledger.delivered.tick()

    def work(self, seconds: float, hurry: bool) -> None:
        return

    def pending(self) -> int:
        return 0

    def settled(self) -> bool:
        return True

    def idle(self) -> float:
        return 5.0

    def give_up(self) -> None:
        if self._client is not None:
            self._client.close(1.0)

    def look(self) -> None:
        return

    def begin_closing(self) -> None:
        return

    def store(self, event: Any) -> None:
        self._ledger.drop("transport_error")


class ClientTransport:
    """The transport that openlineage-python is configured with, behind our queue."""

    def __init__(self) -> None:
        self._channel = Channel(ClientOutlet, HeadwaterConfig.from_dict({}), has_spool=False)

    def emit(self, event: Any) -> None:
        """Hand an event over and return: microseconds, never raises."""
        self._channel.emit(event)

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait up to ``timeout`` seconds until all events so far were sent."""
        return self._channel.flush(timeout)

    def close(self, timeout: float = -1) -> bool:
        """Send what can be sent within ``timeout`` seconds (negative: ``close_timeout``)."""
        return self._channel.close(timeout)

    def counters(self) -> Counters:
        """What became of this transport's events in this process."""
        return self._channel.counters()
