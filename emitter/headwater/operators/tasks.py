"""The run of a task as schedulers know it, and its id as in Airflow's provider.

The ids are a function of the scheduler's data, so any process can compute them: a START from one worker, a COMPLETE from
another and a RUNNING event from the task's own code belong to one run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from openlineage.client.uuid import generate_static_uuid

from .contract.task_lineage import Facets


@dataclass(frozen=True, slots=True)
class RunRef:
    """A reference to a run of a job: a parent or a root."""

    run_id: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRun:
    """An attempt of a task: its id and job, its parent, and the scheduler's own facets.

    ``run_facets`` and ``job_facets`` are the scheduler's and win over the operator's. If ``resumed``, this process continues
    an earlier attempt (a deferred task, a rescheduled sensor), whose START is not emitted again. ``context`` has the names
    that templates may use.
    """

    run_id: str
    namespace: str
    name: str
    parent: RunRef | None = None
    root: RunRef | None = None
    started_at: datetime | None = None
    nominal_start: datetime | None = None
    nominal_end: datetime | None = None
    run_facets: Facets = field(default_factory=dict, hash=False)
    job_facets: Facets = field(default_factory=dict, hash=False)
    runtime_outlets: tuple[object, ...] = field(default=(), hash=False)
    resumed: bool = False
    context: Mapping[str, Any] | None = field(default=None, hash=False)


def task_run_id(*, namespace: str, workflow: str, task: str, try_number: int, map_index: int, instant: datetime) -> str:
    """Return the run id of an attempt of a task, as in Airflow's provider; ``instant`` is the logical date, else the due date."""
    return str(generate_static_uuid(instant, f"{namespace}.{workflow}.{task}.{try_number}.{map_index}".encode()))


def workflow_run_id(*, namespace: str, workflow: str, clear_number: int, instant: datetime) -> str:
    """Return the run id of a workflow run (a DAG run), as in Airflow's provider; a cleared run has another id."""
    return str(generate_static_uuid(instant, f"{namespace}.{workflow}.{clear_number}".encode()))


def parent_facet(parent: RunRef, root: RunRef | None = None) -> dict[str, Any]:
    """Return the members of the run facet ``parent``; the parent is the default root."""
    return {**_ref_members(parent), "root": _ref_members(root or parent)}


def _ref_members(ref: RunRef) -> dict[str, Any]:
    return {"run": {"runId": ref.run_id}, "job": {"namespace": ref.namespace, "name": ref.name}}
