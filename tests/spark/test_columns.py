"""Column lineage of plans, rule by rule, without Spark."""

from __future__ import annotations

import msgspec
import pytest

from headwater.spark.plan.model import Plan

from .plans import Raw, alias, attribute, call, edges, files, insert, lineage_of, literal, node, plan

A, B = attribute("a", 1), attribute("b", 2)
SOURCE = files("file:/in/t", (1, "a"), (2, "b"))


def projected(value: Raw) -> set[str]:
    """The sources of one column that is ``value`` over a read of a and b."""
    made = plan(insert(1), node("Project", (2,), ((9, "x"),), projectList=[alias(value, "x", 9)]), SOURCE)
    return edges(lineage_of(made))["x"]


def test_a_column_taken_as_it_is_is_an_identity() -> None:
    assert projected(A) == {"a IDENTITY"}


def test_a_cast_to_the_same_type_changes_nothing_and_any_other_transforms() -> None:
    assert projected(call("Cast", A, same=True)) == {"a IDENTITY"}
    assert projected(call("Cast", A, same=False)) == {"a TRANSFORMATION"}


def test_a_function_transforms_its_arguments() -> None:
    assert projected(call("Add", A, B)) == {"a TRANSFORMATION", "b TRANSFORMATION"}
    assert projected(call("PythonUDF", A, name="f")) == {"a TRANSFORMATION"}


def test_the_condition_of_a_case_only_chooses() -> None:
    value = call("CaseWhen", call("EqualTo", A, literal("1")), B, literal("0"))
    assert projected(value) == {"a CONDITIONAL", "b TRANSFORMATION"}


def test_coalesce_both_takes_and_tests_each_value() -> None:
    assert projected(call("Coalesce", A, B)) == {
        "a CONDITIONAL",
        "a TRANSFORMATION",
        "b CONDITIONAL",
        "b TRANSFORMATION",
    }


def test_a_replaced_function_is_what_replaces_it() -> None:
    assert projected(call("Nvl", call("Coalesce", A, literal("0")), replaced=True)) == {
        "a CONDITIONAL",
        "a TRANSFORMATION",
    }


def test_a_constant_is_a_column_without_sources() -> None:
    assert projected(literal("7")) == set()


def test_a_member_of_a_struct_is_the_nested_field() -> None:
    city = call("GetStructField", call("GetStructField", A, name="addr"), name="city")
    assert projected(city) == {"a.addr.city TRANSFORMATION"}


def test_a_member_of_an_element_is_named_through_the_collection() -> None:
    element = call("GetArrayItem", A, literal("0"))
    assert projected(element) == {"a TRANSFORMATION"}
    assert projected(call("GetStructField", element, name="k")) == {"a._element.k TRANSFORMATION"}


def test_a_member_of_a_struct_literal_is_an_identity() -> None:
    struct = call("CreateNamedStruct", literal("m"), A, literal("n"), B)
    assert projected(struct) == {"a TRANSFORMATION", "b TRANSFORMATION"}
    assert projected(call("GetStructField", struct, name="n")) == {"b IDENTITY"}


def test_a_replaced_member_of_a_struct_hides_the_original() -> None:
    changed = call("UpdateFields", A, call("WithField", B, name="m"))
    assert projected(call("GetStructField", changed, name="m")) == {"b IDENTITY"}
    assert projected(call("GetStructField", changed, name="o")) == {"a.o TRANSFORMATION"}


def test_a_window_orders_and_a_rank_has_no_arguments() -> None:
    specification = call("WindowSpecDefinition", call("SortOrder", B))
    assert projected(call("WindowExpression", call("Rank", A), specification)) == {"b WINDOW"}
    total = call("AggregateExpression", call("Sum", A), id=5)
    assert projected(call("WindowExpression", total, specification)) == {"a AGGREGATION", "b WINDOW"}


@pytest.mark.parametrize(
    ("function", "masks"), [("Sha2", True), ("Mask", True), ("AesEncrypt", True), ("Upper", False)]
)
def test_hashes_masks_and_encryption_hide_their_argument(function: str, masks: bool) -> None:
    made = plan(insert(1), node("Project", (2,), ((9, "x"),), projectList=[alias(call(function, A), "x", 9)]), SOURCE)
    facet = lineage_of(made).outputs[0].facets["columnLineage"]
    assert [how["masking"] for how in facet["fields"]["x"]["inputFields"][0]["transformations"]] == [masks]


