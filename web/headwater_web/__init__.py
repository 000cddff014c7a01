"""Lineage over HTTP: every question under ``/api/v1/graph``, and an ingest gateway that speaks OpenLineage's own contract."""

from .app import create_app
from .ingest import KafkaOutlet, MemoryOutlet, NoOutlet, Outlet
from .settings import WebSettings

__all__ = ["KafkaOutlet", "MemoryOutlet", "NoOutlet", "Outlet", "WebSettings", "create_app"]
