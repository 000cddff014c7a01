"""The extension API: factories, visitors and builders (seed 000).

A library gives a factory by the entry point group ``headwater.spark``, or the setting ``HEADWATER_SPARK_FACTORIES``
(``module:Class``, separated by commas). Its ``create_*`` methods are called exactly once per application each, in no
promised order; what they return is asked about every event.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar, get_args, get_origin

from ..datasets.tables import Dataset
from .views import LogicalPlan

T = TypeVar("T")

FacetConsumer = Callable[[str, Any], None]
"""Takes a facet's name and the facet: a plain object or one of openlineage-python's facet classes."""


@dataclass(slots=True)
class InputDatasetBuilder:
    """An input being built; facets of later builders are attached to it."""

    namespace: str
    name: str
    facets: dict[str, Any] = field(default_factory=dict)
    input_facets: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class OutputDatasetBuilder:
    """An output being built; facets of later builders are attached to it."""

    namespace: str
    name: str
    facets: dict[str, Any] = field(default_factory=dict)
    output_facets: dict[str, Any] = field(default_factory=dict)


BuiltDataset = Dataset | InputDatasetBuilder | OutputDatasetBuilder
"""What visitors and builders return; openlineage-python's InputDataset and OutputDataset are taken as well."""


class CustomFacetBuilder(Protocol):
    """Builds facets from an event; ``is_defined_at`` says from which."""

    def is_defined_at(self, event: Any) -> bool:
        """Whether this builder takes such an event."""
        ...

    def accept(self, event: Any, consumer: FacetConsumer) -> None:
        """Give any number of facets to ``consumer`` by name."""
        ...


class DatasetBuilder(Protocol):
    """Builds datasets from an event; ``is_defined_at`` says from which."""

    def is_defined_at(self, event: Any) -> bool:
        """Whether this builder takes such an event."""
        ...

    def apply(self, event: Any) -> Iterable[Any]:
        """The datasets of an event."""
        ...


class Partial(Generic[T]):
    """A function of some types of events: by default of the class given for ``T`` and of those derived from it."""

    def is_defined_at(self, event: Any) -> bool:
        """Whether ``event`` is of the type that this class was made for."""
        wanted = _argument(type(self))
        return wanted is not None and isinstance(event, wanted)


def _argument(cls: type) -> type | None:
    for base in (base for one in cls.__mro__ for base in getattr(one, "__orig_bases__", ())):
        for argument in get_args(base):
            found = get_origin(argument) or argument
            if isinstance(found, type):
                return found
    return None


_P = TypeVar("_P", bound=LogicalPlan)


class QueryPlanVisitor(Partial[_P]):
    """Makes datasets from nodes of a logical plan, of the view class given as type argument."""

    def apply(self, node: _P) -> Iterable[Any]:
        """The datasets of a node."""
        raise NotImplementedError


class AbstractInputDatasetBuilder(Partial[T]):
    """Makes inputs from events of one type."""

    def apply(self, event: T) -> Iterable[Any]:
        """The inputs of an event."""
        raise NotImplementedError


class AbstractOutputDatasetBuilder(Partial[T]):
    """Makes outputs from events of one type."""

    def apply(self, event: T) -> Iterable[Any]:
        """The outputs of an event."""
        raise NotImplementedError


class _FacetBuilder(Partial[T]):
    def accept(self, event: T, consumer: FacetConsumer) -> None:
        """Give the facets that ``build`` makes to ``consumer``."""
        for name, facet in self.build(event).items():
            consumer(name, facet)

    def build(self, event: T) -> Mapping[str, Any]:
        """Facets by name."""
        raise NotImplementedError


class AbstractInputDatasetFacetBuilder(_FacetBuilder[T]):
    """Makes input facets; they are attached to every input of the event."""


class AbstractOutputDatasetFacetBuilder(_FacetBuilder[T]):
    """Makes output facets; they are attached to every output of the event."""


class AbstractDatasetFacetBuilder(_FacetBuilder[T]):
    """Makes dataset facets; they are attached to every input and output of the event."""


class AbstractRunFacetBuilder(_FacetBuilder[T]):
    """Makes run facets."""


class AbstractJobFacetBuilder(_FacetBuilder[T]):
    """Makes job facets."""


@dataclass(slots=True)
class OpenLineageContext:
    """What builders may use: live collections, to be looked up at use, as they fill while factories are asked."""

    spark_context: Any = None
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
    """What a library implements; it is made without arguments, and the context is set before any ``create_*``."""

    def set_open_lineage_context(self, context: OpenLineageContext) -> None:
        """Keep the context, if builders need it; it may still be empty."""

    def create_input_dataset_query_plan_visitors(self) -> Collection[Any]:
        """Visitors that make inputs from plan nodes."""
        return ()

    def create_output_dataset_query_plan_visitors(self) -> Collection[Any]:
        """Visitors that make outputs from plan nodes."""
        return ()

    def create_input_dataset_builder(self) -> Collection[DatasetBuilder]:
        """Builders that make inputs from events."""
        return ()

    def create_output_dataset_builder(self) -> Collection[DatasetBuilder]:
        """Builders that make outputs from events."""
        return ()

    def create_input_dataset_facet_builders(self) -> Collection[CustomFacetBuilder]:
        """Builders of facets for every input."""
        return ()

    def create_output_dataset_facet_builders(self) -> Collection[CustomFacetBuilder]:
        """Builders of facets for every output."""
        return ()

    def create_dataset_facet_builders(self) -> Collection[CustomFacetBuilder]:
        """Builders of facets for every input and output."""
        return ()

    def create_run_facet_builders(self) -> Collection[CustomFacetBuilder]:
        """Builders of run facets."""
        return ()

    def create_job_facet_builders(self) -> Collection[CustomFacetBuilder]:
        """Builders of job facets."""
        return ()
