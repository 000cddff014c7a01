"""Finding factories and node classes, and building a RunEvent's parts from all of them in the seed's eight steps."""

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

logger = logging.getLogger("headwater.spark")

FACTORIES, NODES = "headwater.spark", "headwater.spark.nodes"

# create_* method -> the context's collection that it fills; the context's names are the seed's.
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
class Parts:
    """What the eight steps give for one event."""

    run: Mapping[str, Facet]
    job: Mapping[str, Facet]
    inputs: tuple[Dataset, ...]
    outputs: tuple[Dataset, ...]


@dataclass(slots=True)
class Extensions:
    """All builders of one application, its own among them; a builder that fails is told once and costs only its part."""

    context: OpenLineageContext
    own_only: bool = True
    _told: set[int] = field(default_factory=set)

    @classmethod
    def load(
        cls, factories: Iterable[Callable[[], OpenLineageEventListenerFactory]], own: int, spark_context: Any = None
    ) -> Extensions:
        """Ask each factory once; ``own`` is how many of them, at the end, are headwater's."""
        made = cls(OpenLineageContext(spark_context=spark_context))
        listed = list(factories)
        made.own_only = len(listed) <= own
        for factory in listed:
            made._ask(factory)
        return made

    def _ask(self, make: Callable[[], OpenLineageEventListenerFactory]) -> None:
        """Take all that a factory creates, or nothing: one that fails half way is left out whole."""
        try:
            factory = make()
            factory.set_open_lineage_context(self.context)
            created = [(name, list(getattr(factory, method)())) for method, name in _CREATES]
        except Exception as fault:  # noqa: BLE001 - a library's code may raise anything
            logger.warning("the lineage factory %s is left out: %s", getattr(make, "__name__", make), fault)
            return
        for name, builders in created:
            getattr(self.context, name).extend(builders)

    def datasets(self, visitors: Sequence[Any], view: Any) -> list[Any]:
        """What the visitors that are defined at ``view`` make of it, as they return it."""
        return [one for visitor in visitors for one in self._applied(visitor, view)]

    def _applied(self, visitor: Any, event: Any) -> list[Any]:
        try:
            return list(visitor.apply(event)) if visitor.is_defined_at(event) else []
        except Exception as fault:  # noqa: BLE001 - see above
            self._fault(visitor, fault)
            return []

    def _fault(self, builder: Any, fault: Exception) -> None:
        if id(builder) not in self._told:
            self._told.add(id(builder))
            logger.warning("lineage by %s is left out: %s", type(builder).__name__, fault)

    def parts(self, events: Sequence[Any], inputs: Sequence[Dataset] = (), outputs: Sequence[Dataset] = ()) -> Parts:
        """The parts of the RunEvent for these Spark events; ``inputs`` and ``outputs`` are from the plan's visitors."""
        context = self.context
        run = self._facets(context.run_facet_builders, events)
        job = self._facets(context.job_facet_builders, events)
        read = [*inputs, *self._built(context.input_dataset_builders, events)]
        if read:
            own = self._facets(context.input_dataset_facet_builders, events)
            shared = self._facets(context.dataset_facet_builders, events)
            read = [_with(one, shared, own) for one in read]
        written = [*outputs, *self._built(context.output_dataset_builders, events)]
        if written:
            own = self._facets(context.output_dataset_facet_builders, events)
            shared = self._facets(context.dataset_facet_builders, events)
            written = [_with(one, shared, own) for one in written]
        return Parts(run, job, merged(read), merged(written))

    def _built(self, builders: Collection[Any], events: Sequence[Any]) -> list[Dataset]:
        found: list[Dataset] = []
        for builder in builders:
            for event in events:
                try:
                    found.extend(as_dataset(one) for one in self._applied(builder, event))
                except TypeError as fault:
                    self._fault(builder, fault)
        return found

    def _facets(self, builders: Collection[Any], events: Sequence[Any]) -> dict[str, Facet]:
        found: dict[str, Facet] = {}
        for builder in builders:
            for event in events:
                try:
                    if builder.is_defined_at(event):
                        builder.accept(event, lambda name, facet: found.update({str(name): as_facet(facet)}))
                except Exception as fault:  # noqa: BLE001 - see above
                    self._fault(builder, fault)
        return found


def _with(dataset: Dataset, shared: Mapping[str, Facet], own: Mapping[str, Facet]) -> Dataset:
    """Facets of builders come after those that the dataset has: a builder's wins (the official integration's rule)."""
    return replace(dataset, facets={**dataset.facets, **shared}, run_facets={**dataset.run_facets, **own})


def found_factories(environ: Mapping[str, str]) -> list[Callable[[], OpenLineageEventListenerFactory]]:
    """The factories of installed libraries and of ``HEADWATER_SPARK_FACTORIES``."""
    named = [text.strip() for text in environ.get("HEADWATER_SPARK_FACTORIES", "").split(",") if text.strip()]
    found = [_loaded(entry.name, entry.load) for entry in entry_points(group=FACTORIES)]
    found += [_loaded(text, partial(_imported, text)) for text in named]
    return [one for one in found if one is not None]


def found_nodes(environ: Mapping[str, str]) -> dict[str, type]:
    """The classes attached to plan nodes by installed libraries and by ``HEADWATER_SPARK_NODES``."""
    found = {entry.name: _loaded(entry.name, entry.load) for entry in entry_points(group=NODES)}
    for pair in environ.get("HEADWATER_SPARK_NODES", "").split(","):
        node, _, where = pair.strip().partition("=")
        if where:
            found[node] = _loaded(node, partial(_imported, where))
    return {name: made for name, made in found.items() if made is not None}


def _loaded(name: str, load: Callable[[], Any]) -> Any:
    try:
        return load()
    except Exception as fault:  # noqa: BLE001 - a library that can't be imported must not cost the job its lineage
        logger.warning("the lineage extension %s is left out: %s", name, fault)
        return None


def _imported(where: str) -> Any:
    module, _, name = where.partition(":")
    return getattr(importlib.import_module(module), name)
