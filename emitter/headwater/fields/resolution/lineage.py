"""The answer: which source fields reach which destination fields, and by which operations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ..model.field_operations import DatasetField, DatasetRef, Destination, Source
from ..model.problems import Problem
from ..model.wired import Operation, OperationType
from .operation_index import Touches

Direction: TypeAlias = Literal["incoming", "outgoing"]
FieldSet: TypeAlias = frozenset[DatasetField]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldLineage:
    """Field lineage resolved; a value made by `resolve_operations`, `resolve` or `Pipeline.resolve`.

    ``incoming`` has every destination field, with an empty set where it is made from nothing; ``outgoing`` has
    only source fields that reach a destination; ``dropped`` are source fields of which some derivative was
    dropped. ``operations`` are in topological order. ``problems`` are what a lenient resolution passed over.
    ``fingerprint`` is the SHA-256 (hex) of the operations, whatever order they were told in.
    """

    operations: tuple[Operation, ...]
    destination_fields: Mapping[DatasetRef, frozenset[str]]
    incoming: Mapping[DatasetField, FieldSet]
    outgoing: Mapping[DatasetField, FieldSet]
    dropped: FieldSet
    fingerprint: str
    touches: Touches = field(compare=False, repr=False)
    problems: tuple[Problem, ...] = ()
    sources: Mapping[DatasetRef, Source] | None = None
    destinations: Mapping[DatasetRef, Destination] | None = None

    @property
    def source_fields(self) -> FieldSet:
        """Every field that is read: told by a read, or taken from one."""
        return frozenset(self.touches.readers)

    def operations_for(self, target: DatasetField, direction: Direction = "incoming") -> tuple[Operation, ...]:
        """The operations that touched a field, in topological order.

        ``incoming``: the writes of a destination field and all that led to them, through all inputs of each
        operation. ``outgoing``: the reads of a source field, what takes the field itself, and all behind that.
        Empty for a field that nobody mentions.
        """
        starts = self.touches.writers if direction == "incoming" else self.touches.readers
        touched = starts.get(target, 0)
        return tuple(self.operations[place] for place in bits(touched))


def bits(number: int) -> list[int]:
    """The places of the ones in a number, lowest first."""
    places = []
    while number:
        lowest = number & -number
        places.append(lowest.bit_length() - 1)
        number ^= lowest
    return places


def ends(operations: tuple[Operation, ...], kind: OperationType) -> list[DatasetRef]:
    """The datasets that reads or writes name, each once, in the operations' order."""
    return list(
        dict.fromkeys(
            operation.dataset for operation in operations if operation.type is kind and operation.dataset is not None
        )
    )
