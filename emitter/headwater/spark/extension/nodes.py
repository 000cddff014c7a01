"""Lineage that a library attaches to its own plan nodes (docs/spark.md).

A library names, for a JVM class of its plan nodes, a Python class that is called with the node's view and has some of the
methods below: by the entry point group ``headwater.spark.nodes`` (name: the JVM class, value: the Python class) or the
setting ``HEADWATER_SPARK_NODES`` (``jvm.Class=module:Class``, separated by commas). A Python data source of Spark 4 needs
neither: its ``DataSource`` class may have the methods itself.

The protocols are structural: any object with the right attributes is accepted, so a library need not import headwater.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

Facets = Mapping[str, Any]


@runtime_checkable
class InputLineageNode(Protocol):
    """A node that knows the datasets it reads."""

    def get_inputs(self, context: Any) -> Sequence[Any]:
        """Return ``InputDatasetWithIdentifier``, ``InputDatasetWithDelegate`` or objects with the same attributes."""


@runtime_checkable
class OutputLineageNode(Protocol):
    """A node that knows the datasets it writes."""

    def get_outputs(self, context: Any) -> Sequence[Any]:
        """Return ``OutputDatasetWithIdentifier``, ``OutputDatasetWithDelegate`` or objects with the same attributes."""


@runtime_checkable
class ColumnLevelLineageNode(Protocol):
    """A node that knows what its columns are computed from."""

    def column_level_lineage_inputs(self, context: Any) -> Sequence[Any]:
        """Return ``DatasetFieldLineage``: the input fields and their expressions."""

    def column_level_lineage_outputs(self, context: Any) -> Sequence[Any]:
        """Return ``DatasetFieldLineage``: the output fields and their expressions."""

    def column_level_lineage_dependencies(self, context: Any) -> Sequence[Any]:
        """Return ``ExpressionDependency``: the expressions that an output expression is computed from."""


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
    """An input with facets; the two derived classes identify it."""

    facets: Facets = field(default_factory=dict)
    input_facets: Facets = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class InputDatasetWithIdentifier(InputDatasetWithFacets):
    """An input identified by its key."""

    identifier: DatasetIdentifier = DatasetIdentifier("", "")


@dataclass(frozen=True, slots=True)
class InputDatasetWithDelegate(InputDatasetWithFacets):
    """The inputs of another node of the plan; these facets are added to them."""

    node: Any = None


@dataclass(frozen=True, slots=True)
class OutputDatasetWithFacets:
    """An output with facets; the two derived classes identify it."""

    facets: Facets = field(default_factory=dict)
    output_facets: Facets = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OutputDatasetWithIdentifier(OutputDatasetWithFacets):
    """An output identified by its key."""

    identifier: DatasetIdentifier = DatasetIdentifier("", "")


@dataclass(frozen=True, slots=True)
class OutputDatasetWithDelegate(OutputDatasetWithFacets):
    """The outputs of another node of the plan; these facets are added to them."""

    node: Any = None


class DatasetFieldLineage:
    """A field of a dataset and its expression: the four classes below."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class InputDatasetField(DatasetFieldLineage):
    """An input field, whose id in the plan is ``expr_id``."""

    identifier: DatasetIdentifier
    field: str
    expr_id: OlExprId


@dataclass(frozen=True, slots=True)
class InputDatasetFieldFromDelegate(DatasetFieldLineage):
    """The input fields of another node."""

    delegate: Any


@dataclass(frozen=True, slots=True)
class OutputDatasetField(DatasetFieldLineage):
    """An output field, computed by the expression ``expr_id``."""

    field: str
    expr_id: OlExprId


@dataclass(frozen=True, slots=True)
class OutputDatasetFieldFromDelegate(DatasetFieldLineage):
    """The output fields of another node."""

    delegate: Any


class ExpressionDependency:
    """What an output expression depends on: the two classes below."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ExpressionDependencyWithIdentifier(ExpressionDependency):
    """An output expression computed from input expressions, by id."""

    output_expr_id: OlExprId
    input_expr_ids: Sequence[OlExprId]


@dataclass(frozen=True, slots=True)
class ExpressionDependencyWithDelegate(ExpressionDependency):
    """An output expression with the lineage of ``expression``, a value of a node's fields."""

    output_expr_id: OlExprId
    expression: Any
