"""From resolved lineage into a run: which datasets it read and wrote, with the facets that tell the fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from openlineage.client.generated.base import DatasetFacet
from openlineage.client.serde import Serde

from ..model.field_operations import DatasetField, DatasetRef
from ..model.schema import Schema
from ..model.wired import OperationType
from ..resolution.lineage import FieldLineage, ends
from ..resolution.metadata import FieldMetadata
from .facets import (
    FieldOperationsReferenceDatasetFacet,
    column_lineage_facet,
    field_operations_facet,
    metadata_facets,
    schema_facet,
)

Facets = dict[str, Any]


FACET = "headwater_fieldOperations"
OPERATIONS = "urn:headwater:field-operations"
"""The namespace under which sets of operations are told, each once: its name is its fingerprint."""


class Run(Protocol):
    """The port to a run: what it reads and writes, with dataset facets (dicts) by name.

    ``attaches`` tells facets about an output that many runs share, under a key of their own; told again for the output,
    they replace what was told before.
    """

    def reads(self, namespace: str, name: str, *, facets: Mapping[str, Any]) -> object: ...

    def writes(self, namespace: str, name: str, *, facets: Mapping[str, Any]) -> object: ...

    def attaches(self, output: tuple[str, str], key: tuple[str, str], told: Mapping[str, Any], /) -> object: ...


class MemoryRun:
    """A run that keeps what it is told, later facets replacing earlier ones of their name; the fake of `Run`."""

    def __init__(self) -> None:
        self.inputs: dict[tuple[str, str], Facets] = {}
        self.outputs: dict[tuple[str, str], Facets] = {}
        self.attached: dict[tuple[str, str], tuple[tuple[str, str], Facets]] = {}

    def reads(self, namespace: str, name: str, *, facets: Mapping[str, Any]) -> None:
        self.inputs.setdefault((namespace, name), {}).update(_signed(facets))

    def writes(self, namespace: str, name: str, *, facets: Mapping[str, Any]) -> None:
        self.outputs.setdefault((namespace, name), {}).update(_signed(facets))

    def attaches(self, output: tuple[str, str], key: tuple[str, str], told: Mapping[str, Any]) -> None:
        self.attached[output] = (key, _signed(told))


def _signed(facets: Mapping[str, Any]) -> Facets:
    return {name: {"_producer": "urn:headwater:memory"} | facet for name, facet in facets.items()}


def apply(
    lineage: FieldLineage,
    run: Run,
    *,
    namespace: str = "default",
    metadata: Mapping[DatasetField, FieldMetadata] | None = None,
) -> None:
    """Put a lineage into a run: its sources as inputs, its destinations as outputs with columnLineage.

    The outputs name the fingerprint of the operations, which are attached under it, so that runs of the same operations
    share them. ``namespace`` is that of datasets which name none. Schemas go along where they were told.
    """
    operations = field_operations_facet(lineage, namespace)
    for source in ends(lineage.operations, OperationType.READ):
        run.reads(source.namespace or namespace, source.name, facets=_source_facets(lineage, source))
    for destination in ends(lineage.operations, OperationType.WRITE):
        facets = _destination_facets(lineage, destination, namespace)
        facets[FACET] = FieldOperationsReferenceDatasetFacet(operations.fingerprint)
        facets |= metadata_facets(metadata or {}, destination, namespace)
        key = (destination.namespace or namespace, destination.name)
        run.writes(*key, facets=_plain(facets))
        run.attaches(key, (OPERATIONS, operations.fingerprint), _plain({FACET: operations}))


def _source_facets(lineage: FieldLineage, source: DatasetRef) -> Facets:
    told = (lineage.sources or {}).get(source)
    return schema_facets(None if told is None else told.schema)


def schema_facets(schema: Schema | None) -> Facets:
    """The schema facet as a dict by its name; none where there is no schema."""
    return {} if schema is None else _plain({"schema": schema_facet(schema)})


def _destination_facets(lineage: FieldLineage, destination: DatasetRef, namespace: str) -> dict[str, DatasetFacet]:
    told = (lineage.destinations or {}).get(destination)
    facets: dict[str, DatasetFacet] = {
        "columnLineage": column_lineage_facet(lineage, destination, namespace),
    }
    if told is not None and told.schema is not None:
        facets["schema"] = schema_facet(told.schema)
    return facets


def _plain(facets: Mapping[str, DatasetFacet]) -> Facets:
    """Facets as dicts: any transport takes those. Who produced them is for the run to say, as for its other facets."""
    told = {name: Serde.to_dict(facet) for name, facet in facets.items()}
    return {name: {key: value for key, value in facet.items() if key != "_producer"} for name, facet in told.items()}
