"""The HTTP server: queries under ``/api/v1/graph``, Marquez's read API, and a gateway for OpenLineage events."""

from .app import create_app
from .ingest import DisabledSink, EventSink, KafkaSink, MemorySink
from .settings import WebSettings

__all__ = ["DisabledSink", "EventSink", "KafkaSink", "MemorySink", "WebSettings", "create_app"]
