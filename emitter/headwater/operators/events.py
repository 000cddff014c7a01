"""Events of tasks and workflows, made from what the scheduler knows and what the operator told. Pure: time is an
argument."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

from .contract.facets import PRODUCER, read_facets
from .contract.plain import plain
from .contract.results import dataset_event_form
from .contract.task_lineage import Facets, InputDataset, OutputDataset, TaskInstanceLineage
from .tasks import RunRef, TaskRun, parent_facet

EventType: TypeAlias = Literal["START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER"]

_SCHEMA = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
_JOB_TYPE = {"processingType": "BATCH", "integration": "HEADWATER", "jobType": "TASK"}


def task_event(
    kind: EventType, at: datetime, run: TaskRun, lineage: TaskInstanceLineage, late_run_facets: Facets | None = None
) -> dict[str, Any]:
    """One event of a task's run, as OpenLineage has it.

    ``lineage`` is in the form that `read_result` gives. Of run facets with one name the scheduler's own wins, then the
    late one, then the operator's; an ``errorMessage`` among the late ones wins over all.
    """
    late = dict(late_run_facets or {})
    error = {"errorMessage": late.pop("errorMessage")} if "errorMessage" in late else {}
    run_facets = {
        **lineage.run_facets,
        **late,
        **run.run_facets,
        **_scheduled(run),
        **_parent(run.parent, run.root),
        **error,
    }
    job_facets = {"jobType": _JOB_TYPE, **lineage.job_facets, **run.job_facets}
    return {
        "eventType": kind,
        "eventTime": event_time(at),
        "producer": PRODUCER,
        "schemaURL": _SCHEMA,
        "run": {"runId": run.run_id, "facets": _spelled("run", run_facets)},
        "job": {"namespace": run.namespace, "name": run.name, "facets": _spelled("job", job_facets)},
        "inputs": [dataset_event_form(each) for each in lineage.inputs if isinstance(each, InputDataset)],
        "outputs": [dataset_event_form(each) for each in lineage.outputs if isinstance(each, OutputDataset)],
    }


def event_time(at: datetime) -> str:
    """The instant in UTC to the microsecond, as SPEC 1.3 reads it; a time without a zone is taken as UTC."""
    aware = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    return aware.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def error_facet(error: BaseException | str | None) -> dict[str, Any]:
    """The run facet ``errorMessage`` under its name, with the stack trace if there is one; nothing without an error."""
    if not error:
        return {}
    members = {"message": str(error), "programmingLanguage": "python"}
    if isinstance(error, BaseException) and error.__traceback__:
        members["stackTrace"] = "".join(traceback.format_exception(error))
    return {"errorMessage": members}


def extraction_error_facet(task: str, faults: tuple[str, ...]) -> dict[str, Any]:
    """The run facet ``extractionError`` under its name: what of this task's lineage could not be told; nothing
    without a fault."""
    if not faults:
        return {}
    errors = [{"errorMessage": fault, "task": task, "taskNumber": 1} for fault in faults]
    return {"extractionError": {"totalTasks": 1, "failedTasks": 1, "errors": errors}}


def _scheduled(run: TaskRun) -> dict[str, Any]:
    if run.nominal_start is None:
        return {}
    members = {"nominalStartTime": event_time(run.nominal_start)}
    if run.nominal_end is not None:
        members["nominalEndTime"] = event_time(run.nominal_end)
    return {"nominalTime": members}


def _parent(parent: RunRef | None, root: RunRef | None) -> dict[str, Any]:
    return {} if parent is None else {"parent": parent_facet(parent, root)}


def _spelled(container: Literal["run", "job"], facets: Mapping[str, object]) -> dict[str, Any]:
    """Facets signed and spelled; those of the operator have been read before, and reading twice changes nothing."""
    return read_facets(container, plain(facets))[0]
