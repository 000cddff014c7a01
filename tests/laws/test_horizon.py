"""The theorem of the specification with a horizon: events after it give one dump in any order, and the check finds nothing."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater_avro.canonical import parsed
from headwater_avro.errors import ConfigError
from headwater_avro.times import parse_time
from headwater_graph.apply.limits import TransactionLimits
from headwater_graph.audit.check import check
from headwater_graph.audit.rebuild import rebuild
from headwater_graph.retention.retain import retain, would_remove
from headwater_graph.store.port import ScannedStore

from ..fake_graph.store import FakeStore
from ..feeding import differences, dumped, feed
from .horizon import dump_behind
from .strategies import deliveries, event_sets
from .wire import instant

HORIZONS = (
    "2026-01-01T00:00:01Z",
    "2026-01-01T00:00:01.5Z",
    "2026-01-01T00:00:01.7Z",
    "2026-01-01T00:00:02Z",
    "2026-01-01T00:00:02.5Z",
    "2026-01-01T00:00:03Z",
    "2026-01-01T00:00:04Z",
)
LIMITS = (
    TransactionLimits(),
    TransactionLimits(),
    TransactionLimits(rows=1),
    TransactionLimits(rows=2),
    TransactionLimits(runs=1, rows=3),
)


def time_of(horizon: str) -> int:
    time = instant(horizon)
    assert time is not None
    return time


def fed(store: FakeStore, data: st.DataObject, messages: list[bytes]) -> None:
    for batch in data.draw(deliveries(messages)):
        feed(store, batch, data.draw(st.sampled_from(LIMITS)))


@settings(max_examples=400)
@given(st.data())
def test_events_after_a_horizon_give_one_dump_in_any_order(data: st.DataObject) -> None:
    first, second = data.draw(event_sets()), data.draw(event_sets(8))
    horizon = data.draw(st.sampled_from(HORIZONS))
    store = FakeStore()
    fed(store, data, first)
    retain(store, parse_time(horizon), data.draw(st.sampled_from(LIMITS)))
    expected, actual = dump_behind(first, [(time_of(horizon), [])]), dumped(store)
    assert actual == expected, differences(expected, actual)
    fed(store, data, second)
    assert not store.tables["DeferredWork"]
    expected, actual = dump_behind(first, [(time_of(horizon), second)]), dumped(store)
    assert actual == expected, differences(expected, actual)


@settings(max_examples=150)
@given(st.data())
def test_a_graph_with_horizons_agrees_with_its_records_and_can_be_rebuilt(data: st.DataObject) -> None:
    store = FakeStore()
    first = data.draw(event_sets(10))
    fed(store, data, first)
    then = []
    for horizon in sorted(data.draw(st.lists(st.sampled_from(HORIZONS), min_size=1, max_size=3)), key=parse_time):
        retain(store, parse_time(horizon), data.draw(st.sampled_from(LIMITS)))
        assert list(check(store)) == []
        messages = data.draw(event_sets(6))
        fed(store, data, messages)
        then.append((time_of(horizon), messages))
        assert list(check(store)) == []
    expected, actual = dump_behind(first, then), dumped(store)
    assert actual == expected, differences(expected, actual)
    rebuild(store, data.draw(st.sampled_from(LIMITS)))
    assert dumped(store) == expected, differences(expected, dumped(store))
    assert list(check(store)) == []


OF_KIND = {"run": "runs", "jobVersion": "job versions", "datasetVersion": "dataset versions"}
COUNTED = ("number", "runs", "lastRun")


@settings(max_examples=150)
@given(st.data())
def test_retention_removes_what_was_previewed_and_changes_no_other_line(data: st.DataObject) -> None:
    """Except for runs that become placeholders, and versions whose makers stay: these count only the runs that are there.

    A job in which such a version loses the code version of a removed run is folded again (10.5); then the model alone decides.
    """
    store = FakeStore()
    first = data.draw(event_sets())
    feed(store, first)
    before = dumped(store).splitlines()
    chosen = data.draw(st.sampled_from(HORIZONS))
    horizon = parse_time(chosen)
    previewed = {kind: removal.count for kind, removal in would_remove(store, horizon).items()}
    assert dumped(store).splitlines() == before, "the preview changed something"
    events = len(store.tables["JobEvent"])
    removed = retain(store, horizon, data.draw(st.sampled_from(LIMITS)))
    assert removed["runs"] == previewed["runs"]
    assert events - len(store.tables["JobEvent"]) == previewed["job events"] == removed["job events"]
    after = dumped(store).splitlines()
    expected = dump_behind(first, [(time_of(chosen), [])])
    assert dumped(store) == expected, differences(expected, dumped(store))
    if _codes(before, after) != _codes(after, before):
        return
    removed_lines = Counter(_kind(line) for line in before) - Counter(_kind(line) for line in after)
    assert {kind: count for kind, count in previewed.items() if kind.endswith("versions") and count} == {
        OF_KIND[kind]: count for kind, count in removed_lines.items() if kind in ("jobVersion", "datasetVersion")
    }
    assert {_without_counts(line) for line in after} <= {_without_counts(line) for line in before} | {
        _placeholder(line) for line in before
    }
    assert _current(after) == _current(before)


def _codes(lines: list[bytes], others: list[bytes]) -> dict[str, str]:
    """The code versions of the job versions that two dumps have in common."""
    common = {str(_line(line)["id"]) for line in others if _kind(line) == "jobVersion"}
    versions = [_line(line) for line in lines if _kind(line) == "jobVersion"]
    return {str(one["id"]): str(one.get("codeVersion")) for one in versions if str(one["id"]) in common}


def _kind(line: bytes) -> str:
    return str(_line(line)["kind"])


def _line(line: bytes) -> dict[str, object]:
    members = parsed(line)
    assert isinstance(members, dict)
    return dict(members)


def _without_counts(line: bytes) -> str:
    return str(sorted((name, str(value)) for name, value in _line(line).items() if name not in COUNTED))


def _placeholder(line: bytes) -> str:
    return str(sorted({"id": str(_line(line).get("id")), "kind": "run", "placeholder": "True"}.items()))


def _current(lines: list[bytes]) -> set[str]:
    """What is current, without counts: it is the same before and after."""
    of_now = ("edge", "columnEdge", "dataset")
    return {_without_counts(line) for line in lines if _kind(line) in of_now}


def run_event_line(run_id: str, second: int, **members: object) -> bytes:
    event = {
        "eventTime": f"2026-01-01T00:00:0{second}Z",
        "run": {"runId": run_id},
        "job": {"namespace": "j", "name": "a"},
    }
    return json.dumps(event | members).encode()


def check_a_run_id_that_is_used_again(store: ScannedStore) -> None:
    """The last run of a retained version was removed, and an event begins another run of its id (10.5, 10.11)."""
    first = [run_event_line("r2", 1, eventType="COMPLETE"), run_event_line("r4", 1, eventType="FAIL")]
    again, other = run_event_line("r4", 2), run_event_line("r5", 2, eventType="COMPLETE", outputs=[OUTPUT])
    horizon = "2026-01-01T00:00:01.5Z"
    feed(store, first)
    retain(store, parse_time(horizon))
    for messages in ([again], [other]):
        feed(store, messages)
        assert list(check(store)) == []
    rebuild(store)
    assert list(check(store)) == []
    expected = dump_behind(first, [(time_of(horizon), [again, other])])
    assert dumped(store) == expected, differences(expected, dumped(store))


OUTPUT = {"namespace": "d", "name": "x"}


def test_a_removed_last_run_is_not_another_run_of_its_id() -> None:
    check_a_run_id_that_is_used_again(FakeStore())


def test_the_horizon_never_moves_back() -> None:
    store = FakeStore()
    later, earlier = parse_time("2026-01-02T00:00:00Z"), parse_time("2026-01-01T00:00:00Z")
    retain(store, later)
    for function in (retain, would_remove):
        with pytest.raises(ConfigError, match="only moves forward"):
            function(store, earlier)
    retain(store, later)
    assert store.tables["Writer"]["consumer"]["horizon"] == later
