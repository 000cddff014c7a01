"""The rule of field lineage (seed 002; the form that CDAP shipped), on wired operations.

1. An operation is a hyper-edge: all its inputs feed all its outputs, so sources belong to the operation.
2. An input whose origin is a read has one source: that dataset's field of the same name, told by the read or not.
   An input whose origin is a transform has the transform's sources, whether the transform tells that field or not.
3. The sources of a written field are united over all writes of that name into that dataset.
4. A transform without inputs makes fields from nothing: they have no sources. One without outputs drops: its
   sources are marked dropped, and may reach destinations by other ways.

Sets of sources are integers, one bit a source field: a union is one machine operation however wide the tables.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from ..model.field_operations import DatasetField, DatasetRef, Destination, Source
from ..model.problems import InvalidLineage, Problem, ProblemCode
from ..model.wired import InputField, Operation, OperationType, faults, predecessors
from .fingerprint import fingerprint
from .lineage import FieldLineage, FieldSet, bits
from .operation_index import Touches
from .order import topological

TRANSFORM, WRITE = OperationType.TRANSFORM, OperationType.WRITE
_BLOCKING: frozenset[ProblemCode] = frozenset({"cycle", "repeated_name", "null_source", "null_destination"})


def resolve_operations(
    operations: Iterable[Operation],
    *,
    strict: bool = True,
    problems: Iterable[Problem] = (),
    sources: Mapping[DatasetRef, Source] | None = None,
    destinations: Mapping[DatasetRef, Destination] | None = None,
) -> FieldLineage:
    """Resolve wired operations, told in any order; InvalidLineage with every fault.

    ``strict=False`` lets pass what only makes the lineage incomplete (no read, no write, unknown origins: such
    inputs have no sources) and keeps it in ``problems``; cycles, repeated names and missing datasets always raise.
    """
    told = tuple(operations)
    found = [*problems, *faults(told)]
    if found and (strict or any(problem.code in _BLOCKING for problem in found)):
        raise InvalidLineage(found)
    return _resolve(told, tuple(found), sources, destinations)


def _resolve(
    told: Sequence[Operation],
    problems: tuple[Problem, ...],
    sources: Mapping[DatasetRef, Source] | None,
    destinations: Mapping[DatasetRef, Destination] | None,
) -> FieldLineage:
    by_id = {operation.id: operation for operation in told}
    ordered = tuple(by_id[name] for name in topological(predecessors(told)))
    reach = Reach(ordered)
    incoming = reach.incoming()
    return FieldLineage(
        operations=ordered,
        destination_fields=_fields_by_dataset(incoming),
        incoming=incoming,
        outgoing=reach.outgoing(),
        dropped=reach.dropped(),
        fingerprint=fingerprint(ordered),
        touches=Touches(ordered),
        problems=problems,
        sources=sources,
        destinations=destinations,
    )


class Reach:
    """The origin relation of operations in topological order: for each operation the set of its source fields."""

    def __init__(self, ordered: Sequence[Operation]) -> None:
        self._ordered = ordered
        self._by_id = {operation.id: operation for operation in ordered}
        self._reads = {operation.id for operation in ordered if operation.type is OperationType.READ}
        self._places: dict[DatasetField, int] = {}
        self._of: dict[str, int] = {}
        self._sets: dict[int, FieldSet] = {}
        for operation in ordered:
            self._of[operation.id] = self._united(operation.inputs)
        self._fields = tuple(self._places)
        self._written = self._writes()

    def incoming(self) -> dict[DatasetField, FieldSet]:
        return {written: self._rendered(mask) for written, mask in self._written.items()}

    def outgoing(self) -> dict[DatasetField, FieldSet]:
        # Destination fields with equal sources are handled together: wide tables mostly have few different sets.
        together: dict[int, list[DatasetField]] = defaultdict(list)
        for written, mask in self._written.items():
            together[mask].append(written)
        reached: dict[int, set[DatasetField]] = defaultdict(set)
        for mask, group in together.items():
            for place in bits(mask):
                reached[place].update(group)
        return {self._fields[place]: frozenset(group) for place, group in sorted(reached.items())}

    def dropped(self) -> FieldSet:
        mask = 0
        for operation in self._ordered:
            if operation.drops:
                mask |= self._of[operation.id]
        return self._rendered(mask)

    def _writes(self) -> dict[DatasetField, int]:
        written: dict[DatasetField, int] = {}
        for operation in self._ordered:
            if operation.type is WRITE and operation.dataset is not None:
                for link in operation.inputs:
                    target = DatasetField(operation.dataset, link.field)
                    written[target] = written.get(target, 0) | self._sources(link)
        return written

    def _united(self, links: Iterable[InputField]) -> int:
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
            return self._of[origin.id]
        return 1 << self._places.setdefault(DatasetField(origin.dataset, link.field), len(self._places))

    def _rendered(self, mask: int) -> FieldSet:
        if mask not in self._sets:
            self._sets[mask] = frozenset(self._fields[place] for place in bits(mask))
        return self._sets[mask]


def _fields_by_dataset(fields: Iterable[DatasetField]) -> dict[DatasetRef, frozenset[str]]:
    grouped: dict[DatasetRef, set[str]] = defaultdict(set)
    for one in fields:
        grouped[one.dataset].add(one.field)
    return {dataset: frozenset(names) for dataset, names in grouped.items()}
