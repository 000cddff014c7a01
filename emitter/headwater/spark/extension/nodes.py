"""Lineage that a library attaches to plan nodes of its own (seed 001).

A library names, for a JVM class of its plan nodes, a Python class that is made with the node's view and has some of the
methods below: by the entry point group ``headwater.spark.nodes`` (name: the JVM class, value: the Python class) or the
setting ``HEADWATER_SPARK_NODES`` (``jvm.Class=module:Class``, separated by commas). A Python data source of Spark 4 needs
neither: its ``DataSource`` class may have the methods itself.

All of it is structural: an object with the right attributes will do, so a library need not import headwater.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

Facets = Mapping[str, Any]


@runtime_checkable
class InputLineageNode(Protocol):
    """A node that knows the datasets it reads."""

    def get_inputs(self, context: Any) -> Sequence[Any]:
        """`InputDatasetWithIdentifier` or `InputDatasetWithDelegate`, or anything of their shape."""
        ...


@runtime_checkable
class OutputLineageNode(Protocol):
    """A node that knows the datasets it writes."""

    def get_outputs(self, context: Any) -> Sequence[Any]:
        """`OutputDatasetWithIdentifier` or `OutputDatasetWithDelegate`, or anything of their shape."""
        ...


@runtime_checkable
class ColumnLevelLineageNode(Protocol):
    """A node that knows how its columns come about."""

    def column_level_lineage_inputs(self, context: Any) -> Sequence[Any]:
        """`DatasetFieldLineage`: the input fields and the expressions that stand for them."""
        ...

    def column_level_lineage_outputs(self, context: Any) -> Sequence[Any]:
        """`DatasetFieldLineage`: the output fields and the expressions that stand for them."""
        ...

    def column_level_lineage_dependencies(self, context: Any) -> Sequence[Any]:
        """`ExpressionDependency`: which expressions an output expression is made of."""
        ...


@dataclass(frozen=True, slots=True)
class OlExprId:
    """The number of an ExprId, without Spark's class."""

    expr_id: int


@dataclass(frozen=True, slots=True)
class DatasetIdentifier:
    """An OpenLineage dataset key."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class InputDatasetWithFacets:
    """An input with facets: see the two ways to identify it."""

    facets: Facets = field(default_factory=dict)
    input_facets: Facets = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class InputDatasetWithIdentifier(InputDatasetWithFacets):
    """An input told by its key."""

    identifier: DatasetIdentifier = DatasetIdentifier("", "")


@dataclass(frozen=True, slots=True)
class InputDatasetWithDelegate(InputDatasetWithFacets):
    """An input that another node of the plan tells; these facets are added."""

    node: Any = None


@dataclass(frozen=True, slots=True)
class OutputDatasetWithFacets:
    """An output with facets: see the two ways to identify it."""

    facets: Facets = field(default_factory=dict)
    output_facets: Facets = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OutputDatasetWithIdentifier(OutputDatasetWithFacets):
    """An output told by its key."""

    identifier: DatasetIdentifier = DatasetIdentifier("", "")


@dataclass(frozen=True, slots=True)
class OutputDatasetWithDelegate(OutputDatasetWithFacets):
    """An output that another node of the plan tells; these facets are added."""

    node: Any = None


class DatasetFieldLineage:
    """A field of a dataset and the expression that stands for it: the four classes below."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class InputDatasetField(DatasetFieldLineage):
    """An input field, known in the plan as ``expr_id``."""

    identifier: DatasetIdentifier
    field: str
    expr_id: OlExprId


@dataclass(frozen=True, slots=True)
class InputDatasetFieldFromDelegate(DatasetFieldLineage):
    """The input fields that another node tells."""

    delegate: Any


@dataclass(frozen=True, slots=True)
class OutputDatasetField(DatasetFieldLineage):
    """An output field, made by the expression ``expr_id``."""

    field: str
    expr_id: OlExprId


@dataclass(frozen=True, slots=True)
class OutputDatasetFieldFromDelegate(DatasetFieldLineage):
    """The output fields that another node tells."""

    delegate: Any


class ExpressionDependency:
    """What an output expression depends on: the two classes below."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ExpressionDependencyWithIdentifier(ExpressionDependency):
    """An output expression made of input expressions by id."""

    output_expr_id: OlExprId
    input_expr_ids: Sequence[OlExprId]


@dataclass(frozen=True, slots=True)
class ExpressionDependencyWithDelegate(ExpressionDependency):
    """An output expression made of whatever ``expression`` is made of: an expression as it stands in a node's fields."""

    output_expr_id: OlExprId
    expression: Any


class FacetRegistry:
    """Run and job facets for the next event; there is no promise that there will be one."""

    _lock: ClassVar[threading.Lock] = threading.Lock()
    _run: ClassVar[dict[str, Any]] = {}
    _job: ClassVar[dict[str, Any]] = {}

    @classmethod
    def register_run_facet(cls, name: str, facet: Any) -> None:
        """Put a facet on the run of the next event."""
        with cls._lock:
            cls._run[name] = facet

    @classmethod
    def register_job_facet(cls, name: str, facet: Any) -> None:
        """Put a facet on the job of the next event."""
        with cls._lock:
            cls._job[name] = facet

    @classmethod
    def take(cls) -> tuple[dict[str, Any], dict[str, Any]]:
        """The run and job facets registered since the last event."""
        with cls._lock:
            run, job = dict(cls._run), dict(cls._job)
            cls._run.clear()
            cls._job.clear()
        return run, job
