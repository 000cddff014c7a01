"""Propagation of metadata along fields: what propagates, what is united, what takes precedence."""

from __future__ import annotations

from itertools import permutations

import pytest

from headwater.fields import (
    DROP,
    ERROR,
    FIRST,
    Destination,
    FieldLineage,
    FieldOperation,
    InvalidLineage,
    Metadata,
    OpKind,
    Pipeline,
    Policy,
    Source,
    propagate,
    ranked,
    resolve,
)
from headwater.fields.shapes import drop

from .wiring import field

S, D = Source.of("s"), Destination.of("d")
KNOWN = {
    field("s#a"): Metadata.of("pii", level="secret", owner="ann"),
    field("s#b"): Metadata.of("gdpr", level="public", owner="ann"),
}
LEVEL = "level"


def combined(*inputs: str, propagates: bool = True) -> FieldLineage:
    return resolve([FieldOperation("mix", [S[name] for name in inputs], ["x"], propagate_metadata=propagates)], D)


def levels(lineage: FieldLineage, policy: Policy) -> list[str]:
    inherited = propagate(lineage, KNOWN, policies={LEVEL: policy})[field("d#x")]
    return list(inherited.properties.get(LEVEL, {}))


def test_nothing_propagates_unless_the_operation_says_so() -> None:
    inherited = propagate(combined("a", "b", propagates=False), KNOWN)[field("d#x")]
    assert (inherited.tags, inherited.properties) == ({}, {})


def test_the_builder_switches_it_on() -> None:
    operation = FieldOperation.builder("mix").add_input(S["a"]).add_output("x").with_metadata_propagation_enabled()
    assert set(propagate(resolve([operation.build()], D), KNOWN)[field("d#x")].tags) == {"pii"}


def test_tags_unite_and_equal_values_collapse() -> None:
    inherited = propagate(combined("a", "b"), KNOWN)[field("d#x")]
    assert inherited.tags == {"gdpr": (field("s#b"),), "pii": (field("s#a"),)}
    assert inherited.properties["owner"] == {"ann": (field("s#a"), field("s#b"))}


def test_different_values_are_retained_with_their_origins_and_reported() -> None:
    inherited = propagate(combined("a", "b"), KNOWN)[field("d#x")]
    assert inherited.properties[LEVEL] == {"secret": (field("s#a"),), "public": (field("s#b"),)}
    assert inherited.conflicts == (LEVEL,)


@pytest.mark.parametrize("inputs", list(permutations("ab")))
def test_policies(inputs: tuple[str, ...]) -> None:
    lineage = combined(*inputs)
    assert levels(lineage, ranked("secret", "public")) == ["secret"]
    assert levels(lineage, ranked("public")) == ["public"]
    assert levels(lineage, ranked()) == ["public"]
    assert levels(lineage, DROP) == []
    assert levels(lineage, FIRST) == ["secret" if inputs[0] == "a" else "public"]
    with pytest.raises(InvalidLineage) as caught:
        levels(lineage, ERROR)
    assert (caught.value.kind, caught.value.culprits) == ("metadata_conflict", ("d#x",))


def test_a_value_set_on_the_destination_takes_precedence() -> None:
    own = {field("d#x"): Metadata.of("checked", level="internal")}
    inherited = propagate(combined("a", "b"), KNOWN, on_destination=own, policies={LEVEL: ERROR})[field("d#x")]
    assert inherited.properties[LEVEL] == {"internal": (field("d#x"),)}
    assert set(inherited.tags) == {"checked", "gdpr", "pii"}
    assert inherited.conflicts == ()


def test_drops_and_filters_propagate_nothing() -> None:
    operations = [
        FieldOperation("mix", [S["a"]], ["x"], propagate_metadata=True),
        FieldOperation("filter", [S["b"]], kind=OpKind.FILTER, propagate_metadata=True),
        *drop(S["b"]),
    ]
    assert set(propagate(resolve(operations, D), KNOWN)[field("d#x")].tags) == {"pii"}


def test_a_join_propagates_the_metadata_of_the_side_of_the_value() -> None:
    left, right = Source.of("l"), Source.of("r")
    join = FieldOperation(
        "join", [left["k"], right["k"]], ["k"], kind=OpKind.JOIN, value_from="l", propagate_metadata=True
    )
    known = {field("l#k"): Metadata.of("left"), field("r#k"): Metadata.of("right")}
    assert set(propagate(resolve([join], D), known)[field("d#k")].tags) == {"left"}


def test_masking_removes_tags() -> None:
    hashed = FieldOperation("hash", [S["a"], S["b"]], ["x"], kind="mask", propagate_metadata=True, removes_tags=["pii"])
    assert set(propagate(resolve([hashed], D), KNOWN)[field("d#x")].tags) == {"gdpr"}


def test_fields_without_operations_propagate_metadata_only_on_request() -> None:
    lineage = resolve([], Destination.of("d", schema=["a"]), sources=[S], implicit_identity=True)
    assert propagate(lineage, KNOWN)[field("d#a")].tags == {}
    assert set(propagate(lineage, KNOWN, untouched=True)[field("d#a")].tags) == {"pii"}


def test_propagation_can_be_enabled_for_a_stage() -> None:
    pipeline = Pipeline()
    pipeline.stage("a", source=Source.of("s"), output_schema=["a"])
    stage = pipeline.stage("b", inputs=["a"])
    stage.record([FieldOperation("up", ["a"], ["x"])])
    pipeline.stage("w", inputs=["b"], destination=Destination.of("d", schema=["x"]))
    assert propagate(pipeline.resolve(), KNOWN)[field("d#x")].tags == {}
    stage.propagate_metadata()
    assert set(propagate(pipeline.resolve(), KNOWN)[field("d#x")].tags) == {"pii"}


def test_metadata_propagates_only_if_every_operation_of_the_chain_declares_it() -> None:
    first = FieldOperation("one", [S["a"]], ["x"], propagate_metadata=True)
    silent = FieldOperation("two", ["x"], ["x"])
    last = FieldOperation("three", ["x"], ["x"], propagate_metadata=True)
    assert set(propagate(resolve([first, last], D), KNOWN)[field("d#x")].tags) == {"pii"}
    assert propagate(resolve([first, silent, last], D), KNOWN)[field("d#x")].tags == {}
