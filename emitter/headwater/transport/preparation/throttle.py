"""Throttling of RUNNING events without news, one per run and interval; pure: the time is an argument.

An event has news if it differs from the last event of its run that was sent, in its inputs, outputs or facets except
statistics, which change with every row that a streaming job reads.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import Any

from ..wire import Tree, to_json

STATISTICS = frozenset(
    {"inputStatistics", "outputStatistics", "dataQualityMetrics", "icebergScanReport", "icebergCommitReport"}
)
RUNS = 10_000
FINAL_TYPES = frozenset({"COMPLETE", "FAIL", "ABORT"})


class Throttle:
    """What was sent last of each run, of the last 10,000 runs."""

    def __init__(self, interval: float) -> None:
        self._interval = interval
        self._sent: OrderedDict[str, tuple[float, bytes]] = OrderedDict()

    def admits(self, event: Tree, now: float) -> bool:
        """Return whether to send the event; ``now`` in seconds of a monotonic clock."""
        run_id = _run_id(event)
        if run_id is None or not self._interval:
            return True
        if event.get("eventType") in FINAL_TYPES:
            self._sent.pop(run_id, None)
            return True
        digest = _digest(event)
        sent_at, sent_digest = self._sent.get(run_id, (0.0, b""))
        if event.get("eventType") == "RUNNING" and sent_digest == digest and now - sent_at < self._interval:
            return False
        self._sent[run_id] = (now, digest)
        self._sent.move_to_end(run_id)
        if len(self._sent) > RUNS:
            self._sent.popitem(last=False)
        return True


def _run_id(event: Tree) -> str | None:
    run = event.get("run")
    run_id = run.get("runId") if isinstance(run, dict) else None
    return run_id if isinstance(run_id, str) else None


def _digest(event: Tree) -> bytes:
    content = {name: event.get(name) for name in ("run", "job", "inputs", "outputs")}
    return hashlib.blake2b(to_json(_without_statistics(content)), digest_size=16).digest()


def _without_statistics(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_statistics(item) for key, item in value.items() if key not in STATISTICS}
    if isinstance(value, list):
        return [_without_statistics(item) for item in value]
    return value
