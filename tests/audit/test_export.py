"""Events exported from a graph and consumed into an empty one give the same graph."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headwater_avro.json_codec import read_event
from headwater_graph.audit.export.whole import ExportTotals, export
from headwater_graph.model.records import RunRecord, unpack
from headwater_graph.queries.reader import Row

from ..fake_graph.store import FakeStore
from ..feeding import differences, dumped, feed
from ..given_answers import GivenAnswers
from ..laws.strategies import event_sets


def reader_of(store: FakeStore) -> GivenAnswers:
    """Return a reader that answers the queries of an export from a graph in memory, in pages of two rows."""

    def runs(time: Any, seen: list[str], limit: int, **_: object) -> list[Row]:
        rows = [row for row in store.tables["Run"].values() if row.get("record") is not None]
        dated = [(unpack(row["record"], RunRecord).last, row) for row in rows]
        least = time if isinstance(time, int) else -(10**18)
        found = [
            {"id": row["id"], "time": last, "record": row["record"]}
            for last, row in sorted(dated, key=lambda pair: pair[0])
            if last >= least and row["id"] not in seen
        ]
        return list(found[:2])

    def paged(rows: Sequence[Row]) -> Any:
        def page(after: str, limit: int, **_: object) -> list[Row]:
            return sorted((row for row in rows if row["key"] > after), key=lambda row: str(row["key"]))[:2]

        return page

    job_events = [{"key": str(key), "text": row["text"]} for key, row in store.tables["JobEvent"].items()]
    versions = store.tables["DatasetVersion"].items()
    datasets = [
        {"key": key, "namespace": row["namespace"], "name": row["name"], "record": row["record"]}
        for key, row in store.tables["Dataset"].items()
        if row.get("record") is not None
    ]
    dataset_events = [{"key": key, "text": row["text"]} for key, row in versions if row.get("text")]
    return GivenAnswers(
        {
            "export/runs": runs,
            "export/job_events": paged(job_events),
            "export/dataset_events": paged(dataset_events),
            "export/datasets": paged(datasets),
        }
    )


def exported(store: FakeStore) -> tuple[list[bytes], ExportTotals]:
    totals = ExportTotals()
    return list(export(reader_of(store), totals)), totals


@settings(max_examples=600)
@given(st.data())
def test_an_export_reproduces_its_graph(data: st.DataObject) -> None:
    store, again = FakeStore(), FakeStore()
    feed(store, data.draw(event_sets()))
    events, totals = exported(store)
    feed(again, events)
    expected, actual = dumped(store), dumped(again)
    assert actual == expected or totals.inexact, differences(expected, actual)


def run_event(time: str, kind: str, **more: Any) -> dict[str, Any]:
    event = {"eventTime": f"2026-01-01T00:00:{time}Z", "eventType": kind, "run": {"runId": "r"}}
    return event | {"job": {"namespace": "ns", "name": "j"}} | more


def test_a_run_is_exported_as_few_events_with_unchanged_facets() -> None:
    store = FakeStore()
    odd = '{"a": 1.50, "b": [null, "\\u00e9"]}'
    start = json.dumps(run_event("01", "START")).replace(
        '{"runId": "r"}', f'{{"runId": "r", "facets": {{"odd": {odd}}}}}'
    )
    end = run_event("09", "COMPLETE", outputs=[{"namespace": "ns", "name": "d", "outputFacets": {"rows": {"n": 1}}}])
    feed(store, [start.encode(), json.dumps(run_event("05", "RUNNING")).encode(), json.dumps(end).encode()])
    events, totals = exported(store)
    assert (totals.runs, totals.events, totals.inexact) == (1, 2, 0)
    exported_events = [json.loads(event) for event in events]
    assert [(event["eventType"], event["eventTime"]) for event in exported_events] == [
        ("START", "2026-01-01T00:00:01.000000Z"),
        ("COMPLETE", "2026-01-01T00:00:09.000000Z"),
    ]
    assert exported_events[1]["outputs"] == end["outputs"]
    assert all(
        event["schemaURL"].endswith("RunEvent") and read_event(line)
        for event, line in zip(exported_events, events, strict=True)
    )


def test_dataset_facets_that_no_run_contains_are_exported_too() -> None:
    store = FakeStore()
    plain = {"eventTime": "2026-01-01T00:00:00Z", "dataset": {"namespace": "ns", "name": "d"}}
    facets = {"dataset": plain["dataset"] | {"facets": {"documentation": {"description": "x"}}}}  # type: ignore[operator]
    feed(
        store,
        [
            json.dumps(plain | facets).encode(),
            json.dumps(plain | {"dataset": {"namespace": "ns", "name": "e"}}).encode(),
        ],
    )
    events, _ = exported(store)
    assert [json.loads(event)["dataset"]["name"] for event in events] == ["d", "e"] or len(events) == 2
    again = FakeStore()
    feed(again, events)
    assert dumped(again) == dumped(store) != dumped(FakeStore())
