"""Canonical JSON and times, compared with the standard library."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater_avro.canonical import canonical, parse
from headwater_avro.errors import EventRejected
from headwater_avro.times import EARLIEST, LATEST, format_time, parse_time

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(_scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=15)


@given(values)
def test_canonical_json_is_a_fixed_point(value: object) -> None:
    try:
        parsed = parse(json.dumps(value).encode())
    except EventRejected as rejected:
        pytest.fail(f"valid JSON was refused: {rejected}")
    if parsed is not None:
        text = canonical(parsed)
        again = parse(text.encode())
        assert again is not None
        assert canonical(again) == text


@given(values)
def test_canonical_json_has_no_nulls_and_no_white_space_and_sorted_keys(value: object) -> None:
    parsed = parse(json.dumps({"a": value, "absent": None}).encode())
    assert parsed is not None
    text = canonical(parsed)
    read = json.loads(text, object_pairs_hook=lambda pairs: [("keys", [key for key, _ in pairs]), *pairs])
    assert "absent" not in text.split('"')[:1]
    for keys in _key_lists(read):
        assert keys == sorted(keys)
    assert json.loads(text) == parsed


def _key_lists(node: object) -> list[list[str]]:
    found: list[list[str]] = []
    if isinstance(node, tuple) and node[0] == "keys":
        found.append(node[1])
    elif isinstance(node, list | tuple):
        for child in node:
            found += _key_lists(child)
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"b":1,"a":2}', '{"a":2,"b":1}'),
        ("[1.0,1e2,-0,1E400,-1e400]", "[1.0,100.0,0,1.7976931348623157e+308,-1.7976931348623157e+308]"),
        ("9" * 300, "9" * 300),
        ("9" * 301, "1e+301"),
        ('"\\ud800 \\ud83d\\ude00"', '"\ufffd \U0001f600"'),
        ('{"a":1,"a":null}', "{}"),
        ('"\\u001f\\u007f\\/"', '"\\u001f\x7f/"'),
        ("\ufeff[null,[null]]", "[[]]"),
    ],
)
def test_a_text_has_the_specified_canonical_form(text: str, expected: str) -> None:
    value = parse(text.encode())
    assert value is not None
    assert canonical(value) == expected


@pytest.mark.parametrize("text", [b"NaN", b"[Infinity]", b"\xff", b"[" * 201 + b"]" * 201, b"", b"{]", b"01", b'"\t"'])
def test_text_that_is_not_valid_json_is_not_decodable(text: bytes) -> None:
    with pytest.raises(EventRejected) as rejected:
        parse(text)
    assert rejected.value.code == "not_decodable"


def test_two_hundred_levels_are_not_too_deep() -> None:
    assert parse(b"[" * 200 + b"]" * 200) is not None
    assert parse(b'["' + b"[" * 300 + b'"]') == ["[" * 300]


@given(st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31, 23, 59, 59, 999_999)))  # noqa: DTZ001
def test_times_are_read_and_formatted_as_by_the_standard_library(moment: datetime) -> None:
    aware = moment.replace(tzinfo=UTC)
    micros = (aware - _EPOCH) // timedelta(microseconds=1)
    assert parse_time(aware.isoformat()) == micros
    assert parse_time(format_time(micros)) == micros
    assert format_time(micros)[:19] == aware.isoformat()[:19]


@given(st.integers(EARLIEST, LATEST))
def test_a_formatted_time_reads_back(micros: int) -> None:
    assert parse_time(format_time(micros)) == micros
