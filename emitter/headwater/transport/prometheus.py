"""The counters for Prometheus; needs the package prometheus-client, which the host installs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any

from .counters import Counters
from .process.lifecycle import counters


class CountersCollector:
    """A collector of prometheus-client: ``headwater_emitter_<counter>_total``, dropped events by ``reason``."""

    def __init__(self, read: Callable[[], Counters] = counters) -> None:
        self._read = read

    def collect(self) -> Iterable[Any]:
        from prometheus_client.core import CounterMetricFamily

        now = self._read()
        for field in fields(now):
            if field.name != "dropped":
                name = f"headwater_emitter_{field.name}"
                yield CounterMetricFamily(name, f"Lineage events {field.name}.", value=getattr(now, field.name))
        dropped = CounterMetricFamily("headwater_emitter_dropped", "Lineage events lost.", labels=["reason"])
        for reason, n in now.dropped.items():
            dropped.add_metric([reason], n)
        yield dropped


def register(registry: Any = None) -> CountersCollector:
    """Register this process's counters, by default with prometheus-client's own registry; return the collector."""
    from prometheus_client import REGISTRY

    collector = CountersCollector()
    (registry or REGISTRY).register(collector)
    return collector
