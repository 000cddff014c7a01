"""Messages and the reason code that specification 1 and 8 give them (None: accepted), each with a single fault."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Message:
    """A raw message and the code it must get."""

    name: str
    value: bytes
    code: str | None


KEY: Json = {"namespace": "n", "name": "j"}
EVENT: Json = {"eventTime": "2026-01-01T00:00:00Z", "run": {"runId": "r"}, "job": KEY}
PLAIN = json.dumps(EVENT)


def altered(**members: Any) -> bytes:
    """The plain RunEvent with other members."""
    return json.dumps({**EVENT, **members}).encode()


def without(name: str) -> bytes:
    return json.dumps({key: member for key, member in EVENT.items() if key != name}).encode()


def extended(text: str) -> bytes:
    """The plain RunEvent with more JSON text in front of its members."""
    return (f"{{{text}," + PLAIN[1:]).encode()


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


def timed(text: Any) -> bytes:
    return altered(eventTime=text)


def named(name: Any) -> bytes:
    """The plain RunEvent with this as the name of its job."""
    return altered(job={"namespace": "n", "name": name})


NOT_DECODABLE = (
    ("empty", b""),
    ("white space", b" \n"),
    ("half an event", PLAIN[:-1].encode()),
    ("two events", (PLAIN + PLAIN).encode()),
    ("text", b"hello"),
    ("single quotes", PLAIN.replace('"', "'").encode()),
    ("comma at the end", (PLAIN[:-1] + ",}").encode()),
    ("comment", b"/* */" + PLAIN.encode()),
    ("ten thousand levels", extended(f'"x":{nested(10_000)}')),
    ("ten thousand open levels", b"[" * 10_000),
    ("201 levels", extended(f'"x":{nested(200)}')),
    ("201 levels in a member that is overwritten", extended(f'"x":{nested(200)},"x":1')),
    ("invalid UTF-8", b'{"x":"\xff"}'),
    ("overlong UTF-8", b'{"x":"\xc0\xaf"}'),
    ("surrogate in UTF-8", b'{"x":"\xed\xa0\x80"}'),
    ("UTF-16", PLAIN.encode("utf-16")),
    ("NaN", extended('"x":NaN')),
    ("Infinity", extended('"x":Infinity')),
    ("minus Infinity", extended('"x":-Infinity')),
    ("control character in a string", extended('"x":"a\x01b"')),
    ("line end in a string", extended('"x":"a\nb"')),
    ("leading zero", extended('"x":01')),
    ("plus sign", extended('"x":+1')),
    ("point without digits", extended('"x":1.')),
    ("hexadecimal", extended('"x":0x1')),
    ("bad escape", extended('"x":"\\x"')),
    ("two byte order marks", b"\xef\xbb\xbf\xef\xbb\xbf" + PLAIN.encode()),
)

NOT_AN_OBJECT = (
    ("list", f"[{PLAIN}]".encode()),
    ("string", b'"{}"'),
    ("number", b"1"),
    ("true", b"true"),
    ("null", b"null"),
)

NOT_AN_EVENT = (
    ("no members", b"{}"),
    ("no job", without("job")),
    ("job is null", altered(job=None)),
    ("dataset is null", b'{"eventTime":"2026-01-01T00:00:00Z","dataset":null}'),
    ("members in capitals", b'{"eventTime":"2026-01-01T00:00:00Z","Job":{},"Dataset":{}}'),
)

MISSING_IDENTITY = (
    ("no eventTime", without("eventTime")),
    ("eventTime is null", timed(None)),
    ("run is empty", altered(run={})),
    ("run is a text", altered(run="r")),
    ("runId is null", altered(run={"runId": None})),
    ("job is a list", altered(job=["n", "j"])),
    ("job without namespace", altered(job={"name": "j"})),
    ("job without name", altered(job={"namespace": "n"})),
    ("inputs is an object", altered(inputs={})),
    ("outputs is a text", altered(outputs="y")),
    ("outputs is false", altered(outputs=False)),
    ("input is a text", altered(inputs=["x"])),
    ("input is a list", altered(inputs=[[]])),
    ("input without namespace", altered(inputs=[KEY, {"name": "x"}])),
    ("output without name", altered(outputs=[{"namespace": "n", "name": None}])),
    ("JobEvent without name", b'{"eventTime":"2026-01-01T00:00:00Z","job":{"namespace":"n"}}'),
    (
        "JobEvent with a bad output",
        b'{"eventTime":"2026-01-01T00:00:00Z","job":{"namespace":"n","name":"j"},"outputs":[{}]}',
    ),
    ("DatasetEvent without namespace", b'{"eventTime":"2026-01-01T00:00:00Z","dataset":{"name":"x"}}'),
    ("the last of equal members is null", extended('"x":1')[:-1] + b',"eventTime":null}'),
)

BAD_IDENTITY = (
    ("runId is empty", altered(run={"runId": ""})),
    ("runId is a number", altered(run={"runId": 1})),
    ("runId is a list", altered(run={"runId": ["r"]})),
    ("runId with a line end", altered(run={"runId": "r\n"})),
    ("runId of 2001 characters", altered(run={"runId": "r" * 2001})),
    ("name is empty", named("")),
    ("name is false", named(False)),
    ("name of 2001 characters", named("j" * 2001)),
    ("name of 2001 characters beyond the first plane", named("😀" * 2001)),
    ("name with U+0000", named("a\x00b")),
    ("name with U+001F", named("a\x1fb")),
    ("name with a tab", named("a\tb")),
    ("namespace is an object", altered(job={"namespace": {}, "name": "j"})),
    ("input with a bad name", altered(inputs=[{"namespace": "n", "name": ""}])),
    ("output with a bad namespace", altered(outputs=[{"namespace": 5, "name": "y"}])),
    ("DatasetEvent with a bad name", b'{"eventTime":"2026-01-01T00:00:00Z","dataset":{"namespace":"n","name":""}}'),
)

BAD_TIMES: tuple[tuple[str, Any], ...] = (
    ("number", 1767225600),
    ("empty", ""),
    ("word", "yesterday"),
    ("date alone", "2026-01-01"),
    ("no seconds", "2026-01-01T00:00Z"),
    ("other separator", "2026-01-01_00:00:00Z"),
    ("two spaces", "2026-01-01  00:00:00Z"),
    ("slashes", "2026/01/01T00:00:00Z"),
    ("no hyphens", "20260101T000000Z"),
    ("two-digit year", "26-01-01T00:00:00Z"),
    ("five-digit year", "12026-01-01T00:00:00Z"),
    ("signed year", "+2026-01-01T00:00:00Z"),
    ("month 0", "2026-00-01T00:00:00Z"),
    ("month 13", "2026-13-01T00:00:00Z"),
    ("day 0", "2026-01-00T00:00:00Z"),
    ("31 April", "2026-04-31T00:00:00Z"),
    ("29 February in a common year", "2026-02-29T00:00:00Z"),
    ("29 February 1900", "1900-02-29T00:00:00Z"),
    ("hour 24", "2026-01-01T24:00:00Z"),
    ("minute 60", "2026-01-01T00:60:00Z"),
    ("second 60", "2026-12-31T23:59:60Z"),
    ("point without digits", "2026-01-01T00:00:00.Z"),
    ("ten digits of a second", "2026-01-01T00:00:00.1234567890Z"),
    ("comma", "2026-01-01T00:00:00,5Z"),
    ("offset beyond 23:59", "2026-01-01T00:00:00+24:00"),
    ("offset with minutes beyond 59", "2026-01-01T00:00:00+00:60"),
    ("offset of hours alone", "2026-01-01T00:00:00+01"),
    ("offset with seconds", "2026-01-01T00:00:00+01:00:00"),
    ("minus sign U+2212", "2026-01-01T00:00:00\u221201:00"),
    ("zone by name", "2026-01-01T00:00:00 UTC"),
    ("zone twice", "2026-01-01T00:00:00Z+00:00"),
    ("space at the end", "2026-01-01T00:00:00Z "),
    ("line end at the end", "2026-01-01T00:00:00Z\n"),
    ("space at the beginning", " 2026-01-01T00:00:00Z"),
    ("Arabic digits", "\u0662\u0660\u0662\u0666-01-01T00:00:00Z"),
    ("fullwidth digit", "2026-01-01T00:00:0\uff11Z"),
    ("year 0", "0000-12-31T23:59:59Z"),
    ("before year 1 by the offset", "0001-01-01T00:00:00+00:01"),
    ("after year 9999 by the offset", "9999-12-31T23:59:59-00:01"),
)

ACCEPTED = (
    ("plain", PLAIN.encode()),
    ("byte order mark", b"\xef\xbb\xbf" + PLAIN.encode()),
    ("white space around", b" \r\n\t" + PLAIN.encode() + b"\n"),
    ("200 levels", extended(f'"x":{nested(199)}')),
    ("brackets in a string", extended(f'"x":"{"[" * 10_000}\\""')),
    ("lone surrogate in a name", PLAIN.replace('"j"', '"\\ud800"').encode()),
    ("equal members, the last is good", extended('"eventTime":"never","run":5')),
    ("400 digits", extended(f'"x":{"9" * 400}')),
    ("5000 digits", extended(f'"x":-{"9" * 5000}')),
    ("beyond the greatest double", extended('"x":1e999')),
    ("runId of 2000 characters", altered(run={"runId": "r" * 2000})),
    ("name of 2000 characters beyond the first plane", named("😀" * 2000)),
    ("name with U+007F and U+0085", named("a\x7f\x85")),
    ("name of one space", named(" ")),
    ("no list of inputs", altered(inputs=None, outputs=[])),
    ("nulls in a list", altered(inputs=[None])),
    ("eventType of a wrong type", altered(eventType=[])),
    ("facets of a wrong type", altered(run={"runId": "r", "facets": 5}, job={**KEY, "facets": []})),
    ("JobEvent because run is null", altered(run=None)),
    (
        "DatasetEvent with sides of a wrong type",
        b'{"eventTime":"2026-01-01T00:00:00Z","dataset":{"namespace":"n","name":"x"},"inputs":5}',
    ),
    ("small letters", timed("2026-01-01t00:00:00z")),
    ("space and no zone", timed("2026-01-01 00:00:00.123456789")),
    ("offset without colon", timed("2026-01-01T00:00:00-2359")),
    ("29 February 2000", timed("2000-02-29T00:00:00Z")),
    ("first instant", timed("0001-01-01T00:00:00+00:00")),
    ("last instant", timed("9999-12-31T23:59:59.999999999Z")),
    ("an instant of year 1 written in year 0", timed("0000-12-31T23:30:00-01:00")),
)

MESSAGES = [
    *(Message(f"not decodable: {name}", value, "not_decodable") for name, value in NOT_DECODABLE),
    *(Message(f"not an object: {name}", value, "not_an_object") for name, value in NOT_AN_OBJECT),
    *(Message(f"not an event: {name}", value, "not_an_event") for name, value in NOT_AN_EVENT),
    *(Message(f"missing identity: {name}", value, "missing_identity") for name, value in MISSING_IDENTITY),
    *(Message(f"bad identity: {name}", value, "bad_identity") for name, value in BAD_IDENTITY),
    *(Message(f"bad time: {name}", timed(text), "bad_event_time") for name, text in BAD_TIMES),
    *(Message(f"accepted: {name}", value, None) for name, value in ACCEPTED),
]
