"""Statistics: how many runs started and ended in each of some intervals, and how many jobs and datasets there were at its end."""

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
    """A period of time without its end."""

    start: datetime
    end: datetime


def last_hours(now: datetime) -> list[Interval]:
    """Return the last 24 hours of the clock; the last one has not ended."""
    hour = now.replace(minute=0, second=0, microsecond=0)
    starts = [hour - timedelta(hours=back) for back in range(23, -1, -1)]
    return [Interval(start, start + timedelta(hours=1)) for start in starts]


def last_days(now: datetime, zone: tzinfo) -> list[Interval]:
    """Return the last 7 days of a time zone, with their lengths there; the last one has not ended."""
    today = now.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    edges = [(today + timedelta(days=day)).astimezone(UTC) for day in range(-6, 2)]
    return [Interval(start, end) for start, end in pairwise(edges)]


def run_stats(reader: GraphReader, intervals: Sequence[Interval]) -> list[Counter[str]]:
    """Return for each of some consecutive intervals how many runs started (START), and how many ended in each state."""
    found: list[Counter[str]] = [Counter() for _ in intervals]
    for row in reader.rows("stats/runs", since=intervals[0].start):
        position = _position(intervals, row["quarter"] * QUARTER * 1_000_000)
        if position is not None and row["type"] in TYPES:
            found[position][row["type"]] += row["count"]
    return found


def asset_stats(reader: GraphReader, asset: Asset, intervals: Sequence[Interval]) -> list[int]:
    """Return for each of some consecutive intervals how many there were at its end.

    A job or dataset exists from its first version on, or always if it has none; a namespace (of datasets) from the first
    of its datasets on.
    """
    now, firsts = _namespaces(reader, intervals) if asset == "namespaces" else _nodes(reader, asset, intervals)
    return [now - sum(first >= micros_of(interval.end) for first in firsts) for interval in intervals]


def _nodes(reader: GraphReader, asset: Asset, intervals: Sequence[Interval]) -> tuple[int, list[int]]:
    """Return how many there are, and the beginnings of those that began within the intervals."""
    (totals,) = reader.rows("stats/totals")
    return totals[asset], [row["first"] for row in reader.rows(f"stats/{asset}", since=intervals[0].start)]


def _namespaces(reader: GraphReader, intervals: Sequence[Interval]) -> tuple[int, list[int]]:
    sizes = {row["namespace"]: row["datasets"] for row in reader.rows("stats/namespaces")}
    beginnings: dict[str, list[int]] = {}
    for row in reader.rows("stats/datasets", since=intervals[0].start):
        beginnings.setdefault(row["namespace"], []).append(row["first"])
    # A namespace with an earlier dataset existed before.
    return len(sizes), [min(firsts) for namespace, firsts in beginnings.items() if len(firsts) == sizes.get(namespace)]


def _position(intervals: Sequence[Interval], micros: int) -> int | None:
    """Return the index of the interval that contains a time; None if the time is after the last one."""
    index = bisect_right(intervals, micros, key=lambda interval: micros_of(interval.start)) - 1
    return index if index >= 0 and micros < micros_of(intervals[index].end) else None
