"""Lineage attached to plan nodes, without Spark."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from headwater.spark import (
    ColumnLevelLineageNode,
    DatasetIdentifier,
    ExpressionDependencyWithDelegate,
    ExpressionDependencyWithIdentifier,
    FacetRegistry,
    InputDatasetField,
    InputDatasetFieldFromDelegate,
    InputDatasetWithDelegate,
    InputDatasetWithIdentifier,
    InputLineageNode,
    LogicalPlan,
    OlExprId,
    OutputDatasetField,
    OutputDatasetFieldFromDelegate,
    OutputDatasetWithDelegate,
    OutputLineageNode,
)

from .plans import attribute, call, edges, files, insert, lineage_of, node, plan, readers

SOURCE = files("file:/in/t", (1, "a"), (2, "b"))


class Reader:
    """An input identified by its key, with facets of both kinds."""

    def __init__(self, view: LogicalPlan) -> None:
        self.view = view

    def get_inputs(self, context: Any) -> list[Any]:
        key = DatasetIdentifier("acme", str(self.view.fields["source"]))
        return [InputDatasetWithIdentifier({"note": {"text": "n"}}, {"read": {"rows": 3}}, key)]


def test_a_node_class_returns_inputs_with_facets() -> None:
    made = plan(insert(1), node("AcmeRead", (), ((1, "a"),), source="s"))
    (found,) = lineage_of(made, readers(nodes={"spark.AcmeRead": Reader})).inputs
    assert (found.namespace, found.name) == ("acme", "s")
    assert found.facets["note"]["text"] == "n"
    assert found.run_facets["read"]["rows"] == 3


def test_a_delegate_is_another_node_s_dataset_with_more_facets() -> None:
    class Delegating:
        def __init__(self, view: LogicalPlan) -> None:
            self.view = view

        def get_inputs(self, context: Any) -> list[Any]:
            return [InputDatasetWithDelegate({"version": {"datasetVersion": "7"}}, {}, self.view.field("table"))]

    made = plan(insert(1), node("AcmeScan", (), ((9, "x"),), table={"$plan": 2}), SOURCE)
    found = lineage_of(made, readers(nodes={"AcmeScan": Delegating})).inputs
    assert {dataset.name for dataset in found} == {"/in/t"}
    assert found[0].facets["version"]["datasetVersion"] == "7"
    assert found[0].facets["schema"]["fields"][0]["name"] == "a"


def test_delegates_that_refer_to_each_other_end() -> None:
    class Around:
        def __init__(self, view: LogicalPlan) -> None:
            self.view = view

        def get_inputs(self, context: Any) -> list[Any]:
            return [InputDatasetWithDelegate({}, {}, self.view.field("next"))]

    first = node("AcmeRing", (), ((9, "x"),), next={"$plan": 2})
    second = node("AcmeRing", (), ((8, "y"),), next={"$plan": 1})
    assert lineage_of(plan(insert(1), first, second), readers(nodes={"AcmeRing": Around})).inputs == ()


def test_a_command_delegates_its_output_to_a_table() -> None:
    class Replace:
        def __init__(self, view: LogicalPlan) -> None:
            self.view = view

        def get_outputs(self, context: Any) -> list[Any]:
            return [OutputDatasetWithDelegate({"note": {"text": "replaced"}}, {}, self.view.field("table"))]

    target = files("file:/wh/target", (5, "a"), (6, "b"))
    made = plan(node("AcmeReplaceCommand", (1,), (), table={"$plan": 2}), SOURCE, target)
    result = lineage_of(made, readers(nodes={"AcmeReplaceCommand": Replace}))
    assert [dataset.name for dataset in result.outputs] == ["/wh/target"]
    assert result.outputs[0].facets["note"]["text"] == "replaced"
    assert [dataset.name for dataset in result.inputs] == ["/in/t"]
    assert edges(result)["a"] == {"a IDENTITY"}


class MergeRows:
    """A node whose outputs depend on expressions."""

    def __init__(self, view: LogicalPlan) -> None:
        self.view = view

    def column_level_lineage_inputs(self, context: Any) -> list[Any]:
        return [InputDatasetFieldFromDelegate(self.view.children[0])]

    def column_level_lineage_outputs(self, context: Any) -> list[Any]:
        return [OutputDatasetField(attribute.name, OlExprId(attribute.id)) for attribute in self.view.output]

    def column_level_lineage_dependencies(self, context: Any) -> list[Any]:
        rows = self.view.fields["rows"]
        return [
            ExpressionDependencyWithDelegate(OlExprId(column.id), row[i])
            for row in rows
            for i, column in enumerate(self.view.output)
        ]


def test_columns_follow_the_expressions_that_a_node_names() -> None:
    rows = [[attribute("a", 1), call("Add", attribute("b", 2))], [attribute("b", 2), attribute("b", 2)]]
    merge = node("AcmeMergeRows", (2,), ((8, "x"), (9, "y")), rows=rows)
    result = lineage_of(plan(insert(1), merge, SOURCE), readers(nodes={"AcmeMergeRows": MergeRows}))
    assert edges(result) == {"x": {"a IDENTITY", "b IDENTITY"}, "y": {"b TRANSFORMATION", "b IDENTITY"}, "*": set()}


def test_columns_follow_identifiers_and_fields_of_datasets_outside_the_plan() -> None:
    class Outside:
        def __init__(self, view: LogicalPlan) -> None:
            self.view = view

        def column_level_lineage_inputs(self, context: Any) -> list[Any]:
            return [InputDatasetField(DatasetIdentifier("acme", "s"), "f", OlExprId(77))]

        def column_level_lineage_outputs(self, context: Any) -> list[Any]:
            return [OutputDatasetField("renamed", OlExprId(9))]

        def column_level_lineage_dependencies(self, context: Any) -> list[Any]:
            return [ExpressionDependencyWithIdentifier(OlExprId(9), [OlExprId(77)])]

    made = plan(insert(1), node("AcmeRemote", (), ((9, "x"),)))
    assert edges(lineage_of(made, readers(nodes={"AcmeRemote": Outside}))) == {"renamed": {"f IDENTITY"}, "*": set()}


def test_a_library_needs_no_class_of_headwater() -> None:
    class Plain:
        def __init__(self, view: Any) -> None:
            self.view = view

        def get_inputs(self, context: Any) -> list[Any]:
            return [
                SimpleNamespace(identifier=SimpleNamespace(namespace="acme", name="plain"), facets={}, input_facets={})
            ]

    made = plan(insert(1), node("AcmePlain", (), ((1, "a"),)))
    assert [dataset.name for dataset in lineage_of(made, readers(nodes={"AcmePlain": Plain})).inputs] == ["plain"]


def test_the_protocols_are_structural() -> None:
    view: Any = None
    assert isinstance(Reader(view), InputLineageNode)
    assert not isinstance(Reader(view), OutputLineageNode)
    assert isinstance(MergeRows(view), ColumnLevelLineageNode)


def test_a_failing_node_class_is_logged_once_and_the_other_inputs_stay(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        def __init__(self, view: LogicalPlan) -> None:
            self.view = view

        def get_inputs(self, context: Any) -> list[Any]:
            raise RuntimeError("no idea")

    union = node("Union", (2, 3, 3), ((1, "a"),))
    made = plan(insert(1), union, SOURCE, node("AcmeBroken", (), ((1, "a"),)))
    result = lineage_of(made, readers(nodes={"AcmeBroken": Broken}))
    assert [dataset.name for dataset in result.inputs] == ["/in/t"]
    assert [r.getMessage() for r in caplog.records] == ["the lineage attached to spark.AcmeBroken is left out: no idea"]


def test_registered_facets_go_out_once() -> None:
    FacetRegistry.register_run_facet("r", {"x": 1})
    FacetRegistry.register_job_facet("j", {"y": 2})
    later = time.time() * 1000 + 1
    assert FacetRegistry.take(later - 60_000) == ({}, {})
    assert FacetRegistry.take(later) == ({"r": {"x": 1}}, {"j": {"y": 2}})
    assert FacetRegistry.take(later) == ({}, {})


def test_field_delegates_may_be_any_node_of_the_plan() -> None:
    class Delegating:
        """A node whose columns are those of a plan in a field, under the names of that plan."""

        def __init__(self, view: LogicalPlan) -> None:
            self.view = view

        def column_level_lineage_inputs(self, context: Any) -> list[Any]:
            return [InputDatasetFieldFromDelegate(self.view.field("query"))]

        def column_level_lineage_outputs(self, context: Any) -> list[Any]:
            return [OutputDatasetFieldFromDelegate(self.view.field("query"))]

        def column_level_lineage_dependencies(self, context: Any) -> list[Any]:
            return []

    held = node("AcmeDelegating", (), ((9, "x"),), query={"$plan": 2})
    result = lineage_of(plan(insert(1), held, SOURCE), readers(nodes={"AcmeDelegating": Delegating}))
    assert edges(result) == {"a": {"a IDENTITY"}, "b": {"b IDENTITY"}, "*": set()}


def test_an_output_field_may_be_delegated_to_an_expression() -> None:
    class Expressed:
        def __init__(self, view: LogicalPlan) -> None:
            self.view = view

        def column_level_lineage_inputs(self, context: Any) -> list[Any]:
            return [InputDatasetFieldFromDelegate(self.view.children[0])]

        def column_level_lineage_outputs(self, context: Any) -> list[Any]:
            return [OutputDatasetFieldFromDelegate(self.view.fields["key"])]

        def column_level_lineage_dependencies(self, context: Any) -> list[Any]:
            return []

    held = node("AcmeExpressed", (2,), ((1, "a"),), key=attribute("b", 2))
    result = lineage_of(plan(insert(1), held, SOURCE), readers(nodes={"AcmeExpressed": Expressed}))
    assert edges(result) == {"b": {"b IDENTITY"}, "*": set()}
