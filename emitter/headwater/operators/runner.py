"""Runs plain operator objects with their lineage told: a scheduler of twenty lines, and the testing tool for authors
of operators.

An operator is any object with ``execute(context)``. `OperatorRunner` gives it a task instance as ``context["ti"]``,
tells START, and then COMPLETE or FAIL; it knows retries (each a run of its own), skipping, and deferral, where, as on
a real scheduler, the work is taken up by a fresh copy of the operator that has lost what ``execute`` set on it.

    sink = CollectingSink()
    outcome = OperatorRunner("etl", sink=sink).run(LoadFile("people.csv", table="people"))
    assert outcome.state == "success"
    assert sink.of_type("COMPLETE")[0]["outputs"][0]["name"] == "shop.public.people"
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal, Protocol, TypeAlias

from .contract.task_lineage import TaskInstanceLineage
from .current import CurrentTask, running_task
from .events import error_facet, task_event
from .hooks import collecting
from .listener import TaskLineageListener
from .sink import EventSink
from .tasks import RunRef, TaskRun, task_run_id, workflow_run_id

State: TypeAlias = Literal["success", "failed", "skipped"]


class Operator(Protocol):
    """What the runner asks of an operator; its lineage methods are looked up by name."""

    def execute(self, context: dict[str, Any]) -> Any: ...


class TaskSkipped(Exception):
    """Raised by an operator that has nothing to do."""


class TaskDeferred(BaseException):
    """Raised by an operator that waits: ``trigger`` is called, then ``method_name(context, event)`` of a fresh
    operator.

    No `Exception`, so that an operator's own ``except Exception`` doesn't swallow it (Airflow does the same).
    """

    def __init__(self, trigger: Callable[[], Any], method_name: str, kwargs: Mapping[str, Any] | None = None) -> None:
        super().__init__(method_name)
        self.trigger = trigger
        self.method_name = method_name
        self.kwargs = dict(kwargs or {})


@dataclass(slots=True)
class TaskInstance:
    """One attempt of a task, as lineage methods get it: ``ti``."""

    task: Any
    dag_id: str
    task_id: str
    run_id: str
    try_number: int
    map_index: int
    logical_date: datetime
    context: dict[str, Any] = field(default_factory=dict, repr=False)
    carried: dict[str, Any] = field(default_factory=dict)

    def get_template_context(self) -> dict[str, Any]:
        return self.context

    def load_carry_over(self) -> dict[str, Any]:
        return dict(self.carried)

    def save_carry_over(self, values: dict[str, Any]) -> None:
        self.carried = values


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """How a task ended: its state, what ``execute`` returned or raised at last, and the run id of every attempt."""

    state: State
    result: Any
    error: BaseException | None
    run_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Workflow:
    """A run of a workflow: the parent of the tasks run in it."""

    runner: OperatorRunner
    name: str
    parent: RunRef
    instant: datetime

    def run(self, operator: Operator, **settings: Any) -> TaskOutcome:
        """Run an operator as a task of this workflow; settings as in `OperatorRunner.run`."""
        return self.runner.run(operator, workflow=self, **settings)


class OperatorRunner:
    """Runs operators in this thread, one after the other, under one job namespace.

    Without a sink, events go where the environment says (`headwater.transport.default_transport`). ``clock`` tells
    the time of events and the logical date of workflows. Other options are those of `TaskLineageListener`.
    """

    def __init__(
        self,
        namespace: str,
        *,
        sink: EventSink | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        **listener: Any,
    ) -> None:
        self.namespace = namespace
        self.clock = clock
        self.listener = TaskLineageListener(sink, clock=clock, **listener)

    @contextmanager
    def workflow(self, name: str, *, instant: datetime | None = None, clear_number: int = 0) -> Iterator[Workflow]:
        """A workflow run around the tasks of the block: START, then COMPLETE, or FAIL with what the block raised."""
        at = instant or self.clock()
        run_id = workflow_run_id(namespace=self.namespace, workflow=name, clear_number=clear_number, instant=at)
        run = TaskRun(run_id=run_id, namespace=self.namespace, name=name, job_facets={"jobType": _WORKFLOW})
        self.listener.emit(task_event("START", self.clock(), run, TaskInstanceLineage()))
        try:
            yield Workflow(self, name, RunRef(run_id, self.namespace, name), at)
        except BaseException as error:
            self.listener.emit(task_event("FAIL", self.clock(), run, TaskInstanceLineage(), error_facet(error)))
            raise
        self.listener.emit(task_event("COMPLETE", self.clock(), run, TaskInstanceLineage()))

    def run(
        self,
        operator: Operator,
        *,
        task_id: str | None = None,
        retries: int = 0,
        map_index: int = -1,
        context: Mapping[str, Any] | None = None,
        workflow: Workflow | None = None,
    ) -> TaskOutcome:
        """Run an operator, at most ``retries`` times more if it fails; never raises what the operator raises but
        `KeyboardInterrupt`.

        The job is ``workflow.task_id``, without a workflow ``task_id`` alone, which is by default the operator's
        ``task_id`` or class name.
        """
        name = task_id or str(getattr(operator, "task_id", type(operator).__name__))
        instant = workflow.instant if workflow else self.clock()
        run_ids: list[str] = []
        for try_number in range(1, retries + 2):
            ti, run = self._attempt(operator, name, workflow, instant, try_number, map_index, context)
            run_ids.append(run.run_id)
            state, result, error = self._work(operator, ti, run)
            if state != "failed":
                break
        return TaskOutcome(state, result, error, tuple(run_ids))

    def _attempt(
        self,
        operator: Operator,
        name: str,
        workflow: Workflow | None,
        instant: datetime,
        try_number: int,
        map_index: int,
        context: Mapping[str, Any] | None,
    ) -> tuple[TaskInstance, TaskRun]:
        of = workflow.name if workflow else ""
        run_id = task_run_id(
            namespace=self.namespace,
            workflow=of,
            task=name,
            try_number=try_number,
            map_index=map_index,
            instant=instant,
        )
        ti = TaskInstance(operator, of, name, run_id, try_number, map_index, instant)
        ti.context = {**(context or {}), "ti": ti, "task_instance": ti, "task": operator, "logical_date": instant}
        run = TaskRun(
            run_id=run_id,
            namespace=self.namespace,
            name=f"{of}.{name}" if of else name,
            parent=workflow.parent if workflow else None,
            started_at=self.clock(),
            context=ti.context,
        )
        return ti, run

    def _work(self, operator: Operator, ti: TaskInstance, run: TaskRun) -> tuple[State, Any, BaseException | None]:
        self.listener.task_started(run, operator, ti)
        pristine, method, kwargs = operator, "execute", dict[str, Any]()
        while True:
            at_work = copy.deepcopy(pristine)
            ti.task = ti.context["task"] = at_work
            with collecting(), running_task(CurrentTask(run, at_work, ti, self.listener)):
                try:
                    result = getattr(at_work, method)(ti.context, **kwargs)
                except TaskDeferred as deferred:
                    self.listener.task_deferred(run, at_work, ti)
                    method, kwargs = deferred.method_name, {**deferred.kwargs, "event": deferred.trigger()}
                    run = replace(run, resumed=True)
                    continue
                except BaseException as error:  # noqa: BLE001  told, and then raised again where it isn't the operator's affair
                    return self._ended(run, at_work, ti, error)
                self.listener.task_succeeded(run, at_work, ti)
                return "success", result, None

    def _ended(
        self, run: TaskRun, operator: Operator, ti: TaskInstance, error: BaseException
    ) -> tuple[State, Any, BaseException | None]:
        if isinstance(error, TaskSkipped):
            self.listener.task_skipped(run, operator, ti)
            return "skipped", None, None
        self.listener.task_failed(run, operator, ti, error)
        if not isinstance(error, Exception):
            raise error
        return "failed", None, error


_WORKFLOW = {"processingType": "BATCH", "integration": "HEADWATER", "jobType": "WORKFLOW"}
