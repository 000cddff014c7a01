"""The wired form that everything resolves through: reads, transforms and writes whose inputs name their origin.

It is also a public form, the one that CDAP shipped: a read makes fields out of a dataset, a transform makes fields
out of fields, a write puts fields into a dataset, and (origin, field) tells which version of a field is meant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from ..resolution.order import cyclic
from .field_operations import INFLUENCES, DatasetRef, Destination, OpKind, Source
from .problems import Problem


class OperationType(StrEnum):
    """The three sorts of wired operations."""

    READ = "read"
    TRANSFORM = "transform"
    WRITE = "write"


@dataclass(frozen=True, slots=True)
class InputField:
    """A field as one operation made it; an origin of ``None`` means that nobody did: the field has no sources."""

    origin: str | None
    field: str


InputLike: TypeAlias = "InputField | tuple[str | None, str]"
DatasetLike: TypeAlias = "DatasetRef | Source | Destination | None"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A read, transform or write; make one with the classmethods of those names.

    ``id`` is what origins refer to and is unique; it is the name unless names repeat. ``direct`` tells for some
    outputs which inputs their values come from (a join's key comes from one side), ``reaches`` which datasets an
    operation can influence as a whole (None: all). ``implicit`` operations were not recorded but follow from the
    pipeline.
    """

    type: OperationType
    name: str
    id: str
    dataset: DatasetRef | None = None
    inputs: tuple[InputField, ...] = ()
    outputs: tuple[str, ...] = ()
    description: str | None = None
    kind: OpKind | None = None
    masking: bool = False
    propagate_metadata: bool = False
    removes_tags: tuple[str, ...] = ()
    direct: Mapping[str, tuple[InputField, ...]] = field(default_factory=dict, hash=False)
    reaches: frozenset[DatasetRef] | None = None
    implicit: bool = False

    @classmethod
    def read(cls, name: str, source: DatasetLike, outputs: Iterable[str], description: str | None = None) -> Operation:
        return cls(
            type=OperationType.READ,
            name=name,
            id=name,
            dataset=_ref(source),
            outputs=_distinct(outputs),
            description=description,
        )

    @classmethod
    def transform(
        cls,
        name: str,
        inputs: Iterable[InputLike],
        outputs: Iterable[str],
        description: str | None = None,
        kind: OpKind | None = None,
        masking: bool = False,
    ) -> Operation:
        return cls(
            type=OperationType.TRANSFORM,
            name=name,
            id=name,
            inputs=_inputs(inputs),
            outputs=_distinct(outputs),
            description=description,
            kind=kind,
            masking=masking or kind is OpKind.MASK,
        )

    @classmethod
    def write(
        cls, name: str, destination: DatasetLike, inputs: Iterable[InputLike], description: str | None = None
    ) -> Operation:
        return cls(
            type=OperationType.WRITE,
            name=name,
            id=name,
            dataset=_ref(destination),
            inputs=_inputs(inputs),
            description=description,
        )

    @property
    def drops(self) -> bool:
        """Whether the inputs end here: a transform without outputs that is no filter, sort or the like."""
        return (
            self.type is OperationType.TRANSFORM
            and not self.outputs
            and (self.kind is None or self.kind not in INFLUENCES)
        )


def direct_links(operation: Operation, output: str) -> tuple[InputField, ...]:
    """The inputs whose values reach this output: all of them, save for joins and other influences.

    There it is the links told in ``direct``, else the inputs of the output's own name; a join's key that has
    neither comes from all keys.
    """
    if operation.kind is None or operation.kind not in INFLUENCES:
        return operation.inputs
    if output in operation.direct:
        return operation.direct[output]
    same = tuple(link for link in operation.inputs if link.field == output)
    return same or (operation.inputs if operation.kind is OpKind.JOIN else ())


def predecessors(operations: Sequence[Operation]) -> dict[str, tuple[str, ...]]:
    """For each operation the distinct known origins of its inputs, in input order."""
    known: set[str | None] = {operation.id for operation in operations}
    return {
        operation.id: tuple(
            one for one in dict.fromkeys([link.origin for link in operation.inputs]) if one is not None and one in known
        )
        for operation in operations
    }


def faults(operations: Sequence[Operation]) -> list[Problem]:
    """All that is wrong with wired operations: cycles, repeated names, missing ends, unknown origins."""
    return [
        *_cycles(operations),
        *_repeated(operations),
        *_missing_datasets(operations),
        *_missing_ends(operations),
        *_unknown_origins(operations),
    ]


def _cycles(operations: Sequence[Operation]) -> list[Problem]:
    # A repeated name says nothing about which operation is meant, so no cycle is read out of it.
    count = Counter(operation.id for operation in operations)
    clear = [operation for operation in operations if count[operation.id] == 1]
    return [Problem("cycle", name, operation=name) for name in sorted(cyclic(predecessors(clear)))]


def _repeated(operations: Sequence[Operation]) -> list[Problem]:
    count = Counter(operation.id for operation in operations)
    return [Problem("repeated_name", name, operation=name) for name, times in sorted(count.items()) if times > 1]


def _missing_datasets(operations: Sequence[Operation]) -> list[Problem]:
    return [
        Problem(
            "null_source" if operation.type is OperationType.READ else "null_destination",
            operation.name,
            operation=operation.name,
        )
        for operation in operations
        if operation.type is not OperationType.TRANSFORM and operation.dataset is None
    ]


def _missing_ends(operations: Sequence[Operation]) -> list[Problem]:
    types = {operation.type for operation in operations}
    missing = []
    if OperationType.READ not in types:
        missing.append(Problem("no_read"))
    if OperationType.WRITE not in types:
        missing.append(Problem("no_write"))
    return missing


def _unknown_origins(operations: Sequence[Operation]) -> list[Problem]:
    known = {None, *(operation.id for operation in operations)}
    return [
        Problem("unknown_origin", link.origin, operation=operation.name, field=link.field)
        for operation in operations
        if not known.issuperset([link.origin for link in operation.inputs])
        for link in operation.inputs
        if link.origin not in known
    ]


def _ref(dataset: DatasetLike) -> DatasetRef | None:
    return dataset.ref if isinstance(dataset, Source | Destination) else dataset


def _inputs(items: Iterable[InputLike]) -> tuple[InputField, ...]:
    return tuple(dict.fromkeys(item if isinstance(item, InputField) else InputField(*item) for item in items))


def _distinct(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))
