"""What a program says about its fields: sources, a destination, operations (seed 002, Platform API and Plugin API).

All are frozen values. A dataset is its namespace and name; properties, description and schema are context and
never part of its identity, so one dataset read with two settings stays one node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import TypeVar, overload

from headwater_avro.errors import ConfigError

from .paths import FieldPath, PathLike
from .schema import Schema, SchemaLike

_NOTHING: Mapping[str, str] = MappingProxyType({})
Item = TypeVar("Item")


class OpKind(StrEnum):
    """What an operation does to its inputs; told by the program, or inferred from the shape (`FieldOperation.shape`)."""

    IDENTITY = "identity"
    TRANSFORM = "transform"
    AGGREGATE = "aggregate"
    MASK = "mask"
    JOIN = "join"
    FILTER = "filter"
    GROUP = "group"
    SORT = "sort"
    WINDOW = "window"
    CONDITION = "condition"
    DROP = "drop"
    GENERATE = "generate"


INFLUENCES: Mapping[OpKind, str] = {
    OpKind.JOIN: "JOIN",
    OpKind.FILTER: "FILTER",
    OpKind.GROUP: "GROUP_BY",
    OpKind.SORT: "SORT",
    OpKind.WINDOW: "WINDOW",
    OpKind.CONDITION: "CONDITIONAL",
}
"""The kinds whose inputs influence a whole dataset, with OpenLineage's INDIRECT subtype (columnLineage 1-2-0)."""


@dataclass(frozen=True, slots=True)
class DatasetRef:
    """A dataset's identity; a namespace of ``None`` means the program's own."""

    namespace: str | None
    name: str

    def __lt__(self, other: DatasetRef) -> bool:
        return (self.namespace or "", self.name) < (other.namespace or "", other.name)

    def __str__(self) -> str:
        return self.name if self.namespace is None else f"{self.namespace}:{self.name}"


@dataclass(frozen=True, slots=True)
class DatasetField:
    """One field of one dataset; its text is ``namespace:dataset#field``."""

    dataset: DatasetRef
    field: str

    def __lt__(self, other: DatasetField) -> bool:
        return (self.dataset, self.field) < (other.dataset, other.field)

    def __str__(self) -> str:
        return f"{self.dataset}#{self.field}"


@dataclass(frozen=True, slots=True)
class Source:
    """A dataset that a program reads; a field that the source adds by itself (a file path, an offset) is its own too."""

    namespace: str | None
    name: str
    properties: Mapping[str, str] = field(default_factory=dict, compare=False)
    schema: Schema | None = field(default=None, compare=False)

    @classmethod
    def of(cls, *names: str, properties: Mapping[str, str] = _NOTHING, schema: SchemaLike | None = None) -> Source:
        """``Source.of(name)`` or ``Source.of(namespace, name)``."""
        return cls(*_namespace_and_name(names), MappingProxyType(dict(properties)), Schema.maybe(schema))

    @property
    def ref(self) -> DatasetRef:
        """The identity alone."""
        return DatasetRef(self.namespace, self.name)

    def __getitem__(self, path: PathLike) -> Input:
        """``users["FirstName"]``: the field of this source as an input."""
        return Input(FieldPath.of(path), self)


@dataclass(frozen=True, slots=True)
class Destination:
    """The dataset that the fields will be part of; with a schema, only its fields are fields of the destination."""

    namespace: str | None
    name: str
    description: str | None = field(default=None, compare=False)
    properties: Mapping[str, str] = field(default_factory=dict, compare=False)
    schema: Schema | None = field(default=None, compare=False)

    @classmethod
    def of(
        cls,
        *names: str,
        description: str | None = None,
        properties: Mapping[str, str] = _NOTHING,
        schema: SchemaLike | None = None,
    ) -> Destination:
        """``Destination.of(name)`` or ``Destination.of(namespace, name)``."""
        namespace, name = _namespace_and_name(names)
        return cls(namespace, name, description, MappingProxyType(dict(properties)), Schema.maybe(schema))

    @property
    def ref(self) -> DatasetRef:
        """The identity alone."""
        return DatasetRef(self.namespace, self.name)


@dataclass(frozen=True, slots=True)
class Input:
    """A field that takes part in an operation.

    With a source it is that dataset's field; with a stage (joiners) it is the field as that input stage hands it
    over; with neither it is the latest earlier output of that path.
    """

    field: FieldPath
    source: Source | None = None
    stage: str | None = None

    @overload
    @classmethod
    def of(cls, first: PathLike, /) -> Input: ...
    @overload
    @classmethod
    def of(cls, first: Source, path: PathLike, /) -> Input: ...
    @classmethod
    def of(cls, first: PathLike | Source, path: PathLike | None = None, /) -> Input:
        """``Input.of(field)`` or ``Input.of(source, field)``."""
        if isinstance(first, Source):
            if path is None:
                raise ConfigError(f"Input.of({first.name!r}, …) lacks the field")
            return cls(FieldPath.of(path), first)
        return cls(FieldPath.of(first))

    @property
    def sides(self) -> tuple[str, ...]:
        """What ``value_from`` may call the side of a join that this input is on."""
        if self.source is not None:
            return (self.source.name, str(self.source.ref))
        return () if self.stage is None else (self.stage,)

    @classmethod
    def from_stage(cls, stage: str, path: PathLike) -> Input:
        """A joiner's input: the field as the named input stage hands it over; stage and field stay apart."""
        return cls(FieldPath.of(path), stage=stage)


