"""A Dagster job with lineage: `pip install dagster`, then `python examples/operators/dagster_assets.py`.

Dagster calls hooks after an op has ended; `DagsterLineage` emits START and COMPLETE, or START and FAIL, from their context.
A function returns the lineage of an op, given that context.
"""

# The scheduler's objects are read by attributes: it need not be installed to import this.
# mypy: disable-error-code="import-not-found,untyped-decorator,no-any-return"
from __future__ import annotations

import sys
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from headwater.operators import RunRef, TaskLineageListener, TaskRun


class DagsterLineage:
    """The callee of ops' hooks: ``succeeded(context)`` and ``failed(context)``.

    ``lineage_of(context)`` returns the lineage of an op, in any form that an operator may return.
    """

    def __init__(
        self, namespace: str, lineage_of: Callable[[Any], Any], listener: TaskLineageListener | None = None
    ) -> None:
        self._namespace = namespace
        self._lineage_of = lineage_of
        self._listener = listener or TaskLineageListener()

    def succeeded(self, context: Any) -> None:
        run, operator = self._run(context), _OperatorView(context, self._lineage_of)
        self._listener.task_started(run, operator, context)
        self._listener.task_succeeded(run, operator, context)

    def failed(self, context: Any) -> None:
        run, operator = self._run(context), _OperatorView(context, self._lineage_of)
        self._listener.task_started(run, operator, context)
        self._listener.task_failed(run, operator, context, context.op_exception)

    def _run(self, context: Any) -> TaskRun:
        run_id = uuid.uuid5(uuid.UUID(context.run_id), context.op.name)
        parent = RunRef(context.run_id, self._namespace, context.job_name)
        name = f"{context.job_name}.{context.op.name}"
        now = datetime.now(UTC)
        return TaskRun(run_id=str(run_id), namespace=self._namespace, name=name, parent=parent, started_at=now)


class _OperatorView:
    """A Dagster op as an operator."""

    def __init__(self, context: Any, lineage_of: Callable[[Any], Any]) -> None:
        self.task_type = context.op.name
        self._lineage_of = lineage_of

    def get_openlineage_facets_on_complete(self, ti: Any) -> Any:
        return self._lineage_of(ti)


def main() -> None:
    try:
        from dagster import HookContext, failure_hook, job, op, success_hook
    except ImportError:
        sys.exit("this example needs Dagster: pip install dagster")

    def lineage_of(_: Any) -> dict[str, Any]:
        return {
            "inputs": [{"namespace": "s3://raw", "name": "orders.csv"}],
            "outputs": [{"namespace": "s3://clean", "name": "orders"}],
        }

    lineage = DagsterLineage("team", lineage_of)

    @success_hook
    def report_success(context: HookContext) -> None:
        lineage.succeeded(context)

    @failure_hook
    def report_failure(context: HookContext) -> None:
        lineage.failed(context)

    @op
    def load() -> int:
        return 3

    @job(hooks={report_success, report_failure})
    def nightly() -> None:
        load()

    nightly.execute_in_process()


if __name__ == "__main__":
    main()
