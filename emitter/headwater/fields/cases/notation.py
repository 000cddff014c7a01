"""Convert the JSON of cases to operations, and lineage to JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from headwater_avro.errors import ConfigError

from ..model.field_operations import DatasetField, DatasetRef, FieldOperation, Input, OpKind, Source, distinct
from ..model.paths import FieldPath, PathLike
from ..model.wired import InputField, Operation, OperationType
from ..recording.stage import StageField, StageOperation, stage_field_text
from ..resolution.columns import Columns, Influence
from ..resolution.lineage import Direction, FieldLineage

Json = dict[str, Any]

MAX_OPERATION_NAMES = 1_000_000

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
    """Yield the operations of one call, or of several calls in their order."""
    for item in items:
        yield from item if isinstance(item, list) else [item]


def paths(items: Iterable[Any]) -> list[PathLike]:
    """Return the fields of a schema, given as names, lists of names, or objects with a name."""
    return [item["name"] if isinstance(item, dict) else _path(item) for item in items]


def wired_operation(item: Json) -> Operation:
    """Return a wired operation; its inputs are ``{origin, field}``."""
    description = item.get("description")
    outputs = item.get("outputs") or ()
    match OperationType(item["type"]):
        case OperationType.READ:
            return Operation.read(item["name"], read_dataset(item.get("source")), outputs, description)
        case OperationType.WRITE:
            return Operation.write(item["name"], read_dataset(item.get("destination")), _links(item), description)
        case OperationType.TRANSFORM:
            return Operation.transform(
                item["name"], _links(item), outputs, description, kind_of(item), bool(item.get("masking"))
            )


def wired_json(operation: Operation, dataset: Json | None = None) -> Json:
    """Return the JSON that ``wired_operation`` reads; ``dataset`` is the dataset as the case wrote it."""
    result: Json = {"type": operation.type.value, "name": operation.name}
    if operation.description:
        result["description"] = operation.description
    if operation.dataset is not None:
        end = "source" if operation.type is OperationType.READ else "destination"
        result[end] = dataset or _dataset_json(operation.dataset)
    if operation.type is not OperationType.READ:
        result["inputs"] = [{"origin": link.origin, "field": link.field} for link in operation.inputs]
    if operation.type is not OperationType.WRITE:
        result["outputs"] = list(operation.outputs)
    return result


def stage_operation(item: Json) -> StageOperation:
    """Return an operation of a stage; its inputs are names, for a joiner ``stage.field`` or ``[stage, field]``."""
    kind = OperationType(item["type"])
    end = item.get("source") if kind is OperationType.READ else item.get("destination")
    return StageOperation(
        type=kind,
        name=item["name"],
        dataset=read_dataset(end) if kind is not OperationType.TRANSFORM else None,
        inputs=distinct(map(stage_field, item.get("inputs") or ())),
        outputs=distinct(item.get("outputs") or ()),
        description=item.get("description"),
        kind=kind_of(item),
        masking=bool(item.get("masking")),
        marker=item.get("marker") or ((end or {}).get("properties") or {}).get("marker"),
    )


def stage_json(operation: StageOperation) -> Json:
    """Return the JSON that ``stage_operation`` reads."""
    return {
        "type": operation.type.value,
        "name": operation.name,
        "inputs": list(map(stage_field_text, operation.inputs)),
        "outputs": list(operation.outputs),
    }


def stage_field(item: Any) -> StageField:
    """Return the field written as a name, ``[stage, field]`` or ``{stage, field}``."""
    match item:
        case str():
            return StageField(item)
        case {"field": str(field)}:
            return StageField(field, item.get("stage"))
        case [stage, str(field)]:
            return StageField(field, stage)
    raise ConfigError(f"not a field of a stage: {item!r}; write a name, [stage, field] or {{stage, field}}")


def stage_schemas(case: Json) -> dict[str, tuple[tuple[str, ...] | None, tuple[str, ...] | None]]:
    """Return the input and output fields of each stage, from ``schemas`` or ``stage_inputs`` and ``stage_outputs``."""
    schemas = case.get("schemas") or case.get("stage_schemas") or {}
    inputs = _first(case, "stage_inputs", "input_schemas") or {}
    outputs = _first(case, "stage_outputs", "output_schemas") or {}
    return {
        name: (
            _names(_first(schemas.get(name), "inputs", "input"), inputs.get(name)),
            _names(_first(schemas.get(name), "outputs", "output"), outputs.get(name)),
        )
        for name in dict.fromkeys([*schemas, *inputs, *outputs])
    }


def dataset_json(item: Json) -> Json | None:
    """Return the dataset of a read or write as the case wrote it, None if it is not an object."""
    dataset = item.get("source") or item.get("destination")
    return dataset if isinstance(dataset, dict) else None


def field_operation(item: Json, sources: Mapping[str, Source]) -> FieldOperation:
    """Return an operation of a program; its inputs are ``[source, field]``, ``{source, field}`` or an earlier output."""

    def read(text: Any) -> Input:
        match text:
            case [str(source), field] | {"source": str(source), "field": field}:
                return Input(FieldPath.of(_path(field)), sources.get(source) or Source(None, source))
            case [None, field] | {"field": field}:
                return Input.of(_path(field))
        return Input.of(_path(text))

    return _field_operation(item, map(read, item.get("inputs") or ()))


def open_operations(item: Json) -> list[FieldOperation]:
    """Return an operation whose inputs are ``dataset#field`` or an earlier output, and the influence of ``group_by``."""

    def read(text: str) -> Input:
        dataset, separator, field = text.partition("#")
        return Input.of(Source(None, dataset), field) if separator else Input.of(text)

    operations = [_field_operation(item, map(read, item.get("inputs") or ()))]
    keys = _first(item, "group_by", "group_keys")
    if keys:
        operations.append(FieldOperation("", map(read, keys), kind=OpKind.GROUP))
    return operations


