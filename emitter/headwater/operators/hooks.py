"""Lineage that hooks and other helpers tell while a task runs, used when the operator itself tells no dataset.

A hook calls ``get_hook_collector().add_input(...)`` wherever it reads. Outside a task the call does nothing, so hooks
need not ask whether anybody listens.
"""

from __future__ import annotations

import contextvars
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from .contract.task_lineage import DatasetLike, TaskInstanceLineage

logger = logging.getLogger(__name__)

_Seen = dict[tuple[str, str], tuple[DatasetLike, int]]


class HookLineageCollector:
    """Datasets that hooks told, each once by (namespace, name), with how often it was told.

    At most ``limit`` inputs and as many outputs are kept; what comes after is counted in `dropped` and warned of once.
    """

    def __init__(self, limit: int = 100) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._inputs: _Seen = {}
        self._outputs: _Seen = {}
        self.dropped = 0

    def add_input(self, dataset: DatasetLike) -> None:
        """Tell a dataset that was read; the last telling of one dataset is kept."""
        self._add(self._inputs, dataset)

    def add_output(self, dataset: DatasetLike) -> None:
        """Tell a dataset that was written; the last telling of one dataset is kept."""
        self._add(self._outputs, dataset)

    @property
    def collected(self) -> TaskInstanceLineage:
        """What was told so far, in the order of the first telling."""
        with self._lock:
            sides = [[dataset for dataset, _ in side.values()] for side in (self._inputs, self._outputs)]
        return TaskInstanceLineage(sides[0], sides[1])

    def times_told(self, namespace: str, name: str) -> int:
        """How often this dataset was told, read or written."""
        return sum(side[namespace, name][1] for side in (self._inputs, self._outputs) if (namespace, name) in side)

    def _add(self, side: _Seen, dataset: DatasetLike) -> None:
        key = _key(dataset)
        with self._lock:
            if key not in side and len(side) >= self._limit:
                self.dropped += 1
                if self.dropped == 1:
                    logger.warning("more than %d datasets told by hooks in one task: the rest is left out", self._limit)
                return
            side[key] = (dataset, side.get(key, (dataset, 0))[1] + 1)


class _Nobody(HookLineageCollector):
    """Collects nothing: no task is running."""

    def _add(self, side: _Seen, dataset: DatasetLike) -> None:
        return


def _key(dataset: DatasetLike) -> tuple[str, str]:
    if isinstance(dataset, dict):
        return str(dataset.get("namespace")), str(dataset.get("name"))
    return str(getattr(dataset, "namespace", None)), str(getattr(dataset, "name", None))


_nobody = _Nobody()
_in_context: contextvars.ContextVar[HookLineageCollector | None] = contextvars.ContextVar(
    "headwater_hooks", default=None
)
_in_process: list[HookLineageCollector] = []


def get_hook_collector() -> HookLineageCollector:
    """The collector of the task that runs here: of this context, else of this process, else one that keeps nothing."""
    return _in_context.get() or (_in_process[-1] if _in_process else _nobody)


@contextmanager
def collecting(collector: HookLineageCollector | None = None) -> Iterator[HookLineageCollector]:
    """Collect what hooks tell in this block, in the threads that copy its context, and in asyncio tasks begun in it."""
    current = collector or HookLineageCollector()
    token = _in_context.set(current)
    try:
        yield current
    finally:
        _in_context.reset(token)


def collect_in_process(collector: HookLineageCollector | None) -> None:
    """Collect from every thread of this process, or stop with None: for schedulers that run one task per process."""
    _in_process[:] = [] if collector is None else [collector]
