"""Lineage over HTTP: every question under ``/api/v1/graph``, and an ingest gateway that speaks OpenLineage's own contract."""

from .app import create_app
from .ingest import DisabledSink, EventSink, KafkaSink, MemorySink
from .settings import WebSettings

__all__ = ["DisabledSink", "EventSink", "KafkaSink", "MemorySink", "WebSettings", "create_app"]
