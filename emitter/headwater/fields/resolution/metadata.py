"""Propagation of metadata from source fields to destination fields.

1. Metadata propagates only through operations that declare it (``propagate_metadata``). Inputs that only influence
   (filters, the other side's key of a join) and dropped inputs pass nothing on. Tags in ``removes_tags`` end at the
   operation that lists them.
2. Tags are united. Of properties, equal values become one; different values are all retained, each with the fields it
   came from, and the property is a conflict, unless a policy resolves it: ``FIRST``, ``ranked``, ``DROP``, ``ERROR``.
3. A property that is set on the destination field itself takes precedence.

The result does not depend on order, except under ``FIRST``: it follows the order in which operations and inputs are
recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ..model.field_operations import DatasetField
from ..model.problems import InvalidLineage, Problem
from ..model.wired import TRANSFORM, WRITE, InputField
from .columns import links_of, part_of, parts_of
from .lineage import FieldLineage

Origins: TypeAlias = tuple[DatasetField, ...]


@dataclass(frozen=True, slots=True)
class Metadata:
    """The metadata of a source field, or set on a destination field: tags, and properties by name."""

    tags: frozenset[str] = frozenset()
    properties: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, *tags: str, **properties: str) -> Metadata:
        """Return metadata with these tags and properties."""
        return cls(frozenset(tags), properties)


@dataclass(frozen=True, slots=True)
class Policy:
    """The rule for a property with different values; ``order`` has the preferred value first."""

    rule: Literal["collect", "first", "ranked", "drop", "error"]
    order: tuple[str, ...] = ()


COLLECT = Policy("collect")
FIRST = Policy("first")
DROP = Policy("drop")
ERROR = Policy("error")


def ranked(*order: str) -> Policy:
    """Return the policy that selects the first value in this order; values that are not listed rank last, by name."""
    return Policy("ranked", order)


@dataclass(frozen=True, slots=True)
class FieldMetadata:
    """The metadata that a destination field inherits: tags and values with their origins, and properties in conflict."""

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
    """Return the metadata that every destination field inherits from the ``known`` metadata of source fields.

    ``policies`` are by property; ``default`` applies to all others. ``untouched`` also propagates to fields that reach
    the destination without an operation. Raises InvalidLineage (``metadata_conflict``) for conflicts under ``ERROR``.
    """
    collected = _collected(lineage, known, untouched)
    own, rules = on_destination or {}, policies or {}
    result, problems = {}, []
    for target in lineage.incoming:
        inherited = _field_metadata(collected.get(target, {}), own.get(target), target, rules, default)
        result[target] = inherited
        problems += [
            Problem("metadata_conflict", f"{target}", field=name)
            for name in inherited.conflicts
            if rules.get(name, default) == ERROR
        ]
    if problems:
        raise InvalidLineage(problems)
    return result


_Collected: TypeAlias = dict[tuple[str | None, str], dict[DatasetField, None]]
"""The origins of each (None, tag) and each (property, value)."""


def _collected(
    lineage: FieldLineage, known: Mapping[DatasetField, Metadata], untouched: bool
) -> dict[DatasetField, _Collected]:
    by_id = {operation.id: operation for operation in lineage.operations}
    outputs: dict[tuple[str, str | None], _Collected] = {}
    arrived: dict[DatasetField, _Collected] = {}

    def of(link: InputField, recorded: bool) -> _Collected:
        origin = by_id.get(link.origin) if link.origin is not None else None
        if origin is None or origin.type is WRITE:
            return {}
        if origin.dataset is None:
            return outputs.get((origin.id, part_of(origin, link.field)), {})
        source = DatasetField(origin.dataset, link.field)
        return _of_source(source, known) if recorded or untouched else {}

    for operation in lineage.operations:
        if operation.type is WRITE and operation.dataset is not None:
            for link in operation.inputs:
                target = DatasetField(operation.dataset, link.field)
                _unite(arrived.setdefault(target, {}), of(link, recorded=False))
        elif operation.type is TRANSFORM and operation.propagate_metadata:
            for part in parts_of(operation):
                united = outputs[operation.id, part] = {}
                for link in links_of(operation, part):
                    _unite(united, of(link, recorded=not operation.implicit), operation.removes_tags)
    return arrived


def _unite(collected: _Collected, other: _Collected, removed_tags: Iterable[str] = ()) -> None:
    for (name, value), origins in other.items():
        if name is not None or value not in removed_tags:
            collected.setdefault((name, value), {}).update(origins)


def _of_source(source: DatasetField, known: Mapping[DatasetField, Metadata]) -> _Collected:
    metadata = known.get(source, Metadata())
    tags = [(None, tag) for tag in sorted(metadata.tags)]
    return {key: {source: None} for key in (*tags, *metadata.properties.items())}


def _field_metadata(
    collected: _Collected,
    own: Metadata | None,
    target: DatasetField,
    policies: Mapping[str, Policy],
    default: Policy,
) -> FieldMetadata:
    values: dict[str | None, dict[str, Origins]] = {}
    for (name, value), origins in collected.items():
        values.setdefault(name, {})[value] = tuple(origins)
    tags = values.pop(None, {})
    properties = {
        name: _decided(found, policies.get(name, default)) for name, found in values.items() if name is not None
    }
    if own is not None:
        tags |= {tag: (*tags.get(tag, ()), target) for tag in sorted(own.tags)}
        properties |= {name: {value: (target,)} for name, value in own.properties.items()}
    return FieldMetadata(
        tags=dict(sorted(tags.items())),
        properties={name: values for name, values in sorted(properties.items()) if values},
        conflicts=tuple(sorted(name for name, values in properties.items() if len(values) > 1)),
    )


def _decided(candidates: dict[str, Origins], policy: Policy) -> dict[str, Origins]:
    if len(candidates) < 2 or policy.rule in ("collect", "error"):
        return candidates
    match policy.rule:
        case "first":
            chosen = next(iter(candidates))
        case "ranked":
            rank = {value: position for position, value in enumerate(policy.order)}
            chosen = min(candidates, key=lambda value: (rank.get(value, len(rank)), value))
        case _:
            return {}
    return {chosen: candidates[chosen]}
