"""Add resolved lineage to a run: the datasets that it reads and writes, with facets for their fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from openlineage.client.generated.base import DatasetFacet
from openlineage.client.serde import Serde

from ..model.field_operations import DatasetField
from ..model.schema import Schema
from ..model.wired import READ, WRITE
from ..resolution.lineage import FieldLineage, datasets
from ..resolution.metadata import FieldMetadata
from .facets import (
    FieldOperationsReferenceDatasetFacet,
    column_lineage_facet,
    field_operations_facet,
    metadata_facets,
    schema_facet,
)

Facets = dict[str, Any]
DatasetKey = tuple[str, str]

FACET = "headwater_fieldOperations"
OPERATIONS = "urn:headwater:field-operations"
"""The namespace of the datasets that carry a set of operations each; their name is the fingerprint of the set."""


class Run(Protocol):
    """The interface of a run: the datasets that it reads and writes, with facets (dicts) by name.

    ``attaches`` sends facets that the outputs of many runs share, as facets of a dataset of their own. Another call for
    the same output replaces them.
    """

    def reads(self, namespace: str, name: str, *, facets: Mapping[str, Any]) -> object: ...

    def writes(self, namespace: str, name: str, *, facets: Mapping[str, Any]) -> object: ...

    def attaches(self, output: DatasetKey, key: DatasetKey, facets: Mapping[str, Any], /) -> object: ...


class MemoryRun:
    """A run that stores its datasets and facets, for tests; a later facet replaces an earlier one of its name."""

    def __init__(self) -> None:
        self.inputs: dict[DatasetKey, Facets] = {}
        self.outputs: dict[DatasetKey, Facets] = {}
        self.attached: dict[DatasetKey, tuple[DatasetKey, Facets]] = {}

    def reads(self, namespace: str, name: str, *, facets: Mapping[str, Any]) -> None:
        self.inputs.setdefault((namespace, name), {}).update(_with_producer(facets))

    def writes(self, namespace: str, name: str, *, facets: Mapping[str, Any]) -> None:
        self.outputs.setdefault((namespace, name), {}).update(_with_producer(facets))

    def attaches(self, output: DatasetKey, key: DatasetKey, facets: Mapping[str, Any]) -> None:
        self.attached[output] = (key, _with_producer(facets))


def _with_producer(facets: Mapping[str, Any]) -> Facets:
    return {name: {"_producer": "urn:headwater:memory"} | facet for name, facet in facets.items()}


def apply(
    lineage: FieldLineage,
    run: Run,
    *,
    namespace: str = "default",
    metadata: Mapping[DatasetField, FieldMetadata] | None = None,
) -> None:
    """Add a lineage to a run: its sources as inputs, its destinations as outputs with columnLineage, with their schemas.

    The outputs carry the fingerprint of the operations, and the operations are attached under it, so that runs of the
    same operations share them. ``namespace`` is that of datasets without one.
    """
    operations = field_operations_facet(lineage, namespace)
    for source in datasets(lineage.operations, READ):
        read = (lineage.sources or {}).get(source)
        run.reads(source.namespace or namespace, source.name, facets=schema_facets(read.schema if read else None))
    for destination in datasets(lineage.operations, WRITE):
        written = (lineage.destinations or {}).get(destination)
        facets: dict[str, DatasetFacet] = {
            "columnLineage": column_lineage_facet(lineage, destination, namespace),
            FACET: FieldOperationsReferenceDatasetFacet(operations.fingerprint),
            **metadata_facets(metadata or {}, destination, namespace),
        }
        key = (destination.namespace or namespace, destination.name)
        run.writes(*key, facets=_as_dicts(facets) | schema_facets(written.schema if written else None))
        run.attaches(key, (OPERATIONS, operations.fingerprint), _as_dicts({FACET: operations}))


def schema_facets(schema: Schema | None) -> Facets:
    """Return the schema facet by its name, as a dict; nothing without a schema."""
    return {} if schema is None else _as_dicts({"schema": schema_facet(schema)})


def _as_dicts(facets: Mapping[str, DatasetFacet]) -> Facets:
    """Return facets as dicts, which every transport accepts, without ``_producer``, which the run adds."""
    dicts = {name: Serde.to_dict(facet) for name, facet in facets.items()}
    return {name: {key: value for key, value in facet.items() if key != "_producer"} for name, facet in dicts.items()}
