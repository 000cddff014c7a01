"""Resolve the JSON cases of ``headwater fields resolve``.

A case is an object with a ``level``. The levels are the functions in ``LEVELS``; their docstrings list the members of a
case. A field is written ``namespace:dataset#field``, or ``dataset#field`` if the dataset has no namespace.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from headwater_avro.errors import ConfigError

from ..model.field_operations import DatasetRef, Destination, Source
from ..model.problems import InvalidLineage
from ..model.schema import Schema
from ..recording.pipeline import wire
from ..recording.program import resolve
from ..recording.stage import Stage, stage_field_text
from ..recording.stage_checks import check_stage
from ..resolution.columns import columns
from ..resolution.resolve import resolve_operations
from ..shapes import Selected, join_operations
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
    """Return the answer to a case; raise InvalidLineage for invalid operations, ConfigError for an invalid case."""
    level = str(case.get("level"))
    if level not in LEVELS:
        raise ConfigError(f"not a level: {level!r}; set the case's level to one of {', '.join(LEVELS)}")
    try:
        return LEVELS[level](case)
    except (ConfigError, InvalidLineage):
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        raise ConfigError(
            f"not a case of level {level!r}: {type(fault).__name__}: {fault}; see docs/fields.md"
        ) from fault


def platform(case: Json) -> Json:
    """Resolve ``operations`` with ``type``, ``name``, ``source`` or ``destination``, inputs as ``{origin, field}``."""
    lineage = resolve_operations(wired_operation(item) for item in case["operations"])
    return {**lineage_json(lineage), **operations_for_json(lineage)}


def pipeline(case: Json) -> Json:
    """Resolve ``stages`` (name to operations with plain inputs), ``connections``, ``joiners`` and optional ``schemas``."""
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
    wired = wire(stages, [(before, after) for before, after in case.get("connections") or ()])
    lineage = resolve_operations(wired, strict=False)
    ends = {f"{stage}.{item['name']}": dataset_json(item) for stage, items in recorded.items() for item in items or ()}
    return {
        "operations": [wired_json(operation, ends.get(operation.name)) for operation in wired],
        **lineage_json(lineage),
        **operations_for_json(lineage),
    }


def stage_validation(case: Json) -> Json:
    """Check the ``operations`` of a stage against its schemas, ``stage_inputs`` and ``stage_outputs``."""
    checks = check_stage(
        [stage_operation(item) for item in case.get("operations") or ()],
        [stage_field_text(stage_field(item)) for item in case.get("stage_inputs") or ()],
    )
    return {
        member: {name: list(operations) for name, operations in getattr(checks, member).items()}
        for member in ("invalid_inputs", "invalid_outputs", "redundant_outputs")
    }


def join_level(case: Json) -> Json:
    """Return the operations of ``join_keys`` (stage to keys) and ``output_fields`` (``{stage, field, alias}``)."""
    keys = case["join_keys"]
    pairs = keys.items() if isinstance(keys, dict) else keys
    selected = [Selected(item["stage"], item["field"], item.get("alias")) for item in case["output_fields"]]
    operations = join_operations({stage: list(names) for stage, names in pairs}, selected)
    return {"operations": [stage_json(operation) for operation in operations]}


def seed(case: Json) -> Json:
    """Resolve a program: ``sources``, ``destination``, ``operations`` with inputs as ``[source, field]`` or ``field``.

    Optional: ``source_schemas``, ``destination_schema`` and ``implicit_identity``; ``metadata`` by source field (``tags``,
    ``properties``), ``on_destination`` by destination field, and ``policies`` by property: a rule, or
    ``{"ranked": [values]}``. The policy ``*`` is the default.
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
    """Return the sources by the names that operations use; a source is a name, or ``{namespace, name}``."""
    schemas = case.get("source_schemas") or {}
    listed = map(read_dataset, case.get("sources") or ())
    refs = {name: DatasetRef(None, name) for name in schemas}
    refs |= {name: ref for ref in listed if ref for name in (str(ref), ref.name)}
    return {
        name: Source(ref.namespace, ref.name, schema=_schema(schemas.get(name, schemas.get(str(ref)))))
        for name, ref in refs.items()
    }


def openlineage(case: Json) -> Json:
    """Return the columns of ``operation`` or ``operations`` with ``kind`` and inputs as ``dataset#field``.

    ``from`` names the side of a join from which the output takes its value.
    """
    items = flat(case["operations"] if "operations" in case else [case["operation"]])
    operations = [operation for item in items for operation in open_operations(item)]
    destination = _destination({"destination": "destination", **case})
    lineage = resolve(operations, destination, strict=True)
    return columns_json(columns(lineage, destination.ref))


def _destination(case: Json) -> Destination:
    end = case["destination"]
    namespace, name = (end.get("namespace"), end["name"]) if isinstance(end, dict) else (None, end)
    return Destination(namespace, name, schema=_schema(case.get("destination_schema")))


def _schema(fields: list[object] | None) -> Schema | None:
    return None if fields is None else Schema.of_paths(paths(fields))


LEVELS: Mapping[str, Callable[[Json], Json]] = {
    "platform": platform,
    "pipeline": pipeline,
    "stage-validation": stage_validation,
    "join-operations": join_level,
    "seed": seed,
    "openlineage": openlineage,
}
