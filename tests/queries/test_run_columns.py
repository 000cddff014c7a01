"""Column lineage from the records of runs (specification 5.6), over a real graph."""

from __future__ import annotations

import pytest

from headwater_graph.queries.answers import Answer, Direction
from headwater_graph.queries.catalog.finding import NotFound, find_run
from headwater_graph.queries.lineage.scope import TraversalLimits
from headwater_graph.queries.reader import Neo4jReader
from headwater_graph.queries.runs.run_columns import find_version, version_columns
from headwater_graph.queries.runs.runs import show_run
from headwater_graph.queries.values import answer_value
from headwater_graph.settings import GraphSettings

from ..command_line import headwater
from ..servers import Servers
from .events import Event, run_event, write
from .graph_maker import GraphMaker, at_hour

NOW = at_hour(100)


def derived(name: str, origins: dict[str, list[Event]], whole: list[Event] | None = None) -> Event:
    """An output with column lineage: column -> its input fields, and those of the whole dataset."""
    fields = {column: {"inputFields": inputs} for column, inputs in origins.items()}
    facet: Event = {"fields": fields} | ({"dataset": whole} if whole else {})
    return {"name": name, "facets": {"columnLineage": facet}}


def origin(namespace: str, dataset: str, column: str, **transformation: object) -> Event:
    changes = {"transformations": [transformation]} if transformation else {}
    return {"namespace": namespace, "name": dataset, "field": column, **changes}


def shop(maker: GraphMaker) -> list[Event]:
    """Two runs of ``load``, of which the second computes the amount from another column, each followed by one of ``sum``."""
    space = maker.namespace
    events = []
    for hour, column in ((1, "price"), (3, "net")):
        orders = derived("orders", {"amount": [origin(space, "raw", column, type="DIRECT", subtype="IDENTITY")]})
        total = derived(
            "report",
            {"total": [origin(space, "orders", "amount", type="DIRECT", subtype="AGGREGATION", masking=True)]},
            [origin(space, "orders", "day", type="INDIRECT", subtype="FILTER")],
        )
        load, summed = f"{space}-load-{hour}", f"{space}-sum-{hour}"
        events += [
            run_event(space, "load", load, "COMPLETE", f"2026-01-01T0{hour}:00:00Z", ["raw"], [orders]),
            run_event(space, "sum", summed, "COMPLETE", f"2026-01-01T0{hour + 1}:00:00Z", ["orders"], [total]),
        ]
    return events


def version_of(reader: Neo4jReader, run_id: str, *, side: str = "writes") -> str:
    uses = getattr(show_run(reader, find_run(reader, run_id), NOW), side)
    return str(uses[0].version)


def columns_of(reader: Neo4jReader, version: str, direction: Direction, *columns: str, **limits: int) -> Answer:
    return version_columns(reader, find_version(reader, version), direction, columns, TraversalLimits(**limits))


def names(answer: Answer) -> set[tuple[int, str]]:
    return {(node.depth, f"{node.name[1]}.{node.name[-1]}") for node in answer.nodes}


def test_the_columns_of_a_run_are_those_of_its_own_record(
    graph_server: GraphSettings, reader: Neo4jReader, maker: GraphMaker
) -> None:
    write(graph_server, shop(maker))
    first = columns_of(reader, version_of(reader, f"{maker.namespace}-sum-1"), "upstream", "total")
    assert names(first) == {
        (0, "report.total"), (0, "report.*"), (1, "orders.amount"), (1, "orders.day"), (2, "raw.price")
    }  # fmt: skip
    second = columns_of(reader, version_of(reader, f"{maker.namespace}-sum-3"), "upstream", "total")
    assert (2, "raw.net") in names(second)
    assert (2, "raw.price") not in names(second)
    facts = next(edge.facts for edge in first.edges if first.node(edge.target).name[3] == "total" and edge.facts)
    assert facts == {
        "run": f"{maker.namespace}-sum-1", "state": "COMPLETE", "job": [maker.namespace, "sum"],
        "type": "DIRECT", "subtype": "AGGREGATION", "masking": True,
    }  # fmt: skip
    orders = version_of(reader, f"{maker.namespace}-load-1")
    assert answer_value(first)["start"] == [
        ["versionColumn", maker.namespace, "report", first.question["start"][2], "total"]
    ]
    assert ["versionColumn", maker.namespace, "orders", orders, "amount"] in [
        e["from"] for e in answer_value(first)["edges"]
    ]


def test_downstream_goes_through_the_runs_that_read_this_version(
    graph_server: GraphSettings, reader: Neo4jReader, maker: GraphMaker
) -> None:
    write(graph_server, shop(maker))
    orders = version_of(reader, f"{maker.namespace}-load-1")
    answer = columns_of(reader, orders, "downstream", "amount")
    assert names(answer) == {(0, "orders.amount"), (1, "report.total")}
    assert {edge.facts["run"] for edge in answer.edges} == {f"{maker.namespace}-sum-1"}
    assert names(columns_of(reader, orders, "downstream", "day")) == {(0, "orders.day"), (1, "report.*")}
    assert names(columns_of(reader, orders, "downstream", "unknown")) == {(0, "orders.unknown")}


