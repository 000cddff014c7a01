"""Resolve wired operations into field lineage.

Theory of operation. An operation is a hyperedge: all its inputs feed all its outputs, so a set of sources belongs to the
operation and not to a single output.

1. An input whose origin is a read has one source: the field of that name in the dataset that is read, even if the read
   does not list the field. An input whose origin is a transform has the sources of the transform, even if the
   transform does not list the field.
2. The sources of a destination field are the union over all writes of that name to that dataset.
3. A transform without inputs generates fields: they have no sources. A transform without outputs drops its inputs: its
   sources are marked as dropped and can still reach destinations through other operations.

In topological order, the sources of all origins are known when an operation is processed, so one pass suffices. A set
of sources is an integer with one bit per source field: a union is a single operation, however wide the tables are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from ..model.field_operations import DatasetField, DatasetRef, Destination, Source
from ..model.problems import InvalidLineage, ProblemCode
from ..model.wired import READ, TRANSFORM, WRITE, InputField, Operation, faults, predecessors
from .fingerprint import fingerprint
from .lineage import FieldLineage, FieldSet, bits
from .operation_index import OperationIndex
from .order import topological

_BLOCKING: frozenset[ProblemCode] = frozenset({"cycle", "repeated_name", "null_source", "null_destination"})


def resolve_operations(
    operations: Iterable[Operation],
    *,
    strict: bool = True,
    sources: Mapping[DatasetRef, Source] | None = None,
    destinations: Mapping[DatasetRef, Destination] | None = None,
) -> FieldLineage:
    """Return the field lineage of wired operations, given in any order.

    Raises InvalidLineage with all faults. With ``strict=False``, faults that only make the lineage incomplete (no read,
    no write, unknown origins: such inputs have no sources) are returned in ``problems`` instead; cycles, repeated names
    and missing datasets always raise.
    """
    recorded = tuple(operations)
    found = tuple(faults(recorded))
    if found and (strict or any(problem.code in _BLOCKING for problem in found)):
        raise InvalidLineage(found)
    by_id = {operation.id: operation for operation in recorded}
    ordered = tuple(by_id[name] for name in topological(predecessors(recorded)))
    origins = OriginRelation(ordered)
    incoming = origins.incoming()
    return FieldLineage(
        operations=ordered,
        destination_fields=_fields_by_dataset(incoming),
        incoming=incoming,
        outgoing=origins.outgoing(),
        dropped=origins.dropped(),
        fingerprint=fingerprint(ordered),
        operation_index=OperationIndex(ordered),
        problems=found,
        sources=sources,
        destinations=destinations,
    )


class OriginRelation:
    """The set of source fields of each operation, for operations in topological order."""

    def __init__(self, ordered: Sequence[Operation]) -> None:
        self._ordered = ordered
        self._by_id = {operation.id: operation for operation in ordered}
        self._reads = {operation.id for operation in ordered if operation.type is READ}
        self._positions: dict[DatasetField, int] = {}
        self._sources_of: dict[str, int] = {}
        self._field_sets: dict[int, FieldSet] = {}
        for operation in ordered:
            self._sources_of[operation.id] = self._union(operation.inputs)
        self._fields = tuple(self._positions)
        self._written = self._written_fields()

    def incoming(self) -> dict[DatasetField, FieldSet]:
        """Return the sources of each destination field."""
        return {target: self._field_set(mask) for target, mask in self._written.items()}

    def outgoing(self) -> dict[DatasetField, FieldSet]:
        """Return the destination fields that each source field reaches."""
        # Destination fields with equal sources are handled together: wide tables mostly have few different sets.
        groups: dict[int, list[DatasetField]] = defaultdict(list)
        for target, mask in self._written.items():
            groups[mask].append(target)
        reached: dict[int, set[DatasetField]] = defaultdict(set)
        for mask, group in groups.items():
            for position in bits(mask):
                reached[position].update(group)
        return {self._fields[position]: frozenset(group) for position, group in sorted(reached.items())}

    def dropped(self) -> FieldSet:
        """Return the sources of all operations that drop their inputs."""
        mask = 0
        for operation in self._ordered:
            if operation.drops:
                mask |= self._sources_of[operation.id]
        return self._field_set(mask)

    def _written_fields(self) -> dict[DatasetField, int]:
        written: dict[DatasetField, int] = {}
        for operation in self._ordered:
            if operation.type is WRITE and operation.dataset is not None:
                for link in operation.inputs:
                    target = DatasetField(operation.dataset, link.field)
                    written[target] = written.get(target, 0) | self._sources(link)
        return written

    def _union(self, links: Iterable[InputField]) -> int:
        mask = 0
        done = set()
        for link in links:
            if link.origin not in done:
                mask |= self._sources(link)
                if link.origin not in self._reads:
                    done.add(link.origin)
        return mask

    def _sources(self, link: InputField) -> int:
        origin = self._by_id.get(link.origin) if link.origin is not None else None
        if origin is None or origin.type is WRITE:
            return 0
        if origin.type is TRANSFORM or origin.dataset is None:
            return self._sources_of[origin.id]
        return 1 << self._positions.setdefault(DatasetField(origin.dataset, link.field), len(self._positions))

    def _field_set(self, mask: int) -> FieldSet:
        if mask not in self._field_sets:
            self._field_sets[mask] = frozenset(self._fields[position] for position in bits(mask))
        return self._field_sets[mask]


def _fields_by_dataset(fields: Iterable[DatasetField]) -> dict[DatasetRef, frozenset[str]]:
    grouped: dict[DatasetRef, set[str]] = defaultdict(set)
    for field in fields:
        grouped[field.dataset].add(field.field)
    return {dataset: frozenset(names) for dataset, names in grouped.items()}
