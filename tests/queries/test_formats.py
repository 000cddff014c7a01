"""Answers as text, without a server."""

from __future__ import annotations

import csv
import io
import json

from headwater_graph.queries.answers import Answer, Edge, Node, Truncation
from headwater_graph.queries.presentation.formats import impact_text, render, table, tree, truncation_lines


def dataset(name: str, depth: int, *status: str, **facts: object) -> Node:
    return Node(name, "dataset", ("ns", name), depth, status, facts)


def job(name: str, depth: int, **facts: object) -> Node:
    return Node(name, "job", ("etl", name), depth, (), facts)


DIAMOND = Answer(
    {"direction": "upstream", "depth": 10},
    ("report",),
    (
        dataset("report", 0),
        dataset("customers", 1, "dropped"),
        dataset("orders", 1),
        job("join", 1, lastRunState="FAIL", lastRunAt="2026-01-01T00:00:00.000000Z"),
        dataset("raw", 2),
        job("load", 2),
    ),
    (
        Edge("customers", "join", "feeds"),
        Edge("load", "customers", "produces", former=True),
        Edge("load", "orders", "produces", {"version": "v1"}),
        Edge("orders", "join", "feeds"),
        Edge("join", "report", "produces"),
        Edge("raw", "load", "feeds"),
    ),
)


def test_a_tree_opens_each_node_once() -> None:
    assert tree(DIAMOND).splitlines() == [
        "dataset ns report",
        "└─ job etl join  · last run FAIL 2026-01-01T00:00:00Z",
        "   ├─ dataset ns customers [dropped]",
        "   │  └─ job etl load  (in the past)",
        "   │     └─ dataset ns raw",
        "   └─ dataset ns orders",
        "      └─ job etl load  (see above)",
    ]


def test_a_tree_of_a_chain_longer_than_pythons_stack_is_drawn() -> None:
    nodes = tuple(dataset(f"d{n}", n) for n in range(3000))
    edges = tuple(Edge(f"d{n + 1}", f"d{n}", "feeds") for n in range(2999))
    lines = tree(Answer({"direction": "upstream"}, ("d0",), nodes, edges)).splitlines()
    assert len(lines) == 3000
    assert lines[-1].endswith("└─ dataset ns d2999")


def test_a_cycle_is_drawn_once() -> None:
    answer = Answer(
        {"direction": "downstream"},
        ("t",),
        (dataset("t", 0), job("merge", 1)),
        (Edge("t", "merge", "feeds"), Edge("merge", "t", "produces")),
    )
    assert tree(answer).splitlines() == ["dataset ns t", "└─ job etl merge"]


def test_json_names_nodes_as_the_dump_does_and_says_whether_it_is_complete() -> None:
    value = json.loads(render(DIAMOND, "json"))
    assert value["complete"] is True
    assert value["start"] == [["dataset", "ns", "report"]]
    assert value["nodes"][1] == {"node": ["dataset", "ns", "customers"], "depth": 1, "marks": ["dropped"]}
    assert value["edges"][1] == {
        "from": ["job", "etl", "load"], "to": ["dataset", "ns", "customers"], "kind": "produces", "past": True
    }  # fmt: skip
    assert value["edges"][2]["version"] == "v1"
    answer = Answer({}, ("t",), (dataset("t", 0),), (), (Truncation("t", "depth", 0, 3), Truncation(None, "size", 1)))
    value = json.loads(render(answer, "json"))
    assert value["complete"] is False
    assert value["cuts"] == [
        {"at": ["dataset", "ns", "t"], "why": "depth", "shown": 0, "total": 3},
        {"at": None, "why": "size", "shown": 1, "total": None},
    ]


def test_truncations_are_sentences() -> None:
    nodes = tuple(dataset(f"d{n}", 1) for n in range(5))
    by_depth = tuple(Truncation(f"d{n}", "depth", 0, 1) for n in range(5))
    answer = Answer(
        {"depth": 1}, (), nodes, (), (Truncation("d0", "neighbours", 3, 7), Truncation(None, "size", 9), *by_depth)
    )
    assert truncation_lines(answer) == [
        "cut at ns d0: 3 of 7 neighbours shown (--neighbours N)",
        "cut at 9 nodes: there are more (--nodes N)",
        "cut at depth 1: the graph goes on from ns d0, ns d1, ns d2 and 2 more (--depth N or all)",
    ]


def odd_names() -> Answer:
    nodes = (dataset('a"b\\c;[x]', 0), job("|end|-->", 1))
    return Answer({"direction": "downstream"}, (nodes[0].key,), nodes, (Edge(nodes[0].key, nodes[1].key, "feeds"),))


def test_mermaid_survives_every_name() -> None:
    assert render(odd_names(), "mermaid").splitlines() == [
        "flowchart LR",
        '  n0[("ns a#34;b#92;c#59;#91;x#93;")]',
        '  n1["etl #124;end#124;--#62;"]',
        "  n0 --> n1",
    ]


def test_dot_survives_every_name() -> None:
    assert render(odd_names(), "dot").splitlines() == [
        "digraph lineage {",
        "  rankdir=LR;",
        '  n0 [label="ns a\\"b\\\\c;[x]", shape=cylinder];',
        '  n1 [label="etl |end|-->", shape=box];',
        "  n0 -> n1;",
        "}",
    ]


def test_csv_has_an_edge_a_line_nearest_first() -> None:
    rows = list(csv.DictReader(io.StringIO(render(DIAMOND, "csv"))))
    assert [(row["from_name"], row["to_name"], row["depth"], row["past"]) for row in rows] == [
        ("customers", "join", "1", ""),
        ("orders", "join", "1", ""),
        ("join", "report", "1", ""),
        ("raw", "load", "2", ""),
        ("load", "customers", "2", "past"),
        ("load", "orders", "2", ""),
    ]


def test_impact_is_a_table_of_nodes() -> None:
    answer = Answer({}, ("x",), (dataset("t", 1, "dropped", owners=["a", "b"]), job("j", 1)), ())
    assert impact_text(answer, "table").splitlines() == [
        "distance  kind     namespace  name  owners  last run  at  marks",
        "1         dataset  ns         t     a, b                  dropped",
        "1         job      etl        j",
    ]
    assert impact_text(answer, "csv").splitlines()[1] == '1,dataset,ns,t,"a, b",,,dropped'
    assert impact_text(Answer({}, (), (), ()), "table") == "nothing depends on it"


def test_a_table_paints_states_alone() -> None:
    text = table(("state",), [("FAIL",), ("x",)], lambda text, colour: f"<{colour}:{text}>")
    assert text.splitlines() == ["<bright_black:state>", "<red:FAIL >", "x"]
