"""The JSON notation of `headwater fields resolve`: one case in, one answer out.

A case is an object with a ``level``; the levels are the functions of `LEVELS`, each of which names its keys.
A field is written ``namespace:dataset#field``, without ``namespace:`` where there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from headwater_avro.errors import ConfigError

from ..model.field_operations import DatasetRef, Destination, Source
from ..model.problems import InvalidLineage
from ..model.schema import Schema
from ..recording.pipeline import wire
from ..recording.program import resolve
from ..recording.stage import Stage
from ..recording.stage_checks import check_stage, stage_field_text
from ..resolution.columns import columns
from ..resolution.resolve import resolve_operations
from ..shapes import Selected, joined
from .metadata import inherited_json
from .notation import (
    Json,
    columns_json,
    dataset_json,
    field_operation,
    flat,
    lineage_json,
    open_operations,
    operations_for_json,
    paths,
    read_dataset,
    stage_field,
    stage_json,
    stage_operation,
    stage_schemas,
    wired_json,
    wired_operation,
)


def answer(case: Json) -> Json:
    """The answer to a case; InvalidLineage for operations that contradict themselves, ConfigError for a bad case."""
    level = str(case.get("level"))
    if level not in LEVELS:
        raise ConfigError(f"a case has a level, one of {', '.join(LEVELS)}; not {level!r}")
    try:
        return LEVELS[level](case)
    except (ConfigError, InvalidLineage):
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        raise ConfigError(f"not a case of level {level!r}: {type(fault).__name__}: {fault}") from fault


def platform(case: Json) -> Json:
    """``operations`` with ``type``, ``name``, ``source`` or ``destination``, inputs as ``{origin, field}``."""
    lineage = resolve_operations(wired_operation(item) for item in case["operations"])
    return {**lineage_json(lineage), **operations_for_json(lineage)}


def pipeline(case: Json) -> Json:
    """``stages`` (name to operations with plain inputs), ``connections``, ``joiners``, and ``schemas`` if told."""
    schemas = stage_schemas(case)
    joiners = set(case.get("joiners") or ())
    recorded = {**dict.fromkeys([*schemas, *sorted(joiners)]), **case["stages"]}
    stages = [
        Stage(
            name,
            tuple(stage_operation(item) for item in operations or ()),
            input_fields=schemas.get(name, (None, None))[0],
            output_fields=schemas.get(name, (None, None))[1],
            joiner=name in joiners,
        )
        for name, operations in recorded.items()
    ]
    wired = wire(stages, [(one, other) for one, other in case.get("connections") or ()])
    lineage = resolve_operations(wired, strict=False)
    told = {f"{stage}.{item['name']}": dataset_json(item) for stage, items in recorded.items() for item in items or ()}
    return {
        "operations": [wired_json(operation, told.get(operation.name)) for operation in wired],
        **lineage_json(lineage),
        **operations_for_json(lineage),
    }


def stage_validation(case: Json) -> Json:
    """``operations`` of one stage, ``stage_inputs`` and ``stage_outputs`` (its schemas)."""
    checks = check_stage(
        [stage_operation(item) for item in case.get("operations") or ()],
        [stage_field_text(stage_field(item)) for item in case.get("stage_inputs") or ()],
    )
    return {
        "invalid_inputs": {name: list(found) for name, found in checks.invalid_inputs.items()},
        "invalid_outputs": {name: list(found) for name, found in checks.invalid_outputs.items()},
        "redundant_outputs": {name: list(found) for name, found in checks.redundant_outputs.items()},
    }


def join_operations(case: Json) -> Json:
    """``join_keys`` as pairs of stage and keys, ``output_fields`` as ``{stage, field, alias}``."""
    keys = case["join_keys"]
    pairs = keys.items() if isinstance(keys, dict) else keys
    selected = [Selected(one["stage"], one["field"], one.get("alias")) for one in case["output_fields"]]
    operations = joined({stage: list(names) for stage, names in pairs}, selected)
    return {"operations": [stage_json(operation) for operation in operations]}


def seed(case: Json) -> Json:
    """``sources``, ``destination``, ``operations`` with inputs as ``[source, field]`` or ``field``.

    ``source_schemas`` and ``destination_schema`` if known; ``implicit_identity`` true to let schema fields pass.
    ``metadata`` by source field (``tags``, ``properties``), ``on_destination`` by destination field, ``policies`` by
    property: a rule, or ``{"ranked": [values]}``; ``*`` stands for the properties that are not named.
    """
    sources = _sources(case)
    lineage = resolve(
        [field_operation(item, sources) for item in flat(case["operations"])],
        _destination(case),
        sources=sources.values(),
        implicit_identity=bool(case.get("implicit_identity")),
        strict=True,
    )
    return lineage_json(lineage) | inherited_json(case, lineage)


def _sources(case: Json) -> dict[str, Source]:
    """The sources by the names that the operations give them; a source is a name, or ``{namespace, name}``."""
    schemas = case.get("source_schemas") or {}
    told = [DatasetRef(None, one) if isinstance(one, str) else read_dataset(one) for one in case.get("sources") or ()]
    refs = {name: DatasetRef(None, name) for name in schemas}
    refs |= {name: ref for ref in told if ref for name in (str(ref), ref.name)}
    return {
        name: Source(ref.namespace, ref.name, schema=_schema(schemas.get(name, schemas.get(str(ref)))))
        for name, ref in refs.items()
    }


def openlineage(case: Json) -> Json:
    """``operation`` or ``operations`` with ``kind``, inputs as ``dataset#field``, outputs; ``from`` for a join's side."""
    items = flat(case["operations"] if "operations" in case else [case["operation"]])
    operations = [operation for item in items for operation in open_operations(item)]
    destination = _destination({"destination": "destination", **case})
    lineage = resolve(operations, destination, strict=True)
    return columns_json(columns(lineage, destination.ref))


def _destination(case: Json) -> Destination:
    told = case["destination"]
    namespace, name = (told.get("namespace"), told["name"]) if isinstance(told, dict) else (None, told)
    return Destination(namespace, name, schema=_schema(case.get("destination_schema")))


def _schema(fields: list[object] | None) -> Schema | None:
    return None if fields is None else Schema.of_paths(paths(fields))


LEVELS: Mapping[str, Callable[[Json], Json]] = {
    "platform": platform,
    "pipeline": pipeline,
    "stage-validation": stage_validation,
    "join-operations": join_operations,
    "seed": seed,
    "openlineage": openlineage,
}
