"""Laws that hold for any operations: the naive origin relation, independence of order, both ways alike."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.fields import DatasetField, DatasetRef, InputField, Operation, OperationType, resolve_operations
from headwater.fields.cases.notation import wired_json, wired_operation

FIELDS = ["a", "b", "c"]
DATASETS = [DatasetRef("s", "one"), DatasetRef("s", "two"), DatasetRef(None, "three")]


@st.composite
def wired(draw: st.DrawFn) -> list[Operation]:
    """Reads, transforms that take from what is before them, and writes."""
    operations = [
        Operation.read(f"r{number}", draw(st.sampled_from(DATASETS)), draw(st.sets(st.sampled_from(FIELDS))))
        for number in range(draw(st.integers(1, 3)))
    ]
    for number in range(draw(st.integers(0, 7))):
        outputs = draw(st.sets(st.sampled_from(FIELDS)))
        operations.append(Operation.transform(f"t{number}", draw(taken(operations)), outputs))
    writes = [
        Operation.write(f"w{number}", draw(st.sampled_from(DATASETS)), draw(taken(operations)))
        for number in range(draw(st.integers(1, 3)))
    ]
    return operations + writes


def taken(operations: list[Operation]) -> st.SearchStrategy[list[tuple[str | None, str]]]:
    origin = st.sampled_from([operation.name for operation in operations])
    return st.lists(st.tuples(origin, st.sampled_from(FIELDS)), max_size=4)


def naive_sources(link: InputField, operations: dict[str, Operation]) -> set[DatasetField]:
    """The rule as one would say it, recursion and all."""
    assert link.origin is not None
    origin = operations[link.origin]
    if origin.type is OperationType.READ:
        assert origin.dataset is not None
        return {DatasetField(origin.dataset, link.field)}
    return set().union(*(naive_sources(one, operations) for one in origin.inputs))


def naive_incoming(told: Iterable[Operation]) -> dict[DatasetField, set[DatasetField]]:
    operations = {operation.name: operation for operation in told}
    found: dict[DatasetField, set[DatasetField]] = {}
    for operation in operations.values():
        if operation.type is OperationType.WRITE:
            for link in operation.inputs:
                assert operation.dataset is not None
                target = DatasetField(operation.dataset, link.field)
                found.setdefault(target, set()).update(naive_sources(link, operations))
    return found


@settings(max_examples=40, deadline=None)
@given(wired())
def test_the_origin_relation_is_the_naive_one(operations: list[Operation]) -> None:
    assert resolve_operations(operations).incoming == naive_incoming(operations)


@settings(max_examples=40, deadline=None)
@given(wired())
def test_outgoing_is_incoming_the_other_way_round(operations: list[Operation]) -> None:
    lineage = resolve_operations(operations)
    forward = {(source, target) for target, sources in lineage.incoming.items() for source in sources}
    assert forward == {(source, target) for source, targets in lineage.outgoing.items() for target in targets}
    assert all(lineage.outgoing.values())


@settings(max_examples=40, deadline=None)
@given(wired(), st.randoms(use_true_random=False))
def test_the_order_of_operations_and_inputs_changes_nothing(operations: list[Operation], chance: random.Random) -> None:
    shuffled = [
        Operation.transform(one.name, chance.sample(one.inputs, len(one.inputs)), one.outputs)
        if one.type is OperationType.TRANSFORM
        else one
        for one in chance.sample(operations, len(operations))
    ]
    one, other = resolve_operations(operations), resolve_operations(shuffled)
    assert one.fingerprint == other.fingerprint
    assert (one.incoming, one.outgoing, one.dropped) == (other.incoming, other.outgoing, other.dropped)


@settings(max_examples=40, deadline=None)
@given(wired())
def test_a_round_trip_over_json_changes_nothing(operations: list[Operation]) -> None:
    text = json.dumps([wired_json(operation) for operation in operations])
    again = resolve_operations(wired_operation(item) for item in json.loads(text))
    assert again == resolve_operations(operations)


@settings(max_examples=40, deadline=None)
@given(wired())
def test_every_operation_comes_after_its_origins(operations: list[Operation]) -> None:
    ordered = resolve_operations(operations).operations
    place = {operation.name: number for number, operation in enumerate(ordered)}
    assert sorted(place) == sorted(operation.name for operation in operations)
    assert all(place[str(link.origin)] < place[one.name] for one in ordered for link in one.inputs)


@settings(max_examples=40, deadline=None)
@given(wired())
def test_a_source_and_its_destination_share_an_operation(operations: list[Operation]) -> None:
    lineage = resolve_operations(operations)
    for target, sources in lineage.incoming.items():
        led = {one.name for one in lineage.operations_for(target, "incoming")}
        for source in sources:
            assert led & {one.name for one in lineage.operations_for(source, "outgoing")}


@settings(max_examples=40, deadline=None)
@given(wired())
def test_changing_a_name_changes_the_fingerprint(operations: list[Operation]) -> None:
    renamed = [*operations[:-1], Operation.write("other", operations[-1].dataset, operations[-1].inputs)]
    assert resolve_operations(renamed).fingerprint != resolve_operations(operations).fingerprint
