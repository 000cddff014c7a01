"""Cases of the levels ``seed`` and ``openlineage``; each case tests a single rule."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.fields import InvalidLineage
from headwater.fields.cases import answer
from headwater_avro.errors import ConfigError

Json = dict[str, Any]


def op(inputs: str, outputs: str, name: str = "op", **more: Any) -> Json:
    """An operation: inputs ``s#a`` of a source or ``a`` made earlier, separated by spaces."""
    read = [item.split("#") if "#" in item else item for item in inputs.split()]
    return {"name": name, "inputs": read, "outputs": outputs.split(), **more}


def program(*operations: Json | list[Json], **more: Any) -> Json:
    return answer({"level": "seed", "sources": ["s"], "destination": "d", "operations": list(operations), **more})


SCHEMAS = {"s": ["a", "b"], "t": ["a", "c"]}


@pytest.mark.parametrize(
    ("result", "incoming"),
    [
        (program(op("s#x", "y"), op("y", "y")), {"y": ["s#x"]}),
        (program(op("s#x", "y"), op("s#z", "y")), {"y": ["s#z"]}),
        (program(op("s#x", "y"), op("y s#z", "y")), {"y": ["s#x", "s#z"]}),
        (program(op("s#x", "t"), op("t", "")), {}),
        (program(op("s#x", "t"), op("t", ""), op("s#y", "t")), {"t": ["s#y"]}),
        (program(op("s#x", "t"), op("t", ""), destination_schema=["t"]), {"t": ["s#x"]}),
        (program(op("s#x", ""), op("s#x", "x")), {"x": ["s#x"]}),
        (program(op("s#a", "r.x r.y"), op("r", "")), {}),
        (program(op("s#a", "r.x r.y"), op("r.x", "")), {"r.y": ["s#a"]}),
        (program(op("s#a", "r"), op("r.x", "")), {"r": ["s#a"]}),
        (program(op("s#address", "addr"), op("addr.zip", "zip"), destination_schema=["zip"]), {"zip": ["s#address"]}),
        (
            program(op("s#a", "r.x"), op("s#b", "r.y"), op("r", "all"), destination_schema=["all"]),
            {"all": ["s#a", "s#b"]},
        ),
        (program(op("", "now"), op("now s#a", "o")), {"now": [], "o": ["s#a"]}),
        (program(op(r"s#v1\.2", r"v1\.3")), {r"v1\.3": [r"s#v1\.2"]}),
        (program([op("s#a", "x")], [op("x", "y")]), {"x": ["s#a"], "y": ["s#a"]}),
        (program(op("s#a", "x"), source_schemas=SCHEMAS, destination_schema=["x", "b"]), {"x": ["s#a"]}),
        (
            program(op("s#a", "x"), source_schemas=SCHEMAS, destination_schema=["x", "b", "z"], implicit_identity=True),
            {"x": ["s#a"], "b": ["s#b"]},
        ),
        (
            program(source_schemas=SCHEMAS, destination_schema=["a", "b", "c"], implicit_identity=True),
            {"a": ["s#a", "t#a"], "b": ["s#b"], "c": ["t#c"]},
        ),
        (
            program(op("s#a", ""), source_schemas=SCHEMAS, destination_schema=["a", "b"], implicit_identity=True),
            {"a": ["t#a"], "b": ["s#b"]},
        ),
        (
            program(
                op("s#p", ""),
                source_schemas={"s": ["p.x", "q"]},
                destination_schema=["p.x", "q"],
                implicit_identity=True,
            ),
            {"q": ["s#q"]},
        ),
        (program(op("s#path", "path"), source_schemas=SCHEMAS), {"path": ["s#path"]}),
    ],
)
def test_where_destination_fields_come_from(result: Json, incoming: dict[str, list[str]]) -> None:
    assert result["incoming"] == {f"d#{name}": sources for name, sources in incoming.items()}
    assert result["destination_fields"] == ({"d": sorted(incoming)} if incoming else {})
    outgoing: dict[str, list[str]] = {}
    for name, sources in sorted(incoming.items()):
        for source in sources:
            outgoing.setdefault(source, []).append(f"d#{name}")
    assert result["outgoing"] == outgoing


