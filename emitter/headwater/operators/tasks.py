"""The run of a task as schedulers know it, and the ids that Airflow's provider gives such runs.

The ids are a function of what the scheduler knows, so any process can tell them again: a START from one worker, a
COMPLETE from another and a partial event from the task's own code meet in one run.
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
    """A run of a job elsewhere: a parent, a root."""

    run_id: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRun:
    """One attempt of one task: its id and job, what it is part of, and what the scheduler itself tells of it.

    ``run_facets`` and ``job_facets`` are the scheduler's and win over the operator's. ``resumed`` says that this
    process goes on with an attempt that has begun before (a deferred task, a rescheduled sensor), so that its START
    is not told again. ``context`` is what templates may name.
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
    """The id of one attempt of a task, as Airflow's provider makes it: ``instant`` is the logical date (or when it is
    due)."""
    return str(generate_static_uuid(instant, f"{namespace}.{workflow}.{task}.{try_number}.{map_index}".encode()))


def workflow_run_id(*, namespace: str, workflow: str, clear_number: int, instant: datetime) -> str:
    """The id of one run of a workflow (a DAG run), as Airflow's provider makes it; clearing the run gives it another
    one."""
    return str(generate_static_uuid(instant, f"{namespace}.{workflow}.{clear_number}".encode()))


def parent_facet(parent: RunRef, root: RunRef | None = None) -> dict[str, Any]:
    """The members of the run facet ``parent``; a run without another root is its own (ParentRunFacet 1-2-0)."""
    return {**_ref_members(parent), "root": _ref_members(root or parent)}


def _ref_members(ref: RunRef) -> dict[str, Any]:
    return {"run": {"runId": ref.run_id}, "job": {"namespace": ref.namespace, "name": ref.name}}
