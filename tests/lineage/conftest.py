"""A transport that stores events, and an environment without lineage settings."""

from __future__ import annotations

import os

import pytest

from headwater.lineage import context, runs
from headwater.transport import MemoryTransport
from headwater.transport import default as default_module


class RecordingTransport(MemoryTransport):
    """The emitted events, summarised by run."""

    def events_of_runs(self) -> list[tuple[str, str]]:
        """Return type and job of each event."""
        return [(event["eventType"], event["job"]["name"]) for event in self.events]

    def parents(self) -> dict[str, str | None]:
        """Return the parent's job by job, from the START events."""
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
def transport(monkeypatch: pytest.MonkeyPatch) -> RecordingTransport:
    """The transport of the process, for this test."""
    recording = RecordingTransport()
    monkeypatch.setattr(default_module, "_shared", recording)
    return recording
