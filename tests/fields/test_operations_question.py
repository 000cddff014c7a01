"""The query for the operations of a field: their selection, and the traversal from writer to writer, on given answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from headwater.fields import (
    DatasetRef,
    Destination,
    FieldLineage,
    FieldOperation,
    MemoryRun,
    OpKind,
    Pipeline,
    Source,
    apply,
    resolve,
)
from headwater.fields.shapes import drop, generate, influence
from headwater_avro.names import Key
from headwater_graph.queries.answers import Node
from headwater_graph.queries.catalog.finding import NotFound
from headwater_graph.queries.fields.field_operations_facet import derivation_of, operations_in
from headwater_graph.queries.fields.operations import OperationsAnswer, field_operations, find_field
from headwater_graph.queries.keys import dataset_node_key
from headwater_graph.queries.lineage.scope import TraversalLimits
from headwater_graph.queries.presentation.operation_texts import operations_text
from headwater_graph.queries.reader import Row
from headwater_graph.rules.coalesce import Coalescer

from ..given_answers import GivenAnswers

RAW, MID, OUT = Source.of("n", "raw"), Source.of("n", "mid"), Source.of("n", "out")


def recorded_run(lineage: FieldLineage) -> MemoryRun:
    run = MemoryRun()
    apply(lineage, run)
    return run


def program(source: Source, destination: Source, *operations: FieldOperation) -> FieldLineage:
    return resolve(operations, Destination.of("n", destination.name), sources=[source])


FIRST = program(
    RAW,
    MID,
    FieldOperation("Split", [RAW["line"]], ["a", "b"]),
    FieldOperation("Upper", ["a"], ["a"], description="louder"),
    FieldOperation("Dotted", [RAW[r"v\.1"]], [r"v\.2"]),
    *generate("Now", "at"),
    *drop(RAW["junk"]),
)
SECOND = program(MID, OUT, FieldOperation("Copy", [MID["a"]], ["x"]), FieldOperation("Clock", [MID["at"]], ["t"]))


def names(lineage: FieldLineage, dataset: Key, *columns: str) -> list[str]:
    ((_, facets),) = [recorded_run(lineage).attached[dataset]]
    operations = operations_in(json.loads(json.dumps(facets)))
    assert operations is not None
    return [item.name for item in derivation_of(operations, dataset, frozenset(columns)).operations]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (["a"], ["read raw", "Split", "Upper", "write mid"]),
        (["b"], ["read raw", "Split", "write mid"]),
        (["at"], ["Now", "write mid"]),
        (["v.2"], ["read raw", "Dotted", "write mid"]),
        (["b", "at"], ["read raw", "Split", "Now", "write mid"]),
        (["nobody"], []),
    ],
)
def test_the_operations_of_a_column_are_found_upstream_through_the_wiring(
    columns: list[str], expected: list[str]
) -> None:
    assert names(FIRST, ("n", "mid"), *columns) == expected


def test_an_influence_applies_to_every_field_of_the_datasets_that_it_reaches_only() -> None:
    pipeline = Pipeline()
    pipeline.stage("in", source=Source.of("n", "raw"), output_schema=["k", "v"])
    pipeline.stage("few", inputs=["in"]).record(influence(OpKind.FILTER, "k"))
    pipeline.stage("small", inputs=["few"], destination=Destination.of("n", "small", schema=["v"]))
    pipeline.stage("whole", inputs=["in"], destination=Destination.of("n", "whole", schema=["v"]))
    lineage = pipeline.resolve()
    assert names(lineage, ("n", "small"), "v") == ["in.read", "few.Filter", "small.write"]
    assert names(lineage, ("n", "whole"), "v") == ["in.read", "whole.write"]


@dataclass
class Graph:
    """A graph of runs, each of a job that wrote a dataset; newest first."""

    runs: dict[Key, list[Row]] = field(default_factory=dict)
    attached: dict[str, str] = field(default_factory=dict)
    aliases: list[tuple[Key, Key]] = field(default_factory=list)

    def ran(self, job: str, lineage: FieldLineage | None, *, state: str = "COMPLETE", inline: bool = False) -> Graph:
        run = MemoryRun() if lineage is None else recorded_run(lineage)
        output = next(iter(run.outputs), ("n", "mid"))
        facets: Mapping[str, Any] = run.outputs.get(output, {})
        if inline:
            facets = {**facets, **run.attached[output][1]}
        for (_, name), whole in () if inline else run.attached.values():
            self.attached[name] = json.dumps(whole)
        number = sum(map(len, self.runs.values()))
        row: dict[str, Any] = {"namespace": "n", "name": job, "id": f"run-{number}", "state": state}
        row |= {"lastEventAt": datetime(2026, 1, 1, tzinfo=UTC), "record": _record(output, facets)}
        self.runs.setdefault(output, []).insert(0, row)
        return self

    def reader(self) -> GivenAnswers:
        known = {dataset_node_key(*key): key for key in [*self.runs, ("n", "raw"), ("n", "late")]}
        whole = {dataset_node_key("urn:headwater:field-operations", name): text for name, text in self.attached.items()}

        def last_runs(datasets: list[str], failed: bool, limit: int, window: int) -> list[Row]:
            rows = [row for key in datasets for row in self.runs.get(known.get(key, ("", "")), ())]
            chosen = [row for row in rows if (row["state"] == "FAIL") == failed]
            assert limit <= window
            return sorted(chosen[:limit], key=lambda row: str(row["name"]))

        def aliases(keys: list[str], rows: int) -> list[Row]:
            both = [*self.aliases, *((b, a) for a, b in self.aliases)]
            found: list[Row] = [{"namespace": b[0], "name": b[1]} for a, b in both if dataset_node_key(*a) in keys]
            return found[:rows]

        def by_key(keys: list[str]) -> list[Row]:
            return [{"key": key, "namespace": known[key][0], "name": known[key][1]} for key in keys if key in known]

        return GivenAnswers(
            {
                "runs/last_of_writers": last_runs,
                "catalog/dataset_facets": lambda key: [{"facets": whole[key]}] if key in whole else [],
                "lineage/aliases": aliases,
                "find/dataset_by_key": by_key,
            }
        )

    def query(self, name: str, *columns: str, **limits: Any) -> OperationsAnswer:
        node = Node(dataset_node_key("n", name), "dataset", ("n", name))
        return field_operations(self.reader(), node, columns, TraversalLimits(**limits))


def _record(output: Key, facets: Mapping[str, Any]) -> bytes:
    event = {
        "eventTime": "2026-01-01T00:00:00Z",
        "eventType": "COMPLETE",
        "run": {"runId": "r"},
        "job": {"namespace": "n", "name": "j"},
        "outputs": [{"namespace": output[0], "name": output[1], "facets": facets}],
    }
    coalescer = Coalescer()
    coalescer.add(json.dumps(event).encode())
    (row,) = [row for row in coalescer.rows() if row[0] == "run"]
    return row[2]


def steps(answer: OperationsAnswer) -> list[tuple[int, str, tuple[str, ...], list[str]]]:
    return [
        (item.depth, item.run, item.columns, [operation.name for operation in item.operations]) for item in answer.steps
    ]


def test_the_traversal_continues_with_the_columns_that_were_read() -> None:
    answer = Graph().ran("first", FIRST).ran("second", SECOND).query("out", "x")
    assert steps(answer) == [
        (1, "run-1", ("x",), ["read mid", "Copy", "write out"]),
        (2, "run-0", ("a",), ["read raw", "Split", "Upper", "write mid"]),
    ]
    assert answer.value()["complete"]
    assert "      Upper      a → a  (louder)" in operations_text(answer).splitlines()


def test_all_columns_by_default_and_truncation_by_depth_is_reported() -> None:
    answer = Graph().ran("first", FIRST).ran("second", SECOND).query("out", depth=1)
    assert [item.columns for item in answer.steps] == [("t", "x")]
    assert not answer.value()["complete"]
    assert operations_text(answer).splitlines()[-1].startswith("cut: depth")


def test_the_last_run_with_operations_that_did_not_fail_is_used() -> None:
    graph = Graph().ran("first", SECOND, state="FAIL").ran("first", FIRST).ran("first", FIRST, state="FAIL")
    assert [item.run for item in graph.ran("first", None).query("mid", "b").steps] == ["run-1"]
    assert [item.run for item in graph.query("out", "x", depth=1).steps] == ["run-0"]


def test_all_writers_are_followed_and_cycles_end() -> None:
    back = program(OUT, MID, FieldOperation("Back", [OUT["x"]], ["a"]))
    answer = Graph().ran("first", FIRST).ran("second", SECOND).ran("third", back).query("mid", "a")
    assert [(item.depth, item.job[1]) for item in answer.steps] == [(1, "first"), (1, "third"), (2, "second")]


def test_another_name_of_the_dataset_costs_no_depth() -> None:
    graph = Graph(aliases=[(("n", "late"), ("n", "mid"))]).ran("first", FIRST)
    assert steps(graph.query("late", "at")) == [(1, "run-0", ("at",), ["Now", "write mid"])]


def test_operations_in_the_facet_of_the_run_are_read_and_truncated_sets_are_returned_whole() -> None:
    assert [item.run for item in Graph().ran("first", FIRST, inline=True).query("mid", "b").steps] == ["run-0"]
    whole = {"fingerprint": "f", "cut": "too many", "operations": [{"id": "1", "type": "read", "name": "r"}]}
    found = operations_in({"headwater_fieldOperations": whole})
    assert found is not None
    assert [item.name for item in derivation_of(found, ("n", "mid"), frozenset({"a"})).operations] == ["r"]


@pytest.mark.parametrize("facet", [None, [], {"fingerprint": 1}, {"fingerprint": "f", "operations": [{"id": "x"}]}])
def test_a_facet_of_another_form_has_no_operations(facet: object) -> None:
    assert operations_in({"headwater_fieldOperations": facet}) is None


def test_without_reported_operations_the_answer_is_not_found() -> None:
    graph = Graph().ran("first", FIRST)
    with pytest.raises(NotFound, match="nobody of n mid"):
        graph.query("mid", "nobody")
    graph.attached.clear()
    with pytest.raises(NotFound, match="no run reports operations"):
        graph.query("mid", "a")


@pytest.mark.parametrize(
    ("arguments", "columns", "expected"),
    [
        (("n", "mid"), (), ("mid", ())),
        (("n", "mid", "a"), (), ("mid", ("a",))),
        (("n#mid",), (), ("mid", ())),
        (("n#mid#a",), (), ("mid", ("a",))),
        (("n#mid", "a"), (), ("mid", ("a",))),
        (("n", "mid"), ("a", "b"), ("mid", ("a", "b"))),
    ],
)
def test_a_field_is_written_after_its_dataset(
    arguments: tuple[str, ...], columns: tuple[str, ...], expected: tuple[str, tuple[str, ...]]
) -> None:
    node, found = find_field(Graph().ran("first", FIRST).reader(), arguments, columns)
    assert (node.name[1], found) == expected


def test_an_unknown_field_is_reported_as_it_was_written() -> None:
    with pytest.raises(NotFound, match="nowhere#a"):
        find_field(Graph().reader(), ("nowhere#a",))


def test_two_destinations_of_a_program_share_their_operations() -> None:
    pipeline = Pipeline()
    pipeline.stage("in", source=Source.of("n", "raw"), output_schema=["k"])
    for name in ("one", "two"):
        pipeline.stage(name, inputs=["in"], destination=Destination.of("n", name))
    run = recorded_run(pipeline.resolve())
    assert run.attached["n", "one"] == run.attached["n", "two"]
    assert DatasetRef("n", "one") in pipeline.resolve().destination_fields
