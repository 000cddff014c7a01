"""One message as specification 1 and the canonical JSON of specification 2.1 read it, literally: simple and slow.

Part of the second implementation of the specification (`model.py`). It uses only the standard library.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from datetime import date
from typing import Any

Key = tuple[str, str]  # a job key or dataset key: (namespace, name)
Facets = dict[str, Any]

DEEPEST = 200
LONGEST_INTEGER = 300
LONGEST_KEY = 2000
GREATEST = sys.float_info.max
RANK = {"OTHER": 0, "START": 1, "RUNNING": 2, "COMPLETE": 3, "ABORT": 4, "FAIL": 5}
CALENDAR_YEARS, CALENDAR_DAYS = 400, 146_097  # the Gregorian calendar repeats
DAY, HOUR, MINUTE, SECOND = 86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000
FIRST_INSTANT = date.min.toordinal() * DAY
LAST_INSTANT = (date.max.toordinal() + 1) * DAY - 1
TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?"
    r"(?:[Zz]|([+-])([0-9]{2}):?([0-9]{2}))?"
)


class NotDecodableError(ValueError):
    """The message is not a JSON text by 2.1."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A dataset on one side of one event: its `facets` and its `inputFacets` or `outputFacets` (1.6)."""

    facets: Facets
    side_facets: Facets


@dataclass(frozen=True, slots=True)
class Event:
    """An accepted event; `text` is its canonical JSON, `time` microseconds since the day before 0001-01-01."""

    text: str
    time: int
    type: str
    run: str | None
    job: Key | None
    dataset: Key | None
    run_facets: Facets
    job_facets: Facets
    dataset_facets: Facets
    inputs: dict[Key, Listed]
    outputs: dict[Key, Listed]

    @property
    def order(self) -> tuple[int, int]:
        """2.1: (eventTime, type rank)."""
        return (self.time, RANK[self.type])


def read_json(message: bytes) -> Any:
    """2.1: the value, without nulls; raises NotDecodableError."""
    try:
        text = message.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
        if depth(text) > DEEPEST:
            raise NotDecodableError("nested too deep")
        value = json.loads(
            text, object_pairs_hook=last_members, parse_int=integer, parse_float=real, parse_constant=refuse
        )
    except ValueError as error:
        raise NotDecodableError(str(error)) from error
    return without_nulls(value)


def depth(text: str) -> int:
    """2.1: the deepest nesting in the text, overwritten members included."""
    deepest = level = 0
    for bracket in re.findall(r"[\[\]{}]", re.sub(r'"[^"\\]*(?:\\.[^"\\]*)*"', "", text, flags=re.DOTALL)):
        level += 1 if bracket in "[{" else -1
        deepest = max(deepest, level)
    return deepest


def last_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """2.1: of equal keys the last; keys that differ by a lone surrogate alone are equal."""
    return {scalar(key): value for key, value in pairs}


def integer(digits: str) -> int | float:
    """2.1: integers of up to 300 digits are exact."""
    return int(digits) if len(digits.removeprefix("-")) <= LONGEST_INTEGER else real(digits)


def real(digits: str) -> float:
    """2.1: other numbers are doubles, those beyond the greatest that one."""
    return max(-GREATEST, min(GREATEST, float(digits)))


def refuse(constant: str) -> Any:
    """2.1: NaN and Infinity."""
    raise NotDecodableError(constant)


def scalar(text: str) -> str:
    """2.1: a lone surrogate escape reads as U+FFFD."""
    return re.sub("[\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", text)


def without_nulls(value: Any) -> Any:
    """1.1: a null member counts as absent, a null in a list is removed."""
    if isinstance(value, dict):
        return {key: without_nulls(member) for key, member in value.items() if member is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value if item is not None]
    return scalar(value) if isinstance(value, str) else value


