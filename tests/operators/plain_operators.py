"""Operators for tests, each with a different part of the contract."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from headwater.operators import (
    CollectingSink,
    InputDataset,
    OutputDataset,
    RunRef,
    TaskInstanceLineage,
    TaskLineageListener,
    TaskRun,
)

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
RUN = TaskRun(
    run_id="019f0000-0000-7000-8000-000000000001",
    namespace="etl",
    name="nightly.load",
    parent=RunRef("019f0000-0000-7000-8000-000000000000", "etl", "nightly"),
    started_at=NOON,
)


class Plain:
    """An operator without lineage methods."""

    task_id = "load"

    def execute(self, context: dict[str, Any]) -> Any:
        return None


class AllMethods(Plain):
    """An operator with all three methods, each of which returns a job facet with its name."""

    def get_openlineage_facets_on_start(self, ti: Any) -> TaskInstanceLineage:
        return lineage_on("start")

    def get_openlineage_facets_on_complete(self, ti: Any) -> TaskInstanceLineage:
        return lineage_on("complete")

    def get_openlineage_facets_on_failure(self, ti: Any) -> TaskInstanceLineage:
        return lineage_on("failure")


class OnStartOnly(Plain):
    calls = 0

    def get_openlineage_facets_on_start(self) -> TaskInstanceLineage:
        type(self).calls += 1
        return lineage_on("start")


class OnCompleteOnly(Plain):
    def get_openlineage_facets_on_complete(self, ti: Any) -> TaskInstanceLineage:
        return lineage_on("complete")


def lineage_on(method: str) -> TaskInstanceLineage:
    return TaskInstanceLineage(
        inputs=[InputDataset("postgres://db:5432", f"shop.public.read_on_{method}")],
        outputs=[OutputDataset("postgres://db:5432", f"shop.public.written_on_{method}")],
        job_facets={"etl_method": {"method": method}},
    )


def listening(**settings: Any) -> tuple[TaskLineageListener, CollectingSink]:
    sink = CollectingSink()
    return TaskLineageListener(sink, clock=lambda: NOON, **settings), sink


def event_of(operator: Any, state: str, *, ti: Any = None, run: TaskRun = RUN, **settings: Any) -> dict[str, Any]:
    """Return the event that a listener emits for this operator in this state."""
    listener, sink = listening(**settings)
    emit = {
        "running": listener.task_started,
        "success": listener.task_succeeded,
        "failed": listener.task_failed,
        "skipped": listener.task_skipped,
    }[state]
    emit(run, operator, ti)
    (event,) = sink.events
    return event


def names(event: dict[str, Any], side: str) -> list[str]:
    return [dataset["name"] for dataset in event[side]]


def called_method(event: dict[str, Any]) -> str | None:
    facet = event["job"]["facets"].get("etl_method")
    return facet["method"] if facet else None