@dataclass(frozen=True, slots=True)
class Output:
    """A field that an operation makes."""

    field: FieldPath

    @classmethod
    def of(cls, path: PathLike) -> Output:
        return cls(FieldPath.of(path))


@dataclass(frozen=True, slots=True)
class FieldOperation:
    """One step from fields to fields: every input feeds every output.

    No outputs: the inputs are dropped (unless ``kind`` says filter, sort, …). No inputs: the outputs are made from
    nothing. Names need not be unique. ``removes_tags`` are tags that do not survive the operation (masking);
    ``value_from`` is for a join the dataset or stage whose key goes on.
    """

    name: str
    inputs: tuple[Input, ...] = ()
    outputs: tuple[Output, ...] = ()
    description: str | None = None
    kind: OpKind | None = None
    masking: bool = False
    propagate_metadata: bool = False
    removes_tags: tuple[str, ...] = ()
    value_from: str | None = None

    def __init__(
        self,
        name: str,
        inputs: Iterable[Input | PathLike] = (),
        outputs: Iterable[Output | PathLike] = (),
        description: str | None = None,
        kind: OpKind | str | None = None,
        masking: bool = False,
        propagate_metadata: bool = False,
        removes_tags: Iterable[str] = (),
        value_from: str | None = None,
    ) -> None:
        put = object.__setattr__
        put(self, "name", name)
        put(self, "inputs", _distinct(i if isinstance(i, Input) else Input.of(i) for i in inputs))
        put(self, "outputs", _distinct(o if isinstance(o, Output) else Output.of(o) for o in outputs))
        put(self, "description", description)
        put(self, "kind", None if kind is None else OpKind(kind))
        put(self, "masking", masking or kind == OpKind.MASK)
        put(self, "propagate_metadata", propagate_metadata)
        put(self, "removes_tags", tuple(removes_tags))
        put(self, "value_from", value_from)

    @property
    def influences(self) -> bool:
        """Whether the inputs influence the dataset as a whole (a filter, a join's keys) beside what they feed."""
        return self.kind is not None and self.kind in INFLUENCES

    @property
    def drops(self) -> bool:
        """Whether the inputs end here: no outputs, and no filter, sort or the like."""
        return not self.outputs and not self.influences

    def direct_inputs(self, place: int) -> tuple[Input, ...]:
        """The inputs whose values the output at this place has: all, save where the inputs only influence.

        There it is the inputs of the output's own name. A join's renamed key is its side's key, told by
        ``value_from``: the one at the same place if that side has as many keys as there are outputs, else all.
        """
        if not self.influences:
            return self.inputs
        side = tuple(item for item in self.inputs if self.value_from is None or self.value_from in item.sides)
        same = tuple(item for item in side if item.field.leaf == self.outputs[place].field.leaf)
        if same or self.kind is not OpKind.JOIN:
            return same
        paired = self.value_from is not None and len(side) == len(self.outputs)
        return (side[place],) if paired else side

    @classmethod
    def builder(cls, name: str) -> FieldOperationBuilder:
        """The seed's fluent form; ends with ``build()``."""
        return FieldOperationBuilder(cls(name))


class FieldOperationBuilder:
    """Collects an operation step by step; each call returns the builder."""

    __slots__ = ("_operation",)

    def __init__(self, operation: FieldOperation) -> None:
        self._operation = operation

    def set_description(self, description: str) -> FieldOperationBuilder:
        return self._with(description=description)

    def set_kind(self, kind: OpKind | str) -> FieldOperationBuilder:
        return self._with(kind=OpKind(kind))

    def add_input(self, item: Input | PathLike) -> FieldOperationBuilder:
        return self.add_inputs([item])

    def add_inputs(self, items: Iterable[Input | PathLike]) -> FieldOperationBuilder:
        return self._with(inputs=(*self._operation.inputs, *items))

    def add_output(self, item: Output | PathLike) -> FieldOperationBuilder:
        return self.add_outputs([item])

    def add_outputs(self, items: Iterable[Output | PathLike]) -> FieldOperationBuilder:
        return self._with(outputs=(*self._operation.outputs, *items))

    def with_metadata_propagation_enabled(self) -> FieldOperationBuilder:
        return self._with(propagate_metadata=True)

    def build(self) -> FieldOperation:
        """The operation as told so far; the builder may go on from it."""
        return self._operation

    def _with(self, **changes: object) -> FieldOperationBuilder:
        self._operation = replace(self._operation, **changes)  # type: ignore[arg-type]
        return self


def _namespace_and_name(names: tuple[str, ...]) -> tuple[str | None, str]:
    match names:
        case (str(name),) if name:
            return None, name
        case (str(namespace), str(name)) if namespace and name:
            return namespace, name
    raise ConfigError(f"a dataset is a name, or a namespace and a name, not {names!r}")


def _distinct(items: Iterable[Item]) -> tuple[Item, ...]:
    return tuple(dict.fromkeys(items))
