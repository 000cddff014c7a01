"""Lineage emitted from inside a task of an Airflow whose own provider is active."""

from __future__ import annotations

from functools import cache
from typing import Any

from ..current import CurrentTask
from ..sink import default_sink
from .masking import MaskingSink, airflow_mask
from .settings import from_airflow
from .tasks import AirflowTasks


@cache
def _tasks() -> AirflowTasks:
    settings = from_airflow()
    return AirflowTasks(settings, settings.listener(sink=MaskingSink(default_sink, airflow_mask())))


def find_current(ti: Any) -> CurrentTask | None:
    """Return the current Airflow task, or the task of this task instance."""
    return _tasks().find_current(ti)
