"""Statistics in Marquez's shapes, which the first page of its web interface shows: by hour of a day, by day of a week."""

from __future__ import annotations

from datetime import UTC
from typing import Annotated, Literal, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fastapi import APIRouter, Query, Request, Response

from headwater_avro.times import format_time, micros_of
from headwater_graph.queries.catalog.stats import Asset, Interval, asset_stats, last_days, last_hours, run_stats

from .graph_api import Ask, Asked
from .guard import answered
from .marquez import Value
from .problems import Problem

Period: TypeAlias = Annotated[Literal["DAY", "WEEK"], Query()]
Zone: TypeAlias = Annotated[str, Query(max_length=100, description="of the days of a week, as Europe/Berlin")]

ASSETS: dict[str, Asset] = {"jobs": "jobs", "datasets": "datasets", "sources": "namespaces"}

routes = APIRouter(prefix="/api/v1/stats", tags=["marquez"])


@routes.get("/lineage-events")
def get_event_stats(request: Request, ask: Ask, period: Period = "DAY", timezone: Zone = "UTC") -> Response:
    """How many runs started, and how many ended how: of each run one start and one end count."""
    intervals = _intervals(ask, period, timezone)
    told = zip(intervals, run_stats(ask.reader, intervals), strict=True)
    names = ("fail", "start", "complete", "abort")
    return answered(
        request, [_value(interval) | {name: counts[name.upper()] for name in names} for interval, counts in told]
    )


@routes.get("/{asset}")
def get_asset_stats(
    request: Request,
    ask: Ask,
    asset: Literal["jobs", "datasets", "sources"],
    period: Period = "DAY",
    timezone: Zone = "UTC",
) -> Response:
    """How many jobs, datasets or sources (namespaces of datasets) there were at the end of each interval."""
    intervals = _intervals(ask, period, timezone)
    counts = asset_stats(ask.reader, ASSETS[asset], intervals)
    return answered(
        request, [_value(interval) | {"count": count} for interval, count in zip(intervals, counts, strict=True)]
    )


def _intervals(ask: Asked, period: Literal["DAY", "WEEK"], timezone: str) -> list[Interval]:
    try:
        # A machine may have no time zones.
        zone = UTC if timezone == "UTC" else ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as fault:
        raise Problem(400, f"no time zone {timezone!r}: give one as Europe/Berlin") from fault
    return last_hours(ask.now) if period == "DAY" else last_days(ask.now, zone)


def _value(interval: Interval) -> Value:
    return {
        "startInterval": format_time(micros_of(interval.start)),
        "endInterval": format_time(micros_of(interval.end)),
    }
