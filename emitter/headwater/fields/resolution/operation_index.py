"""Index from fields to operations, computed on first use: most lineages are only sent and never queried."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from ..model.field_operations import DatasetField
from ..model.wired import READ, WRITE, Operation, predecessors
from .order import successors


class OperationIndex:
    """The operations that concern each written and each read field.

    A set of operations is an integer: bit n stands for operation n in topological order.
    """

    def __init__(self, ordered: Sequence[Operation]) -> None:
        self._ordered = ordered
        self._position = {operation.id: number for number, operation in enumerate(ordered)}

    @cached_property
    def by_destination(self) -> Mapping[DatasetField, int]:
        """For each destination field its writes and all operations upstream of them, through all inputs."""
        needed = {link.origin for write in self._writes() for link in write.inputs}
        upstream = self._closures(self._ordered, self._before, self._after, needed.__contains__)
        found: dict[DatasetField, int] = defaultdict(int)
        for write in self._writes():
            for link in write.inputs:
                assert write.dataset is not None
                origins = upstream.get(link.origin, 0) if link.origin else 0
                found[DatasetField(write.dataset, link.field)] |= 1 << self._position[write.id] | origins
        return found

    @cached_property
    def by_source(self) -> Mapping[DatasetField, int]:
        """For each source field its reads, the operations that take the field, and all downstream of these."""
        reads = {item.id: item.dataset for item in self._ordered if item.type is READ and item.dataset}
        readers = {item.id for item in self._ordered if any(link.origin in reads for link in item.inputs)}
        downstream = self._closures(reversed(self._ordered), self._after, self._before, readers.__contains__)
        found: dict[DatasetField, int] = defaultdict(int)
        for operation in self._ordered:
            if operation.id in reads:
                for name in operation.outputs:
                    found[DatasetField(reads[operation.id], name)] |= 1 << self._position[operation.id]
            for link in operation.inputs:
                if link.origin in reads:
                    source = DatasetField(reads[link.origin], link.field)
                    found[source] |= 1 << self._position[link.origin] | downstream[operation.id]
        return found

    @cached_property
    def _before(self) -> Mapping[str, Sequence[str]]:
        return predecessors(self._ordered)

    @cached_property
    def _after(self) -> Mapping[str, Sequence[str]]:
        return successors(self._before)

    def _writes(self) -> Iterator[Operation]:
        return (item for item in self._ordered if item.type is WRITE and item.dataset is not None)

    def _closures(
        self,
        operations: Iterable[Operation],
        edges: Mapping[str, Sequence[str]],
        users: Mapping[str, Sequence[str]],
        needed: Callable[[str], bool],
    ) -> dict[str, int]:
        """Return for each needed operation the set of itself and all operations that its edges lead to.

        Every other set is deleted after its last use: in a deep chain, all sets together grow quadratically.
        """
        closures: dict[str, int] = {}
        uses = {name: len(users[name]) for name in edges}
        for operation in operations:
            mask = 1 << self._position[operation.id]
            for name in edges[operation.id]:
                mask |= closures[name]
                uses[name] -= 1
                if not uses[name] and not needed(name):
                    del closures[name]
            closures[operation.id] = mask
        return closures
