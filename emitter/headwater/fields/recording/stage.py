"""A stage of a pipeline and its recorded operations; a stage does not know the datasets of other stages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from headwater_avro.errors import ConfigError

from ..model.field_operations import DatasetRef, Destination, FieldOperation, Input, OpKind, Source
from ..model.wired import READ, TRANSFORM, WRITE, OperationType, passed_on


@dataclass(frozen=True, slots=True)
class StageField:
    """A field by name; in a joiner, with the input stage that outputs it."""

    field: str
    stage: str | None = None


def stage_field_text(item: StageField) -> str:
    """Return the name of an input in the stage's schema; in a joiner, prefixed with the input stage."""
    return item.field if item.stage is None else f"{item.stage}.{item.field}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StageOperation:
    """An operation as a stage records it: its name is unique in the stage, its inputs are fields without origins.

    A ``marker`` separates the tables of a source or sink stage with several: a write takes the fields that were read
    with the same marker.
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
    guess: bool = False


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage: a source with its dataset and output schema, a sink with its destination, or a stage between them."""

    name: str
    operations: tuple[StageOperation, ...] = ()
    source: Source | None = None
    destination: Destination | None = None
    input_fields: tuple[str, ...] | None = None
    output_fields: tuple[str, ...] | None = None
    joiner: bool = False
    propagate_metadata: bool = False

    def written(self) -> list[DatasetRef]:
        """Return the datasets that the stage writes."""
        written = [item.dataset for item in self.operations if item.type is WRITE and item.dataset]
        return written if self.destination is None else [*written, self.destination.ref]

    def operations_before_write(self) -> Iterable[StageOperation]:
        """Yield the read of the stage's source and its operations; one all-to-all operation if it has only schemas."""
        if self.source is not None:
            outputs = self.output_fields
            if outputs is None:
                outputs = () if self.source.schema is None else tuple(map(str, self.source.schema.leaves()))
            yield StageOperation(type=READ, name="read", dataset=self.source.ref, outputs=outputs)
        if self.operations:
            yield from self.operations
        elif self.input_fields is not None and self.output_fields is not None:
            inputs = tuple(map(StageField, self.input_fields))
            yield StageOperation(type=TRANSFORM, name="Transform", inputs=inputs, outputs=self.output_fields)

    def write(self, arrived: Iterable[str]) -> StageOperation | None:
        """Return the write of the stage's destination, if it has one.

        It takes the fields of the destination's schema, else of the stage's input schema, else all fields that arrive.
        """
        if self.destination is None:
            return None
        fields = arrived if self.operations or self.input_fields is None else self.input_fields
        if self.destination.schema is not None:
            fields = map(str, self.destination.schema.leaves())
        inputs = tuple(map(StageField, fields))
        return StageOperation(type=WRITE, name="write", dataset=self.destination.ref, inputs=inputs)


class StageRecorder:
    """The recorder of a stage; calls of ``record`` accumulate."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    def record(self, operations: Iterable[FieldOperation | StageOperation]) -> None:
        """Add operations of this stage; raise ConfigError for an input with a source, which only a program can have."""
        added = tuple(item if isinstance(item, StageOperation) else stage_operation(item) for item in operations)
        self.stage = replace(self.stage, operations=(*self.stage.operations, *added))

    def propagate_metadata(self, enabled: bool = True) -> None:
        """Enable or disable the propagation of metadata in every operation of this stage."""
        self.stage = replace(self.stage, propagate_metadata=enabled)


def stage_operation(operation: FieldOperation) -> StageOperation:
    """Return the operation as one of a stage; raise ConfigError for an input with a source."""
    sourced = [str(item.field) for item in operation.inputs if item.source is not None]
    if sourced:
        raise ConfigError(
            f"operation {operation.name!r}: inputs of a stage can't have a source; pass {sourced} as plain fields"
        )
    return StageOperation(
        type=TRANSFORM,
        name=operation.name,
        inputs=tuple(map(_stage_field, operation.inputs)),
        outputs=tuple(str(output.field) for output in operation.outputs),
        direct={output: tuple(map(_stage_field, items)) for output, items in operation.direct_inputs().items()},
        **passed_on(operation),
    )


def _stage_field(item: Input) -> StageField:
    return StageField(str(item.field), item.stage)
