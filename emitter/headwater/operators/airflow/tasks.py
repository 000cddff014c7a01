"""Airflow's listener hooks made calls of `TaskLineageListener`. Knows Airflow by the shape of what it hands over
only."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterable
from typing import Any, Concatenate, ParamSpec

from ..contract.annotations import annotated_dataset
from ..contract.task_lineage import TaskInstanceLineage
from ..current import CurrentTask
from ..events import error_facet, task_event
from ..hooks import HookLineageCollector, collect_in_process, collecting, get_hook_collector
from ..listener import TaskLineageListener
from .facts import current_ti, dag_run_of, task_run_of
from .settings import AirflowSettings

logger = logging.getLogger(__name__)

_P = ParamSpec("_P")
FLUSH_SECONDS = 2.0


def _never_raises(
    method: Callable[Concatenate[AirflowTasks, _P], None],
) -> Callable[Concatenate[AirflowTasks, _P], None]:
    @functools.wraps(method)
    def guarded(self: AirflowTasks, /, *args: _P.args, **kwargs: _P.kwargs) -> None:
        try:
            method(self, *args, **kwargs)
        except Exception:
            logger.warning("lineage: %s failed. This does not change the task.", method.__name__, exc_info=True)

    return guarded


class AirflowTasks:
    """Tells the lineage of Airflow's tasks and DAG runs; no method raises.

    ``on_worker`` says of a task instance whether it is at work in this process; one that isn't had its state set by
    hand or by the scheduler, and nothing of its operator is asked. ``hook_assets`` gives the assets that Airflow's
    own hooks told (AIP-62).
    """

    def __init__(
        self,
        settings: AirflowSettings,
        listener: TaskLineageListener | None = None,
        *,
        on_worker: Callable[[Any], bool] = lambda _: True,
        hook_assets: Callable[[], tuple[Iterable[Any], Iterable[Any]]] = lambda: ((), ()),
    ) -> None:
        self._settings = settings
        self._listener = listener or settings.listener()
        self._on_worker = on_worker
        self._hook_assets = hook_assets
        self._told_before: set[tuple[str, str]] = set()
        self._at_work: Any = None

    @_never_raises
    def running(self, ti: Any) -> None:
        """A task starts here: from now on hooks tell this task."""
        self._at_work = ti
        collect_in_process(HookLineageCollector())
        self._told_before = {(side, _uri(asset)) for side, asset in self._assets()}
        self._listener.task_started(self._run(ti), _operator(ti), ti)

    @_never_raises
    def succeeded(self, ti: Any) -> None:
        if not self._on_worker(ti):
            self._listener.state_set_by_hand(self._run(ti), "success", _operator(ti))
            return
        with collecting(self._hooks()):
            self._listener.task_succeeded(self._run(ti), _operator(ti), ti)
        self._ended()

    @_never_raises
    def skipped(self, ti: Any) -> None:
        with collecting(self._hooks()):
            self._listener.task_skipped(self._run(ti), _operator(ti), ti)
        self._ended()

    @_never_raises
    def failed(self, ti: Any, error: BaseException | str | None) -> None:
        if not self._on_worker(ti):
            self._listener.state_set_by_hand(self._run(ti), "failed", _operator(ti), error)
            return
        with collecting(self._hooks()):
            self._listener.task_failed(self._run(ti), _operator(ti), ti, error)
        self._ended()

    @_never_raises
    def dag_run_changed(self, dag_run: Any, kind: str, message: str = "") -> None:
        """A DAG run started (``START``) or ended (``COMPLETE``, ``FAIL``)."""
        if self._settings.policy.for_workflow(dag_run.dag_id):
            run = dag_run_of(dag_run, self._settings.namespace)
            at = (run.started_at if kind == "START" else getattr(dag_run, "end_date", None)) or self._listener.now()
            late = error_facet(message) if kind == "FAIL" else {}
            self._listener.emit(task_event(kind, at, run, TaskInstanceLineage(), late))  # type: ignore[arg-type]

    @_never_raises
    def stopping(self) -> None:
        """This process of Airflow ends. If its task has not ended, it waits, and what hooks told so far goes now."""
        if self._at_work is not None:
            with collecting(self._hooks()):
                self._listener.task_deferred(self._run(self._at_work), _operator(self._at_work), self._at_work)
        self._ended()

    def find_current(self, ti: Any) -> CurrentTask | None:
        """The task at work here, or the one of this task instance, for `headwater.operators.emit_dataset_lineage`."""
        found = ti if ti is not None else current_ti()
        if found is None or not hasattr(found, "dag_id"):
            return None
        return CurrentTask(self._run(found), _operator(found), found, self._listener)

    def _run(self, ti: Any) -> Any:
        return task_run_of(ti, self._settings.namespace)

    def _ended(self) -> None:
        """Airflow ends its task processes by ``os._exit``: what is not delivered now goes to disk, or is lost."""
        self._at_work = None
        if not self._listener.flush(FLUSH_SECONDS):
            self._listener.close(FLUSH_SECONDS)

    def _hooks(self) -> HookLineageCollector:
        """The collector of this task, with what Airflow's hooks told since it started."""
        hooks = get_hook_collector()
        for side, asset in self._assets():
            dataset = None if (side, _uri(asset)) in self._told_before else annotated_dataset(asset)
            if dataset is not None:
                (hooks.add_input if side == "input" else hooks.add_output)(dataset)
        return hooks

    def _assets(self) -> list[tuple[str, Any]]:
        inputs, outputs = self._hook_assets()
        return [*(("input", asset) for asset in inputs), *(("output", asset) for asset in outputs)]


def _uri(asset: Any) -> str:
    return str(getattr(asset, "uri", asset))


def _operator(ti: Any) -> Any:
    return getattr(ti, "task", None)
