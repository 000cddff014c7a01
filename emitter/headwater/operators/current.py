"""The task that runs here, and telling lineage from inside it.

Code in a task that knows what it reads and writes says so with `emit_dataset_lineage`; the event carries the task's
own run id, so the graph joins it with what the scheduler tells. It survives whatever happens to the operator's
attributes.
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
    """A task at work: its run, who does it, and the listener that tells its events."""

    run: TaskRun
    operator: Any
    ti: Any
    listener: TaskLineageListener


_current: contextvars.ContextVar[CurrentTask | None] = contextvars.ContextVar("headwater_task", default=None)
# Asked in turn where no task was entered here: (task instance or None) -> its current task. Schedulers' plugins add
# theirs.
finders: list[Callable[[Any], CurrentTask | None]] = []


@contextmanager
def running_task(task: CurrentTask) -> Iterator[CurrentTask]:
    """Make this the current task of the block."""
    token = _current.set(task)
    try:
        yield task
    finally:
        _current.reset(token)


def current_task(ti: Any = None) -> CurrentTask | None:
    """The task that runs here (or the one of this task instance), or None outside of any."""
    here = _current.get()
    if here is not None and (ti is None or here.ti is ti):
        return here
    found = (finder(ti) for finder in [*finders, *_known_schedulers()])
    return next((task for task in found if task is not None), None)


def _known_schedulers() -> list[Callable[[Any], CurrentTask | None]]:
    """Airflow is asked where it is loaded, so that tasks can tell lineage beside its own provider, without a plugin
    of ours."""
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
    """Tell datasets from inside a task: one RUNNING event of its run.

    With ``raise_on_error`` it raises ValueError for nothing to tell, TypeError for what is no dataset, RuntimeError
    outside a task; else these are warnings. Where lineage is switched off for the process (``OPENLINEAGE_DISABLED``)
    it does nothing.
    """
    try:
        task, lineage = _checked(inputs, outputs, task_instance, additional_run_facets, additional_job_facets)
    except (ValueError, TypeError, RuntimeError) as fault:
        if raise_on_error:
            raise
        logger.warning("lineage told from inside a task was left out: %s", fault)
        return
    if _switched_off():
        logger.info("lineage is switched off: %s tells nothing", task.run.name)
        return
    task.listener.lineage_told(task.run, lineage, task.operator, task.ti)


def _checked(
    inputs: Sequence[DatasetLike] | None,
    outputs: Sequence[DatasetLike] | None,
    ti: Any,
    run_facets: Facets | None,
    job_facets: Facets | None,
) -> tuple[CurrentTask, TaskInstanceLineage]:
    if not inputs and not outputs:
        raise ValueError("no inputs and no outputs were given")
    for each in [*(inputs or ()), *(outputs or ())]:
        dataset, faults = read_dataset("input", each, None)
        if dataset is None:
            raise TypeError(f"{each!r} is no dataset: {'; '.join(faults)}")
    task = current_task(ti)
    if task is None:
        raise RuntimeError("no task runs here, and no task_instance was given")
    return task, TaskInstanceLineage(inputs or (), outputs or (), run_facets or {}, job_facets or {})


def _switched_off() -> bool:
    return os.environ.get("OPENLINEAGE_DISABLED", "").strip().lower() in ("true", "1", "t", "yes")
