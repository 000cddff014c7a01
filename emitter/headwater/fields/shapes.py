"""Operations of the usual shapes, for programs and stages alike.

Each returns a tuple of operations to record. An input may be a path, an `Input`, or a source's field (``users["id"]``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from .model.field_operations import FieldOperation, Input, OpKind, Output
from .model.paths import PathLike
from .model.wired import OperationType
from .recording.stage import StageField, StageOperation

Item: TypeAlias = "Input | PathLike"
Operations: TypeAlias = tuple[FieldOperation, ...]


def one_to_one(name: str, item: Item, output: PathLike, description: str | None = None) -> Operations:
    """One field made from one."""
    return (FieldOperation(name, [item], [output], description),)


def one_to_all(name: str, item: Item, outputs: Iterable[PathLike], description: str | None = None) -> Operations:
    """One field split into several."""
    return (FieldOperation(name, [item], outputs, description),)


def all_to_one(name: str, inputs: Iterable[Item], output: PathLike, description: str | None = None) -> Operations:
    """Several fields combined into one."""
    return (FieldOperation(name, inputs, [output], description),)


def all_to_all(
    name: str, inputs: Iterable[Item], outputs: Iterable[PathLike], description: str | None = None
) -> Operations:
    """Every input feeds every output."""
    return (FieldOperation(name, inputs, outputs, description),)


def identity(*items: Item) -> Operations:
    """Each field unchanged under its own name."""
    return tuple(
        FieldOperation(f"Identity {item.field}", [item], [item.field], kind=OpKind.IDENTITY)
        for item in map(_input, items)
    )


def one_to_one_each(name: str, items: Iterable[Item], description: str | None = None) -> Operations:
    """Each field made from itself by the same step."""
    return tuple(
        FieldOperation(f"{name} {item.field}", [item], [item.field], description) for item in map(_input, items)
    )


def each_to_some(items: Iterable[Item], outputs: Iterable[PathLike]) -> Operations:
    """Each input that is among the outputs unchanged, each other one dropped."""
    kept = {output.field for output in map(Output.of, outputs)}
    return tuple(
        operation for item in map(_input, items) for operation in (identity(item) if item.field in kept else drop(item))
    )


def rename(item: Item, output: PathLike, description: str | None = None) -> Operations:
    """A field under a new name, its value unchanged."""
    return (FieldOperation(f"Rename {_input(item).field}", [item], [output], description, OpKind.IDENTITY),)


def drop(*items: Item) -> Operations:
    """Fields that end here."""
    return tuple(FieldOperation(f"Drop {item.field}", [item], kind=OpKind.DROP) for item in map(_input, items))


def generate(name: str, *outputs: PathLike, description: str | None = None) -> Operations:
    """Fields made from nothing: a clock, a counter, a constant."""
    return (FieldOperation(name, [], outputs, description, OpKind.GENERATE),)


def mask(name: str, item: Item, output: PathLike, *, removes_tags: Iterable[str] = ()) -> Operations:
    """A field whose original can't be told from the output (a hash, a redaction)."""
    return (FieldOperation(name, [item], [output], kind=OpKind.MASK, removes_tags=removes_tags),)


def aggregate(name: str, inputs: Iterable[Item], outputs: Iterable[PathLike], *, by: Iterable[Item] = ()) -> Operations:
    """An aggregation; the fields grouped by influence the dataset as a whole."""
    grouped = tuple(by)
    made = FieldOperation(name, inputs, outputs, kind=OpKind.AGGREGATE)
    return (made, *influence(OpKind.GROUP, *grouped)) if grouped else (made,)


def influence(kind: OpKind, *items: Item) -> Operations:
    """A filter, sort, group, window or condition: it makes no field and influences them all."""
    return (FieldOperation(kind.value.capitalize(), items, kind=kind),)


@dataclass(frozen=True, slots=True)
class Selected:
    """A field that a join puts out: from which input stage, under which name."""

    stage: str
    field: str
    alias: str | None = None


def join(keys: Mapping[str, Sequence[str]], selected: Iterable[Selected]) -> tuple[StageOperation, ...]:
    """What a joiner records: ``keys`` by input stage, then the fields put out.

    One ``Join`` from all keys to their names; nothing more for a key put out unchanged; else ``Identity stage.field``
    or ``Rename stage.field``, a renamed key being read from the join: ``Rename field``. Names that repeat get the
    new name added.
    """
    operations = joined(keys, selected)
    count = Counter(operation.name for operation in operations)
    return tuple(
        replace(one, name=f"{one.name} as {one.outputs[0]}") if count[one.name] > 1 else one for one in operations
    )


def joined(keys: Mapping[str, Sequence[str]], selected: Iterable[Selected]) -> list[StageOperation]:
    """The operations of a join under the names that CDAP's joiner gives them."""
    pairs = [StageField(key, stage) for stage, names in keys.items() for key in names]
    operations = [
        StageOperation(
            type=OperationType.TRANSFORM,
            name="Join",
            inputs=tuple(dict.fromkeys(pairs)),
            outputs=tuple(dict.fromkeys(pair.field for pair in pairs)),
            kind=OpKind.JOIN,
        )
    ]
    for one in selected:
        is_key = one.field in keys.get(one.stage, ())
        output = one.alias or one.field
        if not (is_key and output == one.field):
            operations.append(_selected(one, output, is_key))
    return operations


def _selected(one: Selected, output: str, is_key: bool) -> StageOperation:
    verb = "Identity" if output == one.field else "Rename"
    item = StageField(one.field) if is_key else StageField(one.field, one.stage)
    text = one.field if is_key else f"{one.stage}.{one.field}"
    return StageOperation(
        type=OperationType.TRANSFORM, name=f"{verb} {text}", inputs=(item,), outputs=(output,), kind=OpKind.IDENTITY
    )


def _input(item: Item) -> Input:
    return item if isinstance(item, Input) else Input.of(item)
