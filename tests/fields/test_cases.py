"""``headwater fields resolve``: the JSON of cases at every level."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from headwater.fields import InvalidLineage
from headwater.fields.cases import answer
from headwater_avro.errors import ConfigError
from headwater_cli.fields import fields

DATA = Path(__file__).parents[2] / "../shared/data/fields/cases.json"
CASES: list[dict[str, Any]] = json.loads(DATA.read_text(encoding="utf-8"))["cases"] if DATA.is_file() else []

Json = dict[str, Any]


def without_expectations(case: Json, **more: Any) -> Json:
    return {key: value for key, value in case.items() if not key.startswith("expect")} | more


def answer_or_error(case: Json) -> Json:
    try:
        return answer(case)
    except InvalidLineage as fault:
        return {"error": {"kind": fault.kind, "culprits": list(fault.culprits)}}


def by_query(result: list[Json]) -> dict[tuple[str, str], list[str]]:
    return {(item["direction"], item["field"]): item["operations"] for item in result}


@pytest.mark.skipif(not CASES, reason="the example cases are in ../shared/data/fields, which is not here")
@pytest.mark.parametrize("case", CASES, ids=[case["title"] for case in CASES])
def test_the_example_cases(case: Json) -> None:
    result = answer_or_error(without_expectations(case))
    for key, expected in case["expect"].items():
        if key == "operations_for":
            assert by_query(expected).items() <= by_query(result[key]).items()
        else:
            assert result[key] == expected
    for before, after in case.get("expect_order_constraints", ()):
        assert result["order"].index(before) < result["order"].index(after)


@pytest.mark.skipif(not CASES, reason="the example cases are in ../shared/data/fields, which is not here")
def test_the_example_cases_with_options() -> None:
    checked = 0
    for case in CASES:
        if identity := case.get("expect_if_implicit_identity"):
            result = answer(without_expectations(case, implicit_identity=True))
            assert result["incoming"] == case["expect"]["incoming"] | identity["adds"]
            checked += 1
        if schema := case.get("expect_if_destination_schema"):
            result = answer(without_expectations(case, destination_schema=schema["schema"]))
            assert result["incoming"] == schema["incoming"]
            checked += 1
    assert checked == 2


def check_result(*operations: tuple[str, str, str], inputs: str = "", outputs: str = "") -> Json:
    operations_json = [
        {"type": "transform", "name": name, "inputs": taken.split(), "outputs": made.split()}
        for name, taken, made in operations
    ]
    return answer(
        {
            "level": "stage-validation",
            "stage_inputs": inputs.split(),
            "stage_outputs": outputs.split(),
            "operations": operations_json,
        }
    )


FINE: Json = {"invalid_inputs": {}, "invalid_outputs": {}, "redundant_outputs": {}}


@pytest.mark.parametrize(
    ("result", "differs"),
    [
        (check_result(("parse", "body", "name zip"), inputs="offset body", outputs="name"), {}),
        (check_result(("a", "ghost", "x"), inputs="body"), {"invalid_inputs": {"ghost": ["a"]}}),
        (check_result(("a", "x", "y"), ("b", "y", "z"), inputs="x"), {}),
        (
            check_result(("late", "y", "z"), ("made", "x", "y"), ("again", "q", "w"), ("more", "q", "v"), inputs="x"),
            {"invalid_inputs": {"y": ["late"], "q": ["again", "more"]}},
        ),
        (check_result(("one", "b", "n"), ("two", "b", "n z"), inputs="b"), {"redundant_outputs": {"n": ["one"]}}),
        (
            check_result(("one", "b", "n"), ("two", "b", "n"), ("three", "b", "n"), ("use", "b n", "n z"), inputs="b"),
            {"redundant_outputs": {"n": ["one", "two"]}},
        ),
        (check_result(("one", "b", "n"), ("use", "n", "m"), ("two", "b", "n"), inputs="b"), {}),
        (check_result(("drop", "ghost", ""), ("gen", "", "n"), ("gen2", "", "n"), inputs="b"), {}),
    ],
)
def test_stage_validation(result: Json, differs: Json) -> None:
    assert result == FINE | differs


def test_stage_validation_of_reads_and_writes() -> None:
    end = {"namespace": "n", "name": "t"}
    read = {"type": "read", "name": "r", "source": end, "outputs": ["a", "b"]}
    write = {"type": "write", "name": "w", "destination": end, "inputs": ["a", "zip"]}
    case = {"level": "stage-validation", "stage_inputs": [], "stage_outputs": [], "operations": [read, read, write]}
    assert answer(case) == {
        "invalid_inputs": {"zip": ["w"]},
        "invalid_outputs": {},
        "redundant_outputs": {"a": ["r"], "b": ["r"]},
    }


def join_result(keys: list[Any], *selected: tuple[str, str, str | None]) -> list[tuple[str, list[str], list[str]]]:
    result = answer(
        {
            "level": "join-operations",
            "join_keys": keys,
            "output_fields": [{"stage": stage, "field": name, "alias": alias} for stage, name, alias in selected],
        }
    )
    assert all(item["type"] == "transform" for item in result["operations"])
    return [(item["name"], item["inputs"], item["outputs"]) for item in result["operations"]]


KEYS = [["cust", ["id"]], ["buy", ["cust_id"]]]
JOIN = ("Join", ["cust.id", "buy.cust_id"], ["id", "cust_id"])


@pytest.mark.parametrize(
    ("selected", "more"),
    [
        ([("cust", "id", None), ("buy", "cust_id", "cust_id")], []),
        ([("cust", "id", "cid")], [("Rename id", ["id"], ["cid"])]),
        ([("cust", "name", "who")], [("Rename cust.name", ["cust.name"], ["who"])]),
        ([("cust", "name", "name")], [("Identity cust.name", ["cust.name"], ["name"])]),
        ([("buy", "id", "bid")], [("Rename buy.id", ["buy.id"], ["bid"])]),
    ],
)
def test_join_operations(selected: list[Any], more: list[Any]) -> None:
    assert join_result(KEYS, *selected) == [JOIN, *more]


def test_join_operations_of_three_stages_with_two_keys() -> None:
    keys = [["a", ["k", "m"]], ["b", ["k", "n"]], ["c", ["o", "p"]]]
    (join,) = join_result(keys, ("a", "k", None), ("c", "o", None))
    assert join == ("Join", ["a.k", "a.m", "b.k", "b.n", "c.o", "c.p"], ["k", "m", "n", "o", "p"])


def run(tmp_path: Path, case: object, *options: str) -> tuple[int, Any]:
    file = tmp_path / "case.json"
    file.write_text(json.dumps(case), encoding="utf-8")
    result = CliRunner().invoke(fields, ["resolve", str(file), *options], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.return_value, json.loads(result.stdout)


SEED: Json = {
    "level": "seed",
    "sources": ["s"],
    "source_schemas": {"s": ["a", "b"]},
    "destination": "d",
    "destination_schema": ["a", "x"],
    "operations": [{"name": "up", "inputs": [["s", "b"]], "outputs": ["x"]}],
}


def test_the_command_prints_json_and_exits_0(tmp_path: Path) -> None:
    code, result = run(tmp_path, SEED)
    assert (code, result["incoming"]) == (0, {"d#x": ["s#b"]})
    code, result = run(tmp_path, SEED, "--implicit-identity", "--json")
    assert (code, result["incoming"]) == (0, {"d#a": ["s#a"], "d#x": ["s#b"]})


def test_the_command_prints_errors_as_json_and_exits_1(tmp_path: Path) -> None:
    wrong = SEED | {"operations": [{"name": "up", "inputs": ["ghost"], "outputs": ["x"]}]}
    assert run(tmp_path, wrong) == (1, {"error": {"kind": "unknown_input", "culprits": ["ghost"]}})


@pytest.mark.parametrize(
    "case",
    [[], {}, {"level": "x"}, {"level": "platform"}, {"level": "platform", "operations": [{"type": "x", "name": "y"}]}],
)
def test_a_file_without_a_case_is_a_usage_error(tmp_path: Path, case: object) -> None:
    with pytest.raises(ConfigError):
        run(tmp_path, case)


def test_a_file_that_cannot_be_read_is_a_usage_error(tmp_path: Path) -> None:
    for text in ("{", "[" * 100_000):
        (tmp_path / "bad.json").write_text(text, encoding="utf-8")
        result = CliRunner().invoke(fields, ["resolve", str(tmp_path / "bad.json")], standalone_mode=False)
        assert isinstance(result.exception, ConfigError)


def test_operations_of_a_program_may_come_in_several_calls() -> None:
    first, second = (
        {"name": "a", "inputs": [["s", "x"]], "outputs": ["y"]},
        {"name": "b", "inputs": ["y"], "outputs": ["z"]},
    )
    result = answer({"level": "seed", "sources": ["s"], "destination": "d", "operations": [[first], [second]]})
    assert result["incoming"] == {"d#y": ["s#x"], "d#z": ["s#x"]}
