"""A minimal scheduler that runs operators and emits their lineage, for scripts and for tests of operators.

An operator is any object with ``execute(context)``. ``OperatorRunner`` passes a task instance as ``context["ti"]`` and emits
START, then COMPLETE or FAIL. It supports retries (each is a run), skipping, and deferral, after which, as on a real
scheduler, a new copy of the operator continues, without the attributes that ``execute`` set.

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
    """The required method of an operator; its lineage methods are looked up by name."""

    def execute(self, context: dict[str, Any]) -> Any: ...


class TaskSkipped(Exception):
    """Raised by an operator to skip the task."""


class TaskDeferred(BaseException):
    """Raised by an operator to wait: ``trigger`` is called, then ``method_name(context, event)`` of a new operator.

    A ``BaseException``, as in Airflow, so that an operator's own ``except Exception`` does not catch it.
    """

    def __init__(self, trigger: Callable[[], Any], method_name: str, kwargs: Mapping[str, Any] | None = None) -> None:
        super().__init__(method_name)
        self.trigger = trigger
        self.method_name = method_name
        self.kwargs = dict(kwargs or {})


@dataclass(slots=True)
class TaskInstance:
    """An attempt of a task, the argument ``ti`` of lineage methods."""

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
    """The result of a task: its state, the last result or error of ``execute``, and the run id of every attempt."""

    state: State
    result: Any
    error: BaseException | None
    run_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Workflow:
    """A run of a workflow, the parent of its tasks."""

    runner: OperatorRunner
    name: str
    parent: RunRef
    instant: datetime

    def run(self, operator: Operator, **settings: Any) -> TaskOutcome:
        """Run an operator as a task of this workflow; settings as in ``OperatorRunner.run``."""
        return self.runner.run(operator, workflow=self, **settings)


class OperatorRunner:
    """Runs operators in this thread, one after the other, in a job namespace.

    Without a sink, events go to the environment's transport (``headwater.transport.default_transport``). ``clock`` returns
    the time of events and the logical date of workflows. Other options are those of ``TaskLineageListener``.
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
        """Yield a workflow run for the tasks of the block: START, then COMPLETE, or FAIL with the block's exception."""
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
        """Run an operator, with at most ``retries`` more attempts if it fails, and return the outcome.

        The job is ``workflow.task_id``, without a workflow ``task_id``, which is by default the operator's ``task_id`` or
        class name. Of the operator's exceptions only those that are not an ``Exception`` are raised.
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
        dag_id = workflow.name if workflow else ""
        run_id = task_run_id(
            namespace=self.namespace,
            workflow=dag_id,
            task=name,
            try_number=try_number,
            map_index=map_index,
            instant=instant,
        )
        ti = TaskInstance(operator, dag_id, name, run_id, try_number, map_index, instant)
        ti.context = {**(context or {}), "ti": ti, "task_instance": ti, "task": operator, "logical_date": instant}
        run = TaskRun(
            run_id=run_id,
            namespace=self.namespace,
            name=f"{dag_id}.{name}" if dag_id else name,
            parent=workflow.parent if workflow else None,
            started_at=self.clock(),
            context=ti.context,
        )
        return ti, run

    def _work(self, operator: Operator, ti: TaskInstance, run: TaskRun) -> tuple[State, Any, BaseException | None]:
        self.listener.task_started(run, operator, ti)
        pristine, method, kwargs = operator, "execute", dict[str, Any]()
        while True:
            running = copy.deepcopy(pristine)
            ti.task = ti.context["task"] = running
            with collecting(), running_task(CurrentTask(run, running, ti, self.listener)):
                try:
                    result = getattr(running, method)(ti.context, **kwargs)
                except TaskDeferred as deferred:
                    self.listener.task_deferred(run, running, ti)
                    method, kwargs = deferred.method_name, {**deferred.kwargs, "event": deferred.trigger()}
                    run = replace(run, resumed=True)
                    continue
                except BaseException as error:  # noqa: BLE001  reported, and raised again if it is not an Exception
                    return self._ended(run, running, ti, error)
                self.listener.task_succeeded(run, running, ti)
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
