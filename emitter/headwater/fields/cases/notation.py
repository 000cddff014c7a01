"""Reading and writing the JSON of `cases`: operations in, lineage out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from headwater_avro.errors import ConfigError

from ..model.field_operations import DatasetField, DatasetRef, FieldOperation, Input, OpKind, Source
from ..model.paths import FieldPath, PathLike
from ..model.wired import InputField, Operation, OperationType
from ..recording.stage import StageField, StageOperation
from ..resolution.columns import Columns, Influence
from ..resolution.lineage import Direction, FieldLineage

Json = dict[str, Any]

MOST_OPERATIONS_TOLD = 1_000_000

_KINDS: Mapping[str, OpKind] = {
    **{kind.value: kind for kind in OpKind},
    **dict.fromkeys(("rename", "copy", "cast_free"), OpKind.IDENTITY),
    **dict.fromkeys(("transformation", "combine", "concat", "split", "derive", "expression"), OpKind.TRANSFORM),
    "aggregation": OpKind.AGGREGATE,
    "masking": OpKind.MASK,
    **dict.fromkeys(("group_by", "groupby", "group-by"), OpKind.GROUP),
    **dict.fromkeys(("order_by", "orderby", "order-by"), OpKind.SORT),
    "conditional": OpKind.CONDITION,
}


def flat(items: Iterable[Any]) -> Iterator[Json]:
    """The operations of one call, or of several calls in their order."""
    for item in items:
        if isinstance(item, list):
            yield from item
        else:
            yield item


def paths(items: Iterable[Any]) -> list[PathLike]:
    """A schema's fields: names, lists of names, or objects with a name."""
    return [item["name"] if isinstance(item, dict) else _path(item) for item in items]


def wired_operation(item: Json) -> Operation:
    """A wired operation: inputs are ``{origin, field}``."""
    description = item.get("description")
    outputs = item.get("outputs") or ()
    match OperationType(item["type"]):
        case OperationType.READ:
            return Operation.read(item["name"], read_dataset(item.get("source")), outputs, description)
        case OperationType.WRITE:
            return Operation.write(item["name"], read_dataset(item.get("destination")), _links(item), description)
        case OperationType.TRANSFORM:
            return Operation.transform(item["name"], _links(item), outputs, description, kind_of(item), _masks(item))


def wired_json(operation: Operation, dataset: Json | None = None) -> Json:
    """A wired operation as `wired_operation` reads it; ``dataset`` is how the case wrote it."""
    told: Json = {"type": operation.type.value, "name": operation.name}
    if operation.description:
        told["description"] = operation.description
    if operation.dataset is not None:
        end = "source" if operation.type is OperationType.READ else "destination"
        told[end] = dataset or _dataset_json(operation.dataset)
    if operation.type is not OperationType.READ:
        told["inputs"] = [{"origin": link.origin, "field": link.field} for link in operation.inputs]
    if operation.type is not OperationType.WRITE:
        told["outputs"] = list(operation.outputs)
    return told


def stage_operation(item: Json) -> StageOperation:
    """A stage's operation: inputs are names, for a joiner ``stage.field`` or ``[stage, field]``."""
    kind = OperationType(item["type"])
    end = item.get("source") if kind is OperationType.READ else item.get("destination")
    return StageOperation(
        type=kind,
        name=item["name"],
        dataset=read_dataset(end) if kind is not OperationType.TRANSFORM else None,
        inputs=tuple(dict.fromkeys(stage_field(one) for one in item.get("inputs") or ())),
        outputs=tuple(dict.fromkeys(item.get("outputs") or ())),
        description=item.get("description"),
        kind=kind_of(item),
        masking=_masks(item),
        marker=item.get("marker") or ((end or {}).get("properties") or {}).get("marker"),
    )


def stage_json(operation: StageOperation) -> Json:
    """A stage's operation as `stage_operation` reads it."""
    return {
        "type": operation.type.value,
        "name": operation.name,
        "inputs": [one.field if one.stage is None else f"{one.stage}.{one.field}" for one in operation.inputs],
        "outputs": list(operation.outputs),
    }


def stage_field(item: Any) -> StageField:
    """A name, ``[stage, field]`` or ``{stage, field}``."""
    match item:
        case str():
            return StageField(item)
        case {"field": str(field)}:
            return StageField(field, item.get("stage"))
        case [stage, str(field)]:
            return StageField(field, stage)
    raise ConfigError(f"not a stage's field: {item!r}")


def stage_schemas(case: Json) -> dict[str, tuple[tuple[str, ...] | None, tuple[str, ...] | None]]:
    """Each stage's input and output fields, told as ``schemas`` or as ``stage_inputs`` and ``stage_outputs``."""
    told = case.get("schemas") or case.get("stage_schemas") or {}
    inputs = _first(case, "stage_inputs", "input_schemas") or {}
    outputs = _first(case, "stage_outputs", "output_schemas") or {}
    return {
        name: (
            _names(_first(told.get(name), "inputs", "input"), inputs.get(name)),
            _names(_first(told.get(name), "outputs", "output"), outputs.get(name)),
        )
        for name in dict.fromkeys([*told, *inputs, *outputs])
    }


def dataset_json(item: Json) -> Json | None:
    """The dataset of a read or write as the case wrote it."""
    dataset = item.get("source") or item.get("destination")
    return dataset if isinstance(dataset, dict) else None


