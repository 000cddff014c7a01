"""The builders of facets in the extension API's context, without Spark."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from openlineage.client.facet_v2 import schema_dataset

from headwater.producer import CLASSES, Container, facet_class
from headwater.spark import OpenLineage, OpenLineageContext, OutputDatasetWithDelegate
from headwater.spark.extension.builders import FacetsBuilder
from headwater.spark.extension.conversion import as_facets

from .plans import files, lineage_of, node, plan, readers

BUILDERS = {builder.container: builder for builder in FacetsBuilder.__subclasses__()}


def test_a_context_creates_facets_and_collects_them_by_name() -> None:
    ol = OpenLineageContext().open_lineage
    overwrite = ol.LifecycleStateChange.OVERWRITE
    builder = ol.DatasetFacetsBuilder().lifecycle_state_change(
        ol.new_lifecycle_state_change_dataset_facet(overwrite, None)
    )
    builder.version(ol.new_dataset_version_dataset_facet("7")).put("acme", {"x": 1})
    facets = as_facets(OutputDatasetWithDelegate(builder, ol.OutputDatasetOutputFacetsBuilder()).facets)
    assert list(facets) == ["lifecycleStateChange", "version", "acme"]
    assert facets["lifecycleStateChange"]["lifecycleStateChange"] == "OVERWRITE"
    assert facets["version"]["datasetVersion"] == "7"
    assert facets["version"]["_schemaURL"].endswith("DatasetVersionDatasetFacet")
    assert all(facet["_producer"].endswith("/emitter/spark") for facet in facets.values())
    assert builder.build() == dict(builder)


@pytest.mark.parametrize(("container", "name"), CLASSES)
def test_each_facet_of_the_specification_has_a_method_and_a_constructor(container: Container, name: str) -> None:
    cls = facet_class(container, name)
    snake = {"dataSource": "data_source", "jobType": "job_type", "sourceCode": "source_code"}.get(name)
    method = snake or "".join(f"_{c.lower()}" if c.isupper() else c for c in name)
    assert dict(getattr(BUILDERS[container](), method)({"x": 1})) == {name: {"x": 1}}
    assert getattr(OpenLineage(), cls.__name__) is cls


def test_parts_of_facets_are_created_as_well() -> None:
    ol = OpenLineage()
    field = ol.new_schema_dataset_facet_fields(name="a", type="int")
    assert isinstance(field, schema_dataset.SchemaDatasetFacetFields)
    assert ol.new_sql_job_facet("select 1").query == "select 1"


def test_an_unknown_facet_names_what_to_do() -> None:
    with pytest.raises(AttributeError, match=r"RunFacetsBuilder has no facet version; add your own by put"):
        OpenLineage.RunFacetsBuilder().version({})
    with pytest.raises(AttributeError, match="no class for new_own_facet"):
        OpenLineage().new_own_facet()


def test_the_node_class_of_the_page_on_spark_has_the_facets_that_it_builds() -> None:
    page = (Path(__file__).parents[2] / "docs" / "spark.md").read_text(encoding="utf-8")
    (block,) = [block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "open_lineage" in block]
    names: dict[str, Any] = {}
    exec(compile(block, "docs/spark.md", "exec"), names)
    target = files("file:/wh/target", (5, "a"))
    made = plan(node("AcmeReplaceCommand", (1,), table={"$plan": 2}), files("/in/t", (1, "a")), target)
    (output,) = lineage_of(made, readers(nodes={"AcmeReplaceCommand": names["ReplaceTable"]})).outputs
    assert output.name == "/wh/target"
    assert output.facets["lifecycleStateChange"]["lifecycleStateChange"] == "OVERWRITE"
    assert output.facets["version"]["datasetVersion"] == "7"
    assert output.facets["acme"]["note"] == "a facet of one's own"