def test_count_is_no_masking() -> None:
    counted = call("AggregateExpression", call("Count", A), id=5)
    aggregate = node(
        "Aggregate", (2,), ((9, "x"),), groupingExpressions=[], aggregateExpressions=[alias(counted, "x", 9)]
    )
    facet = lineage_of(plan(insert(1), aggregate, SOURCE)).outputs[0].facets["columnLineage"]
    assert facet["fields"]["x"]["inputFields"][0]["transformations"][0]["masking"] is False


def passing(kind: str, **fields: object) -> Plan:
    return plan(insert(1), node(kind, (2,), ((1, "a"), (2, "b")), **fields), SOURCE)


def test_a_filter_shapes_all_rows() -> None:
    assert edges(lineage_of(passing("Filter", condition=call("GreaterThan", B, literal("1"))))) == {
        "a": {"a IDENTITY"},
        "b": {"b IDENTITY"},
        "*": {"b FILTER"},
    }


def test_a_sort_shapes_all_rows() -> None:
    assert edges(lineage_of(passing("Sort", order=[call("SortOrder", A)])))["*"] == {"a SORT"}


def test_distinct_groups_by_every_column_but_not_over_a_union() -> None:
    assert edges(lineage_of(passing("Distinct")))["*"] == {"a GROUP_BY", "b GROUP_BY"}
    union = node("Union", (3, 3), ((1, "a"), (2, "b")))
    made = plan(insert(1), node("Distinct", (2,), ((1, "a"), (2, "b"))), union, SOURCE)
    assert edges(lineage_of(made))["*"] == set()


def test_deduplication_keeps_the_first_of_the_other_columns() -> None:
    assert edges(lineage_of(passing("Deduplicate", keys=[A]))) == {
        "a": {"a IDENTITY"},
        "b": {"b IDENTITY"},
        "*": {"a GROUP_BY"},
    }


def test_having_filters_by_what_was_aggregated() -> None:
    total = call("AggregateExpression", call("Sum", B), id=5)
    aggregate = node(
        "Aggregate", (3,), ((1, "a"), (9, "s")), groupingExpressions=[A], aggregateExpressions=[A, alias(total, "s", 9)]
    )
    having = node("Filter", (2,), ((1, "a"), (9, "s")), condition=call("GreaterThan", attribute("s", 9), literal("5")))
    assert edges(lineage_of(plan(insert(1), having, aggregate, SOURCE))) == {
        "a": {"a IDENTITY"},
        "s": {"b AGGREGATION"},
        "*": {"a GROUP_BY", "b FILTER"},
    }


def test_a_union_takes_columns_by_place() -> None:
    other = files("file:/in/u", (3, "c"), (4, "d"))
    made = plan(insert(1), node("Union", (2, 3), ((1, "a"), (2, "b"))), SOURCE, other)
    result = lineage_of(made)
    assert edges(result)["a"] == {"a IDENTITY", "c IDENTITY"}
    assert [dataset.name for dataset in result.inputs] == ["/in/t", "/in/u"]


def test_in_and_exists_join() -> None:
    inner = files("file:/in/u", (3, "c"))
    condition = call("InSubquery", A, call("ListQuery", plan=3))
    made = plan(insert(1), node("Filter", (2,), ((1, "a"), (2, "b")), condition=condition), SOURCE, inner)
    result = lineage_of(made)
    assert edges(result)["*"] == {"a JOIN", "c JOIN"}
    assert [dataset.name for dataset in result.inputs] == ["/in/t", "/in/u"]


def test_a_scalar_subquery_gives_its_column_and_what_shapes_it() -> None:
    filtered = node("Filter", (4,), ((3, "c"), (4, "d")), condition=call("IsNotNull", attribute("d", 4)))
    value = alias(call("ScalarSubquery", plan=3), "x", 9)
    inner = files("file:/in/u", (3, "c"), (4, "d"))
    made = plan(insert(1), node("Project", (2,), ((9, "x"),), projectList=[value]), SOURCE, filtered, inner)
    assert edges(lineage_of(made))["x"] == {"c IDENTITY", "d FILTER"}