def field_operation(item: Json, sources: Mapping[str, Source]) -> FieldOperation:
    """A program's operation: inputs are ``[source, field]``, ``{source, field}`` or a field made earlier."""

    def read(one: Any) -> Input:
        match one:
            case [str(source), field] | {"source": str(source), "field": field}:
                return Input(FieldPath.of(_path(field)), sources.get(source) or Source(None, source))
            case [None, field] | {"field": field}:
                return Input.of(_path(field))
        return Input.of(_path(one))

    return _field_operation(item, [read(one) for one in item.get("inputs") or ()])


def open_operations(item: Json) -> list[FieldOperation]:
    """An operation whose inputs are ``dataset#field`` or a field made earlier; ``group_by`` adds its influence."""

    def read(one: str) -> Input:
        dataset, mark, field = one.partition("#")
        return Input.of(Source(None, dataset), field) if mark else Input.of(one)

    operations = [_field_operation(item, [read(one) for one in item.get("inputs") or ()])]
    keys = _first(item, "group_by", "group_keys")
    if keys:
        operations.append(FieldOperation("", [read(key) for key in keys], kind=OpKind.GROUP))
    return operations


def kind_of(item: Json) -> OpKind | None:
    """The operation's kind under any of its usual names; ConfigError for one that is none."""
    kind = item.get("kind")
    if kind is None:
        return None
    if kind not in _KINDS:
        raise ConfigError(f"not a kind of operation: {kind!r}; one of {', '.join(OpKind)}")
    return _KINDS[kind]


def lineage_json(lineage: FieldLineage) -> Json:
    """Destination fields, summaries both ways, dropped sources, fingerprint; lists sorted."""
    return {
        "destination_fields": {
            str(dataset): sorted(fields) for dataset, fields in sorted(lineage.destination_fields.items())
        },
        "incoming": _fields_json(lineage.incoming),
        "outgoing": _fields_json(lineage.outgoing),
        "dropped_sources": sorted(map(str, lineage.dropped)),
        "fingerprint": lineage.fingerprint,
    }


def operations_for_json(lineage: FieldLineage) -> Json:
    """The operations of every field, both directions, and their order; no more than a million names in all."""
    told: Json = {"order": [operation.name for operation in lineage.operations]}
    touches = (*lineage.touches.writers.values(), *lineage.touches.readers.values())
    size = sum(mask.bit_count() for mask in touches)
    if size > MOST_OPERATIONS_TOLD:
        return {**told, "operations_for": [], "cut": [f"operations_for: {size} names are more than are printed"]}
    fields: list[tuple[Direction, DatasetField]] = [("incoming", one) for one in sorted(lineage.incoming)]
    fields += [("outgoing", one) for one in sorted(lineage.source_fields)]
    told["operations_for"] = [
        {
            "direction": direction,
            "field": str(field),
            "operations": sorted(operation.name for operation in lineage.operations_for(field, direction)),
        }
        for direction, field in fields
    ]
    return told


def columns_json(found: Columns) -> Json:
    """The facet's two parts, one object for each transformation."""
    return {
        "fields": {name: [_influence_json(one) for one in influences] for name, influences in found.fields.items()},
        "dataset": [_influence_json(one) for one in found.dataset],
    }


def _influence_json(one: Influence) -> Json:
    told: Json = {
        "dataset": str(one.source.dataset),
        "field": one.source.field,
        "type": one.type,
        "subtype": one.subtype,
    }
    if one.description:
        told["description"] = one.description
    if one.masking:
        told["masking"] = True
    return told


def _fields_json(summary: Mapping[Any, Iterable[Any]]) -> dict[str, list[str]]:
    texts: dict[int, list[str]] = {}
    told = {}
    for field in sorted(summary):
        group = summary[field]
        # Equal sets are one object, and wide tables have few different ones: each is sorted once.
        if id(group) not in texts:
            texts[id(group)] = sorted(map(str, group))
        told[str(field)] = texts[id(group)]
    return told


def _field_operation(item: Json, inputs: Iterable[Input]) -> FieldOperation:
    return FieldOperation(
        item.get("name") or "",
        inputs,
        [FieldPath.of(_path(one)) for one in item.get("outputs") or ()],
        item.get("description"),
        kind_of(item),
        _masks(item),
        bool(item.get("propagate_metadata")),
        item.get("removes_tags") or (),
        item.get("from"),
    )


def read_dataset(told: Any) -> DatasetRef | None:
    """A dataset as ``{namespace, name}`` or its name; None for anything else."""
    match told:
        case {"name": str(name)}:
            return DatasetRef(told.get("namespace"), name)
        case str() if told:
            return DatasetRef(None, told)
    return None


def _dataset_json(dataset: DatasetRef) -> Json:
    return (
        {"name": dataset.name} if dataset.namespace is None else {"namespace": dataset.namespace, "name": dataset.name}
    )


def _links(item: Json) -> list[InputField]:
    return [InputField(one.get("origin"), one["field"]) for one in item.get("inputs") or ()]


def _masks(item: Json) -> bool:
    return bool(item.get("masking"))


def _path(told: Any) -> PathLike:
    return told if isinstance(told, str) else tuple(told)


def _names(*told: Any) -> tuple[str, ...] | None:
    for one in told:
        if isinstance(one, dict):
            return tuple(f"{stage}.{name}" for stage, names in one.items() for name in names)
        if one is not None:
            return tuple(item if isinstance(item, str) else ".".join(item) for item in one)
    return None


def _first(told: Json | None, *keys: str) -> Any:
    return next((told[key] for key in keys if key in told), None) if told else None
