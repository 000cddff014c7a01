"""Headwater's own support as a factory like any other (seed 000)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from . import facets
from .api import (
    AbstractInputDatasetBuilder,
    AbstractOutputDatasetBuilder,
    AbstractOutputDatasetFacetBuilder,
    OpenLineageEventListenerFactory,
    QueryPlanVisitor,
)
from .reads import rdd_datasets, reads
from .tables import Catalog, Dataset, Reading, at_location
from .views import RDD, ActiveJob, LogicalPlan, StageInfo
from .writes import Written, writes


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


class BuiltInFactory(OpenLineageEventListenerFactory):
    """Everything that headwater knows of Spark itself."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

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


def built_in(catalog: Catalog) -> Callable[[], OpenLineageEventListenerFactory]:
    """The factory's maker, as an extension's is."""

    def make() -> OpenLineageEventListenerFactory:
        return BuiltInFactory(catalog)

    return make
