"""What an operator tells of its lineage: datasets read and written, facets of the run and of the job (seed 003).

These are the values that operators return. They are loose on purpose: a dataset may be one of ours, one of
openlineage-python's, a plain dictionary, or anything with a ``namespace`` and a ``name``; a facet may be a dictionary
or an openlineage-python object. `headwater.operators.results.read_result` brings all of it into the form of the
OpenLineage specification.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, runtime_checkable

Facets: TypeAlias = Mapping[str, object]
"""Facet name -> a dictionary with the facet's members, or an openlineage-python facet."""


@runtime_checkable
class HasDatasetKey(Protocol):
    """Anything that names a dataset: openlineage-python's datasets, file and table objects of one's own."""

    @property
    def namespace(self) -> str: ...

    @property
    def name(self) -> str: ...


@dataclass(frozen=True, slots=True)
class InputDataset:
    """A dataset that a task read; ``input_facets`` hold for this reading only (statistics, data quality)."""

    namespace: str
    name: str
    facets: Facets = field(default_factory=dict, hash=False)
    input_facets: Facets = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class OutputDataset:
    """A dataset that a task wrote; ``output_facets`` hold for this writing only (rows, bytes)."""

    namespace: str
    name: str
    facets: Facets = field(default_factory=dict, hash=False)
    output_facets: Facets = field(default_factory=dict, hash=False)


DatasetLike: TypeAlias = InputDataset | OutputDataset | HasDatasetKey | Mapping[str, object]


@dataclass(frozen=True, slots=True)
class TaskInstanceLineage:
    """The result of ``get_openlineage_facets_on_start`` and its fellows; every member may be left out (seed 003)."""

    inputs: Sequence[DatasetLike] = ()
    outputs: Sequence[DatasetLike] = ()
    run_facets: Facets = field(default_factory=dict, hash=False)
    job_facets: Facets = field(default_factory=dict, hash=False)

    def merge(self, other: TaskInstanceLineage) -> TaskInstanceLineage:
        """Both in a new value: datasets in the order self, other; of facets with one name, the one of self."""
        return TaskInstanceLineage(
            inputs=[*self.inputs, *other.inputs],
            outputs=[*self.outputs, *other.outputs],
            run_facets={**other.run_facets, **self.run_facets},
            job_facets={**other.job_facets, **self.job_facets},
        )

    @property
    def tells_datasets(self) -> bool:
        """Whether any dataset is named, read or written."""
        return bool(self.inputs or self.outputs)


OperatorLineage = TaskInstanceLineage
"""The name that Airflow's provider gives the same four members."""
