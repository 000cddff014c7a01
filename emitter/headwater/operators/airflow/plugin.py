"""The Airflow plugin: a listener of tasks and DAG runs, unless Airflow's own OpenLineage provider is active.

Airflow loads it by the entry point ``airflow.plugins``, or by ``from headwater.operators.airflow.plugin import
HeadwaterPlugin`` in a file of the plugins folder. It is inactive beside an active provider, as two
listeners would emit every event twice.
"""

# Airflow is never installed beside this project, because it pins its dependencies: mypy does not find it.
# mypy: disable-error-code="import-not-found,untyped-decorator"
from __future__ import annotations

import importlib
import logging
from collections.abc import Iterable
from typing import Any

from airflow.listeners import hookimpl
from airflow.plugins_manager import AirflowPlugin

from ..current import finders
from ..sink import default_sink
from .masking import MaskingSink, airflow_mask
from .settings import from_airflow, provider_listens
from .tasks import AirflowTasks

logger = logging.getLogger(__name__)


class AirflowListener:
    """The hooks of Airflow's listener interface, implemented by ``AirflowTasks``; pluggy matches arguments by name."""

    def __init__(self, tasks: AirflowTasks) -> None:
        self._tasks = tasks

    @hookimpl
    def on_task_instance_running(self, task_instance: Any) -> None:
        self._tasks.running(task_instance)

    @hookimpl
    def on_task_instance_success(self, task_instance: Any) -> None:
        self._tasks.succeeded(task_instance)

    @hookimpl
    def on_task_instance_failed(self, task_instance: Any, error: Any) -> None:
        self._tasks.failed(task_instance, error)

    @hookimpl(optionalhook=True)
    def on_task_instance_skipped(self, task_instance: Any) -> None:
        self._tasks.skipped(task_instance)

    @hookimpl
    def on_dag_run_running(self, dag_run: Any) -> None:
        self._tasks.dag_run_changed(dag_run, "START")

    @hookimpl
    def on_dag_run_success(self, dag_run: Any) -> None:
        self._tasks.dag_run_changed(dag_run, "COMPLETE")

    @hookimpl
    def on_dag_run_failed(self, dag_run: Any, msg: str) -> None:
        self._tasks.dag_run_changed(dag_run, "FAIL", msg)

    @hookimpl
    def before_stopping(self) -> None:
        self._tasks.stopping()


def _on_worker(ti: Any) -> bool:
    """Return whether a task instance runs here; Airflow 3 passes a database row for a state set by hand, Airflow 2 always."""
    major = int(importlib.import_module("airflow").__version__.split(".")[0])
    return major < 3 or hasattr(ti, "_ti_context_from_server")


def _hook_assets() -> tuple[Iterable[Any], Iterable[Any]]:
    """Return the assets of Airflow's hooks so far, called datasets before Airflow 3."""
    get_collector = _of_hook_lineage("get_hook_lineage_collector")
    collector = None if get_collector is None else get_collector()
    if not getattr(collector, "has_collected", False):
        return (), ()
    for name in ("asset", "dataset"):
        collected = getattr(collector, f"collected_{name}s", None)
        if collected is not None:
            sides = (collected.inputs, collected.outputs)
            inputs, outputs = ([getattr(entry, name) for entry in side] for side in sides)
            return inputs, outputs
    return (), ()


def _hook_readers() -> list[Any]:
    """Return the readers that make Airflow's hooks collect assets."""
    reader = _of_hook_lineage("HookLineageReader")
    return [] if reader is None else [reader]


def _of_hook_lineage(member: str) -> Any:
    """Return a member of Airflow's module of hook lineage, None if this Airflow does not have it."""
    for name in ("airflow.sdk.lineage", "airflow.lineage.hook"):
        try:
            return getattr(importlib.import_module(name), member)
        except (ImportError, AttributeError):
            continue
    return None


def _listeners() -> list[Any]:
    settings = from_airflow()
    if settings.disabled or provider_listens():
        reason = "it is disabled" if settings.disabled else "the provider is active"
        logger.debug("headwater's listener is inactive: %s", reason)
        return []
    listener = settings.listener(sink=MaskingSink(default_sink, airflow_mask()))
    tasks = AirflowTasks(settings, listener, on_worker=_on_worker, hook_assets=_hook_assets)
    finders.append(tasks.find_current)
    return [AirflowListener(tasks)]


class HeadwaterPlugin(AirflowPlugin):  # type: ignore[misc,unused-ignore]
    """The plugin class that Airflow loads."""

    name = "headwater"
    listeners = _listeners()
    hook_lineage_readers = _hook_readers() if listeners else []
