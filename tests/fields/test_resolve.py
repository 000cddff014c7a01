"""The resolution of wired operations; expected results follow CDAP's field lineage summaries."""

from __future__ import annotations

import dataclasses

import pytest

from headwater.fields import FieldLineage, InvalidLineage, Operation, resolve_operations

from .wiring import field, links, names, read, texts, transform, write


def resolved(*operations: Operation) -> FieldLineage:
    return resolve_operations(operations)


def test_a_write_of_two_reads_separates_their_fields() -> None:
    lineage = resolved(
        read("r1", "s:one", "id name"), read("r2", "s:two", "id2 name2"), write("w", "d:t", "r1.id r1.name r2.id2")
    )
    assert texts(lineage.incoming) == {"d:t#id": ["s:one#id"], "d:t#name": ["s:one#name"], "d:t#id2": ["s:two#id2"]}
    assert texts(lineage.outgoing) == {"s:one#id": ["d:t#id"], "s:one#name": ["d:t#name"], "s:two#id2": ["d:t#id2"]}


def test_two_writes_of_a_field_are_united() -> None:
    lineage = resolved(
        read("r1", "s:one", "body"),
        read("r2", "s:two", "body"),
        write("w1", "d:t", "r1.body"),
        write("w2", "d:t", "r2.body"),
    )
    assert texts(lineage.incoming) == {"d:t#body": ["s:one#body", "s:two#body"]}
    assert names(lineage.operations_for(field("d:t#body"))) == ["r1", "r2", "w1", "w2"]


def test_a_field_split_and_concatenated_again_has_its_source_once() -> None:
    lineage = resolved(
        read("r", "s:t", "raw"),
        transform("split", "r.raw", "a b"),
        transform("join", "split.a split.b", "c"),
        write("w", "d:t", "join.c"),
    )
    assert texts(lineage.incoming) == {"d:t#c": ["s:t#raw"]}
    assert names(lineage.operations_for(field("d:t#c"))) == ["r", "split", "join", "w"]


def test_inputs_of_an_operation_have_the_sources_of_their_own_origins() -> None:
    lineage = resolved(
        read("p", "s:person", "offset body"),
        transform("parse", "p.body", "id name"),
        read("c", "s:code", "id"),
        transform("gen", "parse.id c.id", "id"),
        write("secure", "d:secure", "gen.id parse.name"),
        write("open", "d:open", "parse.id"),
    )
    assert texts(lineage.incoming) == {
        "d:secure#id": ["s:code#id", "s:person#body"],
        "d:secure#name": ["s:person#body"],
        "d:open#id": ["s:person#body"],
    }
    assert names(lineage.operations_for(field("s:code#id"), "outgoing")) == ["c", "gen", "secure"]
    assert names(lineage.operations_for(field("s:person#offset"), "outgoing")) == ["p"]
    assert "s:person#offset" not in texts(lineage.outgoing)


def test_an_all_to_all_merge_gives_every_source_to_every_field() -> None:
    lineage = resolved(
        read("r1", "s:one", "a b"),
        read("r2", "s:two", "a b"),
        transform("merge", "r1.a r1.b r2.a r2.b", "a b"),
        write("w", "d:t", "merge.a merge.b"),
    )
    everything = ["s:one#a", "s:one#b", "s:two#a", "s:two#b"]
    assert texts(lineage.incoming) == {"d:t#a": everything, "d:t#b": everything}


def test_a_drop_is_followed_back_over_renames() -> None:
    lineage = resolved(
        read("r", "s:t", "social name"),
        transform("rename", "r.social", "ssn"),
        transform("again", "rename.ssn", "ssn2"),
        transform("drop", "again.ssn2", ""),
        write("w", "d:t", "r.name"),
    )
    assert set(map(str, lineage.dropped)) == {"s:t#social"}
    assert names(lineage.operations_for(field("s:t#social"), "outgoing")) == ["r", "rename", "again", "drop"]
    assert texts(lineage.outgoing) == {"s:t#name": ["d:t#name"]}


def test_an_input_that_its_origin_does_not_output_has_the_origins_sources() -> None:
    lineage = resolved(read("r", "s:t", "a b"), transform("t", "r.a", "x"), write("w", "d:t", "t.y r.z"))
    assert texts(lineage.incoming) == {"d:t#y": ["s:t#a"], "d:t#z": ["s:t#z"]}


def test_an_input_whose_origin_is_a_write_has_no_sources() -> None:
    lineage = resolved(read("r", "s:t", "a"), write("w", "d:t", "r.a"), write("v", "d:u", "w.a"))
    assert texts(lineage.incoming) == {"d:t#a": ["s:t#a"], "d:u#a": []}


def test_two_versions_of_a_field_are_distinguished_by_origin() -> None:
    lineage = resolved(
        read("r", "s:t", "a b"),
        transform("update", "r.a r.b", "a"),
        write("old", "d:old", "r.a"),
        write("new", "d:new", "update.a"),
    )
    assert texts(lineage.incoming) == {"d:old#a": ["s:t#a"], "d:new#a": ["s:t#a", "s:t#b"]}


