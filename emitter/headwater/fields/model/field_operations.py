"""The values that a program records: sources, a destination, inputs, outputs and operations (docs/fields.md).

All values are frozen. A dataset is identified by its namespace and name. Properties, description and schema are not
part of its identity: a dataset that is read with two settings remains a single node.
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
    """What an operation does to its inputs, as declared by the program."""

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
"""The kinds whose inputs influence a whole dataset, with the INDIRECT subtype of columnLineage 1-2-0."""


@dataclass(frozen=True, slots=True)
class DatasetRef:
    """The identity of a dataset; a namespace of ``None`` stands for the namespace of the program."""

    namespace: str | None
    name: str

    def __lt__(self, other: DatasetRef) -> bool:
        return (self.namespace or "", self.name) < (other.namespace or "", other.name)

    def __str__(self) -> str:
        return self.name if self.namespace is None else f"{self.namespace}:{self.name}"


@dataclass(frozen=True, slots=True)
class DatasetField:
    """A field of a dataset; its text form is ``namespace:dataset#field``."""

    dataset: DatasetRef
    field: str

    def __lt__(self, other: DatasetField) -> bool:
        return (self.dataset, self.field) < (other.dataset, other.field)

    def __str__(self) -> str:
        return f"{self.dataset}#{self.field}"


@dataclass(frozen=True, slots=True)
class _Dataset:
    namespace: str | None
    name: str

    @property
    def ref(self) -> DatasetRef:
        """The identity of the dataset."""
        return DatasetRef(self.namespace, self.name)


@dataclass(frozen=True, slots=True)
class Source(_Dataset):
    """A dataset that a program reads, including fields that the source itself adds (a file path, an offset)."""

    properties: Mapping[str, str] = field(default_factory=dict, compare=False)
    schema: Schema | None = field(default=None, compare=False)

    @classmethod
    def of(cls, *names: str, properties: Mapping[str, str] = _NOTHING, schema: SchemaLike | None = None) -> Source:
        """Return the source ``Source.of(name)`` or ``Source.of(namespace, name)``."""
        return cls(*_namespace_and_name(names), MappingProxyType(dict(properties)), Schema.maybe(schema))

    def __getitem__(self, path: PathLike) -> Input:
        """Return a field of this source as an input: ``users["FirstName"]``."""
        return Input(FieldPath.of(path), self)


@dataclass(frozen=True, slots=True)
class Destination(_Dataset):
    """A dataset that a program writes; with a schema, it has the fields of the schema and no others."""

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
        """Return the destination ``Destination.of(name)`` or ``Destination.of(namespace, name)``."""
        frozen = MappingProxyType(dict(properties))
        return cls(*_namespace_and_name(names), description, frozen, Schema.maybe(schema))


@dataclass(frozen=True, slots=True)
class Input:
    """An input field of an operation.

    With a source, the field of that dataset. With a stage (in a joiner), the field as that input stage outputs it.
    With neither, the latest earlier output of that path.
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
        """Return the input ``Input.of(field)`` or ``Input.of(source, field)``."""
        if isinstance(first, Source):
            if path is None:
                raise ConfigError(
                    f"Input.of({first.name!r}, …) has no field; pass the field's path as the second argument"
                )
            return cls(FieldPath.of(path), first)
        return cls(FieldPath.of(first))

    of_field = of

    @property
    def sides(self) -> tuple[str, ...]:
        """The names by which ``value_from`` can refer to this input's side of a join."""
        if self.source is not None:
            return (self.source.name, str(self.source.ref))
        return () if self.stage is None else (self.stage,)

    @classmethod
    def from_stage(cls, stage: str, path: PathLike) -> Input:
        """Return the input of a joiner: the field as the named input stage outputs it."""
        return cls(FieldPath.of(path), stage=stage)


@dataclass(frozen=True, slots=True)
class Output:
    """An output field of an operation."""

    field: FieldPath

    @classmethod
    def of(cls, path: PathLike) -> Output:
        """Return the output with this path."""
        return cls(FieldPath.of(path))

    of_field = of


@dataclass(frozen=True, slots=True)
class FieldOperation:
    """An operation on fields: every input feeds every output.

    Without outputs, the inputs are dropped (unless ``kind`` is filter, sort or the like). Without inputs, the outputs
    are generated. Names need not be unique. ``removes_tags`` lists tags that the operation removes (masking).
    ``value_from`` names the dataset or stage whose key a join outputs. ``guess``: it is not known which inputs feed which
    outputs, and answers say so.
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
    guess: bool = False

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
        guess: bool = False,
    ) -> None:
        members = {
            "name": name,
            "inputs": distinct(i if isinstance(i, Input) else Input.of(i) for i in inputs),
            "outputs": distinct(o if isinstance(o, Output) else Output.of(o) for o in outputs),
            "description": description,
            "kind": None if kind is None else OpKind(kind),
            "masking": masking or kind == OpKind.MASK,
            "propagate_metadata": propagate_metadata,
            "removes_tags": tuple(removes_tags),
            "value_from": value_from,
            "guess": guess,
        }
        for member, value in members.items():
            object.__setattr__(self, member, value)  # the dataclass is frozen

    @property
    def influences(self) -> bool:
        """Whether the inputs influence the dataset as a whole (a filter, the keys of a join)."""
        return self.kind is not None and self.kind in INFLUENCES

    @property
    def drops(self) -> bool:
        """Whether the operation drops its inputs: it has no outputs and does not influence the dataset."""
        return not self.outputs and not self.influences

    def direct_inputs(self) -> dict[str, tuple[Input, ...]]:
        """Return for each output of an operation that influences the inputs from which it takes its value.

        These are the inputs with the name of the output. The renamed key of a join takes its value from the side that
        ``value_from`` names: from the key at the same index if that side has as many keys as there are outputs, else
        from all keys of that side.
        """
        if not self.influences:
            return {}
        return {str(output.field): self._direct_inputs(index) for index, output in enumerate(self.outputs)}

    def _direct_inputs(self, index: int) -> tuple[Input, ...]:
        side = tuple(item for item in self.inputs if self.value_from is None or self.value_from in item.sides)
        same = tuple(item for item in side if item.field.leaf == self.outputs[index].field.leaf)
        if same or self.kind is not OpKind.JOIN:
            return same
        paired = self.value_from is not None and len(side) == len(self.outputs)
        return (side[index],) if paired else side

    @classmethod
    def builder(cls, name: str) -> FieldOperationBuilder:
        """Return a builder of the operation; call its ``build()`` last."""
        return FieldOperationBuilder(cls(name))


class FieldOperationBuilder:
    """Builds an operation step by step; each method returns the builder."""

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
        """Return the operation built so far; the builder can be used further."""
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
    raise ConfigError(f"not a dataset: {names!r}; pass a name, or a namespace and a name, none of them empty")


def distinct(items: Iterable[Item]) -> tuple[Item, ...]:
    """Return the items, each once, in the order of their first occurrence."""
    return tuple(dict.fromkeys(items))
