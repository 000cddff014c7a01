"""Stages wired into one lineage: pass-through, merges, joiners, defaults."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.fields import (
    Destination,
    FieldOperation,
    Input,
    InputField,
    InvalidLineage,
    Operation,
    Pipeline,
    Source,
    StageField,
)
from headwater.fields.cases import answer
from headwater.fields.shapes import Selected, join
from headwater_avro.errors import ConfigError

from .wiring import texts

Item = dict[str, Any]


def read(name: str, dataset: str, *outputs: str) -> Item:
    return {"type": "read", "name": name, "source": {"namespace": "s", "name": dataset}, "outputs": list(outputs)}


def step(name: str, inputs: list[Any], outputs: list[str]) -> Item:
    return {"type": "transform", "name": name, "inputs": inputs, "outputs": outputs}


def write(name: str, dataset: str, *inputs: str) -> Item:
    destination = {"namespace": "d", "name": dataset}
    return {"type": "write", "name": name, "destination": destination, "inputs": list(inputs)}


def pipeline_answer(connections: list[str], stages: dict[str, list[Item]], *joiners: str, **more: Any) -> Item:
    edges = [edge.split(">") for edge in connections]
    return answer({"level": "pipeline", "connections": edges, "stages": stages, "joiners": list(joiners), **more})


def inputs_of(result: Item, name: str) -> list[tuple[str | None, str]]:
    (operation,) = [item for item in result["operations"] if item["name"] == name]
    return [(link["origin"], link["field"]) for link in operation["inputs"]]


def test_a_union_merges_each_field_of_its_branches_once_for_all_downstream_stages() -> None:
    result = pipeline_answer(
        ["a>b", "b>u", "c>e", "e>u", "u>x", "u>r", "r>y"],
        {
            "a": [read("read", "one", "offset", "body")],
            "b": [step("parse", ["body"], ["name", "zip"])],
            "c": [read("read", "two", "offset", "body")],
            "e": [step("parse", ["body"], ["name", "zip"])],
            "u": [step("normalize", ["name"], ["name"]), step("rename", ["name"], ["full"])],
            "x": [write("write", "x", "offset", "name")],
            "r": [step("rename", ["offset"], ["place"])],
            "y": [write("write", "y", "place", "name", "zip", "full")],
        },
    )
    merges = [item["name"] for item in result["operations"] if ".merge." in item["name"]]
    assert sorted(merges) == ["b,e.merge.body", "b,e.merge.name", "b,e.merge.offset", "b,e.merge.zip"]
    assert inputs_of(result, "b,e.merge.offset") == [("a.read", "offset"), ("c.read", "offset")]
    assert inputs_of(result, "b,e.merge.name") == [("b.parse", "name"), ("e.parse", "name")]
    assert inputs_of(result, "u.rename") == [("u.normalize", "name")]
    assert inputs_of(result, "x.write") == [("b,e.merge.offset", "offset"), ("u.normalize", "name")]
    assert result["incoming"]["d:y#full"] == ["s:one#body", "s:two#body"]
    assert result["incoming"]["d:y#place"] == ["s:one#offset", "s:two#offset"]


def test_a_field_of_a_single_branch_is_merged_from_that_branch() -> None:
    result = pipeline_answer(
        ["a>u", "b>u", "u>w"],
        {
            "a": [read("r", "one", "x", "y")],
            "b": [read("r", "two", "x")],
            "u": [],
            "w": [write("w", "t", "x", "y")],
        },
    )
    assert inputs_of(result, "a,b.merge.y") == [("a.r", "y")]
    assert result["incoming"] == {"d:t#x": ["s:one#x", "s:two#x"], "d:t#y": ["s:one#y"]}


def test_nested_unions_preserve_the_inner_origins() -> None:
    result = pipeline_answer(
        ["a>u", "b>u", "u>v", "c>v", "v>w"],
        {
            "a": [read("r", "one", "x")],
            "b": [read("r", "two", "x")],
            "c": [read("r", "three", "x")],
            "w": [write("w", "t", "x")],
        },
    )
    assert inputs_of(result, "c,u.merge.x") == [("c.r", "x"), ("a,b.merge.x", "x")]
    assert result["incoming"] == {"d:t#x": ["s:one#x", "s:three#x", "s:two#x"]}


def test_a_diamond_is_listed_once() -> None:
    result = pipeline_answer(
        ["a>b", "a>c", "b>w", "c>w"],
        {"a": [read("r", "one", "x", "y")], "c": [step("s", ["x"], ["x"])], "w": [write("w", "t", "x", "y")]},
    )
    assert inputs_of(result, "b,c.merge.y") == [("a.r", "y")]
    assert inputs_of(result, "b,c.merge.x") == [("a.r", "x"), ("c.s", "x")]


def test_a_written_field_without_origin_has_no_sources() -> None:
    result = pipeline_answer(["a>w"], {"a": [read("r", "one", "x")], "w": [write("w", "t", "x", "ghost")]})
    assert result["incoming"] == {"d:t#x": ["s:one#x"], "d:t#ghost": []}
    assert inputs_of(result, "w.w") == [("a.r", "x"), (None, "ghost")]


def test_the_nearest_upstream_stage_that_outputs_a_field_is_its_origin() -> None:
    result = pipeline_answer(
        ["a>b", "b>c", "c>w"],
        {
            "a": [read("r", "one", "x")],
            "b": [step("first", ["x"], ["x"]), step("second", ["x"], ["x"])],
            "c": [step("other", ["x"], ["y"])],
            "w": [write("w", "t", "x", "y")],
        },
    )
    assert inputs_of(result, "b.second") == [("b.first", "x")]
    assert inputs_of(result, "w.w") == [("b.second", "x"), ("c.other", "y")]


JOIN_STAGES = {
    "cust": [read("rc", "customer", "id", "name")],
    "buy": [read("rp", "purchase", "customer_id", "item")],
    "w": [write("w", "t", "customer", "customer_id", "name", "item")],
}


@pytest.mark.parametrize(
    "keys", [["cust.id", "buy.customer_id"], [["cust", "id"], ["buy", "customer_id"]]], ids=["text", "pairs"]
)
def test_a_joiner_takes_fields_of_its_stages_and_of_itself(keys: list[Any]) -> None:
    result = pipeline_answer(
        ["cust>j", "buy>j", "j>w"],
        {
            **JOIN_STAGES,
            "j": [
                step("Join", keys, ["id", "customer_id"]),
                step("Rename id", ["id"], ["customer"]),
                step("Identity cust.name", ["cust.name"], ["name"]),
                step("Identity buy.item", ["buy.item"], ["item"]),
            ],
        },
        "j",
    )
    assert not [item for item in result["operations"] if ".merge." in item["name"]]
    assert inputs_of(result, "j.Join") == [("cust.rc", "id"), ("buy.rp", "customer_id")]
    assert inputs_of(result, "j.Rename id") == [("j.Join", "id")]
    assert result["incoming"]["d:t#customer"] == ["s:customer#id", "s:purchase#customer_id"]
    assert result["incoming"]["d:t#item"] == ["s:purchase#item"]


def test_a_joiner_finds_origins_upstream_of_the_stage_it_names() -> None:
    result = pipeline_answer(
        ["a>b", "b>j", "c>j", "j>w"],
        {
            "a": [read("r", "one", "k", "v")],
            "b": [step("up", ["v"], ["v"])],
            "c": [read("r", "two", "k", "v")],
            "j": [step("Join", ["b.k", "c.k"], ["k"]), step("I b.v", ["b.v"], ["v1"]), step("I c.v", ["c.v"], ["v2"])],
            "w": [write("w", "t", "k", "v1", "v2")],
        },
        "j",
    )
    assert inputs_of(result, "j.Join") == [("a.r", "k"), ("c.r", "k")]
    assert inputs_of(result, "j.I b.v") == [("b.up", "v")]
    assert inputs_of(result, "j.I c.v") == [("c.r", "v")]


def test_dots_in_stage_and_field_names_do_not_confuse_a_joiner() -> None:
    result = pipeline_answer(
        ["a>j", "a.b>j", "j>w"],
        {
            "a": [read("r", "one", "b.x", "k")],
            "a.b": [read("r", "two", "x.y", "k")],
            "j": [step("one", ["a.b.x"], ["x"]), step("two", ["a.b.x.y"], ["y"])],
            "w": [write("w", "t", "x", "y")],
        },
        "j",
    )
    assert result["incoming"] == {"d:t#x": ["s:one#b.x"], "d:t#y": ["s:two#x.y"]}


@pytest.mark.parametrize(("second", "source"), [("a.b>j", "s:two#x"), ("a.b>c", "s:one#b.x")])
def test_an_ambiguous_joiner_input_refers_to_the_longest_stage_name_that_flows_in(second: str, source: str) -> None:
    result = pipeline_answer(
        ["a>j", second, "c>j", "j>w"],
        {
            "a": [read("r", "one", "b.x")],
            "a.b": [read("r", "two", "x")],
            "c": [],
            "j": [step("pick", ["a.b.x"], ["y"])],
            "w": [write("w", "t", "y")],
        },
        "j",
    )
    assert result["incoming"] == {"d:t#y": [source]}


def test_a_join_after_a_union_reads_the_merged_field() -> None:
    result = pipeline_answer(
        ["a>u", "b>u", "u>j", "c>j", "j>w"],
        {
            "a": [read("r", "one", "k")],
            "b": [read("r", "two", "k")],
            "u": [],
            "c": [read("r", "three", "k", "v")],
            "j": [step("Join", ["u.k", "c.k"], ["k"]), step("I", ["c.v"], ["v"])],
            "w": [write("w", "t", "k", "v")],
        },
        "j",
    )
    assert inputs_of(result, "j.Join") == [("a,b.merge.k", "k"), ("c.r", "k")]


def test_a_stage_with_schemas_but_no_operations_is_all_to_all() -> None:
    result = pipeline_answer(
        ["a>b", "b>w"],
        {"a": [read("r", "one", "x", "y")], "b": [], "w": [write("w", "t", "p", "q")]},
        schemas={"b": {"inputs": ["x", "y"], "outputs": ["p", "q"]}},
    )
    assert inputs_of(result, "b.Transform") == [("a.r", "x"), ("a.r", "y")]
    assert result["incoming"]["d:t#q"] == ["s:one#x", "s:one#y"]


def test_a_joiner_with_schemas_but_no_operations_is_all_to_all() -> None:
    result = pipeline_answer(
        ["a>j", "b>j", "j>w"],
        {"a": [read("r", "one", "x")], "b": [read("r", "two", "x")], "w": [write("w", "t", "p")]},
        "j",
        stage_inputs={"j": {"a": ["x"], "b": ["x"]}},
        stage_outputs={"j": ["p"]},
    )
    assert inputs_of(result, "j.Transform") == [("a.r", "x"), ("b.r", "x")]


def test_markers_separate_the_tables_of_a_stage() -> None:
    result = pipeline_answer(
        ["a>w"],
        {
            "a": [{**read("r1", "one", "x"), "marker": "A"}, {**read("r2", "two", "x"), "marker": "B"}],
            "w": [{**write("w1", "t1", "x"), "marker": "A"}, {**write("w2", "t2", "x"), "marker": "B"}],
        },
    )
    assert result["incoming"] == {"d:t1#x": ["s:one#x"], "d:t2#x": ["s:two#x"]}


@pytest.mark.parametrize(
    ("connections", "stages", "kind", "culprits"),
    [
        (["a>b", "b>c", "c>b"], {"a": [read("r", "one", "x")]}, "cycle", ("b", "c")),
        ([], {"a": [read("r", "one", "x"), read("r", "two", "x")]}, "repeated_name", ("a.r",)),
        ([], {"a": [{"type": "read", "name": "r", "source": None, "outputs": ["x"]}]}, "null_source", ("a.r",)),
    ],
)
def test_invalid_pipelines(
    connections: list[str], stages: dict[str, list[Item]], kind: str, culprits: tuple[str, ...]
) -> None:
    with pytest.raises(InvalidLineage) as caught:
        pipeline_answer(connections, stages)
    assert (caught.value.kind, caught.value.culprits) == (kind, culprits)


def test_sources_and_sinks_of_the_plugin_api_record_nothing() -> None:
    pipeline = Pipeline()
    pipeline.stage("users", source=Source.of("crm", "users"), output_schema=["id", "name", "file"])
    clean = pipeline.stage("clean", inputs=["users"])
    clean.record([FieldOperation("upper", ["name"], ["NAME"]), FieldOperation("drop", ["file"])])
    pipeline.stage("store", inputs=["clean"], destination=Destination.of("wh", "people"))
    lineage = pipeline.resolve()
    assert texts(lineage.incoming) == {
        "wh:people#id": ["crm:users#id"],
        "wh:people#name": ["crm:users#name"],
        "wh:people#NAME": ["crm:users#name"],
    }
    assert set(map(str, lineage.dropped)) == {"crm:users#file"}


def test_a_pipeline_with_a_joiner_from_its_shape() -> None:
    pipeline = Pipeline()
    pipeline.stage("cust", source=Source.of("s", "customer"), output_schema=["id", "name"])
    pipeline.stage("buy", source=Source.of("s", "purchase"), output_schema=["id", "item"])
    joiner = pipeline.stage("j", inputs=["cust", "buy"], joiner=True)
    selected = [Selected("cust", "id", "a"), Selected("buy", "id", "b"), Selected("buy", "item")]
    joiner.record(join({"cust": ["id"], "buy": ["id"]}, selected))
    pipeline.stage("w", inputs=["j"], destination=Destination.of("d", "t", schema=["a", "b", "item"]))
    assert [item.name for item in joiner.stage.operations] == [
        "Join",
        "Rename id as a",
        "Rename id as b",
        "Identity buy.item",
    ]
    assert texts(pipeline.resolve().incoming)["d:t#item"] == ["s:purchase#item"]


def test_stage_and_field_of_a_joiner_are_separate_in_the_api() -> None:
    pipeline = Pipeline()
    pipeline.stage("a.b", source=Source.of("s", "one"), output_schema=["x"])
    pipeline.stage("c", source=Source.of("s", "two"), output_schema=["x"])
    joiner = pipeline.stage("j", inputs=["a.b", "c"], joiner=True)
    joiner.record([FieldOperation("pick", [Input.from_stage("a.b", "x")], ["y"])])
    assert pipeline.operations()[-1] == Operation.transform("j.pick", [InputField("a.b.read", "x")], ["y"])
    assert joiner.stage.operations[0].inputs == (StageField("x", "a.b"),)


def test_the_input_of_a_stage_cannot_have_a_source() -> None:
    recorder = Pipeline().stage("a")
    with pytest.raises(ConfigError, match="can't have a source"):
        recorder.record([FieldOperation("x", [Source.of("s")["f"]], ["g"])])


def test_four_thousand_stages_deep() -> None:
    pipeline = Pipeline()
    pipeline.stage("0", source=Source.of("s", "one"), output_schema=["x", "y"])
    for number in range(1, 4_000):
        pipeline.stage(str(number), inputs=[str(number - 1)]).record([FieldOperation("up", ["x"], ["x"])])
    pipeline.stage("end", inputs=["3999"], destination=Destination.of("d", "t"))
    assert texts(pipeline.resolve().incoming) == {"d:t#x": ["s:one#x"], "d:t#y": ["s:one#y"]}
