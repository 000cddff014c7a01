"""`HeadwaterTransport`: the transport that openlineage-python's configuration names."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from openlineage.client.transport.transport import Transport

from headwater.transport.broker import Broker, KafkaBroker
from headwater.transport.counters import Counters, Ledger
from headwater.transport.lifecycle import Channel
from headwater.transport.settings import HeadwaterConfig
from headwater.transport.sink import KafkaOutlet, Outlet


class HeadwaterTransport(Transport):
    """An openlineage-python transport to Kafka that never blocks, never raises, and keeps on disk what Kafka won't take.

    Configure it as any transport: ``OPENLINEAGE__TRANSPORT__TYPE=headwater.transport.HeadwaterTransport`` with
    ``OPENLINEAGE__TRANSPORT__BOOTSTRAP_SERVERS`` and so on (`HeadwaterConfig`), or the same in its YAML file. Events
    are openlineage-python's objects, of either model, or dicts; they must not be changed after they were handed over.
    """

    kind = "headwater"
    config_class = HeadwaterConfig

    def __init__(
        self, config: HeadwaterConfig | None = None, connect: Callable[[HeadwaterConfig], Broker] | None = None
    ) -> None:
        self.config = config or HeadwaterConfig.from_dict({})
        self._channel = Channel(partial(_kafka_outlet, self.config, connect or _connect), self.config, has_spool=True)

    def emit(self, event: Any) -> None:
        """Hand an event over and return: microseconds, never raises."""
        self._channel.emit(event)

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait up to ``timeout`` seconds until all events so far are acknowledged by Kafka; False if some are not."""
        return self._channel.flush(timeout)

    def close(self, timeout: float = -1) -> bool:
        """Deliver what can be within ``timeout`` seconds (negative: ``close_timeout``), put the rest to disk.

        True if all was delivered. A later `emit` begins anew.
        """
        return self._channel.close(timeout)

    def counters(self) -> Counters:
        """What became of this transport's events in this process."""
        return self._channel.counters()


def _kafka_outlet(config: HeadwaterConfig, connect: Callable[[HeadwaterConfig], Broker], ledger: Ledger) -> Outlet:
    return KafkaOutlet(config, ledger, connect)


def _connect(config: HeadwaterConfig) -> Broker:
    if not config.bootstrap_servers and "bootstrap.servers" not in config.kafka:
        raise ValueError("HEADWATER_KAFKA_BOOTSTRAP_SERVERS is not set")
    return KafkaBroker(config)