def test_dataset_properties_do_not_split_a_dataset() -> None:
    from headwater.fields import Source

    with_broker = Source.of("kafka", "orders", properties={"broker": "1"})
    assert with_broker == Source.of("kafka", "orders")
    assert len({with_broker, Source.of("kafka", "orders")}) == 1


@pytest.mark.parametrize(
    ("operations", "kind", "culprits"),
    [
        ([transform("t", "", "a"), write("w", "d:t", "t.a")], "no_read", ()),
        ([read("r", "s:t", "a")], "no_write", ()),
        ([read("r", "s:t", "a"), write("w", "d:t", "r.a"), write("w", "d:u", "r.a")], "repeated_name", ("w",)),
        (
            [read("r", "s:t", "a"), transform("t", "z.a y.a z.b", "b"), write("w", "d:t", "x.a")],
            "unknown_origin",
            ("x", "y", "z"),
        ),
        ([Operation.read("r", None, ["a"]), write("w", "d:t", "r.a")], "null_source", ("r",)),
        ([read("r", "s:t", "a"), Operation.write("w", None, links("r.a"))], "null_destination", ("w",)),
        (
            [
                read("r", "s:t", "a"),
                transform("p", "r.a n.b", "b"),
                transform("n", "p.b", "b"),
                write("w", "d:t", "n.b"),
            ],
            "cycle",
            ("n", "p"),
        ),
        ([transform("p", "r.a p.b", "b")], "cycle", ("p",)),
        (
            [
                read("r", "s:t", "a"),
                transform("p", "n.b gone.x", "b"),
                transform("n", "p.b", "b"),
                write("w", "d:t", "n.b"),
            ],
            "cycle",
            ("n", "p"),
        ),
        (
            [read("r", "s:t", "a"), transform("t", "r.a", "a"), transform("t", "t.a", "b"), write("w", "d:t", "t.b")],
            "repeated_name",
            ("t",),
        ),
    ],
)
def test_invalid_lineage_has_the_kind_of_its_most_severe_problem(
    operations: list[Operation], kind: str, culprits: tuple[str, ...]
) -> None:
    with pytest.raises(InvalidLineage) as caught:
        resolve_operations(operations)
    assert (caught.value.kind, caught.value.culprits) == (kind, culprits)


def test_the_culprits_are_only_the_operations_on_a_cycle() -> None:
    chain = [transform("a", "b.x", "x"), transform("b", "a.x", "x"), transform("c", "b.x d.x", "x")]
    other = [transform("d", "c.x e.x", "x"), transform("e", "c.x", "x"), transform("behind", "e.x", "x")]
    with pytest.raises(InvalidLineage) as caught:
        resolve_operations([read("r", "s:t", "x"), *chain, *other, write("w", "d:t", "behind.x")])
    assert caught.value.culprits == ("a", "b", "c", "d", "e")


def test_all_problems_are_reported_together() -> None:
    with pytest.raises(InvalidLineage) as caught:
        resolve_operations([transform("t", "ghost.a t.a", "a"), transform("u", "", "b"), transform("u", "", "c")])
    assert {problem.code for problem in caught.value.problems} == {
        "cycle",
        "repeated_name",
        "no_read",
        "no_write",
        "unknown_origin",
    }
    unknown = next(problem for problem in caught.value.problems if problem.code == "unknown_origin")
    assert (unknown.operation, unknown.field, unknown.culprit) == ("t", "a", "ghost")


def test_a_lenient_resolution_reports_problems_without_raising() -> None:
    lineage = resolve_operations([read("r", "s:t", "a"), write("w", "d:t", "r.a ghost.b")], strict=False)
    assert texts(lineage.incoming) == {"d:t#a": ["s:t#a"], "d:t#b": []}
    assert [problem.code for problem in lineage.problems] == ["unknown_origin"]


def test_a_cycle_cannot_be_resolved_leniently_either() -> None:
    with pytest.raises(InvalidLineage):
        resolve_operations([transform("t", "t.a", "a")], strict=False)


def test_a_description_or_a_namespace_changes_the_fingerprint() -> None:
    operations = [read("r", "s:t", "a"), transform("t", "r.a", "b"), write("w", "d:t", "t.b")]
    plain = resolve_operations(operations).fingerprint
    described = [operations[0], dataclasses.replace(operations[1], description="x"), operations[2]]
    elsewhere = [operations[0], operations[1], write("w", "e:t", "t.b")]
    assert len({plain, resolve_operations(described).fingerprint, resolve_operations(elsewhere).fingerprint}) == 3


def test_ten_thousand_operations_deep_is_no_recursion() -> None:
    operations = [read("t0", "s:t", "a"), *(transform(f"t{n}", f"t{n - 1}.a", "a") for n in range(1, 10_000))]
    lineage = resolve_operations([*reversed(operations), write("w", "d:t", "t9999.a")])
    assert texts(lineage.incoming) == {"d:t#a": ["s:t#a"]}
    assert len(lineage.operations_for(field("d:t#a"))) == 10_001
