"""Properties of any operations: the naive origin relation, independence of order, equality of both directions."""

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
    """Draw reads, transforms with inputs from earlier operations, and writes."""
    operations = [
        Operation.read(f"r{number}", draw(st.sampled_from(DATASETS)), draw(st.sets(st.sampled_from(FIELDS))))
        for number in range(draw(st.integers(1, 3)))
    ]
    for number in range(draw(st.integers(0, 7))):
        outputs = draw(st.sets(st.sampled_from(FIELDS)))
        operations.append(Operation.transform(f"t{number}", draw(drawn_links(operations)), outputs))
    writes = [
        Operation.write(f"w{number}", draw(st.sampled_from(DATASETS)), draw(drawn_links(operations)))
        for number in range(draw(st.integers(1, 3)))
    ]
    return operations + writes


def drawn_links(operations: list[Operation]) -> st.SearchStrategy[list[tuple[str | None, str]]]:
    origin = st.sampled_from([operation.name for operation in operations])
    return st.lists(st.tuples(origin, st.sampled_from(FIELDS)), max_size=4)


def naive_sources(link: InputField, operations: dict[str, Operation]) -> set[DatasetField]:
    """Return the sources by plain recursion."""
    assert link.origin is not None
    origin = operations[link.origin]
    if origin.type is OperationType.READ:
        assert origin.dataset is not None
        return {DatasetField(origin.dataset, link.field)}
    return set().union(*(naive_sources(item, operations) for item in origin.inputs))


def naive_incoming(recorded: Iterable[Operation]) -> dict[DatasetField, set[DatasetField]]:
    operations = {operation.name: operation for operation in recorded}
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
def test_the_origin_relation_equals_the_naive_one(operations: list[Operation]) -> None:
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
        Operation.transform(item.name, chance.sample(item.inputs, len(item.inputs)), item.outputs)
        if item.type is OperationType.TRANSFORM
        else item
        for item in chance.sample(operations, len(operations))
    ]
    first, second = resolve_operations(operations), resolve_operations(shuffled)
    assert first.fingerprint == second.fingerprint
    assert (first.incoming, first.outgoing, first.dropped) == (second.incoming, second.outgoing, second.dropped)


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
    assert all(place[str(link.origin)] < place[item.name] for item in ordered for link in item.inputs)


@settings(max_examples=40, deadline=None)
@given(wired())
def test_a_source_and_its_destination_share_an_operation(operations: list[Operation]) -> None:
    lineage = resolve_operations(operations)
    for target, sources in lineage.incoming.items():
        led = {item.name for item in lineage.operations_for(target, "incoming")}
        for source in sources:
            assert led & {item.name for item in lineage.operations_for(source, "outgoing")}


@settings(max_examples=40, deadline=None)
@given(wired())
def test_changing_a_name_changes_the_fingerprint(operations: list[Operation]) -> None:
    renamed = [*operations[:-1], Operation.write("other", operations[-1].dataset, operations[-1].inputs)]
    assert resolve_operations(renamed).fingerprint != resolve_operations(operations).fingerprint
