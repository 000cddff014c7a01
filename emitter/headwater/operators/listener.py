"""The listener that schedulers call at each state of a task, which emits the events.

Guarantees for the host: no method raises, none takes longer than ``timeout`` (plus a second to end a child), none changes
the task, and an event is emitted completely or not at all. A failed extraction is visible in a log line, in ``counts`` and
in the run facet ``extractionError``.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable
from copy import copy
from datetime import UTC, datetime
from typing import Any

from ..producer import EventType
from .bounded import Isolation, never_raises, run_bounded
from .collect import CustomFacets, TaskQuery, as_plain, collect_lineage, custom_run_facets, from_plain
from .contract.extractors import ExtractorRegistry, default_registry
from .contract.results import Reading, read_result
from .contract.task_lineage import TaskInstanceLineage
from .contract.templates import renderer
from .events import error_facet, extraction_error_facet, task_event
from .hooks import get_hook_collector
from .policy import EmissionPolicy, TaskPolicy
from .sink import EventSink, default_sink
from .tasks import TaskRun

logger = logging.getLogger(__name__)


def _utc_now() -> datetime:
    return datetime.now(UTC)


class TaskLineageListener:
    """Emits the lineage of tasks: call ``task_started`` once per attempt, then one of the others.

    ``operator`` is the object with the lineage methods, ``ti`` is passed to them unchanged. ``timeout`` limits the seconds of
    foreign code per event, by the means that ``isolation`` names (``headwater.operators.bounded``). ``custom_facets`` are
    functions ``(ti, state) -> run facets or None``. ``counts`` has the numbers of events and of failures.
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

    @never_raises
    def task_started(self, run: TaskRun, operator: Any, ti: Any = None) -> None:
        """Emit START, unless this attempt is resumed after a deferral or a reschedule."""
        if not run.resumed:
            self._emit_state("START", run, operator, ti, "running", at=run.started_at)

    @never_raises
    def task_succeeded(self, run: TaskRun, operator: Any, ti: Any = None) -> None:
        """Emit COMPLETE with the lineage on complete."""
        self._emit_state("COMPLETE", run, operator, ti, "success")

    @never_raises
    def task_skipped(self, run: TaskRun, operator: Any, ti: Any = None) -> None:
        """Emit COMPLETE for a task that skipped itself, as OpenLineage has no state for it."""
        self._emit_state("COMPLETE", run, operator, ti, "skipped")

    @never_raises
    def task_failed(
        self, run: TaskRun, operator: Any, ti: Any = None, error: BaseException | str | None = None
    ) -> None:
        """Emit FAIL with the lineage on failure; a retry is another run."""
        self._emit_state("FAIL", run, operator, ti, "failed", error=error)

    @never_raises
    def task_deferred(self, run: TaskRun, operator: Any, ti: Any = None) -> None:
        """Emit RUNNING with the datasets of hooks so far, if there are any, because this process ends."""
        hooks = get_hook_collector().collected
        policy = self._policy_for(run, operator)
        if hooks.has_datasets and policy.emit and policy.hook_lineage:
            reading = read_result(hooks, renderer(operator, ti, run.context))
            self.emit(task_event("RUNNING", self._clock(), run, reading.lineage))

    @never_raises
    def state_set_by_hand(
        self, run: TaskRun, state: str, operator: Any = None, error: BaseException | str | None = None
    ) -> None:
        """Emit FAIL for ``failed``, else COMPLETE, without datasets, as no task ran."""
        if self._policy_for(run, operator).emit:
            kind: EventType = "FAIL" if state == "failed" else "COMPLETE"
            late = error_facet(error) if kind == "FAIL" else {}
            self.emit(task_event(kind, self._clock(), run, TaskInstanceLineage(), late))

    @never_raises
    def lineage_emitted(self, run: TaskRun, lineage: Any, operator: Any = None, ti: Any = None) -> None:
        """Emit RUNNING with lineage that the task itself emitted while it runs."""
        if not self._policy_for(run, operator).emit:
            return
        reading = read_result(lineage, renderer(operator, ti, run.context))
        self._warn_of(run, reading.problems)
        self.emit(task_event("RUNNING", self._clock(), run, reading.lineage))

    def emit(self, event: dict[str, Any]) -> None:
        """Pass an event to the transport; its exceptions are logged and counted in ``emit_failed``."""
        try:
            if self._sink is None:
                self._sink = default_sink()
            self._sink.emit(event)
            self.counts["emitted"] += 1
        except Exception as fault:  # noqa: BLE001  whatever a transport raises must not reach the task
            self.counts["emit_failed"] += 1
            kind, run_id = event["eventType"], event["run"]["runId"]
            message = "lineage event %s of run %s was not sent: %s: %s"
            logger.warning(message, kind, run_id, type(fault).__name__, fault)

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait at most ``timeout`` seconds for delivery; return whether all events are delivered or stored."""
        return self._sink is None or self._sink.flush(timeout)

    def close(self, timeout: float = 5.0) -> bool:
        """Deliver within ``timeout`` seconds and spool the rest to disk; return whether all was delivered.

        A later event opens the transport again.
        """
        return self._sink is None or self._sink.close(timeout)

    def now(self) -> datetime:
        """Return the current time, for events without a time of their own."""
        return self._clock()

    def _emit_state(
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
        reading, custom = self._collected(run, operator, ti, state, policy)
        self._warn_of(run, reading.problems + custom.problems)
        faults = extraction_error_facet(run.name, reading.problems)
        late = {**faults, **custom.lineage.run_facets, **error_facet(error)}
        self.emit(task_event(kind, moment, run, reading.lineage, late))

    def _collected(
        self, run: TaskRun, operator: Any, ti: Any, state: str, policy: TaskPolicy
    ) -> tuple[Reading, Reading]:
        """Return the lineage of the operator and of the deployment's functions, or the reason why there is none."""
        query = TaskQuery(
            operator=_copied(operator),
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
            return {"lineage": as_plain(collect_lineage(query)), "custom": as_plain(custom)}

        outcome = run_bounded(work, self._timeout, run.name, self._isolation)
        if outcome.fault:
            self.counts["extraction_failed"] += 1
            nothing = Reading(TaskInstanceLineage())
            return Reading(TaskInstanceLineage(), (outcome.fault,)), nothing
        return from_plain(outcome.value["lineage"]), from_plain(outcome.value["custom"])

    def _policy_for(self, run: TaskRun, operator: Any) -> TaskPolicy:
        workflow = run.parent.name if run.parent else ""
        return self._policy.for_task(operator, workflow, run.name.removeprefix(f"{workflow}."))

    def _warn_of(self, run: TaskRun, problems: tuple[str, ...]) -> None:
        for problem in problems:
            self.counts["problems"] += 1
            logger.warning("lineage of %s: %s", run.name, problem)


def _copied(operator: Any) -> Any:
    """Return a shallow copy, on which lineage methods may set attributes; the operator itself if it cannot be copied."""
    try:
        return copy(operator)
    except Exception:  # noqa: BLE001  copying runs the operator's code
        return operator
