"""Specification 10, the rules of the horizon H: when a run is over, and which events are rejected.

The graph is G(E1, H, E2): a function of E1, the events that were in it when H was set, of H, and of the set E2 of events
that come afterwards. The order within E2 does not matter, because no rule refers to it: each event is judged by itself,
and a run stores the horizon that was in force when its first event was accepted (10.11).

Which runs are removed is a query of the store (``cypher/retain/runs.cypher``), as are the other rules of chapter 10,
applied by ``retention.removal``; how a retained job version starts the fold anew is in ``job_versions.as_retained``.

Times are microseconds since 1970-01-01 UTC.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater_avro.times import format_time
from headwater_graph.model.records import RunRecord
from headwater_graph.model.values import StoredRun

if TYPE_CHECKING:
    from headwater_graph.rules.coalesce import RowKind


@dataclass(frozen=True, slots=True)
class HorizonRejection:
    """A run or event that is rejected as ``before_horizon``; with ``bound``, only the events of the run older than that."""

    kind: RowKind
    key: str
    detail: str
    bound: int | None = None


def judge_run(run_id: str, record: RunRecord, known: StoredRun | None, horizon: int | None) -> HorizonRejection | None:
    """Return which of the new events of a run are rejected, None if all are accepted (specification 10.11)."""
    if known is not None and known.removed:
        return HorizonRejection("run", run_id, "the run ended before the horizon and was removed, but not what it made")
    bound = known.horizon if known is not None and known.record is not None else horizon
    if bound is None or record.first >= bound:
        return None
    return HorizonRejection("run", run_id, older_than(bound), None if record.last < bound else bound)


def older_than(bound: int) -> str:
    """Return the reason why an event is rejected, for the detail of its dead letter."""
    return f"the event is older than the horizon {format_time(bound)} and of no run that was known when this was set"


def is_over(ended: int | None, last: int, horizon: int) -> bool:
    """Return whether a run ended and had its last event before the horizon (specification 10.2)."""
    return ended is not None and last < horizon
