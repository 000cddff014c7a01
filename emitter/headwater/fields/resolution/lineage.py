"""``FieldLineage``: which source fields reach which destination fields, and by which operations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ..model.field_operations import DatasetField, DatasetRef, Destination, Source, distinct
from ..model.problems import Problem
from ..model.wired import Operation, OperationType
from .operation_index import OperationIndex

Direction: TypeAlias = Literal["incoming", "outgoing"]
FieldSet: TypeAlias = frozenset[DatasetField]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldLineage:
    """Resolved field lineage, as ``resolve_operations``, ``resolve`` and ``Pipeline.resolve`` return it.

    ``incoming`` has every destination field, with an empty set if the field is generated. ``outgoing`` has only the
    source fields that reach a destination. ``dropped`` are the source fields of which a derived field was dropped.
    ``operations`` are in topological order. ``problems`` are the faults that a lenient resolution tolerated.
    ``fingerprint`` is the SHA-256 (hex) of the operations and independent of the order in which they were recorded.
    """

    operations: tuple[Operation, ...]
    destination_fields: Mapping[DatasetRef, frozenset[str]]
    incoming: Mapping[DatasetField, FieldSet]
    outgoing: Mapping[DatasetField, FieldSet]
    dropped: FieldSet
    fingerprint: str
    operation_index: OperationIndex = field(compare=False, repr=False)
    problems: tuple[Problem, ...] = ()
    sources: Mapping[DatasetRef, Source] | None = None
    destinations: Mapping[DatasetRef, Destination] | None = None

    @property
    def source_fields(self) -> FieldSet:
        """Every source field: the outputs of reads, and the fields that operations take from reads."""
        return frozenset(self.operation_index.by_source)

    def operations_for(self, target: DatasetField, direction: Direction = "incoming") -> tuple[Operation, ...]:
        """Return the operations that concern a field, in topological order.

        ``incoming``: the writes of a destination field and all operations upstream of them, through all inputs.
        ``outgoing``: the reads of a source field, the operations that take the field, and all downstream of these.
        Empty for an unknown field.
        """
        index = self.operation_index
        masks = index.by_destination if direction == "incoming" else index.by_source
        return tuple(self.operations[position] for position in bits(masks.get(target, 0)))


def bits(mask: int) -> list[int]:
    """Return the positions of the bits that are set in a mask, lowest first."""
    positions = []
    while mask:
        lowest = mask & -mask
        positions.append(lowest.bit_length() - 1)
        mask ^= lowest
    return positions


def datasets(operations: tuple[Operation, ...], kind: OperationType) -> tuple[DatasetRef, ...]:
    """Return the datasets of the reads or of the writes, each once, in the order of the operations."""
    return distinct(item.dataset for item in operations if item.type is kind and item.dataset is not None)