def test_python_code_over_whole_frames_is_all_to_all() -> None:
    mapped = node("MapInPandas", (2,), ((8, "x"), (9, "y")))
    result = lineage_of(plan(insert(1), mapped, SOURCE))
    assert edges(result) == {
        "x": {"a TRANSFORMATION", "b TRANSFORMATION"},
        "y": {"a TRANSFORMATION", "b TRANSFORMATION"},
        "*": set(),
    }
    how = result.outputs[0].facets["columnLineage"]["fields"]["x"]["inputFields"][0]["transformations"][0]
    assert "opaque" in how["description"]


def test_an_unknown_node_passes_on_what_it_passes_on_and_is_opaque_for_the_rest() -> None:
    strange = node("ComAcmeNode", (2,), ((1, "a"), (9, "new")))
    assert edges(lineage_of(plan(insert(1), strange, SOURCE))) == {
        "a": {"a IDENTITY"},
        "new": {"a TRANSFORMATION", "b TRANSFORMATION"},
        "*": set(),
    }


def test_a_pivot_column_only_chooses() -> None:
    pivot = call("AggregateExpression", call("PivotFirst", A, B), id=5)
    aggregate = node(
        "Aggregate", (2,), ((9, "x"),), groupingExpressions=[], aggregateExpressions=[alias(pivot, "x", 9)]
    )
    assert edges(lineage_of(plan(insert(1), aggregate, SOURCE)))["x"] == {"a CONDITIONAL", "b AGGREGATION"}


def test_a_writer_that_buckets_and_sorts_orders_its_rows() -> None:
    bucket = {"$": "BucketSpec", "of": {"numBuckets": 2, "bucketColumnNames": ["a"], "sortColumnNames": ["b"]}}
    result = lineage_of(plan(insert(1, bucketSpec=bucket), SOURCE))
    assert edges(result)["*"] == {"a SORT", "b SORT"}


def test_a_recursive_query_sees_its_anchor() -> None:
    anchor = node("Project", (6,), ((10, "a"),), projectList=[alias(A, "a", 10)])
    reference = node("UnionLoopRef", (), ((11, "a"),), loopId=7)
    loop = node("UnionLoop", (4, 5), ((12, "a"),), id=7)
    definition = node("CTERelationDef", (3,), ((12, "a"),), id=1)
    query = node("CTERelationRef", (), ((13, "a"),), cteId=1)
    with_cte = node("WithCTE", (7,), ((13, "a"),), cteDefs=[{"$plan": 2}])
    made = plan(insert(1), with_cte, definition, loop, anchor, reference, SOURCE, query)
    assert edges(lineage_of(made))["a"] == {"a IDENTITY"}


def test_a_truncated_plan_has_datasets_without_columns() -> None:
    whole = plan(insert(1), SOURCE)
    result = lineage_of(Plan(whole.nodes, truncated="size"))
    assert [dataset.name for dataset in result.outputs] == ["/out/t"]
    assert "columnLineage" not in result.outputs[0].facets


def test_what_lies_beyond_the_limits_of_a_plan_is_still_read() -> None:
    raw = plan(insert(1), node("Project", (2,)), SOURCE, SOURCE).nodes
    truncated = Plan((raw[0], raw[1], None, raw[3]), truncated="size", leaves=(3,))
    assert [dataset.name for dataset in lineage_of(truncated).inputs] == ["/in/t"]
    raw = plan(node("Project", (1,)), SOURCE, SOURCE).nodes
    query = lineage_of(Plan((raw[0], None, raw[2]), truncated="size", leaves=(2,)))
    assert [dataset.name for dataset in query.inputs] == ["/in/t"]
    assert "above a limit of size" in str(query.missing)


def test_columns_above_the_limits_are_not_reported_as_without_sources() -> None:
    raw = [insert(1), node("Project", (2,)), node("Range")]
    result = lineage_of(Plan(plan(*raw).nodes, truncated="size"))
    assert [dataset.name for dataset in result.outputs] == ["/out/t"]
    assert "schema" not in result.outputs[0].facets


def test_a_plan_of_thousands_of_steps_needs_no_deep_stack() -> None:
    steps = 5000
    raw = [insert(1)]
    for number in range(steps):
        names = {"projectList": [alias(call("Add", attribute("a", number), literal("1")), "a", number + 1)]}
        raw.insert(1, node("Project", (0,), ((number + 1, "a"),), **names))
    chain = [insert(1), *(dict(dataset, children=(index + 2,)) for index, dataset in enumerate(raw[1:]))]
    made = plan(*chain, files("file:/in/t", (0, "a")))
    assert edges(lineage_of(made))["a"] == {"a TRANSFORMATION"}


