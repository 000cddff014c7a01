"""The extension API: factories, visitors and builders (docs/spark.md).

A library names a factory in the entry point group ``headwater.spark``, or in the setting ``HEADWATER_SPARK_FACTORIES``
(``module:Class``, separated by commas). Each of its ``create_*`` methods is called exactly once per application, in no
particular order; the visitors and builders that they return are applied to every event.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar, get_args, get_origin

from ..datasets.tables import Dataset
from .builders import OpenLineage
from .views import LogicalPlan

T = TypeVar("T")

FacetConsumer = Callable[[str, Any], None]
"""A function of a facet's name and the facet: a plain object or one of openlineage-python's facet classes."""


@dataclass(slots=True)
class InputDatasetBuilder:
    """An input under construction; facets of later builders are attached to it."""

    namespace: str
    name: str
    facets: dict[str, Any] = field(default_factory=dict)
    input_facets: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class OutputDatasetBuilder:
    """An output under construction; facets of later builders are attached to it."""

    namespace: str
    name: str
    facets: dict[str, Any] = field(default_factory=dict)
    output_facets: dict[str, Any] = field(default_factory=dict)


BuiltDataset = Dataset | InputDatasetBuilder | OutputDatasetBuilder
"""The results of visitors and builders; openlineage-python's InputDataset and OutputDataset are accepted as well."""


class CustomFacetBuilder(Protocol):
    """A builder of facets from the events that it is defined at."""

    def is_defined_at(self, event: Any) -> bool:
        """Return whether this builder accepts the event."""

    def accept(self, event: Any, consumer: FacetConsumer) -> None:
        """Call ``consumer`` with the name and value of each facet."""


class DatasetBuilder(Protocol):
    """A builder of datasets from the events that it is defined at."""

    def is_defined_at(self, event: Any) -> bool:
        """Return whether this builder accepts the event."""

    def apply(self, event: Any) -> Iterable[Any]:
        """Return the datasets of an event."""


class Partial(Generic[T]):
    """A function of some events: by default of instances of the class given for ``T``."""

    def is_defined_at(self, event: Any) -> bool:
        """Return whether ``event`` is of the type that this class was defined for."""
        accepted = _argument(type(self))
        return accepted is not None and isinstance(event, accepted)


def _argument(cls: type) -> type | None:
    for base in (base for ancestor in cls.__mro__ for base in getattr(ancestor, "__orig_bases__", ())):
        for argument in get_args(base):
            found = get_origin(argument) or argument
            if isinstance(found, type):
                return found
    return None


_P = TypeVar("_P", bound=LogicalPlan)


class QueryPlanVisitor(Partial[_P]):
    """A visitor that builds datasets from the plan nodes of the view class given as type argument."""

    def apply(self, node: _P) -> Iterable[Any]:
        """Return the datasets of a node."""
        raise NotImplementedError


class AbstractInputDatasetBuilder(Partial[T]):
    """A builder of inputs from events of one type."""

    def apply(self, event: T) -> Iterable[Any]:
        """Return the inputs of an event."""
        raise NotImplementedError


class AbstractOutputDatasetBuilder(Partial[T]):
    """A builder of outputs from events of one type."""

    def apply(self, event: T) -> Iterable[Any]:
        """Return the outputs of an event."""
        raise NotImplementedError


class _FacetBuilder(Partial[T]):
    def accept(self, event: T, consumer: FacetConsumer) -> None:
        """Call ``consumer`` with each facet that ``build`` returns."""
        for name, facet in self.build(event).items():
            consumer(name, facet)

    def build(self, event: T) -> Mapping[str, Any]:
        """Return facets by name."""
        raise NotImplementedError


class AbstractInputDatasetFacetBuilder(_FacetBuilder[T]):
    """A builder of input facets, which are attached to every input of the event."""


class AbstractOutputDatasetFacetBuilder(_FacetBuilder[T]):
    """A builder of output facets, which are attached to every output of the event."""


class AbstractDatasetFacetBuilder(_FacetBuilder[T]):
    """A builder of dataset facets, which are attached to every input and output of the event."""


class AbstractRunFacetBuilder(_FacetBuilder[T]):
    """A builder of run facets."""


class AbstractJobFacetBuilder(_FacetBuilder[T]):
    """A builder of job facets."""


@dataclass(slots=True)
class OpenLineageContext:
    """The context of builders: live collections, to be read at use, because they fill while factories are loaded.

    ``open_lineage`` creates facets.
    """

    spark_context: Any = None
    open_lineage: OpenLineage = field(default_factory=OpenLineage)
    input_dataset_query_plan_visitors: list[Any] = field(default_factory=list)
    output_dataset_query_plan_visitors: list[Any] = field(default_factory=list)
    input_dataset_builders: list[DatasetBuilder] = field(default_factory=list)
    output_dataset_builders: list[DatasetBuilder] = field(default_factory=list)
    input_dataset_facet_builders: list[CustomFacetBuilder] = field(default_factory=list)
    output_dataset_facet_builders: list[CustomFacetBuilder] = field(default_factory=list)
    dataset_facet_builders: list[CustomFacetBuilder] = field(default_factory=list)
    run_facet_builders: list[CustomFacetBuilder] = field(default_factory=list)
    job_facet_builders: list[CustomFacetBuilder] = field(default_factory=list)


class OpenLineageEventListenerFactory:
    """The base class of a library's factory, which is created without arguments; the context is set before any ``create_*``."""

    def set_open_lineage_context(self, context: OpenLineageContext) -> None:
        """Accept the context, for builders that need it; it may still be empty."""

    def create_input_dataset_query_plan_visitors(self) -> Collection[Any]:
        """Return visitors that build inputs from plan nodes."""
        return ()

    def create_output_dataset_query_plan_visitors(self) -> Collection[Any]:
        """Return visitors that build outputs from plan nodes."""
        return ()

    def create_input_dataset_builder(self) -> Collection[DatasetBuilder]:
        """Return builders of inputs from events."""
        return ()

    def create_output_dataset_builder(self) -> Collection[DatasetBuilder]:
        """Return builders of outputs from events."""
        return ()

    def create_input_dataset_facet_builders(self) -> Collection[CustomFacetBuilder]:
        """Return builders of facets for every input."""
        return ()

    def create_output_dataset_facet_builders(self) -> Collection[CustomFacetBuilder]:
        """Return builders of facets for every output."""
        return ()

    def create_dataset_facet_builders(self) -> Collection[CustomFacetBuilder]:
        """Return builders of facets for every input and output."""
        return ()

    def create_run_facet_builders(self) -> Collection[CustomFacetBuilder]:
        """Return builders of run facets."""
        return ()

    def create_job_facet_builders(self) -> Collection[CustomFacetBuilder]:
        """Return builders of job facets."""
        return ()