@pytest.mark.parametrize(
    ("result", "dropped"),
    [
        (program(op("s#x", "t"), op("t", "")), ["s#x"]),
        (program(op("s#x s#y", "t"), op("t", "u"), op("u", ""), op("s#y", "y")), ["s#x", "s#y"]),
        (program(op("s#x", "y")), []),
        (program(op("", "t"), op("t", "")), []),
        (program(op("s#age", "", kind="filter"), op("s#x", "x")), []),
        (program(op("s#age", "", kind="drop"), op("s#x", "x")), ["s#age"]),
    ],
)
def test_what_is_dropped(result: Json, dropped: list[str]) -> None:
    assert result["dropped_sources"] == dropped


def test_all_unknown_inputs_are_culprits() -> None:
    with pytest.raises(InvalidLineage) as caught:
        program(op("late ghost", "x"), op("s#a", "late"), op("phantom", ""))
    assert (caught.value.kind, caught.value.culprits) == ("unknown_input", ("ghost", "late", "phantom"))


def test_sources_and_destinations_may_have_namespaces() -> None:
    result = program(
        op("n:s#a s#b", "x"),
        sources=[{"namespace": "n", "name": "s"}],
        source_schemas={"n:s": ["a", "b", "c"]},
        destination={"namespace": "m", "name": "d"},
        destination_schema=["x", "c"],
        implicit_identity=True,
    )
    assert result["incoming"] == {"m:d#x": ["n:s#a", "n:s#b"], "m:d#c": ["n:s#c"]}


A, B = {"s#a": {"tags": ["pii"], "properties": {"level": "secret"}}}, {"s#b": {"properties": {"level": "public"}}}
BOTH = A | B


def inherited(*operations: Json, **more: Any) -> Json:
    result: Json = program(*operations, **({"metadata": BOTH} | more))["metadata"]
    return result


SECRET, PUBLIC = {"secret": ["s#a"]}, {"public": ["s#b"]}
ON: Json = {"propagate_metadata": True}


@pytest.mark.parametrize(
    ("result", "level", "conflicts"),
    [
        (inherited(op("s#a s#b", "x", **ON)), PUBLIC | SECRET, ["level"]),
        (inherited(op("s#a s#b", "x", **ON), policies={"level": "first"}), SECRET, []),
        (inherited(op("s#b s#a", "x", **ON), policies={"*": "first"}), PUBLIC, []),
        (inherited(op("s#a s#b", "x", **ON), policies={"level": {"ranked": ["secret", "public"]}}), SECRET, []),
        (inherited(op("s#a s#b", "x", **ON), policies={"level": {"ranked": ["other"]}}), PUBLIC, []),
        (inherited(op("s#a s#b", "x", **ON), policies={"level": "drop"}), None, []),
        (
            inherited(op("s#a s#b", "x", **ON), on_destination={"d#x": {"properties": {"level": "mine"}}}),
            {"mine": ["d#x"]},
            [],
        ),
        (inherited(op("s#a s#b", "x", **ON), metadata=A | {"s#b": A["s#a"]}), {"secret": ["s#a", "s#b"]}, []),
        (inherited(op("s#a", "y", **ON), op("y", "x", **ON), destination_schema=["x"]), SECRET, []),
    ],
)
def test_metadata_is_united_and_conflicts_are_retained_or_resolved(
    result: Json, level: Json | None, conflicts: list[str]
) -> None:
    (item,) = result.values()
    assert item["tags"] == ["pii"]
    assert item["properties"] == ({} if level is None else {"level": level})
    assert item["conflicts"] == conflicts


def test_metadata_is_off_by_default_and_drops_and_filters_propagate_nothing() -> None:
    assert inherited(op("s#a s#b", "x")) == {}
    assert inherited(op("s#a", "y", **ON), op("y", "x"), destination_schema=["x"]) == {}
    assert inherited(op("s#a", "", kind="filter", **ON), op("s#c", "x", **ON)) == {}
    masked = inherited(op("s#a", "x", kind="mask", removes_tags=["pii"], **ON))
    assert masked == {"d#x": {"tags": [], "properties": {"level": SECRET}, "conflicts": []}}
    assert "metadata" not in program(op("s#a", "x", **ON))


