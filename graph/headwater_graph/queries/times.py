"""Times that users write: as in specification 1.3, a date, or an age."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from headwater_avro.errors import ConfigError
from headwater_avro.times import datetime_of, parse_time

_AGO = re.compile(r"([0-9]{1,6})(s|m|h|d|w)")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def time_of(text: str, now: datetime) -> datetime:
    """Return the time in a text: as in specification 1.3, a date alone (its midnight, UTC), or ``90m``, ``2h``, ``3d`` ago.

    Raises ConfigError for anything else.
    """
    if ago := _AGO.fullmatch(text):
        return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    try:
        return datetime_of(parse_time(text if len(text) > 10 else f"{text}T00:00:00"))
    except (ValueError, OverflowError) as fault:
        raise ConfigError(
            f"{text!r} is not a time: write 2026-01-31, 2026-01-31T12:00:00Z or an age such as 2h"
        ) from fault


def given_time(time: datetime | str | None, now: datetime) -> datetime | None:
    """Return a time that is given as text or as a value; one without a time zone is UTC."""
    if isinstance(time, datetime):
        return time if time.tzinfo else time.replace(tzinfo=UTC)
    return None if time is None else time_of(time, now)
