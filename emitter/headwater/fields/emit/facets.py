"""Field lineage as OpenLineage facets: columnLineage 1-2-0, schema 1-2-0, tags 1-0-0, and Headwater's own facets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import attr
from openlineage.client.generated import column_lineage_dataset, schema_dataset, tags_dataset
from openlineage.client.generated.base import DatasetFacet

from ...producer import own_schema
from ..model.field_operations import DatasetField, DatasetRef
from ..model.paths import unescape
from ..model.schema import Schema, SchemaField
from ..model.wired import Operation
from ..resolution.columns import Columns, Influence, columns
from ..resolution.fingerprint import fingerprint
from ..resolution.lineage import FieldLineage
from ..resolution.metadata import FieldMetadata, Origins

MAX_FIELD_PAIRS = 5_000
"""Above so many pairs of fields, sources that feed every field are listed once for the whole dataset."""

MAX_OPERATION_FIELDS = 20_000
"""Above so many inputs and outputs of operations, the operations facet has the operations without them."""


class _HeadwaterFacet(DatasetFacet):
    @classmethod
    def _get_schema(cls) -> str:
        return own_schema(cls.__name__)


@attr.define
class FieldOperationsReferenceDatasetFacet(_HeadwaterFacet):
    """On an output: the fingerprint of the operations behind its columnLineage, which are sent once, under it."""

    fingerprint: str


@attr.define
class FieldOperationsDatasetFacet(_HeadwaterFacet):
    """A complete set of operations; equal sets have equal fingerprints."""

    fingerprint: str
    operations: list[dict[str, Any]]
    dropped: list[dict[str, str]] = attr.field(factory=list)
    problems: list[dict[str, str]] = attr.field(factory=list)
    cut: str | None = attr.field(default=None)


@attr.define
class FieldMetadataDatasetFacet(_HeadwaterFacet):
    """Inherited metadata with origins and conflicts; the tags facet has the values only."""

    fields: dict[str, dict[str, Any]]


def column_lineage_facet(
    lineage: FieldLineage, destination: DatasetRef, namespace: str
) -> column_lineage_dataset.ColumnLineageDatasetFacet:
    """Return the columnLineage facet of a destination; generated fields have an empty ``inputFields``."""
    found = compact(columns(lineage, destination), MAX_FIELD_PAIRS)
    fields: dict[str, list[Influence]] = {}
    for name, influences in found.fields.items():
        fields.setdefault(unescape(name), []).extend(influences)
    return column_lineage_dataset.ColumnLineageDatasetFacet(
        fields={
            name: column_lineage_dataset.Fields(inputFields=_input_fields(influences, namespace))
            for name, influences in fields.items()
        },
        dataset=_input_fields(found.dataset, namespace),
    )


def compact(found: Columns, max_pairs: int) -> Columns:
    """Return the column lineage with the influences that all fields share moved to the dataset, if there are too many."""
    pairs = sum(len(influences) for influences in found.fields.values())
    if pairs <= max_pairs:
        return found
    shared = frozenset.intersection(*map(frozenset, found.fields.values()))
    return Columns(
        {name: tuple(item for item in influences if item not in shared) for name, influences in found.fields.items()},
        (*found.dataset, *sorted(shared, key=lambda influence: influence.sort_key)),
    )


def field_operations_facet(
    lineage: FieldLineage, namespace: str, max_fields: int = MAX_OPERATION_FIELDS
) -> FieldOperationsDatasetFacet:
    """Return the facet with every operation in topological order, the dropped fields and the problems.

    Above ``max_fields`` inputs and outputs in total, the operations have neither, and ``cut`` says so.
    """
    total = sum(len(operation.inputs) + len(operation.outputs) for operation in lineage.operations)
    whole = total <= max_fields
    return FieldOperationsDatasetFacet(
        fingerprint=fingerprint_in(lineage, namespace),
        operations=[_operation(operation, namespace, whole) for operation in lineage.operations],
        dropped=[_field(field, namespace) for field in sorted(lineage.dropped)],
        problems=[
            _present(code=problem.code, message=str(problem), operation=problem.operation, field=problem.field)
            for problem in lineage.problems
        ],
        cut=None if whole else f"{total} inputs and outputs are omitted; the limit is {max_fields}",
    )


def fingerprint_in(lineage: FieldLineage, namespace: str) -> str:
    """Return the fingerprint of the operations with this namespace for datasets that have none."""
    if all(item.dataset is None or item.dataset.namespace is not None for item in lineage.operations):
        return lineage.fingerprint

    def named(dataset: DatasetRef | None) -> DatasetRef | None:
        return dataset and replace(dataset, namespace=dataset.namespace or namespace)

    return fingerprint([replace(item, dataset=named(item.dataset)) for item in lineage.operations])


def schema_facet(schema: Schema) -> schema_dataset.SchemaDatasetFacet:
    """Return the schema facet with all nested fields."""
    built: dict[int, schema_dataset.SchemaDatasetFacetFields] = {}
    order: list[SchemaField] = list(schema.fields)
    for item in order:
        order.extend(item.fields)
    for item in reversed(order):
        built[id(item)] = schema_dataset.SchemaDatasetFacetFields(
            name=item.name, type=item.type, fields=[built[id(inner)] for inner in item.fields]
        )
    return schema_dataset.SchemaDatasetFacet(fields=[built[id(item)] for item in schema.fields])


def metadata_facets(
    metadata: Mapping[DatasetField, FieldMetadata], destination: DatasetRef, namespace: str
) -> dict[str, DatasetFacet]:
    """Return the facets with the metadata that the destination's fields inherit: tags, and origins and conflicts."""
    inherited = {
        unescape(field.field): item
        for field, item in metadata.items()
        if field.dataset == destination and (item.tags or item.properties)
    }
    if not inherited:
        return {}
    tags = [
        tags_dataset.TagsDatasetFacetFields(key=key, value=value, source="PROPAGATED", field=name)
        for name, item in inherited.items()
        for key, value in _tags(item)
    ]
    fields = {name: _metadata(item, namespace) for name, item in inherited.items()}
    return {
        "tags": tags_dataset.TagsDatasetFacet(tags=tags),
        "headwater_fieldMetadata": FieldMetadataDatasetFacet(fields=fields),
    }


