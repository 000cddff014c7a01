"""Airflow's listener hooks as calls of ``TaskLineageListener``; Airflow's objects are read by attributes only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..bounded import never_raises
from ..contract.annotations import annotated_dataset
from ..contract.task_lineage import TaskInstanceLineage
from ..current import CurrentTask
from ..events import error_facet, task_event
from ..hooks import HookLineageCollector, collect_in_process, collecting, get_hook_collector
from ..listener import TaskLineageListener
from .facts import current_ti, dag_run_of, task_run_of
from .settings import AirflowSettings

FLUSH_SECONDS = 2.0


class AirflowTasks:
    """Emits the lineage of Airflow's tasks and DAG runs; no method raises.

    ``on_worker`` returns whether a task instance runs in this process; the state of any other was set by hand or by the
    scheduler, and its operator is not called. ``hook_assets`` returns the assets of Airflow's own hooks (AIP-62).
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
        self.counts = self._listener.counts
        self._on_worker = on_worker
        self._hook_assets = hook_assets
        self._earlier_assets: set[tuple[str, str]] = set()
        self._running_ti: Any = None

    @never_raises
    def running(self, ti: Any) -> None:
        """Emit the start of a task, to which hooks report from now on."""
        self._running_ti = ti
        collect_in_process(HookLineageCollector())
        self._earlier_assets = {(side, _uri(asset)) for side, asset in self._assets()}
        self._listener.task_started(self._run(ti), _operator(ti), ti)

    @never_raises
    def succeeded(self, ti: Any) -> None:
        if not self._on_worker(ti):
            self._listener.state_set_by_hand(self._run(ti), "success", _operator(ti))
            return
        self._end(ti, self._listener.task_succeeded)

    @never_raises
    def skipped(self, ti: Any) -> None:
        self._end(ti, self._listener.task_skipped)

    @never_raises
    def failed(self, ti: Any, error: BaseException | str | None) -> None:
        if not self._on_worker(ti):
            self._listener.state_set_by_hand(self._run(ti), "failed", _operator(ti), error)
            return
        self._end(ti, self._listener.task_failed, error)

    @never_raises
    def dag_run_changed(self, dag_run: Any, kind: str, message: str = "") -> None:
        """Emit the start (``START``) or end (``COMPLETE``, ``FAIL``) of a DAG run."""
        if self._settings.policy.for_workflow(dag_run.dag_id):
            run = dag_run_of(dag_run, self._settings.namespace)
            at = (run.started_at if kind == "START" else getattr(dag_run, "end_date", None)) or self._listener.now()
            late = error_facet(message) if kind == "FAIL" else {}
            self._listener.emit(task_event(kind, at, run, TaskInstanceLineage(), late))  # type: ignore[arg-type]

    @never_raises
    def stopping(self) -> None:
        """Emit the datasets of hooks so far, if this process of Airflow ends before its task, which is deferred then."""
        if self._running_ti is None:
            self._deliver()
        else:
            self._end(self._running_ti, self._listener.task_deferred)

    def find_current(self, ti: Any) -> CurrentTask | None:
        """Return the current task, or the task of this task instance."""
        found = ti if ti is not None else current_ti()
        if found is None or not hasattr(found, "dag_id"):
            return None
        return CurrentTask(self._run(found), _operator(found), found, self._listener)

    def _run(self, ti: Any) -> Any:
        return task_run_of(ti, self._settings.namespace)

    def _end(self, ti: Any, emit: Callable[..., None], *error: BaseException | str | None) -> None:
        """Emit the end of a task with the datasets of its hooks."""
        with collecting(self._hooks()):
            emit(self._run(ti), _operator(ti), ti, *error)
        self._running_ti = None
        self._deliver()

    def _deliver(self) -> None:
        """Deliver or spool the events, because Airflow ends its task processes by ``os._exit``."""
        if not self._listener.flush(FLUSH_SECONDS):
            self._listener.close(FLUSH_SECONDS)

    def _hooks(self) -> HookLineageCollector:
        """Return the collector of this task, with the assets of Airflow's hooks since its start."""
        hooks = get_hook_collector()
        for side, asset in self._assets():
            dataset = None if (side, _uri(asset)) in self._earlier_assets else annotated_dataset(asset)
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
