"""Loading of factories and node classes, and building of a RunEvent's parts with them."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import entry_points
from typing import Any

from ..datasets.facets import Facet
from ..datasets.tables import Dataset, merged
from .api import OpenLineageContext, OpenLineageEventListenerFactory
from .conversion import as_dataset, as_facet
from .views import RDD, ActiveJob, QueryExecution, Stage

logger = logging.getLogger("headwater.spark")

FACTORIES, NODES = "headwater.spark", "headwater.spark.nodes"

# create_* method -> the collection of the context that it fills.
_CREATES = (
    ("create_input_dataset_query_plan_visitors", "input_dataset_query_plan_visitors"),
    ("create_output_dataset_query_plan_visitors", "output_dataset_query_plan_visitors"),
    ("create_input_dataset_builder", "input_dataset_builders"),
    ("create_output_dataset_builder", "output_dataset_builders"),
    ("create_input_dataset_facet_builders", "input_dataset_facet_builders"),
    ("create_output_dataset_facet_builders", "output_dataset_facet_builders"),
    ("create_dataset_facet_builders", "dataset_facet_builders"),
    ("create_run_facet_builders", "run_facet_builders"),
    ("create_job_facet_builders", "job_facet_builders"),
)


@dataclass(frozen=True, slots=True)
class EventParts:
    """The facets of run and job, the inputs and the outputs of one event."""

    run: Mapping[str, Facet]
    job: Mapping[str, Facet]
    inputs: tuple[Dataset, ...]
    outputs: tuple[Dataset, ...]


@dataclass(slots=True)
class Extensions:
    """All builders of one application, headwater's included.

    A builder that fails is logged once; the results of the others stay.
    """

    context: OpenLineageContext
    own_only: bool = True
    _own: set[int] = field(default_factory=set)
    _failed: set[int] = field(default_factory=set)

    @classmethod
    def load(
        cls, factories: Iterable[Callable[[], OpenLineageEventListenerFactory]], own: int, spark_context: Any = None
    ) -> Extensions:
        """Load each factory once; ``own`` is the number of headwater's own factories among them."""
        listed = list(factories)
        extensions = cls(OpenLineageContext(spark_context=spark_context), own_only=len(listed) <= own)
        for number, factory in enumerate(listed):
            extensions._load(factory, is_own=number >= len(listed) - own)
        return extensions

    def _load(self, make: Callable[[], OpenLineageEventListenerFactory], is_own: bool) -> None:
        """Add all that a factory creates, or nothing if one of its methods fails."""
        try:
            factory = make()
            factory.set_open_lineage_context(self.context)
            created = [(name, list(getattr(factory, method)())) for method, name in _CREATES]
        except Exception as fault:  # noqa: BLE001 - a library's code may raise anything
            logger.warning("the lineage factory %s is left out: %s", getattr(make, "__name__", make), fault)
            return
        for name, builders in created:
            getattr(self.context, name).extend(builders)
            self._own |= {id(builder) for builder in builders if is_own}

    def datasets(self, visitors: Sequence[Any], view: Any) -> list[Any]:
        """Return the results of the visitors that are defined at ``view``, as they return them."""
        return [dataset for visitor in visitors for dataset in self._applied(visitor, view)]

    def _applied(self, visitor: Any, event: Any) -> list[Any]:
        try:
            return list(visitor.apply(event)) if visitor.is_defined_at(event) else []
        except Exception as fault:  # noqa: BLE001 - see above
            self._fault(visitor, fault)
            return []

    def _fault(self, builder: Any, fault: Exception) -> None:
        if id(builder) not in self._failed:
            self._failed.add(id(builder))
            logger.warning("lineage by %s is left out: %s", type(builder).__name__, fault)

    def parts(
        self, events: Sequence[Any], inputs: Sequence[Dataset] = (), outputs: Sequence[Dataset] = ()
    ) -> EventParts:
        """Return the parts of the RunEvent for some Spark events.

        ``inputs`` and ``outputs`` are the datasets that the visitors of the plan returned. Headwater's own builders do not
        receive the jobs of an execution whose plan is known.
        """
        context = self.context
        run = self._facets(context.run_facet_builders, events)
        job = self._facets(context.job_facet_builders, events)
        found = [*inputs, *self._built(context.input_dataset_builders, events)]
        read = self._with_facets(found, context.input_dataset_facet_builders, events)
        found = [*outputs, *self._built(context.output_dataset_builders, events)]
        written = self._with_facets(found, context.output_dataset_facet_builders, events)
        return EventParts(run, job, read, written)

    def _with_facets(
        self, datasets: list[Dataset], own_builders: Collection[Any], events: Sequence[Any]
    ) -> tuple[Dataset, ...]:
        """Return the datasets, merged, with the facets of builders, which win over those that a dataset has.

        The official integration has the same rule.
        """
        if not datasets:
            return ()
        own, shared = (self._facets(b, events) for b in (own_builders, self.context.dataset_facet_builders))
        return merged(replace(d, facets={**d.facets, **shared}, run_facets={**d.run_facets, **own}) for d in datasets)

    def _for(self, builder: Any, events: Sequence[Any]) -> Sequence[Any]:
        is_planned = any(isinstance(event, QueryExecution) for event in events)
        if not is_planned or id(builder) not in self._own:
            return events
        return [event for event in events if not isinstance(event, ActiveJob | Stage | RDD)]

    def _built(self, builders: Collection[Any], events: Sequence[Any]) -> list[Dataset]:
        found: list[Dataset] = []
        for builder in builders:
            for event in self._for(builder, events):
                try:
                    found.extend(map(as_dataset, self._applied(builder, event)))
                except TypeError as fault:
                    self._fault(builder, fault)
        return found

    def _facets(self, builders: Collection[Any], events: Sequence[Any]) -> dict[str, Facet]:
        found: dict[str, Facet] = {}
        for builder in builders:
            for event in self._for(builder, events):
                try:
                    if builder.is_defined_at(event):
                        builder.accept(event, lambda name, facet: found.update({str(name): as_facet(facet)}))
                except Exception as fault:  # noqa: BLE001 - see above
                    self._fault(builder, fault)
        return found


def found_factories(environ: Mapping[str, str]) -> list[Callable[[], OpenLineageEventListenerFactory]]:
    """Return the factories of installed libraries and of ``HEADWATER_SPARK_FACTORIES``."""
    named = [text.strip() for text in environ.get("HEADWATER_SPARK_FACTORIES", "").split(",") if text.strip()]
    found = [_loaded(entry.name, entry.load) for entry in entry_points(group=FACTORIES)]
    found += [_loaded(text, partial(_imported, text)) for text in named]
    return [factory for factory in found if factory is not None]


def found_nodes(environ: Mapping[str, str]) -> dict[str, type]:
    """Return the node classes of installed libraries and of ``HEADWATER_SPARK_NODES`` by JVM class."""
    found = {entry.name: _loaded(entry.name, entry.load) for entry in entry_points(group=NODES)}
    for pair in environ.get("HEADWATER_SPARK_NODES", "").split(","):
        node, _, where = pair.strip().partition("=")
        if where:
            found[node] = _loaded(node, partial(_imported, where))
    return {name: node_class for name, node_class in found.items() if node_class is not None}


def _loaded(name: str, load: Callable[[], Any]) -> Any:
    try:
        return load()
    except Exception as fault:  # noqa: BLE001 - a library that can't be imported must not cost the job its lineage
        logger.warning("the lineage extension %s is left out: %s", name, fault)
        return None


def _imported(where: str) -> Any:
    module, _, name = where.partition(":")
    return getattr(importlib.import_module(module), name)
