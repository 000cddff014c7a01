"""Events of tasks and workflows, from the scheduler's data and the operator's lineage.  Pure: time is an argument."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from headwater_avro.times import format_time, micros_of

from ..producer import EventType, base_schema
from .contract.facets import PRODUCER, read_facets
from .contract.plain import plain
from .contract.results import dataset_event_form
from .contract.task_lineage import Facets, InputDataset, OutputDataset, TaskInstanceLineage
from .tasks import RunRef, TaskRun, parent_facet

_JOB_TYPE = {"processingType": "BATCH", "integration": "HEADWATER", "jobType": "TASK"}


def task_event(
    kind: EventType, at: datetime, run: TaskRun, lineage: TaskInstanceLineage, late_run_facets: Facets | None = None
) -> dict[str, Any]:
    """Return an OpenLineage event of a task's run.

    ``lineage`` has the form that ``read_result`` returns. Of run facets with equal names the scheduler's wins, then the late
    facet, then the operator's; an ``errorMessage`` among the late facets wins over all.
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
        "schemaURL": base_schema("RunEvent"),
        "run": {"runId": run.run_id, "facets": _spelled("run", run_facets)},
        "job": {"namespace": run.namespace, "name": run.name, "facets": _spelled("job", job_facets)},
        "inputs": [dataset_event_form(d) for d in lineage.inputs if isinstance(d, InputDataset)],
        "outputs": [dataset_event_form(d) for d in lineage.outputs if isinstance(d, OutputDataset)],
    }


def event_time(at: datetime) -> str:
    """Return the instant in UTC with microseconds (specification 1.3); a time without a zone is in UTC."""
    return format_time(micros_of(at.replace(tzinfo=UTC) if at.tzinfo is None else at))


def error_facet(error: BaseException | str | None) -> dict[str, Any]:
    """Return the run facet ``errorMessage`` under its name, with the stack trace if there is one; nothing without an error."""
    if not error:
        return {}
    members = {"message": str(error), "programmingLanguage": "python"}
    if isinstance(error, BaseException) and error.__traceback__:
        members["stackTrace"] = "".join(traceback.format_exception(error))
    return {"errorMessage": members}


def extraction_error_facet(task: str, faults: tuple[str, ...]) -> dict[str, Any]:
    """Return the run facet ``extractionError`` of a task under its name; nothing without faults."""
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
    """Return facets in the specification's form; reading the operator's a second time does not change them."""
    return read_facets(container, plain(facets))[0]