def test_a_conflict_can_be_an_error_and_an_unknown_policy_is_a_usage_error() -> None:
    with pytest.raises(InvalidLineage) as caught:
        inherited(op("s#a s#b", "x", **ON), op("s#a", "y", **ON), policies={"level": "error"})
    assert (caught.value.kind, caught.value.culprits) == ("metadata_conflict", ("d#x",))
    for policy in ("loudest", {"ranked": "secret"}, None):
        with pytest.raises(ConfigError, match="not a policy"):
            inherited(op("s#a", "x", **ON), policies={"level": policy})


def columns(*operations: Json, **more: Any) -> Json:
    return answer({"level": "openlineage", "operations": list(operations), **more})


def kind(which: str, inputs: str, outputs: str = "", **more: Any) -> Json:
    return {"kind": which, "inputs": inputs.split(), "outputs": outputs.split(), **more}


def direct(field: str, subtype: str, **more: Any) -> Json:
    dataset, _, name = field.partition("#")
    return {"dataset": dataset, "field": name, "type": "DIRECT", "subtype": subtype, **more}


def indirect(field: str, subtype: str) -> Json:
    return direct(field, subtype) | {"type": "INDIRECT"}


CHAIN = [kind("identity", "s#a", "b"), kind("mask", "b", "c"), kind("aggregate", "c", "x")]
NAMED = [kind("transform", "s#a", "b", name="trim"), kind("aggregate", "b", "x", name="sum", description="by day")]
JOIN = kind("join", "l#k r#k2", "k k2")


@pytest.mark.parametrize(
    ("result", "fields", "dataset"),
    [
        (columns(kind("rename", "s#a", "b")), {"b": [direct("s#a", "IDENTITY")]}, []),
        (
            columns(kind("rename", "s#a", "b", name="Rename a")),
            {"b": [direct("s#a", "IDENTITY", description="Rename a")]},
            [],
        ),
        (columns(kind("identity", "s#a", "a", name="Identity a")), {"a": [direct("s#a", "IDENTITY")]}, []),
        (
            columns(kind("combine", "s#a s#b", "c")),
            {"c": [direct("s#a", "TRANSFORMATION"), direct("s#b", "TRANSFORMATION")]},
            [],
        ),
        (columns(*CHAIN, destination_schema=["x"]), {"x": [direct("s#a", "AGGREGATION", masking=True)]}, []),
        (
            columns(*NAMED, destination_schema=["x"]),
            {"x": [direct("s#a", "AGGREGATION", description="trim -> sum: by day")]},
            [],
        ),
        (
            columns(kind("aggregate", "s#n", "total", group_by=["s#g"])),
            {"total": [direct("s#n", "AGGREGATION")]},
            [indirect("s#g", "GROUP_BY")],
        ),
        (columns(kind("filter", "s#a")), {}, [indirect("s#a", "FILTER")]),
        (columns(kind("sort", "s#a")), {}, [indirect("s#a", "SORT")]),
        (columns(kind("window", "s#a")), {}, [indirect("s#a", "WINDOW")]),
        (columns(kind("condition", "s#a")), {}, [indirect("s#a", "CONDITIONAL")]),
        (columns(kind("drop", "s#a")), {}, []),
        (columns(kind("generate", "", "now")), {"now": []}, []),
        (
            columns({**JOIN, "outputs": ["k"], "from": "r"}),
            {"k": [direct("r#k2", "IDENTITY")]},
            [indirect("l#k", "JOIN"), indirect("r#k2", "JOIN")],
        ),
        (
            columns(JOIN),
            {"k": [direct("l#k", "IDENTITY")], "k2": [direct("r#k2", "IDENTITY")]},
            [indirect("l#k", "JOIN"), indirect("r#k2", "JOIN")],
        ),
        (
            columns(kind("identity", "s#a", "x"), kind("filter", "x"), destination_schema=["x"]),
            {"x": [direct("s#a", "IDENTITY")]},
            [indirect("s#a", "FILTER")],
        ),
        (
            columns(
                kind("identity", "s#a", "b"),
                kind("mask", "s#a", "c"),
                kind("combine", "b c", "x"),
                destination_schema=["x"],
            ),
            {"x": [direct("s#a", "TRANSFORMATION"), direct("s#a", "TRANSFORMATION", masking=True)]},
            [],
        ),
    ],
)
def test_operations_in_openlineages_terms(result: Json, fields: Json, dataset: list[Json]) -> None:
    assert result == {"fields": fields, "dataset": dataset}
