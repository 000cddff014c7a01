"""Headwater's own support as a factory like any other (seed 000)."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from typing import Any
from weakref import WeakSet

from ..datasets import facets
from ..datasets.reads import rdd_datasets, reads
from ..datasets.tables import Catalog, Dataset, Reading, at_location
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
"""So many characters of a plan's own text are told at most."""


class PlanReads(QueryPlanVisitor[LogicalPlan]):
    """The datasets that leaves of a plan read."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def apply(self, node: LogicalPlan) -> Iterable[Dataset]:
        return reads(Reading(node.plan, self._catalog), node.node)


class PlanWrites(QueryPlanVisitor[LogicalPlan]):
    """The datasets that commands write."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def apply(self, node: LogicalPlan) -> Iterable[Written]:
        return writes(Reading(node.plan, self._catalog), node.node)


class FileScanInputDatasetBuilder(AbstractInputDatasetBuilder[RDD]):
    """The files and folders that an RDD of a chain reads itself."""

    def apply(self, event: RDD) -> Iterable[Dataset]:
        return rdd_datasets({"paths": event.paths, "files": list(event.files)})


class HadoopOutputDatasetBuilder(AbstractOutputDatasetBuilder[ActiveJob]):
    """The folder that a job writes Hadoop files to."""

    def apply(self, event: ActiveJob) -> Iterable[Dataset]:
        return [] if event.writes is None else [at_location(event.writes, None)]


class OutputStatisticsFacetBuilder(AbstractOutputDatasetFacetBuilder[StageInfo]):
    """What a stage wrote; stages that wrote nothing say nothing."""

    def build(self, event: StageInfo) -> dict[str, Any]:
        if not event.records_written and not event.bytes_written:
            return {}
        return {
            "outputStatistics": facets.output_statistics(event.records_written, event.bytes_written, event.num_tasks)
        }


class LogicalPlanFacetBuilder(AbstractRunFacetBuilder[QueryExecution]):
    """The analysed plan as Spark writes it, once in a run: for those who ask for it, and no larger than an event bears."""

    def __init__(self) -> None:
        self._told: WeakSet[QueryExecution] = WeakSet()

    def build(self, event: QueryExecution) -> dict[str, Any]:
        plan = event.analyzed.java()
        if event in self._told or plan is None:
            return {}
        self._told.add(event)
        return {"spark.logicalPlan": facets.custom(**_plan_text(event, plan))}


def _plan_text(event: QueryExecution, plan: Any) -> dict[str, Any]:
    if event.analyzed.plan.cut is not None:
        return {"omitted": f"the plan is above a limit of {event.analyzed.plan.cut}"}
    text = str(plan.toJSON())
    if len(text) > LARGEST_PLAN:
        return {"omitted": f"the plan has {len(text)} characters, more than {LARGEST_PLAN}"}
    return {"plan": json.loads(text)}


class BuiltInFactory(OpenLineageEventListenerFactory):
    """Everything that headwater knows of Spark itself; ``plans`` tells plans, too."""

    def __init__(self, catalog: Catalog, plans: bool = False) -> None:
        self._catalog = catalog
        self._plans = plans

    def create_run_facet_builders(self) -> Collection[Any]:
        return [LogicalPlanFacetBuilder()] if self._plans else []

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


def built_in(catalog: Catalog, plans: bool = False) -> Callable[[], OpenLineageEventListenerFactory]:
    """The factory's maker, as an extension's is."""

    def make() -> OpenLineageEventListenerFactory:
        return BuiltInFactory(catalog, plans)

    return make
