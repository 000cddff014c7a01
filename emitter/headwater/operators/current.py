"""The current task, and lineage emitted from inside it.

Code in a task that knows what it reads and writes calls ``emit_dataset_lineage``. The event has the task's run id, so the
graph merges it with the scheduler's events. It does not depend on the operator's attributes.
"""

from __future__ import annotations

import contextvars
import importlib
import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from .contract.results import read_dataset
from .contract.task_lineage import DatasetLike, Facets, TaskInstanceLineage
from .listener import TaskLineageListener
from .tasks import TaskRun

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CurrentTask:
    """A running task: its run, its operator, and the listener that emits its events."""

    run: TaskRun
    operator: Any
    ti: Any
    listener: TaskLineageListener


_current: contextvars.ContextVar[CurrentTask | None] = contextvars.ContextVar("headwater_task", default=None)
# Called in turn if ``running_task`` is not active here: (task instance or None) -> its current task. Schedulers' plugins
# add their own.
finders: list[Callable[[Any], CurrentTask | None]] = []


@contextmanager
def running_task(task: CurrentTask) -> Iterator[CurrentTask]:
    """Set the current task of the block."""
    token = _current.set(task)
    try:
        yield task
    finally:
        _current.reset(token)


def current_task(ti: Any = None) -> CurrentTask | None:
    """Return the task that runs here (or the task of this task instance), or None outside of tasks."""
    entered = _current.get()
    if entered is not None and (ti is None or entered.ti is ti):
        return entered
    found = (finder(ti) for finder in [*finders, *_known_schedulers()])
    return next((task for task in found if task is not None), None)


def _known_schedulers() -> list[Callable[[Any], CurrentTask | None]]:
    """Return the finder of a loaded Airflow, so that tasks can emit lineage beside its provider, without our plugin."""
    if finders or "airflow" not in sys.modules:
        return []
    return [importlib.import_module("headwater.operators.airflow.provider_bridge").find_current]


def emit_dataset_lineage(
    inputs: Sequence[DatasetLike] | None = None,
    outputs: Sequence[DatasetLike] | None = None,
    *,
    task_instance: Any = None,
    additional_run_facets: Facets | None = None,
    additional_job_facets: Facets | None = None,
    raise_on_error: bool = False,
) -> None:
    """Emit datasets from inside a task, as a RUNNING event of its run.

    With ``raise_on_error``, raise ValueError without datasets, TypeError for a value that is not a dataset, RuntimeError
    outside a task; without it these are warnings. Do nothing if lineage is disabled (``OPENLINEAGE_DISABLED``).
    """
    try:
        task, lineage = _checked(inputs, outputs, task_instance, additional_run_facets, additional_job_facets)
    except (ValueError, TypeError, RuntimeError) as fault:
        if raise_on_error:
            raise
        logger.warning("lineage emitted from inside a task is left out: %s", fault)
        return
    if _disabled():
        logger.info("lineage is disabled: no event of %s", task.run.name)
        return
    task.listener.lineage_emitted(task.run, lineage, task.operator, task.ti)


def _checked(
    inputs: Sequence[DatasetLike] | None,
    outputs: Sequence[DatasetLike] | None,
    ti: Any,
    run_facets: Facets | None,
    job_facets: Facets | None,
) -> tuple[CurrentTask, TaskInstanceLineage]:
    if not inputs and not outputs:
        raise ValueError("neither inputs nor outputs are given")
    for given in [*(inputs or ()), *(outputs or ())]:
        dataset, faults = read_dataset("input", given, None)
        if dataset is None:
            raise TypeError(f"{given!r} is not a dataset: {'; '.join(faults)}")
    task = current_task(ti)
    if task is None:
        raise RuntimeError("no task runs here: call this in a task, or pass task_instance")
    return task, TaskInstanceLineage(inputs or (), outputs or (), run_facets or {}, job_facets or {})


def _disabled() -> bool:
    return os.environ.get("OPENLINEAGE_DISABLED", "").strip().lower() in ("true", "1", "t", "yes")
