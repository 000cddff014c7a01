"""A transport that keeps what it is given, and an environment without anybody's lineage settings."""

from __future__ import annotations

import os

import pytest

from headwater.lineage import context, runs
from headwater.transport import MemoryTransport
from headwater.transport import default as default_module


class Kept(MemoryTransport):
    """What was emitted, seen as runs."""

    def told(self) -> list[tuple[str, str]]:
        """Type and job of each event."""
        return [(event["eventType"], event["job"]["name"]) for event in self.events]

    def parents(self) -> dict[str, str | None]:
        """Job to its parent's job, by the START events."""
        starts = (event for event in self.events if event["eventType"] == "START")
        return {
            event["job"]["name"]: event["run"]["facets"].get("parent", {}).get("job", {}).get("name")
            for event in starts
        }


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("OPENLINEAGE", "HEADWATER_RUN", "HEADWATER_PARENT", "HEADWATER_ROOT", "AIRFLOW")):
            monkeypatch.delenv(name)
    monkeypatch.setattr(runs, "_shared_job", {})
    monkeypatch.setattr(context, "_outermost", {})


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Kept:
    """The process's transport, for this test."""
    transport = Kept()
    monkeypatch.setattr(default_module, "_shared", transport)
    return transport