def kind_of(item: Json) -> OpKind | None:
    """Return the kind of an operation, given by any of its usual names; raise ConfigError for an unknown one."""
    kind = item.get("kind")
    if kind is None:
        return None
    if kind not in _KINDS:
        raise ConfigError(f"not a kind of operation: {kind!r}; use one of {', '.join(OpKind)}")
    return _KINDS[kind]


def lineage_json(lineage: FieldLineage) -> Json:
    """Return destination fields, sources and destinations of fields, dropped sources and fingerprint; lists are sorted."""
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
    """Return the operations of every field in both directions, and their order; omitted above ``MAX_OPERATION_NAMES``."""
    result: Json = {"order": [operation.name for operation in lineage.operations]}
    index = lineage.operation_index
    size = sum(mask.bit_count() for mask in (*index.by_destination.values(), *index.by_source.values()))
    if size > MAX_OPERATION_NAMES:
        cut = f"operations_for: {size} names are omitted; the limit is {MAX_OPERATION_NAMES}"
        return {**result, "operations_for": [], "cut": [cut]}
    fields: list[tuple[Direction, DatasetField]] = [("incoming", field) for field in sorted(lineage.incoming)]
    fields += [("outgoing", field) for field in sorted(lineage.source_fields)]
    result["operations_for"] = [
        {
            "direction": direction,
            "field": str(field),
            "operations": sorted(operation.name for operation in lineage.operations_for(field, direction)),
        }
        for direction, field in fields
    ]
    return result


def columns_json(found: Columns) -> Json:
    """Return the two parts of the columnLineage facet, with one object for each transformation."""
    return {
        "fields": {name: list(map(_influence_json, influences)) for name, influences in found.fields.items()},
        "dataset": list(map(_influence_json, found.dataset)),
    }


def _influence_json(influence: Influence) -> Json:
    source = influence.source
    result: Json = {"dataset": str(source.dataset), "field": source.field}
    result |= {"type": influence.type, "subtype": influence.subtype}
    if influence.description:
        result["description"] = influence.description
    if influence.masking:
        result["masking"] = True
    return result


def _fields_json(summary: Mapping[Any, Iterable[Any]]) -> dict[str, list[str]]:
    texts: dict[int, list[str]] = {}
    result = {}
    for field in sorted(summary):
        group = summary[field]
        # Equal sets are the same object, and wide tables have few different ones: each is sorted once.
        if id(group) not in texts:
            texts[id(group)] = sorted(map(str, group))
        result[str(field)] = texts[id(group)]
    return result


def _field_operation(item: Json, inputs: Iterable[Input]) -> FieldOperation:
    return FieldOperation(
        item.get("name") or "",
        inputs,
        [FieldPath.of(_path(output)) for output in item.get("outputs") or ()],
        item.get("description"),
        kind_of(item),
        bool(item.get("masking")),
        bool(item.get("propagate_metadata")),
        item.get("removes_tags") or (),
        item.get("from"),
    )


def read_dataset(item: Any) -> DatasetRef | None:
    """Return the dataset written as ``{namespace, name}`` or as its name; None for anything else."""
    match item:
        case {"name": str(name)}:
            return DatasetRef(item.get("namespace"), name)
        case str() if item:
            return DatasetRef(None, item)
    return None


def _dataset_json(dataset: DatasetRef) -> Json:
    return ({} if dataset.namespace is None else {"namespace": dataset.namespace}) | {"name": dataset.name}


def _links(item: Json) -> list[InputField]:
    return [InputField(link.get("origin"), link["field"]) for link in item.get("inputs") or ()]


def _path(item: Any) -> PathLike:
    return item if isinstance(item, str) else tuple(item)


def _names(*alternatives: Any) -> tuple[str, ...] | None:
    for fields in alternatives:
        if isinstance(fields, dict):
            return tuple(f"{stage}.{name}" for stage, names in fields.items() for name in names)
        if fields is not None:
            return tuple(item if isinstance(item, str) else ".".join(item) for item in fields)
    return None


def _first(item: Json | None, *keys: str) -> Any:
    return next((item[key] for key in keys if key in item), None) if item else None
