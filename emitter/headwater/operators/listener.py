"""The listener that schedulers call as a task goes through its states; it composes the events and hands them to the
transport.

Promises to the host: no method raises, none takes longer than ``timeout`` (plus a second where a child has to be
ended), none changes the task, and an event leaves whole or not at all. Lineage that could not be told is told as
such: in a log line, in `counts`, and in the run facet ``extractionError``.
"""

from __future__ import annotations

import functools
import logging
from collections import Counter
from collections.abc import Callable, Iterable
from copy import copy
from datetime import UTC, datetime
from typing import Any, Concatenate, ParamSpec

from .bounded import Isolation, run_bounded
from .collect import CustomFacets, Question, as_plain, collect_lineage, custom_run_facets, from_plain
from .contract.extractors import ExtractorRegistry, default_registry
from .contract.results import Reading, read_result
from .contract.task_lineage import TaskInstanceLineage
from .contract.templates import renderer
from .events import EventType, error_facet, extraction_error_facet, task_event
from .hooks import get_hook_collector
from .policy import EmissionPolicy, TaskPolicy
from .sink import EventSink, default_sink
from .tasks import TaskRun

logger = logging.getLogger(__name__)

_P = ParamSpec("_P")


def _utc_now() -> datetime:
    return datetime.now(UTC)


def _never_raises(
    method: Callable[Concatenate[TaskLineageListener, _P], None],
) -> Callable[Concatenate[TaskLineageListener, _P], None]:
    """The guard at the border to the host: what goes wrong in here is logged and counted, and the task goes on."""

    @functools.wraps(method)
    def guarded(self: TaskLineageListener, /, *args: _P.args, **kwargs: _P.kwargs) -> None:
        try:
            method(self, *args, **kwargs)
        except Exception:
            self.counts["listener_failed"] += 1
            logger.warning("lineage: %s failed. This does not change the task.", method.__name__, exc_info=True)

    return guarded