def _tags(metadata: FieldMetadata) -> Iterable[tuple[str, str]]:
    yield from ((tag, "true") for tag in metadata.tags)
    yield from ((name, value) for name, values in metadata.properties.items() for value in values)


def _metadata(metadata: FieldMetadata, namespace: str) -> dict[str, Any]:
    def listed(values: Mapping[str, Origins]) -> dict[str, Any]:
        return {value: [_field(field, namespace) for field in origins] for value, origins in values.items()}

    return {
        "tags": listed(metadata.tags),
        "properties": {name: listed(values) for name, values in metadata.properties.items()},
        "conflicts": list(metadata.conflicts),
    }


def _input_fields(influences: Iterable[Influence], namespace: str) -> list[column_lineage_dataset.InputField]:
    by_source: dict[DatasetField, list[column_lineage_dataset.Transformation]] = {}
    for item in influences:
        by_source.setdefault(item.source, []).append(
            column_lineage_dataset.Transformation(
                type=item.type, subtype=item.subtype, description=item.description, masking=item.masking or None
            )
        )
    return [
        column_lineage_dataset.InputField(**_field(source, namespace), transformations=transformations)
        for source, transformations in by_source.items()
    ]


def _operation(operation: Operation, namespace: str, whole: bool) -> dict[str, Any]:
    result: dict[str, Any] = {"id": operation.id, "type": operation.type.value, "name": operation.name}
    result |= _present(description=operation.description, kind=operation.kind and operation.kind.value)
    if operation.dataset is not None:
        result["dataset"] = _dataset(operation.dataset, namespace)
    if operation.masking:
        result["masking"] = True
    if operation.guess:
        result["guess"] = True
    if operation.inputs and whole:
        result["inputs"] = [_present(origin=link.origin, field=link.field) for link in operation.inputs]
    if operation.outputs and whole:
        result["outputs"] = list(operation.outputs)
    if operation.reaches is not None:
        result["reaches"] = [_dataset(dataset, namespace) for dataset in sorted(operation.reaches)]
    return result


def _dataset(dataset: DatasetRef, namespace: str) -> dict[str, str]:
    return {"namespace": dataset.namespace or namespace, "name": dataset.name}


def _field(field: DatasetField, namespace: str) -> dict[str, str]:
    return {**_dataset(field.dataset, namespace), "field": unescape(field.field)}


def _present(**members: str | None) -> dict[str, str]:
    return {key: value for key, value in members.items() if value is not None}
