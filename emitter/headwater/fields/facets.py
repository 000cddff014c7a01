"""Field lineage as OpenLineage facets: columnLineage 1-2-0, schema 1-2-0, tags 1-0-0, and two of our own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import attr
from openlineage.client.generated import column_lineage_dataset, schema_dataset, tags_dataset
from openlineage.client.generated.base import DatasetFacet

from ..producer import own_schema
from .columns import Columns, Influence, columns
from .fingerprint import fingerprint
from .lineage import FieldLineage
from .metadata import FieldMetadata
from .model import DatasetField, DatasetRef
from .operations import Operation
from .paths import unescape
from .schema import Schema, SchemaField

MOST_PAIRS = 5_000
"""Above so many pairs of fields, sources that feed every field are told once for the whole dataset."""


MOST_LINKS = 20_000
"""Above so many inputs and outputs of operations, the operations facet names the operations alone."""


@attr.define
class FieldOperationsReferenceDatasetFacet(DatasetFacet):
    """On an output: the fingerprint of the operations behind its columnLineage, which are told once, under it."""

    fingerprint: str

    @staticmethod
    def _get_schema() -> str:
        return own_schema("FieldOperationsReferenceDatasetFacet")


@attr.define
class FieldOperationsDatasetFacet(DatasetFacet):
    """A set of operations, nothing left out; equal sets have equal fingerprints."""

    fingerprint: str
    operations: list[dict[str, Any]]
    dropped: list[dict[str, str]] = attr.field(factory=list)
    problems: list[dict[str, str]] = attr.field(factory=list)
    cut: str | None = attr.field(default=None)

    @staticmethod
    def _get_schema() -> str:
        return own_schema("FieldOperationsDatasetFacet")


@attr.define
class FieldMetadataDatasetFacet(DatasetFacet):
    """What fields inherited, with origins and conflicts; the tags facet has the values alone."""

    fields: dict[str, dict[str, Any]]

    @staticmethod
    def _get_schema() -> str:
        return own_schema("FieldMetadataDatasetFacet")


def column_lineage_facet(
    lineage: FieldLineage, destination: DatasetRef, namespace: str, most_pairs: int = MOST_PAIRS
) -> column_lineage_dataset.ColumnLineageDatasetFacet:
    """The columnLineage facet of one destination; fields made from nothing have an empty ``inputFields``."""
    found = compact(columns(lineage, destination), most_pairs)
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


def compact(found: Columns, most_pairs: int) -> Columns:
    """Where there are too many pairs, what feeds every field is told once, for the dataset as a whole."""
    pairs = sum(len(influences) for influences in found.fields.values())
    if pairs <= most_pairs:
        return found
    told = [frozenset(influences) for influences in found.fields.values() if influences]
    shared = frozenset.intersection(*told) if len(told) == len(found.fields) else frozenset()
    return Columns(
        {name: tuple(one for one in influences if one not in shared) for name, influences in found.fields.items()},
        (*found.dataset, *sorted(shared, key=lambda one: one.sort_key)),
    )


def field_operations_facet(
    lineage: FieldLineage, namespace: str, most_links: int = MOST_LINKS
) -> FieldOperationsDatasetFacet:
    """The operations facet: every operation in topological order, what was dropped, what is wrong.

    Above ``most_links`` inputs and outputs in all, operations are told without theirs, and ``cut`` says so.
    """
    links = sum(len(operation.inputs) + len(operation.outputs) for operation in lineage.operations)
    whole = links <= most_links
    return FieldOperationsDatasetFacet(
        fingerprint=fingerprint_in(lineage, namespace),
        operations=[_operation(operation, namespace, whole) for operation in lineage.operations],
        dropped=[_field(one, namespace) for one in sorted(lineage.dropped)],
        problems=[
            {
                "code": problem.code,
                "message": str(problem),
                **_present(operation=problem.operation, field=problem.field),
            }
            for problem in lineage.problems
        ],
        cut=None if whole else f"{links} inputs and outputs are left out; more than {most_links} are not told",
    )


def fingerprint_in(lineage: FieldLineage, namespace: str) -> str:
    """The fingerprint of the operations once datasets without a namespace have this one: then they are other datasets."""
    ends = [one.dataset for one in lineage.operations if one.dataset is not None]
    if all(end.namespace is not None for end in ends):
        return lineage.fingerprint

    def placed(dataset: DatasetRef | None) -> DatasetRef | None:
        return dataset and replace(dataset, namespace=dataset.namespace or namespace)

    return fingerprint([replace(one, dataset=placed(one.dataset)) for one in lineage.operations])


def schema_facet(schema: Schema) -> schema_dataset.SchemaDatasetFacet:
    """The schema facet; nesting as deep as the schema's."""
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
    """The tags facet with what the destination's fields inherited, and our own with origins and conflicts."""
    mine = {unescape(one.field): told for one, told in metadata.items() if one.dataset == destination}
    told = {name: one for name, one in mine.items() if one.tags or one.properties}
    if not told:
        return {}
    tags = [
        tags_dataset.TagsDatasetFacetFields(key=key, value=value, source="PROPAGATED", field=name)
        for name, one in told.items()
        for key, value in _tags(one)
    ]
    fields = {name: _metadata(one, namespace) for name, one in told.items()}
    return {
        "tags": tags_dataset.TagsDatasetFacet(tags=tags),
        "headwater_fieldMetadata": FieldMetadataDatasetFacet(fields=fields),
    }


