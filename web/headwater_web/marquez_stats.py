"""Marquez's statistics resource, ``/stats/lineage-events|jobs|datasets|sources``: by hour of a day or by day of a week."""

from __future__ import annotations

from datetime import UTC
from typing import Annotated, Literal, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fastapi import APIRouter, Query, Response

from headwater_avro.times import format_time, micros_of
from headwater_graph.queries.catalog.stats import Asset, Interval, asset_stats, last_days, last_hours, run_stats

from .graph_api import Context, RequestContext
from .marquez_values import Value
from .problems import Problem

Period: TypeAlias = Annotated[Literal["DAY", "WEEK"], Query()]
Zone: TypeAlias = Annotated[str, Query(max_length=100, description="time zone of the days of a week, as Europe/Berlin")]

ASSETS: dict[str, Asset] = {"jobs": "jobs", "datasets": "datasets", "sources": "namespaces"}

routes = APIRouter(prefix="/api/v1/stats", tags=["marquez"])


@routes.get("/lineage-events")
def get_event_stats(context: Context, period: Period = "DAY", timezone: Zone = "UTC") -> Response:
    """Return the numbers of runs that started, completed, failed and were aborted in each interval."""
    intervals = _intervals(context, period, timezone)
    run_counts = zip(intervals, run_stats(context.reader, intervals), strict=True)
    names = ("fail", "start", "complete", "abort")
    return context.answer(
        [_value(interval) | {name: counts[name.upper()] for name in names} for interval, counts in run_counts]
    )


@routes.get("/{asset}")
def get_asset_stats(
    context: Context,
    asset: Literal["jobs", "datasets", "sources"],
    period: Period = "DAY",
    timezone: Zone = "UTC",
) -> Response:
    """Return the number of jobs, datasets or sources (namespaces of datasets) at the end of each interval."""
    intervals = _intervals(context, period, timezone)
    counts = asset_stats(context.reader, ASSETS[asset], intervals)
    return context.answer(
        [_value(interval) | {"count": count} for interval, count in zip(intervals, counts, strict=True)]
    )


def _intervals(context: RequestContext, period: Literal["DAY", "WEEK"], timezone: str) -> list[Interval]:
    try:
        # A machine may lack the time zone database.
        zone = UTC if timezone == "UTC" else ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as fault:
        raise Problem(400, f"there is no time zone {timezone!r}: give a name such as Europe/Berlin") from fault
    return last_hours(context.now) if period == "DAY" else last_days(context.now, zone)


def _value(interval: Interval) -> Value:
    return {
        "startInterval": format_time(micros_of(interval.start)),
        "endInterval": format_time(micros_of(interval.end)),
    }