def test_an_expression_below_the_deepest_level_has_its_columns_as_sources() -> None:
    assert projected(call("Add", call("Collapsed", A, B), literal("1"))) == {"a TRANSFORMATION", "b TRANSFORMATION"}


def test_what_a_constant_picks_out_of_a_collection_made_on_the_spot_is_taken_as_it_is() -> None:
    dataset = literal("1")
    assert projected(call("GetArrayItem", call("CreateArray", A, B), dataset)) == {"b IDENTITY"}
    assert projected(call("GetMapValue", call("CreateMap", literal("x"), A, dataset, B), dataset)) == {"b IDENTITY"}
    assert projected(call("GetArrayItem", call("CreateArray", A), B)) == {"a TRANSFORMATION", "b TRANSFORMATION"}


def test_stack_assigns_values_to_columns_by_position() -> None:
    stack = call("Stack", literal("2"), literal("x"), A, literal("y"), call("Add", B, literal("1")))
    generated = [attribute("k", 8), attribute("v", 9)]
    made = plan(
        insert(1), node("Generate", (2,), ((8, "k"), (9, "v")), generator=stack, generatorOutput=generated), SOURCE
    )
    assert edges(lineage_of(made)) == {"k": set(), "v": {"a TRANSFORMATION", "b TRANSFORMATION"}, "*": set()}


def test_a_generator_gives_what_it_was_given_to_all_its_columns() -> None:
    generated = [attribute("place", 8), attribute("x", 9)]
    made = plan(
        insert(1),
        node("Generate", (2,), ((8, "place"), (9, "x")), generator=call("PosExplode", A), generatorOutput=generated),
        SOURCE,
    )
    assert edges(lineage_of(made)) == {"place": {"a TRANSFORMATION"}, "x": {"a TRANSFORMATION"}, "*": {"a FILTER"}}


def merged(instruction: Raw) -> dict[str, set[str]]:
    """Column lineage of a MERGE, as the analyser rewrites it for V2 tables, with one matched instruction."""
    rows = node("MergeRows", (2,), ((8, "a"), (9, "b")), matchedInstructions=[instruction])
    return edges(lineage_of(plan(insert(1), rows, SOURCE)))


def test_the_conditions_of_a_merge_select_values_and_filter_deleted_rows() -> None:
    condition = call("EqualTo", B, literal("D"))
    assert merged(call("Discard", condition)) == {"a": set(), "b": set(), "*": {"b FILTER"}}
    assert merged(call("Update", condition, literal("0"), B)) == {
        "a": {"b CONDITIONAL"},
        "b": {"b IDENTITY"},
        "*": set(),
    }


def test_a_generator_with_a_row_for_each_input_does_not_filter() -> None:
    for generator, fields in (
        (call("Explode", A), {"outer": True}),
        (call("Explode", call("CreateArray", A)), {}),
        (call("Stack", literal("1"), A), {}),
    ):
        generated = node(
            "Generate", (2,), ((9, "x"),), generator=generator, generatorOutput=[attribute("x", 9)], **fields
        )
        assert edges(lineage_of(plan(insert(1), generated, SOURCE)))["*"] == set()


def test_columns_that_were_not_read_are_left_out() -> None:
    kept = node("Project", (2,), ((1, "a"), (9, "x"), (8, "y")), projectList=[A, alias(attribute("z", 7), "y", 8)])
    whole = plan(insert(1), kept, SOURCE)
    result = lineage_of(Plan(whole.nodes, limit="size"))
    assert edges(result) == {"a": {"a IDENTITY"}, "*": set()}
    assert result.missing == "the plan is above a limit of size: no lineage of 2 columns"


def test_a_partial_projection_passes_the_other_columns_on() -> None:
    raw = node("Project", (3,), (), projectList=[alias(call("Add", A, B), "c", 3)])
    top = node("Project", (2,), ((3, "c"), (2, "b")), projectList=[attribute("c", 3), B])
    made = plan(insert(1), top, raw, SOURCE)
    partial = Plan(tuple(msgspec.structs.replace(n, partial=n.index == 2) if n else n for n in made.nodes))
    assert edges(lineage_of(partial)) == {
        "c": {"a TRANSFORMATION", "b TRANSFORMATION"},
        "b": {"b IDENTITY"},
        "*": set(),
    }
