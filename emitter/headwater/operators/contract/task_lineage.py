"""The lineage of an operator: datasets read and written, facets of the run and of the job.

These are the values that operators return. Their types are permissive: a dataset may be one of ours, one of
openlineage-python's, a dictionary, or any object with a ``namespace`` and a ``name``; a facet may be a dictionary or an
openlineage-python object. ``read_result`` converts them to the form of the OpenLineage specification.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

Facets: TypeAlias = Mapping[str, object]
"""Facet name -> a dictionary of the facet's members, or an openlineage-python facet."""


@runtime_checkable
class HasDatasetKey(Protocol):
    """An object that names a dataset: one of openlineage-python's datasets, or a file or table object of a library."""

    @property
    def namespace(self) -> str: ...

    @property
    def name(self) -> str: ...


@dataclass(frozen=True, slots=True)
class InputDataset:
    """A dataset that a task read; ``input_facets`` apply to this read only (statistics, data quality)."""

    namespace: str
    name: str
    facets: Facets = field(default_factory=dict, hash=False)
    input_facets: Facets = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class OutputDataset:
    """A dataset that a task wrote; ``output_facets`` apply to this write only (rows, bytes)."""

    namespace: str
    name: str
    facets: Facets = field(default_factory=dict, hash=False)
    output_facets: Facets = field(default_factory=dict, hash=False)


DatasetLike: TypeAlias = InputDataset | OutputDataset | HasDatasetKey | Mapping[str, object]


def dataset_member(dataset: object, name: str) -> Any:
    """Return a member of a dataset in any of its forms; None if it does not have it."""
    return dataset.get(name) if isinstance(dataset, Mapping) else getattr(dataset, name, None)


def dataset_key(dataset: DatasetLike) -> tuple[str, str]:
    """Return the namespace and name of a dataset in any of its forms, as text."""
    return str(dataset_member(dataset, "namespace")), str(dataset_member(dataset, "name"))


@dataclass(frozen=True, slots=True)
class TaskInstanceLineage:
    """The result of ``get_openlineage_facets_on_start`` and the like; every member may be left out."""

    inputs: Sequence[DatasetLike] = ()
    outputs: Sequence[DatasetLike] = ()
    run_facets: Facets = field(default_factory=dict, hash=False)
    job_facets: Facets = field(default_factory=dict, hash=False)

    def merge(self, other: TaskInstanceLineage) -> TaskInstanceLineage:
        """Return both in a new value: datasets in the order self, other; of facets with equal names that of self."""
        return TaskInstanceLineage(
            inputs=[*self.inputs, *other.inputs],
            outputs=[*self.outputs, *other.outputs],
            run_facets={**other.run_facets, **self.run_facets},
            job_facets={**other.job_facets, **self.job_facets},
        )

    @property
    def has_datasets(self) -> bool:
        """Return whether any dataset is named, as read or written."""
        return bool(self.inputs or self.outputs)


OperatorLineage = TaskInstanceLineage
"""The name of ``TaskInstanceLineage`` in Airflow's provider."""
