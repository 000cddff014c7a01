"""A stage of a pipeline and what it recorded; stages know neither sources nor the destination of others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from headwater_avro.errors import ConfigError

from ..model.field_operations import DatasetRef, Destination, FieldOperation, Input, OpKind, Source
from ..model.wired import OperationType


@dataclass(frozen=True, slots=True)
class StageField:
    """A field by name; for a joiner with the input stage that hands it over."""

    field: str
    stage: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StageOperation:
    """An operation as a stage records it: names unique in the stage, inputs by field, not by origin.

    ``marker`` lets one source or sink stage hold several tables: a write takes the fields that were read under
    its marker.
    """

    type: OperationType
    name: str
    dataset: DatasetRef | None = None
    inputs: tuple[StageField, ...] = ()
    outputs: tuple[str, ...] = ()
    description: str | None = None
    kind: OpKind | None = None
    masking: bool = False
    propagate_metadata: bool = False
    removes_tags: tuple[str, ...] = ()
    direct: Mapping[str, tuple[StageField, ...]] = field(default_factory=dict, hash=False)
    marker: str | None = None


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage: a source with its dataset and output schema, a sink with its destination, or what is between."""

    name: str
    operations: tuple[StageOperation, ...] = ()
    source: Source | None = None
    destination: Destination | None = None
    input_fields: tuple[str, ...] | None = None
    output_fields: tuple[str, ...] | None = None
    joiner: bool = False
    propagate_metadata: bool = False

    def written(self) -> list[DatasetRef]:
        """The datasets that the stage writes."""
        told = [one.dataset for one in self.operations if one.type is OperationType.WRITE and one.dataset]
        return told if self.destination is None else [*told, self.destination.ref]

    def made(self) -> Iterable[StageOperation]:
        """The read of the stage's source, then what it recorded, or all-to-all if it has schemas alone."""
        if self.source is not None:
            yield self._read(self.source)
        if self.operations:
            yield from self.operations
        elif self.input_fields is not None and self.output_fields is not None:
            yield self._all_to_all(self.input_fields, self.output_fields)

    def write(self, arrived: Iterable[str]) -> StageOperation | None:
        """The write of the stage's destination: of its schema's fields, else of the stage's, else of all there are."""
        if self.destination is None:
            return None
        fields = arrived if self.operations or self.input_fields is None else self.input_fields
        if self.destination.schema is not None:
            fields = map(str, self.destination.schema.leaves())
        return StageOperation(
            type=OperationType.WRITE,
            name="write",
            dataset=self.destination.ref,
            inputs=tuple(StageField(name) for name in fields),
        )

    def _read(self, source: Source) -> StageOperation:
        outputs = self.output_fields
        if outputs is None:
            outputs = () if source.schema is None else tuple(map(str, source.schema.leaves()))
        return StageOperation(type=OperationType.READ, name="read", dataset=source.ref, outputs=outputs)

    def _all_to_all(self, inputs: Iterable[str], outputs: tuple[str, ...]) -> StageOperation:
        return StageOperation(
            type=OperationType.TRANSFORM,
            name="Transform",
            inputs=tuple(StageField(name) for name in inputs),
            outputs=outputs,
        )


class StageRecorder:
    """What a plugin gets (seed 002, Plugin API): ``record(operations)``, calls accumulate."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    def record(self, operations: Iterable[FieldOperation | StageOperation]) -> None:
        """Add operations of this stage; ConfigError for an input with a source, which only a program names."""
        told = tuple(one if isinstance(one, StageOperation) else stage_operation(one) for one in operations)
        self.stage = replace(self.stage, operations=(*self.stage.operations, *told))

    def propagate_metadata(self, enabled: bool = True) -> None:
        """Let metadata pass from inputs to outputs in every operation of this stage."""
        self.stage = replace(self.stage, propagate_metadata=enabled)


def stage_operation(operation: FieldOperation) -> StageOperation:
    """The operation as a stage's; ConfigError for an input with a source."""
    sourced = [str(item.field) for item in operation.inputs if item.source is not None]
    if sourced:
        raise ConfigError(f"operation {operation.name!r}: a stage's inputs name no source, but {sourced} do")
    return StageOperation(
        type=OperationType.TRANSFORM,
        name=operation.name,
        inputs=tuple(_stage_field(item) for item in operation.inputs),
        outputs=tuple(str(output.field) for output in operation.outputs),
        description=operation.description,
        kind=operation.kind,
        masking=operation.masking,
        propagate_metadata=operation.propagate_metadata,
        removes_tags=operation.removes_tags,
        direct=_direct(operation),
    )


def _stage_field(item: Input) -> StageField:
    return StageField(str(item.field), item.stage)


def _direct(operation: FieldOperation) -> Mapping[str, tuple[StageField, ...]]:
    """For joins and other influences: the inputs whose values each output has."""
    if not operation.influences:
        return {}
    return {
        str(output.field): tuple(_stage_field(item) for item in operation.direct_inputs(place))
        for place, output in enumerate(operation.outputs)
    }
