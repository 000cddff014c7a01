"""Datasets that hooks and other helpers report while a task runs, used if the operator itself names no dataset.

A hook calls ``get_hook_collector().add_input(...)`` where it reads. Outside a task the call does nothing, so hooks need not
check for a listener.
"""

from __future__ import annotations

import contextvars
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from .contract.task_lineage import DatasetLike, TaskInstanceLineage, dataset_key

logger = logging.getLogger(__name__)

_Counted = dict[tuple[str, str], tuple[DatasetLike, int]]


class HookLineageCollector:
    """Datasets that hooks reported, each once by (namespace, name), with the number of reports.

    At most ``limit`` inputs and as many outputs are stored; others are counted in ``dropped`` and logged once.
    """

    def __init__(self, limit: int = 100) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._inputs: _Counted = {}
        self._outputs: _Counted = {}
        self.dropped = 0

    def add_input(self, dataset: DatasetLike) -> None:
        """Add a dataset that was read; the last report of a dataset is stored."""
        self._add(self._inputs, dataset)

    def add_output(self, dataset: DatasetLike) -> None:
        """Add a dataset that was written; the last report of a dataset is stored."""
        self._add(self._outputs, dataset)

    @property
    def collected(self) -> TaskInstanceLineage:
        """Return the datasets so far, in the order of their first report."""
        with self._lock:
            sides = [[dataset for dataset, _ in side.values()] for side in (self._inputs, self._outputs)]
        return TaskInstanceLineage(sides[0], sides[1])

    def times_reported(self, namespace: str, name: str) -> int:
        """Return how often this dataset was reported, as read or written."""
        return sum(side[namespace, name][1] for side in (self._inputs, self._outputs) if (namespace, name) in side)

    def _add(self, side: _Counted, dataset: DatasetLike) -> None:
        key = dataset_key(dataset)
        with self._lock:
            if key not in side and len(side) >= self._limit:
                self.dropped += 1
                if self.dropped == 1:
                    logger.warning(
                        "hooks reported more than %d datasets in one task: the rest is left out", self._limit
                    )
                return
            side[key] = (dataset, side.get(key, (dataset, 0))[1] + 1)


class _NullCollector(HookLineageCollector):
    """The collector outside of tasks, which stores nothing."""

    def _add(self, side: _Counted, dataset: DatasetLike) -> None:
        return


_null_collector = _NullCollector()
_in_context: contextvars.ContextVar[HookLineageCollector | None] = contextvars.ContextVar(
    "headwater_hooks", default=None
)
_in_process: list[HookLineageCollector] = []


def get_hook_collector() -> HookLineageCollector:
    """Return the current collector: of this context, else of this process, else one that stores nothing."""
    return _in_context.get() or (_in_process[-1] if _in_process else _null_collector)


@contextmanager
def collecting(collector: HookLineageCollector | None = None) -> Iterator[HookLineageCollector]:
    """Collect the datasets of hooks in this block, in threads that copy its context, and in asyncio tasks that it starts."""
    current = collector or HookLineageCollector()
    token = _in_context.set(current)
    try:
        yield current
    finally:
        _in_context.reset(token)


def collect_in_process(collector: HookLineageCollector | None) -> None:
    """Collect from every thread of this process, or stop with None; for schedulers that run one task per process."""
    _in_process[:] = [] if collector is None else [collector]
