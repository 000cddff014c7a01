"""``HeadwaterTransport``: the transport that openlineage-python's configuration names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from openlineage.client.transport.transport import Transport

from .broker import Broker, KafkaBroker
from .kafka_sink import KafkaSink
from .process.forking import is_fork_without_exec
from .process.lifecycle import Lifecycle
from .settings import HeadwaterConfig
from .spool import PENDING, segments

FORKED_CHILD = {"enable.idempotence": False}
"""The Kafka client waits half a second before it asks for a producer id, longer than all else that a forked child does."""


class HeadwaterTransport(Lifecycle, Transport):
    """An openlineage-python transport to Kafka that never blocks, never raises, and stores on disk what Kafka can't accept.

    It is configured as any transport: ``OPENLINEAGE__TRANSPORT__TYPE=headwater.transport.HeadwaterTransport`` with
    ``OPENLINEAGE__TRANSPORT__BOOTSTRAP_SERVERS`` and so on (``HeadwaterConfig``), or the same in its YAML file. Events
    are openlineage-python's objects, of either model, or dicts; they must not be changed after ``emit``.
    """

    kind = "headwater"
    config_class = HeadwaterConfig

    def __init__(
        self, config: HeadwaterConfig | None = None, connect: Callable[[HeadwaterConfig], Broker] | None = None
    ) -> None:
        config = config or HeadwaterConfig.from_dict({})
        connect = connect or _connect
        super().__init__(lambda counters: KafkaSink(config, counters, connect, self.on_silence), config, has_spool=True)
        if config.replay and config.names_servers and segments(Path(config.spool_dir), PENDING):
            self.send_from_disk()


def _connect(config: HeadwaterConfig) -> Broker:
    if not config.names_servers:
        raise ValueError("set HEADWATER_KAFKA_BOOTSTRAP_SERVERS to Kafka's addresses")
    if is_fork_without_exec():
        config = replace(config, kafka={**FORKED_CHILD, **config.kafka})
    return KafkaBroker(config)
