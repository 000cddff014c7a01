"""The second implementation satisfies the theorem itself, and reads JSON and identities by specification 1 and 2.1."""

from __future__ import annotations

import random
import uuid
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .datasets import identifier
from .model import dump, reject
from .strategies import FEATURES, build, deliveries, event_sets
from .wire import canonical, instant, read_json, shown_time

REAL_EVENTS = Path(__file__).parents[2] / "../shared/data/openlineage/events"
SLOW_BUT_FINE = (HealthCheck.too_slow, HealthCheck.data_too_large)
RUN = '{"eventTime":"2026-01-01T00:00:00Z","run":{"runId":"r"},"job":{"namespace":"n","name":"j"}}'


@settings(max_examples=200, deadline=None, suppress_health_check=SLOW_BUT_FINE)
@given(st.data())
def test_order_and_duplicates_change_nothing(data: st.DataObject) -> None:
    messages = data.draw(event_sets())
    delivered = data.draw(deliveries(messages))
    assert dump(message for batch in delivered for message in batch) == dump(messages)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_delivery_holds_every_message_and_no_other(data: st.DataObject) -> None:
    messages = data.draw(event_sets(max_size=5))
    delivered = [message for batch in data.draw(deliveries(messages)) for message in batch]
    assert set(delivered) == set(messages)
    assert all(delivered.count(message) >= messages.count(message) for message in messages)


def test_the_event_sets_reach_every_kind_of_line_and_every_reason() -> None:
    source = random.Random(0)
    every = 2 ** len(FEATURES) - 1
    sets = [
        build(source.getrandbits(len(FEATURES)) | every * (n % 2), [source.randbytes(90) for _ in range(9)])
        for n in range(100)
    ]
    lines = b"".join(dump(messages) for messages in sets)
    for kind in ("job", "jobVersion", "run", "dataset", "datasetVersion", "runSide", "edge", "columnEdge"):
        assert f'"kind":"{kind}"'.encode() in lines
    for said in (b'"placeholder":true', b'"undeclared":true', b'"dropped":true', b'"conflicts"', b'"lineageUnknown"'):
        assert said in lines
    codes = {reject(message) for messages in sets for message in messages}
    assert codes == {
        None,
        "not_decodable",
        "not_an_object",
        "not_an_event",
        "missing_identity",
        "bad_identity",
        "bad_event_time",
    }


@pytest.mark.skipif(not REAL_EVENTS.is_dir(), reason=f"no real events in {REAL_EVENTS}: put OpenLineage events there")
def test_real_events_are_accepted_in_any_order() -> None:
    messages = [path.read_bytes() for path in sorted(REAL_EVENTS.rglob("events/*.json"))]
    assert messages
    assert [reject(message) for message in messages] == [None] * len(messages)
    assert dump(reversed(messages)) == dump(messages)
    assert b'"kind":"columnEdge"' in dump(messages)


def test_no_message_makes_an_empty_graph() -> None:
    assert dump([]) == b""
    assert dump([b"", b"[]", b"{}"]) == b""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"b":1,"a":2}', '{"a":2,"b":1}'),
        ('{"a":1,"a":2}', '{"a":2}'),
        ('{"a":1,"a":null}', "{}"),
        ('[1, null, {"x": null}, [null]]', "[1,{},[]]"),
        ('"\\u00e9\\ud83d\\ude00"', '"é😀"'),
        ('{"\\ud83d\\ude00":1,"\\uffee":2}', '{"\uffee":2,"😀":1}'),
        ('"\\ud800"', '"\ufffd"'),
        ('"\\udc00\\ud800"', '"\ufffd\ufffd"'),
        ('"\\ud800\\ud83d\\ude00"', '"\ufffd😀"'),
        ('{"\\ud800":1,"\\udfff":2}', '{"\ufffd":2}'),
        ('"\\u0001\\n\\/\\u007f\\u2028"', '"\\u0001\\n/\x7f\u2028"'),
        ("-0", "0"),
        ("-0.0", "-0.0"),
        ("1.0", "1.0"),
        ("1e2", "100.0"),
        ("1E-7", "1e-07"),
        ("1e16", "1e+16"),
        ("0.1000000000000000055511151231257827", "0.1"),
        ("-1e-400", "-0.0"),
        ("12345678901234567890", "12345678901234567890"),
        ("9" * 300, "9" * 300),
        ("-" + "9" * 300, "-" + "9" * 300),
        ("1" + "0" * 300, "1e+300"),
        ("9" * 400, "1.7976931348623157e+308"),
        ("-1e999", "-1.7976931348623157e+308"),
        ("9" * 5000, "1.7976931348623157e+308"),
        (" \t\r\n true ", "true"),
        ("\ufeff[]", "[]"),
        ("[" * 200 + "]" * 200, "[" * 200 + "]" * 200),
        ('["' + "[" * 300 + '\\""]', '["' + "[" * 300 + '\\""]'),
    ],
)
def test_canonical_json(text: str, expected: str) -> None:
    assert canonical(read_json(text.encode())) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000000Z"),
        ("2026-01-02t03:04:05.1234569z", "2026-01-02T03:04:05.123456Z"),
        ("2026-01-02 03:04:05.5", "2026-01-02T03:04:05.500000Z"),
        ("2026-01-02T03:04:05+0530", "2026-01-01T21:34:05.000000Z"),
        ("2026-01-02T03:04:05-23:59", "2026-01-03T03:03:05.000000Z"),
        ("2024-02-29T23:59:59Z", "2024-02-29T23:59:59.000000Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000Z"),
        ("9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999Z"),
        ("0000-12-31T23:30:00-01:00", "0001-01-01T00:30:00.000000Z"),
    ],
)
def test_event_times(text: str, expected: str) -> None:
    time = instant(text)
    assert time is not None
    assert shown_time(time) == expected


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (RUN, None),
        (RUN.replace('"r"', '"' + "r" * 2000 + '"'), None),
        (RUN[:-1], "not_decodable"),
        (f"[{RUN}]", "not_an_object"),
        (RUN.replace('"job"', '"jobs"'), "not_an_event"),
        (RUN.replace('"runId":"r"', ""), "missing_identity"),
        (RUN.replace('"r"', '""'), "bad_identity"),
        (RUN.replace("T00", "T24"), "bad_event_time"),
    ],
)
def test_each_reason_code(message: str, code: str | None) -> None:
    assert reject(message.encode()) == code


def test_ids_are_named_by_the_json_text_of_the_list() -> None:
    namespace = uuid.uuid5(uuid.NAMESPACE_URL, "urn:headwater:ids")
    assert identifier(("n", "é"), "r") == str(uuid.uuid5(namespace, '[["n","é"],"r"]'))
    assert identifier(("n", "j"), "event", '{"a":1}') == str(uuid.uuid5(namespace, '[["n","j"],"event","{\\"a\\":1}"]'))