def test_upstream_and_downstream_agree(graph_server: GraphSettings, reader: Neo4jReader, maker: GraphMaker) -> None:
    write(graph_server, shop(maker))
    up = columns_of(reader, version_of(reader, f"{maker.namespace}-sum-3"), "upstream", "total")
    raw = next(node for node in up.nodes if node.name[-1] == "net")
    down = columns_of(reader, raw.name[2], "downstream", "net")
    assert any(node.name[-1] == "total" and node.name[2] == up.nodes[0].name[2] for node in down.nodes)


def test_a_column_of_a_dataset_that_the_run_did_not_list_has_no_version(
    graph_server: GraphSettings, reader: Neo4jReader, maker: GraphMaker
) -> None:
    space, run_id = maker.namespace, f"{maker.namespace}-run"
    out = derived("out", {"a": [origin(space, "listed", "x"), origin(space, "hidden", "y")]})
    write(graph_server, [run_event(space, "copy", run_id, "COMPLETE", "2026-01-01T01:00:00Z", ["listed"], [out])])
    answer = columns_of(reader, version_of(reader, run_id), "upstream", "a")
    hidden = next(node for node in answer.nodes if node.name[1] == "hidden")
    assert (hidden.kind, hidden.name) == ("column", (space, "hidden", "y"))
    (edge,) = [edge for edge in answer.edges if edge.source == hidden.key]
    assert edge.facts["undeclared"] is True


def test_explicit_entries_take_the_place_of_the_facet(
    graph_server: GraphSettings, reader: Neo4jReader, maker: GraphMaker
) -> None:
    space, run_id = maker.namespace, f"{maker.namespace}-run"
    out = derived("out", {"a": [origin(space, "listed", "x")]})
    inputs = [{"namespace": space, "name": "listed", "type": "DATASET", "field": "z"}]
    entry = {"namespace": space, "name": "out", "type": "DATASET", "fields": {"a": {"inputs": inputs}}}
    event = run_event(
        space, "copy", run_id, "COMPLETE", "2026-01-01T01:00:00Z", ["listed"], [out], job_lineage={"entries": [entry]}
    )
    write(graph_server, [event])
    assert names(columns_of(reader, version_of(reader, run_id), "upstream", "a")) == {(0, "out.a"), (1, "listed.z")}


def test_limits_of_the_answer_are_stated(graph_server: GraphSettings, reader: Neo4jReader, maker: GraphMaker) -> None:
    write(graph_server, shop(maker))
    report = version_of(reader, f"{maker.namespace}-sum-1")
    shallow = columns_of(reader, report, "upstream", "total", depth=1)
    assert [(each.why, each.total) for each in shallow.truncations] == [("depth", 1)]
    small = columns_of(reader, report, "upstream", "total", nodes=2)
    assert (len(small.nodes), small.truncations[0].why) == (2, "size")
    space = maker.namespace
    more = [
        run_event(space, f"reader{n}", f"{space}-reader{n}", "COMPLETE", "2026-01-01T02:30:00Z", ["orders"], [])
        for n in range(3)
    ]
    write(graph_server, more)
    wide = columns_of(reader, version_of(reader, f"{space}-load-1"), "downstream", "amount", neighbours=2)
    assert [(each.why, each.shown, each.total) for each in wide.truncations] == [("neighbours", 2, 4)]


def test_a_run_that_reads_and_writes_one_dataset_has_two_versions_of_a_column(
    graph_server: GraphSettings, reader: Neo4jReader, maker: GraphMaker
) -> None:
    space = maker.namespace
    out = derived("ledger", {"sum": [origin(space, "ledger", "sum")]})
    for hour in (1, 2):
        run = f"{space}-{hour}"
        write(graph_server, [run_event(space, "add", run, "COMPLETE", f"2026-01-01T0{hour}:00:00Z", ["ledger"], [out])])
    answer = columns_of(reader, version_of(reader, f"{space}-2"), "upstream", "sum")
    assert names(answer) == {(0, "ledger.sum"), (1, "ledger.sum"), (2, "ledger.sum")}
    assert len({node.name[2] for node in answer.nodes}) == 3


def test_an_unknown_version_is_not_found(reader: Neo4jReader) -> None:
    with pytest.raises(NotFound, match="no dataset version"):
        find_version(reader, "none")


def test_the_command_prints_the_columns_of_a_version_back_to_the_sources(
    servers: Servers, graph_server: GraphSettings, reader: Neo4jReader, maker: GraphMaker
) -> None:
    write(graph_server, shop(maker))
    version = version_of(reader, f"{maker.namespace}-sum-1")
    printed = headwater(servers, "run", "columns", version, "total")
    assert printed.code == 0, printed.err
    assert f"versionColumn {maker.namespace} orders" in printed.out
    assert "price" in printed.out
    assert "net" not in printed.out
    downstream = headwater(
        servers, "run", "columns", version_of(reader, f"{maker.namespace}-load-1"), "amount", "--downstream"
    )
    assert f"versionColumn {maker.namespace} report" in downstream.out
    for form in ("mermaid", "dot", "json", "csv"):
        assert "price" in headwater(servers, "run", "columns", version, "total", "--format", form).out, form
    unknown = headwater(servers, "run", "columns", "nothing", "total")
    assert (unknown.code, "no dataset version 'nothing'" in unknown.err) == (1, True)
