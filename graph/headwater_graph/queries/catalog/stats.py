"""How many runs started and ended in each of some intervals, and how many jobs and datasets there were at its end."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import pairwise
from typing import Literal

from headwater_avro.times import micros_of
from headwater_graph.queries.reader import GraphReader

QUARTER = 900
"""Seconds: the hours of every time zone begin with a quarter of an hour of UTC."""

TYPES = ("START", "COMPLETE", "FAIL", "ABORT")

Asset = Literal["jobs", "datasets", "namespaces"]


@dataclass(frozen=True, slots=True)
class Interval:
    """A stretch of time, its end excluded."""

    start: datetime
    end: datetime


def last_hours(now: datetime) -> list[Interval]:
    """Return the last 24 hours, by the clock; the last one is under way."""
    hour = now.replace(minute=0, second=0, microsecond=0)
    starts = [hour - timedelta(hours=back) for back in range(23, -1, -1)]
    return [Interval(start, start + timedelta(hours=1)) for start in starts]


def last_days(now: datetime, zone: tzinfo) -> list[Interval]:
    """Return the last 7 days of a time zone; the last one is under way. A day is as long as it is there."""
    today = now.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    edges = [(today + timedelta(days=day)).astimezone(UTC) for day in range(-6, 2)]
    return [Interval(start, end) for start, end in pairwise(edges)]


def run_stats(reader: GraphReader, intervals: Sequence[Interval]) -> list[Counter[str]]:
    """Return for each interval, one behind the other, how many runs started (START), and how many ended how."""
    found: list[Counter[str]] = [Counter() for _ in intervals]
    for row in reader.rows("stats_runs", since=intervals[0].start):
        place = _place(intervals, row["quarter"] * QUARTER * 1_000_000)
        if place is not None and row["type"] in TYPES:
            found[place][row["type"]] += row["count"]
    return found


def asset_stats(reader: GraphReader, asset: Asset, intervals: Sequence[Interval]) -> list[int]:
    """Return for each interval, one behind the other, how many there were at its end.

    A job or dataset is there from its first version on, one without versions since ever; a namespace (of datasets) from the
    first of its datasets on.
    """
    now, firsts = _namespaces(reader, intervals) if asset == "namespaces" else _nodes(reader, asset, intervals)
    return [now - sum(first >= micros_of(interval.end) for first in firsts) for interval in intervals]


def _nodes(reader: GraphReader, asset: Asset, intervals: Sequence[Interval]) -> tuple[int, list[int]]:
    """How many there are, and when each began that began within the intervals."""
    (totals,) = reader.rows("stats_totals")
    return totals[asset], [row["first"] for row in reader.rows(f"stats_{asset}", since=intervals[0].start)]


def _namespaces(reader: GraphReader, intervals: Sequence[Interval]) -> tuple[int, list[int]]:
    sizes = {row["namespace"]: row["datasets"] for row in reader.rows("stats_namespaces")}
    began: dict[str, list[int]] = {}
    for row in reader.rows("stats_datasets", since=intervals[0].start):
        began.setdefault(row["namespace"], []).append(row["first"])
    # One that has a dataset from before was there before.
    return len(sizes), [min(firsts) for namespace, firsts in began.items() if len(firsts) == sizes.get(namespace)]


def _place(intervals: Sequence[Interval], micros: int) -> int | None:
    """Which interval a time lies in; None for one behind the last."""
    place = bisect_right(intervals, micros, key=lambda interval: micros_of(interval.start)) - 1
    return place if place >= 0 and micros < micros_of(intervals[place].end) else None
