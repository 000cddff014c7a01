"""`headwater fields resolve`: the notation of the cases, every level of it."""

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


def asked(case: Json, **more: Any) -> Json:
    return {key: value for key, value in case.items() if not key.startswith("expect")} | more


def answered(case: Json) -> Json:
    try:
        return answer(case)
    except InvalidLineage as fault:
        return {"error": {"kind": fault.kind, "culprits": list(fault.culprits)}}


def by_query(told: list[Json]) -> dict[tuple[str, str], list[str]]:
    return {(one["direction"], one["field"]): one["operations"] for one in told}


@pytest.mark.skipif(not CASES, reason="the example cases are in ../shared/data/fields, which is not here")
@pytest.mark.parametrize("case", CASES, ids=[case["title"] for case in CASES])
def test_the_example_cases(case: Json) -> None:
    told = answered(asked(case))
    for key, expected in case["expect"].items():
        if key == "operations_for":
            assert by_query(expected).items() <= by_query(told[key]).items()
        else:
            assert told[key] == expected
    for before, after in case.get("expect_order_constraints", ()):
        assert told["order"].index(before) < told["order"].index(after)


@pytest.mark.skipif(not CASES, reason="the example cases are in ../shared/data/fields, which is not here")
def test_the_example_cases_under_a_choice() -> None:
    chosen = 0
    for case in CASES:
        if identity := case.get("expect_if_implicit_identity"):
            told = answer(asked(case, implicit_identity=True))
            assert told["incoming"] == case["expect"]["incoming"] | identity["adds"]
            chosen += 1
        if schema := case.get("expect_if_destination_schema"):
            told = answer(asked(case, destination_schema=schema["schema"]))
            assert told["incoming"] == schema["incoming"]
            chosen += 1
    assert chosen == 2


def validated(*operations: tuple[str, str, str], inputs: str = "", outputs: str = "") -> Json:
    told = [
        {"type": "transform", "name": name, "inputs": taken.split(), "outputs": made.split()}
        for name, taken, made in operations
    ]
    return answer(
        {
            "level": "stage-validation",
            "stage_inputs": inputs.split(),
            "stage_outputs": outputs.split(),
            "operations": told,
        }
    )


FINE: Json = {"invalid_inputs": {}, "invalid_outputs": {}, "redundant_outputs": {}}


@pytest.mark.parametrize(
    ("told", "differs"),
    [
        (validated(("parse", "body", "name zip"), inputs="offset body", outputs="name"), {}),
        (validated(("a", "ghost", "x"), inputs="body"), {"invalid_inputs": {"ghost": ["a"]}}),
        (validated(("a", "x", "y"), ("b", "y", "z"), inputs="x"), {}),
        (
            validated(("late", "y", "z"), ("made", "x", "y"), ("again", "q", "w"), ("more", "q", "v"), inputs="x"),
            {"invalid_inputs": {"y": ["late"], "q": ["again", "more"]}},
        ),
        (validated(("one", "b", "n"), ("two", "b", "n z"), inputs="b"), {"redundant_outputs": {"n": ["one"]}}),
        (
            validated(("one", "b", "n"), ("two", "b", "n"), ("three", "b", "n"), ("use", "b n", "n z"), inputs="b"),
            {"redundant_outputs": {"n": ["one", "two"]}},
        ),
        (validated(("one", "b", "n"), ("use", "n", "m"), ("two", "b", "n"), inputs="b"), {}),
        (validated(("drop", "ghost", ""), ("gen", "", "n"), ("gen2", "", "n"), inputs="b"), {}),
    ],
)
def test_stage_validation(told: Json, differs: Json) -> None:
    assert told == FINE | differs


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


def joined(keys: list[Any], *selected: tuple[str, str, str | None]) -> list[tuple[str, list[str], list[str]]]:
    told = answer(
        {
            "level": "join-operations",
            "join_keys": keys,
            "output_fields": [{"stage": stage, "field": name, "alias": alias} for stage, name, alias in selected],
        }
    )
    assert all(one["type"] == "transform" for one in told["operations"])
    return [(one["name"], one["inputs"], one["outputs"]) for one in told["operations"]]


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
    assert joined(KEYS, *selected) == [JOIN, *more]


def test_join_operations_of_three_stages_with_two_keys() -> None:
    keys = [["a", ["k", "m"]], ["b", ["k", "n"]], ["c", ["o", "p"]]]
    (join,) = joined(keys, ("a", "k", None), ("c", "o", None))
    assert join == ("Join", ["a.k", "a.m", "b.k", "b.n", "c.o", "c.p"], ["k", "m", "n", "o", "p"])


def run(tmp_path: Path, case: object, *options: str) -> tuple[int, Any]:
    file = tmp_path / "case.json"
    file.write_text(json.dumps(case), encoding="utf-8")
    told = CliRunner().invoke(fields, ["resolve", str(file), *options], standalone_mode=False)
    if told.exception is not None:
        raise told.exception
    return told.return_value, json.loads(told.stdout)


SEED: Json = {
    "level": "seed",
    "sources": ["s"],
    "source_schemas": {"s": ["a", "b"]},
    "destination": "d",
    "destination_schema": ["a", "x"],
    "operations": [{"name": "up", "inputs": [["s", "b"]], "outputs": ["x"]}],
}


def test_the_command_prints_json_and_exits_0(tmp_path: Path) -> None:
    code, told = run(tmp_path, SEED)
    assert (code, told["incoming"]) == (0, {"d#x": ["s#b"]})
    code, told = run(tmp_path, SEED, "--implicit-identity", "--json")
    assert (code, told["incoming"]) == (0, {"d#a": ["s#a"], "d#x": ["s#b"]})


def test_the_command_tells_errors_as_json_and_exits_1(tmp_path: Path) -> None:
    wrong = SEED | {"operations": [{"name": "up", "inputs": ["ghost"], "outputs": ["x"]}]}
    assert run(tmp_path, wrong) == (1, {"error": {"kind": "unknown_input", "culprits": ["ghost"]}})


@pytest.mark.parametrize(
    "case",
    [[], {}, {"level": "x"}, {"level": "platform"}, {"level": "platform", "operations": [{"type": "x", "name": "y"}]}],
)
def test_what_is_no_case_is_wrong_use(tmp_path: Path, case: object) -> None:
    with pytest.raises(ConfigError):
        run(tmp_path, case)


def test_a_file_that_cannot_be_read_is_wrong_use(tmp_path: Path) -> None:
    for text in ("{", "[" * 100_000):
        (tmp_path / "bad.json").write_text(text, encoding="utf-8")
        told = CliRunner().invoke(fields, ["resolve", str(tmp_path / "bad.json")], standalone_mode=False)
        assert isinstance(told.exception, ConfigError)


def test_operations_of_a_seed_may_come_in_several_calls() -> None:
    one, two = {"name": "a", "inputs": [["s", "x"]], "outputs": ["y"]}, {"name": "b", "inputs": ["y"], "outputs": ["z"]}
    told = answer({"level": "seed", "sources": ["s"], "destination": "d", "operations": [[one], [two]]})
    assert told["incoming"] == {"d#y": ["s#x"], "d#z": ["s#x"]}
