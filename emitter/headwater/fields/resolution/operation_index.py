"""Which operations touched a field: computed when first asked for, since most lineages are only sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from ..model.field_operations import DatasetField
from ..model.wired import Operation, OperationType, predecessors
from .order import successors


class Touches:
    """For each written and each read field its operations, as sets of places in the topological order.

    A set is an integer, one bit an operation.
    """

    def __init__(self, ordered: Sequence[Operation]) -> None:
        self._ordered = ordered
        self._place = {operation.id: number for number, operation in enumerate(ordered)}

    @cached_property
    def writers(self) -> Mapping[DatasetField, int]:
        """For each destination field the writes of it and all that led to them, through all inputs."""
        needed = {link.origin for write in self._writes() for link in write.inputs}
        behind = self._closed(self._ordered, self._before, self._after, needed.__contains__)
        writers: dict[DatasetField, int] = {}
        for write in self._writes():
            for link in write.inputs:
                assert write.dataset is not None
                written = DatasetField(write.dataset, link.field)
                led = behind.get(link.origin, 0) if link.origin else 0
                writers[written] = writers.get(written, 0) | 1 << self._place[write.id] | led
        return writers

    @cached_property
    def readers(self) -> Mapping[DatasetField, int]:
        """For each source field the reads of it, what takes the field itself, and all behind that."""
        reads = {one.id: one.dataset for one in self._ordered if one.type is OperationType.READ and one.dataset}
        takers = {one.id for one in self._ordered if any(link.origin in reads for link in one.inputs)}
        ahead = self._closed(reversed(self._ordered), self._after, self._before, takers.__contains__)
        readers: dict[DatasetField, int] = {}
        for operation in self._ordered:
            if operation.id in reads:
                for name in operation.outputs:
                    told = DatasetField(reads[operation.id], name)
                    readers[told] = readers.get(told, 0) | 1 << self._place[operation.id]
            for link in operation.inputs:
                if link.origin in reads:
                    taken = DatasetField(reads[link.origin], link.field)
                    readers[taken] = readers.get(taken, 0) | 1 << self._place[link.origin] | ahead[operation.id]
        return readers

    @cached_property
    def _before(self) -> Mapping[str, Sequence[str]]:
        return predecessors(self._ordered)

    @cached_property
    def _after(self) -> Mapping[str, Sequence[str]]:
        return successors(self._before)

    def _writes(self) -> Iterator[Operation]:
        return (one for one in self._ordered if one.type is OperationType.WRITE and one.dataset is not None)

    def _closed(
        self,
        operations: Iterable[Operation],
        edges: Mapping[str, Sequence[str]],
        users: Mapping[str, Sequence[str]],
        needed: Callable[[str], bool],
    ) -> dict[str, int]:
        """For the operations needed, each with all that its edges lead to.

        Every other set is forgotten once its last user has it: the sets of a deep chain grow with its square.
        """
        closed: dict[str, int] = {}
        uses = {name: len(users[name]) for name in edges}
        for operation in operations:
            mask = 1 << self._place[operation.id]
            for one in edges[operation.id]:
                mask |= closed[one]
                uses[one] -= 1
                if not uses[one] and not needed(one):
                    del closed[one]
            closed[operation.id] = mask
        return closed
