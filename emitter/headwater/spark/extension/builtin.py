"""Headwater's own support for Spark, as a factory of the extension API."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any
from weakref import WeakSet

from ..datasets import facets
from ..datasets.reads import rdd_datasets, reads
from ..datasets.tables import Catalog, Dataset, PlanScope, at_location
from ..datasets.writes import Written, writes
from .api import (
    AbstractInputDatasetBuilder,
    AbstractOutputDatasetBuilder,
    AbstractOutputDatasetFacetBuilder,
    AbstractRunFacetBuilder,
    OpenLineageEventListenerFactory,
    QueryPlanVisitor,
)
from .views import RDD, ActiveJob, LogicalPlan, QueryExecution, StageInfo

LARGEST_PLAN = 200_000
"""The most characters of a plan's text in a facet."""
MOST_DEBUG_NODES = 1_000
"""The most nodes of a plan in the debug facet."""


class PlanReads(QueryPlanVisitor[LogicalPlan]):
    """A visitor that builds the datasets that leaves of a plan read."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def apply(self, node: LogicalPlan) -> Iterable[Dataset]:
        return reads(PlanScope(node.plan, self._catalog), node.node)


class PlanWrites(QueryPlanVisitor[LogicalPlan]):
    """A visitor that builds the datasets that commands write."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def apply(self, node: LogicalPlan) -> Iterable[Written]:
        return writes(PlanScope(node.plan, self._catalog), node.node)


class FileScanInputDatasetBuilder(AbstractInputDatasetBuilder[RDD]):
    """A builder of the files and folders that an RDD reads itself."""

    def apply(self, event: RDD) -> Iterable[Dataset]:
        return rdd_datasets({"paths": event.paths, "files": list(event.files)})


class HadoopOutputDatasetBuilder(AbstractOutputDatasetBuilder[ActiveJob]):
    """A builder of the folder that a job writes Hadoop files to."""

    def apply(self, event: ActiveJob) -> Iterable[Dataset]:
        return [] if event.writes is None else [at_location(event.writes, None)]


class OutputStatisticsFacetBuilder(AbstractOutputDatasetFacetBuilder[StageInfo]):
    """A builder of the statistics of a stage that wrote something."""

    def build(self, event: StageInfo) -> dict[str, Any]:
        if not event.records_written and not event.bytes_written:
            return {}
        return {
            "outputStatistics": facets.output_statistics(event.records_written, event.bytes_written, event.num_tasks)
        }


class LogicalPlanFacetBuilder(AbstractRunFacetBuilder[QueryExecution]):
    """A builder of the analysed plan as Spark writes it, once per run and up to ``LARGEST_PLAN``."""

    def __init__(self) -> None:
        self._emitted: WeakSet[QueryExecution] = WeakSet()

    def build(self, event: QueryExecution) -> dict[str, Any]:
        plan = event.analyzed.java()
        if event in self._emitted or plan is None:
            return {}
        self._emitted.add(event)
        return {"spark.logicalPlan": facets.custom(**_plan_text(event, plan))}


def _plan_text(event: QueryExecution, plan: Any) -> dict[str, Any]:
    if event.analyzed.plan.truncated is not None:
        return {"omitted": f"the plan is above a limit of {event.analyzed.plan.truncated}"}
    text = str(plan.toJSON())
    if len(text) > LARGEST_PLAN:
        return {"omitted": f"the plan has {len(text)} characters, more than {LARGEST_PLAN}"}
    return {"plan": json.loads(text)}


class DebugFacetBuilder(AbstractRunFacetBuilder[QueryExecution]):
    """A builder of the debug facet: what is known of the process, and the classes of the plan's nodes."""

    def __init__(self, process: Mapping[str, Any]) -> None:
        self._process = process

    def build(self, event: QueryExecution) -> dict[str, Any]:
        nodes = [
            {"id": str(node.index), "desc": node.class_name, "children": [str(child) for child in node.children]}
            for node in event.analyzed.plan.nodes[:MOST_DEBUG_NODES]
            if node is not None
        ]
        return {"debug": facets.custom(**self._process, logicalPlan={"nodes": nodes})}


class BuiltInFactory(OpenLineageEventListenerFactory):
    """Headwater's factory; ``plans`` adds the text of plans to runs, ``debug`` the debug facet."""

    def __init__(self, catalog: Catalog, plans: bool = False, debug: Mapping[str, Any] | None = None) -> None:
        self._catalog = catalog
        self._plans = plans
        self._debug = debug

    def create_run_facet_builders(self) -> Collection[Any]:
        plans = [LogicalPlanFacetBuilder()] if self._plans else []
        return [*plans, *([] if self._debug is None else [DebugFacetBuilder(self._debug)])]

    def create_input_dataset_query_plan_visitors(self) -> Collection[Any]:
        return [PlanReads(self._catalog)]

    def create_output_dataset_query_plan_visitors(self) -> Collection[Any]:
        return [PlanWrites(self._catalog)]

    def create_input_dataset_builder(self) -> Collection[Any]:
        return [FileScanInputDatasetBuilder()]

    def create_output_dataset_builder(self) -> Collection[Any]:
        return [HadoopOutputDatasetBuilder()]

    def create_output_dataset_facet_builders(self) -> Collection[Any]:
        return [OutputStatisticsFacetBuilder()]


def built_in(
    catalog: Catalog, plans: bool = False, debug: Mapping[str, Any] | None = None
) -> Callable[[], OpenLineageEventListenerFactory]:
    """Return a function that creates headwater's factory."""
    return partial(BuiltInFactory, catalog, plans, debug)
