"""Field lineage in OpenLineage's terms, by shape of operation."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.fields import (
    Columns,
    Destination,
    FieldOperation,
    Input,
    OpKind,
    Pipeline,
    Source,
    columns,
    resolve,
    resolve_operations,
)
from headwater.fields.cases import answer
from headwater.fields.shapes import Selected, aggregate, influence, join, mask, rename
from headwater_avro.errors import ConfigError

from .wiring import dataset, read, transform, write

ShortInfluence = tuple[str, str, str | None, bool]


def resolved_columns(*operations: dict[str, Any], **more: Any) -> dict[str, Any]:
    return answer({"level": "openlineage", "operations": list(operations), **more})


def item(where: str, subtype: str, **more: Any) -> dict[str, Any]:
    name, _, column = where.partition("#")
    kind = "DIRECT" if subtype in ("IDENTITY", "TRANSFORMATION", "AGGREGATION") else "INDIRECT"
    return {"dataset": name, "field": column, "type": kind, "subtype": subtype, **more}


def influences_on(found: Columns, column: str) -> list[ShortInfluence]:
    return [
        (str(influence.source), influence.subtype, influence.description, influence.masking)
        for influence in found.fields[column]
    ]


@pytest.mark.parametrize(
    ("operation", "fields", "influences"),
    [
        (
            {"kind": "identity", "name": "keep", "inputs": ["s#a"], "outputs": ["a"]},
            {"a": [item("s#a", "IDENTITY")]},
            [],
        ),
        (
            {"kind": "rename", "name": "Rename a", "inputs": ["s#a"], "outputs": ["b"]},
            {"b": [item("s#a", "IDENTITY", description="Rename a")]},
            [],
        ),
        (
            {"kind": "combine", "inputs": ["s#a", "s#b"], "outputs": ["c", "d"]},
            {name: [item("s#a", "TRANSFORMATION"), item("s#b", "TRANSFORMATION")] for name in "cd"},
            [],
        ),
        ({"inputs": ["s#a"], "outputs": ["c"]}, {"c": [item("s#a", "TRANSFORMATION")]}, []),
        (
            {"kind": "aggregate", "inputs": ["s#v"], "outputs": ["sum"], "group_by": ["s#k"]},
            {"sum": [item("s#v", "AGGREGATION")]},
            [item("s#k", "GROUP_BY")],
        ),
        ({"kind": "filter", "inputs": ["s#a"], "outputs": []}, {}, [item("s#a", "FILTER")]),
        ({"kind": "sort", "inputs": ["s#a"], "outputs": []}, {}, [item("s#a", "SORT")]),
        ({"kind": "group", "inputs": ["s#a"], "outputs": []}, {}, [item("s#a", "GROUP_BY")]),
        ({"kind": "condition", "inputs": ["s#a"], "outputs": []}, {}, [item("s#a", "CONDITIONAL")]),
        ({"kind": "window", "inputs": ["s#a"], "outputs": ["rank"]}, {"rank": []}, [item("s#a", "WINDOW")]),
        ({"kind": "drop", "inputs": ["s#a"], "outputs": []}, {}, []),
        ({"kind": "generate", "inputs": [], "outputs": ["now"]}, {"now": []}, []),
        (
            {"kind": "mask", "inputs": ["s#ssn"], "outputs": ["hash"]},
            {"hash": [item("s#ssn", "TRANSFORMATION", masking=True)]},
            [],
        ),
        (
            {"kind": "join", "inputs": ["l#k", "r#j"], "outputs": ["key"], "from": "r"},
            {"key": [item("r#j", "IDENTITY")]},
            [item("l#k", "JOIN"), item("r#j", "JOIN")],
        ),
        (
            {"kind": "join", "inputs": ["l#k", "l#m", "r#k", "r#m"], "outputs": ["m", "k"], "from": "l"},
            {"k": [item("l#k", "IDENTITY")], "m": [item("l#m", "IDENTITY")]},
            [item("l#k", "JOIN"), item("l#m", "JOIN"), item("r#k", "JOIN"), item("r#m", "JOIN")],
        ),
        (
            {"kind": "join", "inputs": ["l#k", "r#k2"], "outputs": ["k", "k2"]},
            {"k": [item("l#k", "IDENTITY")], "k2": [item("r#k2", "IDENTITY")]},
            [item("l#k", "JOIN"), item("r#k2", "JOIN")],
        ),
    ],
)
def test_single_operations(operation: dict[str, Any], fields: dict[str, Any], influences: list[Any]) -> None:
    single = answer({"level": "openlineage", "operation": operation})
    assert single == {"fields": fields, "dataset": influences}


def test_a_chain_is_as_strong_as_its_strongest_step_and_describes_all_steps() -> None:
    found = resolved_columns(
        {"kind": "identity", "name": "load", "inputs": ["s#a"], "outputs": ["x"]},
        {"kind": "mask", "name": "hash", "inputs": ["x"], "outputs": ["y"]},
        {"kind": "aggregate", "name": "count", "inputs": ["y"], "outputs": ["n"]},
        {"kind": "identity", "name": "store", "inputs": ["n"], "outputs": ["total"]},
        destination_schema=["total"],
    )
    steps = "load -> hash -> count -> store"
    assert found["fields"] == {"total": [item("s#a", "AGGREGATION", description=steps, masking=True)]}


def test_a_filter_on_a_derived_field_comes_from_its_sources() -> None:
    found = resolved_columns(
        {"kind": "transform", "inputs": ["s#raw", "t#raw"], "outputs": ["age"]},
        {"kind": "filter", "inputs": ["age"]},
    )
    assert found["dataset"] == [item("s#raw", "FILTER"), item("t#raw", "FILTER")]


def test_two_chains_between_two_fields_are_two_transformations() -> None:
    s = Source.of("s")
    operations = [
        FieldOperation("lower", [s["a"]], ["x"], description="to lower case"),
        FieldOperation("same", [s["a"]], ["y"], kind=OpKind.IDENTITY),
        FieldOperation("same", [s["a"]], ["y"], kind=OpKind.IDENTITY),
        FieldOperation("both", ["x", "y"], ["z"]),
    ]
    found = columns(resolve(operations, Destination.of("d")), dataset("d"))
    assert influences_on(found, "z") == [
        ("s#a", "TRANSFORMATION", "lower: to lower case -> both", False),
        ("s#a", "TRANSFORMATION", "same -> both", False),
    ]


def test_too_many_chains_have_no_description() -> None:
    stages = [read("t0", "s:t", "a b"), *(transform(f"t{n}", f"t{n - 1}.a t{n - 1}.b", "a b") for n in range(1, 30))]
    wide = [transform(f"u{n}{side}", f"u{n - 1}0.a u{n - 1}1.a", "a") for n in range(1, 20) for side in (0, 1)]
    start = [transform("u00", "t0.a", "a"), transform("u01", "t0.b", "a")]
    lineage = resolve_operations([*stages, *start, *wide, write("w", "d:t", "u190.a t29.b")])
    found = columns(lineage, dataset("d:t"))
    assert influences_on(found, "a") == [
        ("s:t#a", "TRANSFORMATION", None, False),
        ("s:t#b", "TRANSFORMATION", None, False),
    ]


def test_long_descriptions_are_truncated() -> None:
    s = Source.of("s")
    operations = [FieldOperation("x" * 700, [s["a"]], ["x"]), FieldOperation("y" * 700, ["x"], ["x"])]
    (influence,) = columns(resolve(operations, Destination.of("d")), dataset("d")).fields["x"]
    assert influence.description is not None
    assert len(influence.description) == 1000
    assert influence.description.endswith("y…")


def test_shapes_carry_their_kinds() -> None:
    s = Source.of("s")
    operations = [
        *rename(s["a"], "b"),
        *mask("hash", s["c"], "c"),
        *aggregate("sum", [s["v"]], ["total"], by=[s["k"]]),
        *influence(OpKind.FILTER, s["a"]),
    ]
    found = columns(resolve(operations, Destination.of("d")), dataset("d"))
    assert influences_on(found, "b") == [("s#a", "IDENTITY", "Rename a", False)]
    assert influences_on(found, "c") == [("s#c", "TRANSFORMATION", "hash", True)]
    assert influences_on(found, "total") == [("s#v", "AGGREGATION", "sum", False)]
    assert [(str(influence.source), influence.subtype) for influence in found.dataset] == [
        ("s#a", "FILTER"),
        ("s#k", "GROUP_BY"),
    ]


def join_pipeline() -> Pipeline:
    pipeline = Pipeline()
    pipeline.stage("cust", source=Source.of("s", "customer"), output_schema=["id", "name"])
    pipeline.stage("buy", source=Source.of("s", "purchase"), output_schema=["cust_id", "item"])
    joiner = pipeline.stage("j", inputs=["cust", "buy"], joiner=True)
    joiner.record(
        join({"cust": ["id"], "buy": ["cust_id"]}, [Selected("cust", "id"), Selected("buy", "item", "thing")])
    )
    return pipeline


def test_a_join_key_has_the_value_of_its_own_side() -> None:
    pipeline = join_pipeline()
    pipeline.stage("w", inputs=["j"], destination=Destination.of("d", "t", schema=["id", "thing"]))
    lineage = pipeline.resolve()
    found = columns(lineage, dataset("d:t"))
    assert influences_on(found, "id") == [("s:customer#id", "IDENTITY", "j.Join", False)]
    assert influences_on(found, "thing") == [("s:purchase#item", "IDENTITY", "j.Rename buy.item", False)]
    assert [(str(influence.source), influence.subtype) for influence in found.dataset] == [
        ("s:customer#id", "JOIN"),
        ("s:purchase#cust_id", "JOIN"),
    ]


def test_a_filter_influences_only_datasets_downstream_of_its_stage() -> None:
    pipeline = Pipeline()
    pipeline.stage("a", source=Source.of("s", "t"), output_schema=["x", "y"])
    pipeline.stage("f", inputs=["a"]).record(influence(OpKind.FILTER, Input.of("x")))
    pipeline.stage("few", inputs=["f"], destination=Destination.of("d", "few"))
    pipeline.stage("all", inputs=["a"], destination=Destination.of("d", "all"))
    lineage = pipeline.resolve()
    assert [influence.subtype for influence in columns(lineage, dataset("d:few")).dataset] == ["FILTER"]
    assert columns(lineage, dataset("d:all")).dataset == ()


def test_a_merge_of_branches_is_not_a_step_in_the_description() -> None:
    pipeline = Pipeline()
    for name in ("a", "b"):
        pipeline.stage(name, source=Source.of("s", name), output_schema=["x"])
    pipeline.stage("w", inputs=["a", "b"], destination=Destination.of("d", "t"))
    found = columns(pipeline.resolve(), dataset("d:t"))
    assert influences_on(found, "x") == [("s:a#x", "IDENTITY", None, False), ("s:b#x", "IDENTITY", None, False)]


def test_an_unknown_kind_is_a_usage_error() -> None:
    with pytest.raises(ConfigError, match="not a kind"):
        resolved_columns({"kind": "frobnicate", "inputs": [], "outputs": []})