def canonical(value: Any) -> str:
    """2.1: the canonical JSON text of a value; tuples are lists."""
    return json.dumps(without_nulls(plain(value)), ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def plain(value: Any) -> Any:
    """Lists for tuples, so that a key is written as its two-element list (9)."""
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return {key: plain(member) for key, member in value.items()} if isinstance(value, dict) else value


def instant(text: Any) -> int | None:
    """1.3: microseconds since the day before 0001-01-01 UTC, None if the text is not an event time."""
    found = TIME.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    fraction, sign, offset_hours, offset_minutes = found.groups()[6:]
    shown = year % CALENDAR_YEARS + 2000
    try:
        days = date(shown, month, day).toordinal() + (year - shown) // CALENDAR_YEARS * CALENDAR_DAYS
    except ValueError:
        return None
    ahead = int(offset_hours or 0), int(offset_minutes or 0)
    if hour > 23 or minute > 59 or second > 59 or ahead > (23, 59) or ahead[1] > 59:
        return None
    offset = (ahead[0] * HOUR + ahead[1] * MINUTE) * (-1 if sign == "-" else 1)
    micros = int((fraction or "0")[:6].ljust(6, "0"))
    time = days * DAY + hour * HOUR + minute * MINUTE + second * SECOND + micros - offset
    return time if FIRST_INSTANT <= time <= LAST_INSTANT else None


def shown_time(time: int) -> str:
    """9: `YYYY-MM-DDTHH:MM:SS.ffffffZ`."""
    days, micros = divmod(time, DAY)
    hour, minute, second = micros // HOUR, micros // MINUTE % 60, micros // SECOND % 60
    return f"{date.fromordinal(days).isoformat()}T{hour:02}:{minute:02}:{second:02}.{micros % SECOND:06}Z"


def valid(part: Any) -> bool:
    """1.2: one part of a key: a non-empty string of at most 2,000 characters without control characters."""
    return isinstance(part, str) and 0 < len(part) <= LONGEST_KEY and re.search("[\x00-\x1f]", part) is None


def member(value: Any, *path: str) -> Any:
    """The value at the path, None if anything on it is missing or not an object."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def objects(value: Any) -> list[dict[str, Any]]:
    """1.5: the items of a list that are objects; none if it is not a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def text_or_none(value: Any) -> str | None:
    """1.5: empty or non-string versions, tags, types, descriptions, source codes are absent."""
    return value if isinstance(value, str) and value else None


def key_of(value: Any) -> Key | None:
    """1.2: the key that an object of a facet gives, None if it breaks the rule."""
    namespace, name = member(value, "namespace"), member(value, "name")
    return (namespace, name) if valid(namespace) and valid(name) else None


def shape(value: dict[str, Any]) -> str | None:
    """1.1: determined by the members that are there."""
    if "run" in value and "job" in value:
        return "run"
    return next((kind for kind in ("job", "dataset") if kind in value), None)


def identity(kind: str, value: dict[str, Any]) -> list[Any]:
    """1.2: every part of every key that the event needs, None for a missing part."""
    parts = [member(value, "run", "runId")] if kind == "run" else []
    named = "dataset" if kind == "dataset" else "job"
    parts += [member(value, named, "namespace"), member(value, named, "name")]
    for side in () if kind == "dataset" else ("inputs", "outputs"):
        listed = value.get(side, [])
        for item in listed if isinstance(listed, list) else [None]:
            parts += [member(item, "namespace"), member(item, "name")]
    return parts


def verdict(value: Any) -> str | None:
    """1.1 to 1.3, in the order of the codes in 8.2."""
    if not isinstance(value, dict):
        return "not_an_object"
    kind = shape(value)
    if kind is None:
        return "not_an_event"
    parts = identity(kind, value)
    if "eventTime" not in value or None in parts:
        return "missing_identity"
    if not all(valid(part) for part in parts):
        return "bad_identity"
    return "bad_event_time" if instant(value["eventTime"]) is None else None


def reject(message: bytes) -> str | None:
    """1.5: the reason code of chapter 8, None if the message is accepted."""
    try:
        return verdict(read_json(message))
    except NotDecodableError:
        return "not_decodable"


def facets_of(value: Any, name: str = "facets") -> Facets:
    """2.3: one container of facets; anything but an object holds none."""
    found = member(value, name)
    return found if isinstance(found, dict) else {}


def listed_on(value: dict[str, Any], side: str, container: str) -> dict[Key, Listed]:
    """1.6: one side of an event; a dataset listed twice counts once, its facets united in list order."""
    found: dict[Key, Listed] = {}
    for item in value.get(side, []):
        key = (item["namespace"], item["name"])
        before = found.get(key, Listed({}, {}))
        found[key] = Listed({**before.facets, **facets_of(item)}, {**before.side_facets, **facets_of(item, container)})
    return found


def read_event(message: bytes) -> Event | None:
    """Chapter 1: the event, None if the message is rejected."""
    if reject(message) is not None:
        return None
    value = read_json(message)
    kind, time, event_type = shape(value), instant(value["eventTime"]), value.get("eventType")
    assert time is not None
    lists = kind != "dataset"
    return Event(
        text=canonical(value),
        time=time,
        type=event_type if kind == "run" and isinstance(event_type, str) and event_type in RANK else "OTHER",
        run=value["run"]["runId"] if kind == "run" else None,
        job=key_of(value["job"]) if lists else None,
        dataset=None if lists else key_of(value["dataset"]),
        run_facets=facets_of(value["run"]) if kind == "run" else {},
        job_facets=facets_of(value["job"]) if lists else {},
        dataset_facets={} if lists else facets_of(value["dataset"]),
        inputs=listed_on(value, "inputs", "inputFacets") if lists else {},
        outputs=listed_on(value, "outputs", "outputFacets") if lists else {},
    )
