"""Metadata that follows fields: the question that seed 002 leaves open, answered.

1. Off unless an operation says so (``propagate_metadata``). What only influences (filters, the other side's join
   key) and what is dropped hands on nothing; ``removes_tags`` end at the operation that names them.
2. Tags unite. Of properties equal values collapse; different ones are kept, each with the fields it came from, and
   the property is a conflict, unless a policy decides: `FIRST`, `ranked`, `DROP`, `ERROR`.
3. A property set on the destination field itself wins.

Uniting and ranking do not depend on order. `FIRST` follows the order of operations and inputs as recorded, never
that of arrival.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ..model.field_operations import INFLUENCES, DatasetField
from ..model.problems import InvalidLineage, Problem
from ..model.wired import InputField, Operation, OperationType, direct_links
from .lineage import FieldLineage

Origins: TypeAlias = tuple[DatasetField, ...]


@dataclass(frozen=True, slots=True)
class Metadata:
    """What is known of a source field, or set on a destination field: tags, and properties by name."""

    tags: frozenset[str] = frozenset()
    properties: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, *tags: str, **properties: str) -> Metadata:
        return cls(frozenset(tags), properties)


@dataclass(frozen=True, slots=True)
class Policy:
    """What becomes of a property that has different values; ``order`` is the strictest value first."""

    rule: Literal["collect", "first", "ranked", "drop", "error"]
    order: tuple[str, ...] = ()


COLLECT = Policy("collect")
FIRST = Policy("first")
DROP = Policy("drop")
ERROR = Policy("error")


def ranked(*order: str) -> Policy:
    """The value that stands first in this order wins; values that are not in it come last, by name."""
    return Policy("ranked", order)


@dataclass(frozen=True, slots=True)
class FieldMetadata:
    """What a destination field inherits: each tag and value with its origins; ``conflicts`` are properties."""

    tags: Mapping[str, Origins]
    properties: Mapping[str, Mapping[str, Origins]]
    conflicts: tuple[str, ...]


def propagate(
    lineage: FieldLineage,
    known: Mapping[DatasetField, Metadata],
    *,
    on_destination: Mapping[DatasetField, Metadata] | None = None,
    policies: Mapping[str, Policy] | None = None,
    default: Policy = COLLECT,
    untouched: bool = False,
) -> dict[DatasetField, FieldMetadata]:
    """What every destination field inherits; InvalidLineage (``metadata_conflict``) where a policy is `ERROR`.

    ``untouched`` lets the metadata of fields pass that go from a source to the destination without an operation.
    """
    carried = _carried(lineage, known, untouched)
    own = on_destination or {}
    settled, problems = {}, []
    for target in lineage.incoming:
        inherited = _settle(carried.get(target, _Carried()), own.get(target), target, policies or {}, default)
        settled[target] = inherited
        problems += [
            Problem("metadata_conflict", f"{target}", field=name)
            for name in inherited.conflicts
            if (policies or {}).get(name, default) == ERROR
        ]
    if problems:
        raise InvalidLineage(problems)
    return settled


_Found: TypeAlias = dict[str, dict[DatasetField, None]]


@dataclass(slots=True)
class _Carried:
    tags: _Found = field(default_factory=dict)
    properties: dict[str, _Found] = field(default_factory=dict)

    def unite(self, other: _Carried, without: Iterable[str] = ()) -> None:
        for tag, origins in other.tags.items():
            if tag not in without:
                self.tags.setdefault(tag, {}).update(origins)
        for name, values in other.properties.items():
            mine = self.properties.setdefault(name, {})
            for value, origins in values.items():
                mine.setdefault(value, {}).update(origins)


def _carried(
    lineage: FieldLineage, known: Mapping[DatasetField, Metadata], untouched: bool
) -> dict[DatasetField, _Carried]:
    by_id = {operation.id: operation for operation in lineage.operations}
    made: dict[tuple[str, str | None], _Carried] = {}
    arrived: dict[DatasetField, _Carried] = {}

    def of(link: InputField, told: bool) -> _Carried:
        origin = by_id.get(link.origin) if link.origin is not None else None
        if origin is None or origin.type is OperationType.WRITE:
            return _Carried()
        if origin.dataset is None:
            return made.get((origin.id, _part(origin, link.field)), _Carried())
        source = DatasetField(origin.dataset, link.field)
        return _known(source, known) if told or untouched else _Carried()

    for operation in lineage.operations:
        if operation.type is OperationType.WRITE and operation.dataset is not None:
            for link in operation.inputs:
                arrived.setdefault(DatasetField(operation.dataset, link.field), _Carried()).unite(of(link, False))
        elif operation.type is OperationType.TRANSFORM and operation.propagate_metadata:
            for part in operation.outputs if operation.kind in INFLUENCES else (None,):
                united = made[operation.id, part] = _Carried()
                for link in operation.inputs if part is None else direct_links(operation, part):
                    united.unite(of(link, not operation.implicit), operation.removes_tags)
    return arrived


def _part(operation: Operation, name: str) -> str | None:
    return name if operation.kind in INFLUENCES else None


def _known(source: DatasetField, known: Mapping[DatasetField, Metadata]) -> _Carried:
    told = known.get(source, Metadata())
    return _Carried(
        {tag: {source: None} for tag in sorted(told.tags)},
        {name: {value: {source: None}} for name, value in told.properties.items()},
    )


def _settle(
    carried: _Carried,
    own: Metadata | None,
    target: DatasetField,
    policies: Mapping[str, Policy],
    default: Policy,
) -> FieldMetadata:
    tags = {tag: tuple(origins) for tag, origins in carried.tags.items()}
    properties = {name: _decided(values, policies.get(name, default)) for name, values in carried.properties.items()}
    if own is not None:
        tags |= {tag: (*tags.get(tag, ()), target) for tag in sorted(own.tags)}
        properties |= {name: {value: (target,)} for name, value in own.properties.items()}
    return FieldMetadata(
        tags=dict(sorted(tags.items())),
        properties={name: values for name, values in sorted(properties.items()) if values},
        conflicts=tuple(sorted(name for name, values in properties.items() if len(values) > 1)),
    )


def _decided(values: _Found, policy: Policy) -> dict[str, Origins]:
    told = {value: tuple(origins) for value, origins in values.items()}
    if len(told) < 2 or policy.rule in ("collect", "error"):
        return told
    match policy.rule:
        case "first":
            chosen = next(iter(told))
        case "ranked":
            rank = {value: place for place, value in enumerate(policy.order)}
            chosen = min(told, key=lambda value: (rank.get(value, len(rank)), value))
        case _:
            return {}
    return {chosen: told[chosen]}