def _tags(told: FieldMetadata) -> Iterable[tuple[str, str]]:
    yield from ((tag, "true") for tag in told.tags)
    yield from ((name, value) for name, values in told.properties.items() for value in values)


def _metadata(told: FieldMetadata, namespace: str) -> dict[str, Any]:
    return {
        "tags": {tag: [_field(one, namespace) for one in origins] for tag, origins in told.tags.items()},
        "properties": {
            name: {value: [_field(one, namespace) for one in origins] for value, origins in values.items()}
            for name, values in told.properties.items()
        },
        "conflicts": list(told.conflicts),
    }


def _input_fields(influences: Iterable[Influence], namespace: str) -> list[column_lineage_dataset.InputField]:
    by_source: dict[DatasetField, list[column_lineage_dataset.Transformation]] = {}
    for one in influences:
        by_source.setdefault(one.source, []).append(
            column_lineage_dataset.Transformation(
                type=one.type, subtype=one.subtype, description=one.description, masking=one.masking or None
            )
        )
    return [
        column_lineage_dataset.InputField(
            namespace=source.dataset.namespace or namespace,
            name=source.dataset.name,
            field=unescape(source.field),
            transformations=transformations,
        )
        for source, transformations in by_source.items()
    ]


def _operation(operation: Operation, namespace: str, whole: bool) -> dict[str, Any]:
    told: dict[str, Any] = {"id": operation.id, "type": operation.type.value, "name": operation.name}
    told |= _present(description=operation.description, kind=operation.kind and operation.kind.value)
    if operation.dataset is not None:
        told["dataset"] = _dataset(operation.dataset, namespace)
    if operation.masking:
        told["masking"] = True
    if operation.inputs and whole:
        told["inputs"] = [_present(origin=link.origin, field=link.field) for link in operation.inputs]
    if operation.outputs and whole:
        told["outputs"] = list(operation.outputs)
    if operation.reaches is not None:
        told["reaches"] = [_dataset(one, namespace) for one in sorted(operation.reaches)]
    return told


def _dataset(one: DatasetRef, namespace: str) -> dict[str, str]:
    return {"namespace": one.namespace or namespace, "name": one.name}


def _field(one: DatasetField, namespace: str) -> dict[str, str]:
    return {**_dataset(one.dataset, namespace), "field": unescape(one.field)}


def _present(**told: str | None) -> dict[str, str]:
    return {key: value for key, value in told.items() if value is not None}
