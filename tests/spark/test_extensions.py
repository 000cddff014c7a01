"""The extension API of factories, visitors and builders, without Spark."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any

import pytest
from openlineage.client.facet_v2 import documentation_dataset

from headwater.spark import (
    RDD,
    AbstractDatasetFacetBuilder,
    AbstractInputDatasetBuilder,
    AbstractInputDatasetFacetBuilder,
    AbstractJobFacetBuilder,
    AbstractOutputDatasetBuilder,
    AbstractOutputDatasetFacetBuilder,
    AbstractRunFacetBuilder,
    ActiveJob,
    FileScanRDD,
    HadoopRDD,
    InputDatasetBuilder,
    LogicalPlan,
    OpenLineageContext,
    OpenLineageEventListenerFactory,
    OutputDatasetBuilder,
    QueryPlanVisitor,
    Stage,
    StageInfo,
)
from headwater.spark.extension.loading import Extensions
from headwater.spark.extension.views import View

from .plans import files, insert, lineage_of, node, plan, readers

CREATES = [name for name in dir(OpenLineageEventListenerFactory) if name.startswith("create_")]


class Calls(OpenLineageEventListenerFactory):
    """Records the calls of its methods, in order."""

    seen: list[str]

    def __init__(self) -> None:
        type(self).seen = []

    def set_open_lineage_context(self, context: OpenLineageContext) -> None:
        self.seen.append("context")

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("create_"):
            type(self).seen.append(name)
        return super().__getattribute__(name)


def test_the_context_comes_first_and_each_create_method_is_called_once() -> None:
    Extensions.load([Calls], own=0)
    assert Calls.seen[0] == "context"
    assert Counter(Calls.seen[1:]) == Counter(CREATES)
    assert len(CREATES) == 9


def test_a_factory_that_fails_is_logged_once_and_left_out_as_a_whole(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(OpenLineageEventListenerFactory):
        def create_run_facet_builders(self) -> Collection[Any]:
            return [RunFacets()]

        def create_job_facet_builders(self) -> Collection[Any]:
            raise RuntimeError("no luck")

    with caplog.at_level(logging.WARNING, "headwater.spark"):
        extensions = Extensions.load([Broken], own=0)
    assert extensions.context.run_facet_builders == []
    assert [record.getMessage() for record in caplog.records] == ["the lineage factory Broken is left out: no luck"]


class RunFacets(AbstractRunFacetBuilder[StageInfo]):
    def build(self, event: StageInfo) -> dict[str, Any]:
        return {"stage": {"number": event.stage_id}}


class JobFacets(AbstractJobFacetBuilder[RDD]):
    def build(self, event: RDD) -> dict[str, Any]:
        return {f"rdd_{event.id}": {"class": event.class_name}}


class InputRows(AbstractInputDatasetFacetBuilder[StageInfo]):
    def build(self, event: StageInfo) -> dict[str, Any]:
        return {"rows": {"read": event.records_read}}


class OutputRows(AbstractOutputDatasetFacetBuilder[StageInfo]):
    def build(self, event: StageInfo) -> dict[str, Any]:
        return {"rows": {"written": event.records_written}}


class Documentation(AbstractDatasetFacetBuilder[ActiveJob]):
    def build(self, event: ActiveJob) -> dict[str, Any]:
        return {"documentation": documentation_dataset.DocumentationDatasetFacet(description=f"job {event.job_id}")}


class Scans(AbstractInputDatasetBuilder[FileScanRDD]):
    def apply(self, event: FileScanRDD) -> Iterable[InputDatasetBuilder]:
        return [InputDatasetBuilder("mine", name) for name in event.files]


class Folder(AbstractOutputDatasetBuilder[ActiveJob]):
    def apply(self, event: ActiveJob) -> Iterable[OutputDatasetBuilder]:
        return [OutputDatasetBuilder("mine", "one"), OutputDatasetBuilder("mine", "two")]


class Mine(OpenLineageEventListenerFactory):
    def create_input_dataset_builder(self) -> Collection[Any]:
        return [Scans()]

    def create_output_dataset_builder(self) -> Collection[Any]:
        return [Folder()]

    def create_input_dataset_facet_builders(self) -> Collection[Any]:
        return [InputRows()]

    def create_output_dataset_facet_builders(self) -> Collection[Any]:
        return [OutputRows()]

    def create_dataset_facet_builders(self) -> Collection[Any]:
        return [Documentation()]

    def create_run_facet_builders(self) -> Collection[Any]:
        return [RunFacets()]

    def create_job_facet_builders(self) -> Collection[Any]:
        return [JobFacets()]


SCAN = FileScanRDD("FileScanRDD", 1, files=("x", "y"))
EVENTS = [ActiveJob(7, Stage(3)), SCAN, RDD("Other", 2), StageInfo(3, records_read=5, records_written=4)]


def test_facets_go_to_every_dataset_of_the_event() -> None:
    parts = Extensions.load([Mine], own=0).parts(EVENTS)
    assert [dataset.name for dataset in parts.inputs] == ["x", "y"]
    assert [dataset.name for dataset in parts.outputs] == ["one", "two"]
    for dataset in parts.inputs:
        assert dataset.run_facets["rows"]["read"] == 5
        assert dataset.facets["documentation"]["description"] == "job 7"
    for dataset in parts.outputs:
        assert dataset.run_facets["rows"]["written"] == 4
        assert dataset.facets["documentation"]["description"] == "job 7"


def test_run_and_job_facets_come_from_the_events_they_are_defined_at() -> None:
    parts = Extensions.load([Mine], own=0).parts(EVENTS)
    assert {name: facet["number"] for name, facet in parts.run.items()} == {"stage": 3}
    assert {name: facet["class"] for name, facet in parts.job.items()} == {"rdd_1": "FileScanRDD", "rdd_2": "Other"}
    assert all({"_producer", "_schemaURL"} <= set(facet) for facet in (*parts.run.values(), *parts.job.values()))


def test_without_datasets_no_dataset_facet_is_built() -> None:
    class Never(AbstractDatasetFacetBuilder[StageInfo]):
        def build(self, event: StageInfo) -> dict[str, Any]:
            raise AssertionError("called without a dataset")

    class Factory(OpenLineageEventListenerFactory):
        def create_dataset_facet_builders(self) -> Collection[Any]:
            return [Never()]

    extensions = Extensions.load([Factory], own=0)
    assert extensions.parts([StageInfo(1)]).inputs == ()
    assert extensions._failed == set()


def test_a_builder_that_fails_costs_only_its_part(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(AbstractInputDatasetFacetBuilder[StageInfo]):
        def build(self, event: StageInfo) -> dict[str, Any]:
            raise RuntimeError("no facet")

    class More(Mine):
        def create_input_dataset_facet_builders(self) -> Collection[Any]:
            return [Broken(), InputRows()]

    extensions = Extensions.load([More], own=0)
    with caplog.at_level(logging.WARNING, "headwater.spark"):
        first, second = extensions.parts(EVENTS), extensions.parts(EVENTS)
    assert first.inputs[0].run_facets["rows"]["read"] == second.inputs[0].run_facets["rows"]["read"] == 5
    assert [record.getMessage() for record in caplog.records] == ["lineage by Broken is left out: no facet"]


def test_a_builder_is_defined_at_its_type_argument_and_at_what_derives_from_it() -> None:
    scans = Scans()
    assert scans.is_defined_at(SCAN)
    assert not scans.is_defined_at(HadoopRDD("HadoopRDD"))
    assert JobFacets().is_defined_at(SCAN)
    assert not RunFacets().is_defined_at(SCAN)


def test_a_library_names_the_jvm_class_of_its_own_view() -> None:
    class AcmeRDD(RDD, jvm_class="com.acme.AcmeRDD"):
        pass

    assert View.named("com.acme.AcmeRDD", RDD) is AcmeRDD
    assert View.named("com.acme.AcmeRDD", LogicalPlan) is LogicalPlan
    assert View.named("com.acme.Other", RDD) is RDD


class AcmeRelation(LogicalPlan, jvm_class="spark.AcmeRelation"):
    pass


class AcmeVisitor(QueryPlanVisitor[AcmeRelation]):
    def apply(self, node: AcmeRelation) -> Iterable[InputDatasetBuilder]:
        return [InputDatasetBuilder("acme", str(node.fields["source"]))]


class AcmeFactory(OpenLineageEventListenerFactory):
    def create_input_dataset_query_plan_visitors(self) -> Collection[Any]:
        return [AcmeVisitor()]


def test_a_visitor_s_dataset_is_an_input_with_columns_like_any_other() -> None:
    made = plan(insert(1), node("AcmeRelation", (), ((1, "a"),), source="s1"))
    result = lineage_of(made, readers(None, AcmeFactory))
    assert [(dataset.namespace, dataset.name) for dataset in result.inputs] == [("acme", "s1")]
    source = result.outputs[0].facets["columnLineage"]["fields"]["a"]["inputFields"][0]
    assert (source["namespace"], source["name"], source["field"]) == ("acme", "s1", "a")


def test_builders_can_delegate_through_the_live_context() -> None:
    class Wrapper(LogicalPlan, jvm_class="spark.AcmeWrapper"):
        pass

    class Delegating(QueryPlanVisitor[Wrapper]):
        def __init__(self, context: OpenLineageContext) -> None:
            self.context = context

        def apply(self, node: Wrapper) -> Iterable[Any]:
            inner = node.field("inner")
            visitors = self.context.input_dataset_query_plan_visitors
            return [found for visitor in visitors if visitor.is_defined_at(inner) for found in visitor.apply(inner)]

    class First(OpenLineageEventListenerFactory):
        def set_open_lineage_context(self, context: OpenLineageContext) -> None:
            self.context = context

        def create_input_dataset_query_plan_visitors(self) -> Collection[Any]:
            assert self.context.input_dataset_query_plan_visitors == []
            return [Delegating(self.context)]

    wrapped = node("AcmeWrapper", (), ((2, "x"),), inner={"$plan": 2})
    result = lineage_of(
        plan(insert(1), wrapped, node("AcmeRelation", (), ((1, "a"),), source="s9")),
        readers(None, First, AcmeFactory),
    )
    assert {dataset.name for dataset in result.inputs} == {"s9"}


def test_the_built_in_factory_reads_an_rdd_chain_and_a_stage_s_metrics() -> None:
    extensions = readers().extensions
    events = [
        ActiveJob(1, Stage(2), writes="file:/out/x"),
        RDD("MapPartitionsRDD", 5),
        HadoopRDD("HadoopRDD", 4, paths=("file:/in/r.txt",)),
        FileScanRDD("FileScanRDD", 3, files=("file:/in/d/part-0.parquet", "file:/in/one.parquet")),
        StageInfo(2, num_tasks=2, records_written=3, bytes_written=30),
    ]
    parts = extensions.parts(events)
    assert [dataset.name for dataset in parts.inputs] == ["/in/r.txt", "/in/d", "/in/one.parquet"]
    assert [dataset.name for dataset in parts.outputs] == ["/out/x"]
    statistics = parts.outputs[0].run_facets["outputStatistics"]
    assert (statistics["rowCount"], statistics["size"], statistics["fileCount"]) == (3, 30, 2)


def test_facets_of_a_library_do_not_replace_column_lineage() -> None:
    result = lineage_of(plan(insert(1), files("file:/in/t", (1, "a"))), readers(None, Mine))
    assert "columnLineage" in result.outputs[0].facets
