"""Times of specification 1.3: texts in, microseconds since 1970-01-01 UTC out, and back in the form of specification 9."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})"
    r"(?:\.([0-9]{1,9}))?(?:[Zz]|([+-])([0-9]{2}):?([0-9]{2}))?"
)
_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_SECOND = 1_000_000
_DAY = 86_400 * _SECOND


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 of a date of the proleptic Gregorian calendar; year 0 exists, as in ISO 8601."""
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


EARLIEST = _days(1, 1, 1) * _DAY
LATEST = _days(10_000, 1, 1) * _DAY - 1
"""The bounds of specification 1.3: the first microsecond of year 1 and the last of year 9999."""


def _month_length(year: int, month: int) -> int:
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 29 if month == 2 and leap else _MONTH_DAYS[month - 1]


def parse_time(text: str) -> int:
    """Return the microseconds since 1970-01-01 UTC that a time text names; further digits are cut off.

    Raises ValueError where the text breaks specification 1.3.
    """
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"{text[:60]!r} is not YYYY-MM-DDThh:mm:ss[.f][Z or ±hh:mm]")
    year, month, day, hour, minute, second = map(int, match.group(1, 2, 3, 4, 5, 6))
    if not (1 <= month <= 12 and 1 <= day <= _month_length(year, month)):
        raise ValueError(f"{text!r} names a day that no calendar has")
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError(f"{text!r} names a time of day that no clock shows")
    fraction = int((match[7] or "")[:6].ljust(6, "0"))
    micros = _days(year, month, day) * _DAY + (hour * 3600 + minute * 60 + second) * _SECOND + fraction
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
    """Return a time as specification 9 prints it: ``YYYY-MM-DDTHH:MM:SS.ffffffZ``."""
    days, rest = divmod(micros, _DAY)
    seconds, fraction = divmod(rest, _SECOND)
    minutes, second = divmod(seconds, 60)
    # An answer has thousands of times: this takes two thirds of what an f-string does.
    return "%sT%02d:%02d:%02d.%06dZ" % (_date(days), *divmod(minutes, 60), second, fraction)  # noqa: UP031


def datetime_of(micros: int) -> datetime:
    """Return microseconds since 1970-01-01 UTC as a datetime in UTC; OverflowError outside the years 1 to 9999."""
    return _EPOCH + timedelta(microseconds=micros)


def micros_of(time: datetime) -> int:
    """Return an aware datetime as microseconds since 1970-01-01 UTC."""
    return (time - _EPOCH) // timedelta(microseconds=1)


@lru_cache(maxsize=4096)
def _date(days: int) -> str:
    year, month, day = _civil(days)
    return f"{year:04}-{month:02}-{day:02}"


def _civil(days: int) -> tuple[int, int, int]:
    era, of_era = divmod(days + 719_468, 146_097)
    year_of_era = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * of_year + 2) // 153
    month = (shifted + 2) % 12 + 1
    return year_of_era + era * 400 + (month <= 2), month, of_year - (153 * shifted + 2) // 5 + 1
