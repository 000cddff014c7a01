"""A Prefect flow with lineage: `pip install prefect`, then `python examples/operators/prefect_flow.py`.

Prefect calls ``on_running``, ``on_completion`` and ``on_failure`` with the task, its run and its state;
`PrefectLineage` turns these into calls of `TaskLineageListener`. The lineage of a task comes from `emit_dataset_lineage` or
the hook collector in its function, or from a function that `PrefectLineage` is given.
"""

# The scheduler's objects are read by attributes: it need not be installed to import this.
# mypy: disable-error-code="import-not-found,untyped-decorator,no-any-return"
from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from headwater.operators import RunRef, TaskLineageListener, TaskRun


class PrefectLineage:
    """State hooks for the tasks of one flow: ``@task(**PrefectLineage("team", "nightly", lineage_of).hooks())``.

    ``lineage_of(task_run)`` returns the lineage of a task when it has ended, in any form that an operator may return.
    """

    def __init__(
        self,
        namespace: str,
        flow: str,
        lineage_of: Callable[[Any], Any] | None = None,
        listener: TaskLineageListener | None = None,
    ) -> None:
        self._namespace = namespace
        self._flow = flow
        self._lineage_of = lineage_of
        self._listener = listener or TaskLineageListener()

    def hooks(self) -> dict[str, list[Any]]:
        return {"on_running": [self.running], "on_completion": [self.completed], "on_failure": [self.failed]}

    def running(self, task: Any, task_run: Any, state: Any) -> None:
        self._listener.task_started(self._run(task, task_run), self._operator(task))

    def completed(self, task: Any, task_run: Any, state: Any) -> None:
        self._listener.task_succeeded(self._run(task, task_run), self._operator(task), task_run)

    def failed(self, task: Any, task_run: Any, state: Any) -> None:
        self._listener.task_failed(
            self._run(task, task_run), self._operator(task), task_run, getattr(state, "message", None)
        )

    def _run(self, task: Any, task_run: Any) -> TaskRun:
        """Return the run of an attempt; a retry has the same task run in Prefect, but is another run in the graph."""
        attempt = max(1, int(task_run.run_count or 1))
        parent = RunRef(str(task_run.flow_run_id), self._namespace, self._flow) if task_run.flow_run_id else None
        return TaskRun(
            run_id=str(task_run.id) if attempt == 1 else f"{task_run.id}-{attempt}",
            namespace=self._namespace,
            name=f"{self._flow}.{task.name}",
            parent=parent,
            started_at=task_run.start_time or datetime.now(UTC),
        )

    def _operator(self, task: Any) -> Any:
        return _OperatorView(task, self._lineage_of)


class _OperatorView:
    """A Prefect task as an operator, whose lineage on completion and on failure is that of the given function."""

    def __init__(self, task: Any, lineage_of: Callable[[Any], Any] | None) -> None:
        self.task_type = task.name
        self._lineage_of = lineage_of

    def get_openlineage_facets_on_complete(self, ti: Any) -> Any:
        return self._lineage_of(ti) if self._lineage_of else None


def main() -> None:
    try:
        from prefect import flow, task
    except ImportError:
        sys.exit("this example needs Prefect: pip install prefect")

    def lineage_of(_: Any) -> dict[str, Any]:
        return {
            "inputs": [{"namespace": "s3://raw", "name": "orders.csv"}],
            "outputs": [{"namespace": "s3://clean", "name": "orders"}],
        }

    @task(**PrefectLineage("team", "nightly", lineage_of).hooks())
    def load() -> int:
        return 3

    @flow
    def nightly() -> int:
        return load()

    nightly()


if __name__ == "__main__":
    main()
