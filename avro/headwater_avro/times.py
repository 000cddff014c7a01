"""Event times (specification 1.3): texts to microseconds since 1970-01-01 UTC, and back in the form of specification 9.

``msgspec`` and ``datetime.fromisoformat`` read nearly the same texts, but neither obeys specification 1.3: ``msgspec`` rounds
digits beyond microseconds and accepts any number of them, and ``fromisoformat`` accepts further ISO 8601 forms and rejects a
lower-case ``t``; both reject the year 0 (which an offset can move into year 1) and accept times that an offset moves out of
the years 1 to 9999.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})"
    r"(?:\.([0-9]{1,9}))?(?:[Zz]|([+-])([0-9]{2}):?([0-9]{2}))?"
)
_SECOND = 1_000_000
_DAY = 86_400 * _SECOND
_DAYS_OF_400_YEARS = 146_097
_ORDINAL_OF_EPOCH = _EPOCH.toordinal()
_ORDINAL_OF_2000 = date(2000, 1, 1).toordinal()


def _days(year: int, month: int, day: int) -> int:
    """Return the days since 1970-01-01 of a date; ``date`` has no year 0, but the calendar repeats every 400 years."""
    periods, of_period = divmod(year, 400)
    return date(2000 + of_period, month, day).toordinal() - _ORDINAL_OF_EPOCH + (periods - 5) * _DAYS_OF_400_YEARS


EARLIEST = _days(1, 1, 1) * _DAY
LATEST = _days(10_000, 1, 1) * _DAY - 1
"""The limits of specification 1.3: the first microsecond of year 1 and the last of year 9999."""


def parse_time(text: str) -> int:
    """Return the microseconds since 1970-01-01 UTC of a time text; further digits are truncated.

    Raises ValueError if the text violates specification 1.3.
    """
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"{text[:60]!r} is not YYYY-MM-DDThh:mm:ss[.f][Z or ±hh:mm]")
    year, month, day, hour, minute, second = map(int, match.group(1, 2, 3, 4, 5, 6))
    try:
        days = _days(year, month, day)
    except ValueError:
        raise ValueError(f"{text!r} has a date that does not exist") from None
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError(f"{text!r} has a time of day beyond 23:59:59")
    fraction = int((match[7] or "")[:6].ljust(6, "0"))
    micros = days * _DAY + (hour * 3600 + minute * 60 + second) * _SECOND + fraction
    if match[8]:
        micros -= _offset(match[8], int(match[9]), int(match[10]), text)
    if not EARLIEST <= micros <= LATEST:
        raise ValueError(f"{text!r} is outside the years 1 to 9999")
    return micros


def _offset(sign: str, hours: int, minutes: int, text: str) -> int:
    if hours > 23 or minutes > 59:
        raise ValueError(f"{text!r} has an offset beyond 23:59")
    size = (hours * 3600 + minutes * 60) * _SECOND
    return -size if sign == "-" else size


def format_time(micros: int) -> str:
    """Return a time in the form of specification 9: ``YYYY-MM-DDTHH:MM:SS.ffffffZ``."""
    days, rest = divmod(micros, _DAY)
    seconds, fraction = divmod(rest, _SECOND)
    minutes, second = divmod(seconds, 60)
    # An answer has thousands of times: this takes two thirds of the time of an f-string.
    return "%sT%02d:%02d:%02d.%06dZ" % (_date(days), *divmod(minutes, 60), second, fraction)  # noqa: UP031


def datetime_of(micros: int) -> datetime:
    """Return microseconds since 1970-01-01 UTC as a datetime in UTC; raises OverflowError outside the years 1 to 9999."""
    return _EPOCH + timedelta(microseconds=micros)


def micros_of(time: datetime) -> int:
    """Return an aware datetime as microseconds since 1970-01-01 UTC."""
    return (time - _EPOCH) // timedelta(microseconds=1)


@lru_cache(maxsize=4096)
def _date(days: int) -> str:
    periods, rest = divmod(days + _ORDINAL_OF_EPOCH - _ORDINAL_OF_2000, _DAYS_OF_400_YEARS)
    day = date.fromordinal(_ORDINAL_OF_2000 + rest)
    return f"{day.year + 400 * periods:04}-{day.month:02}-{day.day:02}"
