"""Events that are too large are reduced: parts move into further events, and removed parts are listed."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.transport.preparation.columns import compact, reduce_columns
from headwater.transport.preparation.size_budget import fit
from headwater.transport.wire import to_json

from .conftest import MakeTransport
from .events import MemoryBroker, run_event

LIMIT = 100_000


def edge(field: str, kind: str = "DIRECT", dataset: str = "in") -> dict[str, Any]:
    return {"namespace": "n", "name": dataset, "field": field, "transformations": [{"type": kind, "subtype": "X"}]}


def columns(fields: int, inputs: int) -> dict[str, Any]:
    return {"fields": {f"c{n}": {"inputFields": [edge(f"f{k}") for k in range(inputs)]} for n in range(fields)}}


def output(name: str, **facets: Any) -> dict[str, Any]:
    return {"namespace": "n", "name": name, "facets": facets}


def merged(parts: list[dict[str, Any]]) -> dict[str, dict[tuple[str, str], dict[str, Any]]]:
    """Return the datasets and their facets over the events of one run, as specification 2.2 and 2.3 merge them."""
    sides: dict[str, dict[tuple[str, str], dict[str, Any]]] = {"inputs": {}, "outputs": {}}
    for part in parts:
        for side, datasets in sides.items():
            for dataset in part.get(side, ()):
                datasets.setdefault((dataset["namespace"], dataset["name"]), {}).update(dataset.get("facets", {}))
    return sides


def done(parts: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(entry["path"], entry["done"]) for entry in parts[0]["run"]["facets"]["headwater_cut"]["cut"]]


def test_an_event_that_fits_is_unchanged() -> None:
    event = run_event("r", "COMPLETE", outputs=[output("o", columnLineage=columns(3, 3))])
    before = copy.deepcopy(event)
    assert fit(event, LIMIT) == [before]


def test_column_lineage_moves_into_further_events_of_the_run() -> None:
    event = run_event("r", "COMPLETE", outputs=[output(f"o{n}", columnLineage=columns(100, 5)) for n in range(5)])
    expected = merged([copy.deepcopy(event)])
    parts = fit(event, LIMIT)
    assert len(parts) > 2
    assert all(len(to_json(part)) <= LIMIT for part in parts)
    assert merged(parts) == expected
    same = {(part["eventType"], part["eventTime"], part["run"]["runId"], part["job"]["name"]) for part in parts}
    assert same == {("COMPLETE", "2024-01-01T00:00:00Z", "r", "j")}
    assert done(parts) == [(f"/outputs/{n}/facets/columnLineage", "moved") for n in range(5)]


def test_many_datasets_move_into_further_events_of_the_run() -> None:
    schema = {"fields": [{"name": f"c{n}", "type": "string"} for n in range(20)]}
    inputs = [output(f"i{n}", schema=schema) for n in range(500)]
    event = run_event("r", inputs=inputs, outputs=[output("o", schema=schema, columnLineage=columns(20, 5))])
    expected = merged([copy.deepcopy(event)])
    parts = fit(event, LIMIT)
    assert merged(parts) == expected
    assert all(len(to_json(part)) <= LIMIT for part in parts)


def test_debug_facets_are_removed_first() -> None:
    facets = {"debug": {"text": "x" * 90_000}, "spark.logicalPlan": {"plan": "y" * 20_000}}
    event = run_event("r", run={"runId": "r", "facets": facets}, outputs=[output("o", columnLineage=columns(10, 2))])
    parts = fit(event, LIMIT)
    assert len(parts) == 1
    assert done(parts) == [("/run/facets/debug", "removed")]
    assert "columnLineage" in parts[0]["outputs"][0]["facets"]


def test_the_end_of_a_stack_trace_and_the_beginning_of_a_query_remain() -> None:
    error = {"message": "no", "programmingLanguage": "PYTHON", "stackTrace": "a" * 80_000 + "the cause"}
    job = {"namespace": "n", "name": "j", "facets": {"sql": {"query": "SELECT 1" + " " * 80_000}}}
    (part,) = fit(run_event("r", "FAIL", run={"runId": "r", "facets": {"errorMessage": error}}, job=job), LIMIT)
    assert part["run"]["facets"]["errorMessage"]["stackTrace"].endswith("the cause")
    assert part["job"]["facets"]["sql"]["query"].startswith("SELECT 1")
    assert done([part]) == [
        ("/run/facets/errorMessage/stackTrace", "shortened"),
        ("/job/facets/sql/query", "shortened"),
    ]


def test_custom_facets_are_removed_before_those_of_openlineage() -> None:
    facets = {"parent": {"run": {"runId": "p"}}, "a/b": {"x": "x" * 60_000}, "tags": {"tags": ["y" * 60_000]}}
    (part,) = fit(run_event("r", run={"runId": "r", "facets": facets}), LIMIT)
    assert set(part["run"]["facets"]) == {"parent", "tags", "headwater_cut"}
    assert done([part]) == [("/run/facets/a~1b", "removed")]


def test_a_reduced_dataset_event_lists_the_changes() -> None:
    facets = {"own": {"x": "x" * 200_000}, "schema": {"fields": []}}
    (part,) = fit({"eventTime": "t", "dataset": {"namespace": "n", "name": "d", "facets": facets}}, LIMIT)
    assert set(part["dataset"]["facets"]) == {"schema", "headwater_cut"}


def test_a_job_event_is_reduced_and_not_split() -> None:
    outputs = [output(f"o{n}", columnLineage=columns(100, 5)) for n in range(5)]
    (part,) = fit({"eventTime": "t", "job": {"namespace": "n", "name": "j"}, "outputs": outputs}, LIMIT)
    assert len(to_json(part)) <= LIMIT
    assert len(part["outputs"]) == 5
    assert "headwater_cut" in part["job"]["facets"]


def test_a_report_is_bounded() -> None:
    parts = fit(run_event("r", inputs=[output(f"i{n}" * 50) for n in range(3000)]), LIMIT)
    report = parts[0]["run"]["facets"]["headwater_cut"]
    assert (len(report["cut"]), report["more"]) == (100, 2900)
    assert all(len(to_json(part)) <= LIMIT for part in parts)


def test_a_facet_that_is_too_large_is_made_compact_first() -> None:
    facet = columns(300, 1)
    for field in facet["fields"].values():
        field["inputFields"] += [edge(f"w{n}", "INDIRECT") for n in range(10)]
    (main, part) = fit(run_event("r", outputs=[output("o", columnLineage=facet)]), LIMIT)
    remaining = part["outputs"][0]["facets"]["columnLineage"]
    assert len(remaining["fields"]) == 300
    assert len(remaining["dataset"]) == 10
    assert done([main])[-1] == ("/outputs/0/facets/columnLineage", "made compact")


def test_a_compact_facet_that_is_too_large_loses_its_last_fields() -> None:
    (main, part) = fit(run_event("r", outputs=[output("o", columnLineage=columns(1000, 5))]), LIMIT)
    remaining = part["outputs"][0]["facets"]["columnLineage"]["fields"]
    assert list(remaining) == [f"c{n}" for n in range(len(remaining))]
    assert 50 < len(remaining) < 1000
    assert done([main])[-1] == ("/outputs/0/facets/columnLineage", f"{1000 - len(remaining)} of 1000 fields removed")


def edges(facet: dict[str, Any]) -> set[str]:
    """Return the edges by specification 6.5: an INDIRECT edge of every field (two at least) is an edge of ``*``."""
    inputs = {name: field["inputFields"] for name, field in facet["fields"].items()}
    found = {(name, e) for name, items in inputs.items() for item in items for e in _single(item)}
    found |= {("*", e) for item in facet.get("dataset", ()) for e in _single(item)}
    fields = {name for name, _ in found if name != "*"}
    for _, e in list(found):
        everywhere = len(fields) > 1 and all((name, e) in found for name in fields)
        if '"INDIRECT"' in e and (everywhere or ("*", e) in found):
            found = {(name, other) for name, other in found if other != e} | {("*", e)}
    return {f"{name} {e}" for name, e in found}


def _single(item: dict[str, Any]) -> list[str]:
    listed = item.get("transformations") or [None]
    source = {key: item[key] for key in ("namespace", "name", "field")}
    return [json.dumps(source | {"by": transformation}) for transformation in listed]


facets = st.dictionaries(
    st.sampled_from("abc"),
    st.lists(st.builds(edge, st.sampled_from("xy"), st.sampled_from(["DIRECT", "INDIRECT"])), max_size=3),
    max_size=3,
).map(lambda fields: {"fields": {name: {"inputFields": items} for name, items in fields.items()}})


@settings(max_examples=200, deadline=None)
@given(facets)
def test_the_compact_form_has_the_same_edges(facet: dict[str, Any]) -> None:
    assert edges(compact(copy.deepcopy(facet))) == edges(facet)


@pytest.mark.parametrize(
    "facet", [{}, {"fields": None}, {"fields": {"a": 1, "b": {"inputFields": [3]}}}, {"fields": []}]
)
def test_malformed_facets_are_unchanged(facet: dict[str, Any]) -> None:
    assert compact(facet) == facet
    assert reduce_columns(facet, 1)[0] is not None


def test_a_reduced_event_is_counted(make_transport: MakeTransport) -> None:
    broker = MemoryBroker()
    transport = make_transport(lambda _: broker, max_event_bytes=LIMIT)
    transport.emit(run_event("r", outputs=[output(f"o{n}", columnLineage=columns(100, 5)) for n in range(5)]))
    assert transport.close(5)
    assert transport.counters().cut == 1
    assert {message.key for message in broker.received} == {b"r"}
    assert max(len(message.value) for message in broker.received) <= LIMIT
