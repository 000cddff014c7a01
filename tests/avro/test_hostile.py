"""Hostile messages: the cost of reading them is linear in their size.

None of these tests measures time. Quadratic code takes hours on 16 MB, and pytest's time limit
ends it; linear code takes a few seconds.
"""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headwater_avro.canonical import nesting, parse
from headwater_avro.codec import read_message
from headwater_avro.errors import EventRejected
from headwater_avro.events import RunEvent

MEGABYTE = 1_000_000
CLOUD_EVENTS = [("content-type", b"application/cloudevents+json")]
HEAD = b'{"eventTime":"2026-01-01T00:00:00Z","run":{"runId":"r"},"job":{"namespace":"n","name":"j"},'


def outcome(message: bytes) -> str:
    try:
        return type(read_message(message)).__name__
    except EventRejected as rejected:
        return rejected.code


# ---- depth -----------------------------------------------------------------------------------------------------------


def depth_byte_by_byte(text: bytes) -> tuple[int, bool]:
    """Return the nesting depth outside strings, and whether every backslash and every quote belongs to a string."""
    depth, deepest, in_string, escaped, proper = 0, 0, False, False, True
    for byte in text:
        if in_string:
            in_string = escaped or byte != ord('"')
            escaped = not escaped and byte == ord("\\")
        elif byte == ord('"'):
            in_string = True
        elif byte == ord("\\"):
            return deepest, False
        else:
            depth += (byte in b"[{") - (byte in b"]}")
            deepest = max(deepest, depth)
    return deepest, proper and not in_string


pieces = st.sampled_from([b"[", b"{", b"]", b"}", b'"', b"\\", b"\\\\", b'\\"', b"a", b'"[\xc3\xa9"', b'"{\\\\"'])


@settings(max_examples=1_000)
@given(st.lists(pieces, max_size=40).map(b"".join), st.integers(1, 9))
@example(b'["\\\\"]', 1)
@example(b'[\\"[[[', 5)
@example(b'"["', 1)
def test_the_depth_is_that_of_the_brackets_outside_strings(text: bytes, chunk: int) -> None:
    expected, is_proper = depth_byte_by_byte(text)
    # At a backslash outside strings a parser fails, and the text before it is counted exactly.
    assert nesting(text, chunk) == expected if is_proper else nesting(text, chunk) >= expected


def test_overwritten_members_count_for_the_depth() -> None:
    deep = b'{"a":' + b"[" * 200 + b"]" * 200 + b',"a":1}'
    with pytest.raises(EventRejected, match="deeper than 200"):
        parse(deep)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("size", [MEGABYTE, 16 * MEGABYTE])
@pytest.mark.parametrize("unit", [b'\\"', b'"\\', b"\\", b'"', b'""[', b"[", b'"]"['], ids=repr)
def test_a_deep_text_with_any_content_is_rejected_in_linear_time(unit: bytes, size: int) -> None:
    assert outcome(b"[" * 201 + b'"' + unit * (size // len(unit))) == "not_decodable"


@pytest.mark.timeout(120)
def test_a_wide_event_with_a_long_string_of_escapes_is_read_in_linear_time() -> None:
    facet = b"[" + b"[]," * 300 + b'"' + b'\\"' * (8 * MEGABYTE) + b'"]'
    assert outcome(HEAD + b'"inputs":[{"namespace":"n","name":"d","facets":{"f":' + facet + b"}}]}") == "RunEvent"


# ---- width -----------------------------------------------------------------------------------------------------------


@pytest.mark.timeout(120)
@pytest.mark.parametrize("with_null", [False, True], ids=["fast path", "full rules"])
def test_a_dataset_listed_many_times_is_read_in_linear_time(with_null: bool) -> None:
    count = 16 * MEGABYTE // 58
    listed = b",".join(b'{"namespace":"n","name":"d","facets":{"f%07d":{}}}' % number for number in range(count))
    event = read_message(HEAD + (b'"eventType":null,' if with_null else b"") + b'"outputs":[' + listed + b"]}")
    assert isinstance(event, RunEvent)
    (dataset,) = event.outputs
    assert len(dataset.facets) == count


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("unit", "code"),
    [
        (b"[]", "not_an_event"),
        (b"{}", "not_an_event"),
        (b"null", "not_an_event"),
        (b"9" * 300, "not_an_event"),
        (b"1.7976931348623157e308", "not_an_event"),
        (b'"\\ud800"', "not_an_event"),
        (b'{"\\ud800":[["a"]]}', "not_an_event"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_list_of_any_small_values_is_read_in_linear_time(unit: bytes, code: str) -> None:
    listed = (unit + b",") * (3 * MEGABYTE // len(unit))
    assert outcome(b'{"x":[' + listed + b"null]}") == code


@pytest.mark.timeout(120)
@pytest.mark.parametrize("number", [b"9%b", b"1.%b", b"2.2250738585072011%be-308", b"1e%b", b"0.%b1", b"-%b"])
def test_a_number_of_any_length_is_read_in_linear_time(number: bytes) -> None:
    for digit in b"9", b"0":
        assert outcome(b'{"x":' + number % (digit * 16 * MEGABYTE) + b"}") in ("not_an_event", "not_decodable")
