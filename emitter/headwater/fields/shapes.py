"""Functions that return the operations of common shapes, for programs and stages.

Each returns a tuple of operations to record. An input is a path, an ``Input``, or a field of a source (``users["id"]``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from .model.field_operations import FieldOperation, Input, OpKind, Output, distinct
from .model.paths import PathLike
from .model.wired import TRANSFORM
from .recording.stage import StageField, StageOperation, stage_field_text

Item: TypeAlias = "Input | PathLike"
Operations: TypeAlias = tuple[FieldOperation, ...]


def one_to_one(name: str, item: Item, output: PathLike, description: str | None = None) -> Operations:
    """Return the operation that makes a field from another."""
    return (FieldOperation(name, [item], [output], description),)


def one_to_all(name: str, item: Item, outputs: Iterable[PathLike], description: str | None = None) -> Operations:
    """Return the operation that splits a field into several."""
    return (FieldOperation(name, [item], outputs, description),)


def all_to_one(name: str, inputs: Iterable[Item], output: PathLike, description: str | None = None) -> Operations:
    """Return the operation that combines several fields."""
    return (FieldOperation(name, inputs, [output], description),)


def all_to_all(
    name: str, inputs: Iterable[Item], outputs: Iterable[PathLike], description: str | None = None
) -> Operations:
    """Return an operation in which every input feeds every output."""
    return (FieldOperation(name, inputs, outputs, description),)


def identity(*items: Item) -> Operations:
    """Return one operation for each field that passes it unchanged."""
    return tuple(
        FieldOperation(f"Identity {item.field}", [item], [item.field], kind=OpKind.IDENTITY)
        for item in map(_input, items)
    )


def one_to_one_each(name: str, items: Iterable[Item], description: str | None = None) -> Operations:
    """Return one operation for each field that replaces it, all by the same step."""
    return tuple(
        FieldOperation(f"{name} {item.field}", [item], [item.field], description) for item in map(_input, items)
    )


def each_to_some(items: Iterable[Item], outputs: Iterable[PathLike]) -> Operations:
    """Return the operations that pass the inputs among the outputs unchanged and drop all others."""
    passed = {output.field for output in map(Output.of, outputs)}
    return tuple(
        operation
        for item in map(_input, items)
        for operation in (identity(item) if item.field in passed else drop(item))
    )


def rename(item: Item, output: PathLike, description: str | None = None) -> Operations:
    """Return the operation that renames a field and preserves its value."""
    return (FieldOperation(f"Rename {_input(item).field}", [item], [output], description, OpKind.IDENTITY),)


def drop(*items: Item) -> Operations:
    """Return the operations that drop fields."""
    return tuple(FieldOperation(f"Drop {item.field}", [item], kind=OpKind.DROP) for item in map(_input, items))


def generate(name: str, *outputs: PathLike, description: str | None = None) -> Operations:
    """Return the operation that generates fields: from a clock, a counter, a constant."""
    return (FieldOperation(name, [], outputs, description, OpKind.GENERATE),)


def mask(name: str, item: Item, output: PathLike, *, removes_tags: Iterable[str] = ()) -> Operations:
    """Return the operation that masks a field, so that the output doesn't reveal its value (a hash, a redaction)."""
    return (FieldOperation(name, [item], [output], kind=OpKind.MASK, removes_tags=removes_tags),)


def aggregate(name: str, inputs: Iterable[Item], outputs: Iterable[PathLike], *, by: Iterable[Item] = ()) -> Operations:
    """Return an aggregation; the fields in ``by`` influence the dataset as a whole."""
    grouped = tuple(by)
    made = FieldOperation(name, inputs, outputs, kind=OpKind.AGGREGATE)
    return (made, *influence(OpKind.GROUP, *grouped)) if grouped else (made,)


def influence(kind: OpKind, *items: Item) -> Operations:
    """Return a filter, sort, group, window or condition: it outputs no fields and influences the whole dataset."""
    return (FieldOperation(kind.value.capitalize(), items, kind=kind),)


@dataclass(frozen=True, slots=True)
class Selected:
    """An output field of a join: its input stage, its name there, and its new name if it is renamed."""

    stage: str
    field: str
    alias: str | None = None


def join(keys: Mapping[str, Sequence[str]], selected: Iterable[Selected]) -> tuple[StageOperation, ...]:
    """Return the operations of a joiner with these ``keys`` by input stage and these output fields.

    These are one ``Join`` from all keys to their names, nothing else for a key that is output unchanged, ``Rename field``
    for a renamed key, and ``Identity stage.field`` or ``Rename stage.field`` for all other fields. To names that repeat,
    the new name is added.
    """
    operations = join_operations(keys, selected)
    count = Counter(operation.name for operation in operations)
    return tuple(
        replace(item, name=f"{item.name} as {item.outputs[0]}") if count[item.name] > 1 else item for item in operations
    )


def join_operations(keys: Mapping[str, Sequence[str]], selected: Iterable[Selected]) -> list[StageOperation]:
    """Return the operations of a join under the names that CDAP's joiner uses."""
    pairs = [StageField(key, stage) for stage, names in keys.items() for key in names]
    operations = [
        StageOperation(
            type=TRANSFORM,
            name="Join",
            inputs=distinct(pairs),
            outputs=distinct(pair.field for pair in pairs),
            kind=OpKind.JOIN,
        )
    ]
    for item in selected:
        is_key = item.field in keys.get(item.stage, ())
        output = item.alias or item.field
        if not (is_key and output == item.field):
            operations.append(_select_operation(item, output, is_key))
    return operations


def _select_operation(selected: Selected, output: str, is_key: bool) -> StageOperation:
    verb = "Identity" if output == selected.field else "Rename"
    item = StageField(selected.field, None if is_key else selected.stage)
    name = f"{verb} {stage_field_text(item)}"
    return StageOperation(type=TRANSFORM, name=name, inputs=(item,), outputs=(output,), kind=OpKind.IDENTITY)


def _input(item: Item) -> Input:
    return item if isinstance(item, Input) else Input.of(item)