class TaskLineageListener:
    """Tells the lineage of tasks: ``task_started`` once per attempt, then one of the others.

    ``operator`` is what does the work, ``ti`` is handed to its lineage methods as it is. ``timeout`` in seconds
    bounds what foreign code may take per event; ``isolation`` says how (`headwater.operators.bounded`).
    ``custom_facets`` are functions ``(ti, state) -> run facets or None``. Losses are counted in `counts`.
    """

    def __init__(
        self,
        sink: EventSink | None = None,
        *,
        registry: ExtractorRegistry | None = None,
        policy: EmissionPolicy | None = None,
        custom_facets: Iterable[CustomFacets] = (),
        timeout: float = 10.0,
        isolation: Isolation = "thread",
        clock: Callable[[], datetime] = _utc_now,
    ) -> None:
        self._sink = sink
        self._registry = registry or default_registry()
        self._policy = policy or EmissionPolicy()
        self._custom_facets = tuple(custom_facets)
        self._timeout = timeout
        self._isolation: Isolation = isolation
        self._clock = clock
        self.counts: Counter[str] = Counter()

    @_never_raises
    def task_started(self, run: TaskRun, operator: Any, ti: Any = None) -> None:
        """Send START, unless this attempt goes on after a deferral or a reschedule: then its START was sent before."""
        if not run.resumed:
            self._tell("START", run, operator, ti, "running", at=run.started_at)

    @_never_raises
    def task_succeeded(self, run: TaskRun, operator: Any, ti: Any = None) -> None:
        """Send COMPLETE with the lineage on complete."""
        self._tell("COMPLETE", run, operator, ti, "success")

    @_never_raises
    def task_skipped(self, run: TaskRun, operator: Any, ti: Any = None) -> None:
        """Send COMPLETE for a task that skipped itself; OpenLineage has no state of its own for it."""
        self._tell("COMPLETE", run, operator, ti, "skipped")

    @_never_raises
    def task_failed(
        self, run: TaskRun, operator: Any, ti: Any = None, error: BaseException | str | None = None
    ) -> None:
        """Send FAIL with the lineage on failure; a retry is another run, with an id of its own."""
        self._tell("FAIL", run, operator, ti, "failed", error=error)

    @_never_raises
    def task_deferred(self, run: TaskRun, operator: Any, ti: Any = None) -> None:
        """Send what hooks told so far as RUNNING, for the process that ends here takes it along; nothing if they told
        nothing."""
        hooks = get_hook_collector().collected
        policy = self._policy_for(run, operator)
        if hooks.tells_datasets and policy.emit and policy.hook_lineage:
            reading = read_result(hooks, renderer(operator, ti, run.context))
            self.emit(task_event("RUNNING", self._clock(), run, reading.lineage))

    @_never_raises
    def state_set_by_hand(
        self, run: TaskRun, state: str, operator: Any = None, error: BaseException | str | None = None
    ) -> None:
        """Send FAIL for ``failed`` and COMPLETE else, without datasets: somebody set the state, no task told
        anything."""
        if self._policy_for(run, operator).emit:
            kind: EventType = "FAIL" if state == "failed" else "COMPLETE"
            late = error_facet(error) if kind == "FAIL" else {}
            self.emit(task_event(kind, self._clock(), run, TaskInstanceLineage(), late))

    @_never_raises
    def lineage_told(self, run: TaskRun, lineage: Any, operator: Any = None, ti: Any = None) -> None:
        """Send lineage that the task itself told in the midst of its work, as RUNNING."""
        if not self._policy_for(run, operator).emit:
            return
        reading = read_result(lineage, renderer(operator, ti, run.context))
        self._warn_of(run, reading.problems)
        self.emit(task_event("RUNNING", self._clock(), run, reading.lineage))

    def emit(self, event: dict[str, Any]) -> None:
        """Hand an event to the transport; a transport that raises is counted in ``emit_failed`` and warned of."""
        try:
            if self._sink is None:
                self._sink = default_sink()
            self._sink.emit(event)
            self.counts["emitted"] += 1
        except Exception as fault:  # noqa: BLE001  whatever a transport raises must not reach the task
            self.counts["emit_failed"] += 1
            run_id = event["run"]["runId"]
            logger.warning(
                "lineage event %s of run %s was not sent: %s: %s",
                event["eventType"],
                run_id,
                type(fault).__name__,
                fault,
            )

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait at most so many seconds for the delivery of what was emitted; whether all is delivered or kept."""
        return self._sink is None or self._sink.flush(timeout)

    def close(self, timeout: float = 5.0) -> bool:
        """Deliver within so many seconds and put the rest to disk; a later event begins anew. Whether all was
        delivered."""
        return self._sink is None or self._sink.close(timeout)

    def now(self) -> datetime:
        """The time of an event that has no other."""
        return self._clock()

    def _tell(
        self,
        kind: EventType,
        run: TaskRun,
        operator: Any,
        ti: Any,
        state: str,
        *,
        at: datetime | None = None,
        error: BaseException | str | None = None,
    ) -> None:
        moment = at or self._clock()
        policy = self._policy_for(run, operator)
        if not policy.emit:
            return
        told, custom = self._collected(run, operator, ti, state, policy)
        self._warn_of(run, told.problems + custom.problems)
        faults = extraction_error_facet(run.name, told.problems)
        late = {**faults, **custom.lineage.run_facets, **error_facet(error)}
        self.emit(task_event(kind, moment, run, told.lineage, late))

    def _collected(
        self, run: TaskRun, operator: Any, ti: Any, state: str, policy: TaskPolicy
    ) -> tuple[Reading, Reading]:
        """What the operator and the deployment's functions tell within the time, and the reason if they tell
        nothing."""
        question = Question(
            operator=_untouchable(operator),
            ti=ti,
            state=state,
            policy=policy,
            registry=self._registry,
            hooks=get_hook_collector().collected,
            runtime_outlets=run.runtime_outlets,
            render=renderer(operator, ti, run.context),
        )

        def work() -> dict[str, Any]:
            custom = custom_run_facets(self._custom_facets, ti, state)
            return {"told": as_plain(collect_lineage(question)), "custom": as_plain(custom)}

        outcome = run_bounded(work, self._timeout, run.name, self._isolation)
        if outcome.fault:
            self.counts["extraction_failed"] += 1
            nothing = Reading(TaskInstanceLineage())
            return Reading(TaskInstanceLineage(), (outcome.fault,)), nothing
        return from_plain(outcome.value["told"]), from_plain(outcome.value["custom"])

    def _policy_for(self, run: TaskRun, operator: Any) -> TaskPolicy:
        workflow = run.parent.name if run.parent else ""
        return self._policy.for_task(operator, workflow, run.name.removeprefix(f"{workflow}."))

    def _warn_of(self, run: TaskRun, problems: tuple[str, ...]) -> None:
        for problem in problems:
            self.counts["problems"] += 1
            logger.warning("lineage of %s: %s", run.name, problem)


def _untouchable(operator: Any) -> Any:
    """A shallow copy, so that lineage methods which set attributes set them there; the operator itself if it can't be
    copied."""
    try:
        return copy(operator)
    except Exception:  # noqa: BLE001  copying runs the operator's code
        return operator
