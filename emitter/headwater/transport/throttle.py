"""Of a run's RUNNING events that say nothing new, one per interval; pure: the time is an argument.

New is what differs from the last event of the run that was sent, in its sides or facets, statistics aside: those change
with every row that a streaming job reads.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import Any

from headwater.transport.wire import Tree, to_json

STATISTICS = frozenset(
    {"inputStatistics", "outputStatistics", "dataQualityMetrics", "icebergScanReport", "icebergCommitReport"}
)
RUNS = 10_000
ENDS = frozenset({"COMPLETE", "FAIL", "ABORT"})


class Throttle:
    """What was last sent of each run, of the last 10,000 runs."""

    def __init__(self, interval: float) -> None:
        self._interval = interval
        self._sent: OrderedDict[str, tuple[float, bytes]] = OrderedDict()

    def admits(self, event: Tree, now: float) -> bool:
        """Whether to send the event; ``now`` in seconds of a clock that only goes forward."""
        run_id = _run_id(event)
        if run_id is None or not self._interval:
            return True
        if event.get("eventType") in ENDS:
            self._sent.pop(run_id, None)
            return True
        said = _said(event)
        last = self._sent.get(run_id)
        if (
            event.get("eventType") == "RUNNING"
            and last is not None
            and last[1] == said
            and now - last[0] < self._interval
        ):
            return False
        self._sent[run_id] = (now, said)
        self._sent.move_to_end(run_id)
        if len(self._sent) > RUNS:
            self._sent.popitem(last=False)
        return True


def _run_id(event: Tree) -> str | None:
    run = event.get("run")
    run_id = run.get("runId") if isinstance(run, dict) else None
    return run_id if isinstance(run_id, str) else None


def _said(event: Tree) -> bytes:
    told = {name: event.get(name) for name in ("run", "job", "inputs", "outputs")}
    return hashlib.blake2b(to_json(_without_statistics(told)), digest_size=16).digest()


def _without_statistics(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_statistics(item) for key, item in value.items() if key not in STATISTICS}
    if isinstance(value, list):
        return [_without_statistics(item) for item in value]
    return value
