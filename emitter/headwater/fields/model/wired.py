"""Wired operations: reads, transforms and writes whose inputs name the operation that they come from.

Programs and pipelines are converted to this form before they are resolved. It is public, too, and has the shape of
CDAP's operations: a read outputs fields of a dataset, a transform outputs fields made from fields, a write stores fields
in a dataset. An input (origin, field) identifies one version of a field: the one that the operation ``origin`` outputs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from ..resolution.order import cyclic
from .field_operations import INFLUENCES, DatasetRef, Destination, OpKind, Source, distinct
from .problems import Problem


class OperationType(StrEnum):
    """The types of wired operations."""

    READ = "read"
    TRANSFORM = "transform"
    WRITE = "write"


READ, TRANSFORM, WRITE = OperationType.READ, OperationType.TRANSFORM, OperationType.WRITE


@dataclass(frozen=True, slots=True)
class InputField:
    """A field as the operation ``origin`` outputs it; with an origin of ``None``, the field has no sources."""

    origin: str | None
    field: str


InputLike: TypeAlias = "InputField | tuple[str | None, str]"
DatasetLike: TypeAlias = "DatasetRef | Source | Destination | None"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A read, transform or write, constructed with the classmethod of that name.

    ``id`` is unique, and origins refer to it; it differs from the name only where names repeat. ``direct`` maps an
    output to the inputs from which it takes its value, where these are not all inputs (the key of a join). ``reaches``
    has the datasets that the operation can influence as a whole (None: all). An ``implicit`` operation was not recorded:
    the pipeline requires it. Of a ``guess`` it is not known which inputs feed which outputs.
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
    guess: bool = False

    @classmethod
    def read(cls, name: str, source: DatasetLike, outputs: Iterable[str], description: str | None = None) -> Operation:
        """Return a read of a dataset's fields."""
        dataset, fields = _ref(source), distinct(outputs)
        return cls(type=READ, name=name, id=name, dataset=dataset, outputs=fields, description=description)

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
        """Return a transform of fields into fields."""
        return cls(
            type=TRANSFORM,
            name=name,
            id=name,
            inputs=_inputs(inputs),
            outputs=distinct(outputs),
            description=description,
            kind=kind,
            masking=masking or kind is OpKind.MASK,
        )

    @classmethod
    def write(
        cls, name: str, destination: DatasetLike, inputs: Iterable[InputLike], description: str | None = None
    ) -> Operation:
        """Return a write of fields to a dataset."""
        dataset, fields = _ref(destination), _inputs(inputs)
        return cls(type=WRITE, name=name, id=name, dataset=dataset, inputs=fields, description=description)

    @property
    def drops(self) -> bool:
        """Whether the operation drops its inputs: a transform without outputs that does not influence the dataset."""
        return self.type is TRANSFORM and not self.outputs and self.kind not in INFLUENCES


_PASSED_ON = ("description", "kind", "masking", "propagate_metadata", "removes_tags", "guess")


def passed_on(recorded: object) -> dict[str, Any]:
    """Return the members of a recorded operation that are those of the wired operation, too."""
    return {name: getattr(recorded, name) for name in _PASSED_ON}


def direct_links(operation: Operation, output: str) -> tuple[InputField, ...]:
    """Return the inputs from which this output takes its value.

    These are all inputs, unless the operation influences: then they are those in ``direct``, else the inputs with the
    name of the output. The key of a join that has neither takes its value from all keys.
    """
    if operation.kind not in INFLUENCES:
        return operation.inputs
    if output in operation.direct:
        return operation.direct[output]
    same = tuple(link for link in operation.inputs if link.field == output)
    return same or (operation.inputs if operation.kind is OpKind.JOIN else ())


def predecessors(operations: Sequence[Operation]) -> dict[str, tuple[str, ...]]:
    """Return for each operation the distinct origins of its inputs that exist, in the order of the inputs."""
    known: set[str | None] = {operation.id for operation in operations}
    return {
        operation.id: tuple(
            origin
            for origin in dict.fromkeys([link.origin for link in operation.inputs])
            if origin is not None and origin in known
        )
        for operation in operations
    }


def faults(operations: Sequence[Operation]) -> list[Problem]:
    """Return the faults of wired operations: cycles, repeated names, missing datasets, reads or writes, unknown origins."""
    types = {operation.type for operation in operations}
    return [
        *_names(operations),
        *_missing_datasets(operations),
        *([] if READ in types else [Problem("no_read")]),
        *([] if WRITE in types else [Problem("no_write")]),
        *_unknown_origins(operations),
    ]


def _names(operations: Sequence[Operation]) -> list[Problem]:
    # With a repeated name it is not known which operation an origin refers to, hence it proves no cycle.
    count = Counter(operation.id for operation in operations)
    unique = [operation for operation in operations if count[operation.id] == 1]
    repeated = sorted(name for name, times in count.items() if times > 1)
    return [
        *(Problem("cycle", name, operation=name) for name in sorted(cyclic(predecessors(unique)))),
        *(Problem("repeated_name", name, operation=name) for name in repeated),
    ]


def _missing_datasets(operations: Sequence[Operation]) -> list[Problem]:
    return [
        Problem(
            "null_source" if operation.type is READ else "null_destination", operation.name, operation=operation.name
        )
        for operation in operations
        if operation.type is not TRANSFORM and operation.dataset is None
    ]


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
    return distinct(item if isinstance(item, InputField) else InputField(*item) for item in items)
