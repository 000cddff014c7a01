"""Specification 7: what lies before the horizon H. The graph is G(E, H): a function of E1, the events that were in it when H was set, of
H, and of the set E2 of events that come after. No order within E2 matters, because nothing below looks at one.

What goes     A run that ended and had its last event before H; every JobEvent before H; of a job's versions those older than
              its *base*, the version valid just before H, or just before the first run of the job that stays although its
              moment lies before H; a dataset version before H that no run which stays made or read. Never a job's current
              version, nor one valid at H. Of a dataset's versions the current one stays too, the one valid at H, and, where
              the dataset's facet says DROP, the last one that does not say so itself.
What is kept  What stays though what made it is gone is *kept*: taken as it was at H, never derived again. A kept job version
              opens the fold anew at its moment, with its sides and the code version it had at H, goes on counting its runs
              that are gone and names the last of them; it has at least the number it had. A version that is not kept counts
              the runs that are there. A kept dataset version is read like any other. The initial or external version that is
              a dataset's current one stays that until there is one with a moment, or a later read of an external one.
              What the current edges of a job stand on stays told: its explicit entries (6.6) and, of each output of its
              current version, its columns (6.5).
What stays    All that events told of jobs and datasets themselves (6.8, 2.8): their records and their nodes.
Names         A run that is gone is a placeholder (2.8) where a run that stays names it as its parent, or where it made a
              version that is kept.
What is       An event older than H of a run that was not known when H was set; whatever comes of a run that made a version
refused       which is kept; a JobEvent or DatasetEvent older than H. Each by itself: of one run's events, those from H on
              are taken. So that this never depends on which of them came first, a run remembers the horizon behind which
              it was first heard of; what was known before H takes late events of any age.

Times are microseconds since 1970-01-01 UTC.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater_avro.times import format_time
from headwater_graph.model.records import RunRecord
from headwater_graph.model.values import StoredRun

if TYPE_CHECKING:
    from headwater_graph.rules.coalesce import Kind


@dataclass(frozen=True, slots=True)
class Beyond:
    """Something told that lies before the horizon: all of it, or, where ``bound`` is given, its events older than that."""

    kind: Kind
    key: str
    detail: str
    bound: int | None = None


def judge_run(run_id: str, told: RunRecord, known: StoredRun | None, horizon: int | None) -> Beyond | None:
    """Return what of a run's told events is refused; None: nothing."""
    if known is not None and known.removed:
        return Beyond("run", run_id, "the run ended before the horizon and was removed; what it made is kept as it is")
    heard = known is not None and known.record is not None
    bound = known.horizon if heard and known is not None else horizon
    if bound is None or told.first >= bound:
        return None
    return Beyond("run", run_id, older_than(bound), None if told.last < bound else bound)


def older_than(bound: int) -> str:
    """Return in words why an event is refused."""
    return f"the event is older than the horizon {format_time(bound)}, and of no run that was known when that was set"


def goes(ended: int | None, last: int, horizon: int) -> bool:
    """Tell whether a run ended and had its last event before the horizon."""
    return ended is not None and last < horizon
