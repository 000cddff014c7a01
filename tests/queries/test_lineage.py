"""Lineage of tables and jobs in a real Neo4j."""

from __future__ import annotations

from datetime import UTC, datetime

import neo4j
import pytest

from headwater_avro.errors import ConfigError
from headwater_graph.queries.answers import Answer, Direction
from headwater_graph.queries.catalog.finding import NotFound, find
from headwater_graph.queries.lineage.lineage import lineage
from headwater_graph.queries.lineage.scope import Scope, TraversalLimits
from headwater_graph.queries.reader import Neo4jReader

from .graph_maker import GraphMaker, at_hour

NOW = datetime(2026, 2, 1, tzinfo=UTC)


def lineage_of(
    reader: Neo4jReader, maker: GraphMaker, name: str, direction: Direction = "upstream", **options: object
) -> Answer:
    scope = Scope(**options)  # type: ignore[arg-type]
    return lineage(reader, find(reader, (maker.namespace, name)), direction, NOW, scope)


def names(answer: Answer) -> list[tuple[int, str, str]]:
    return [(node.depth, node.kind, node.name[-1]) for node in answer.nodes]


def edges(answer: Answer) -> set[tuple[str, str, str]]:
    nodes = answer.by_key()
    return {(nodes[e.source].name[-1], e.kind, nodes[e.target].name[-1]) for e in answer.edges}


def test_upstream_is_in_order_of_distance(reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker) -> None:
    maker.run("load", ["raw"], ["orders"])
    maker.run("enrich", ["orders", "customers"], ["report"])
    maker.run("mail", ["report"], ["inbox"])
    maker.store(driver)
    answer = lineage_of(reader, maker, "report")
    assert names(answer) == [
        (0, "dataset", "report"),
        (1, "dataset", "customers"),
        (1, "dataset", "orders"),
        (1, "job", "enrich"),
        (2, "dataset", "raw"),
        (2, "job", "load"),
    ]
    assert edges(answer) == {
        ("enrich", "produces", "report"),
        ("orders", "feeds", "enrich"),
        ("customers", "feeds", "enrich"),
        ("load", "produces", "orders"),
        ("raw", "feeds", "load"),
    }
    assert answer.truncations == ()


def test_downstream_follows_the_other_direction(reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker) -> None:
    maker.run("load", ["raw"], ["orders"])
    maker.run("enrich", ["orders", "customers"], ["report"])
    maker.store(driver)
    answer = lineage_of(reader, maker, "raw", "downstream")
    assert names(answer) == [
        (0, "dataset", "raw"),
        (1, "dataset", "orders"),
        (1, "job", "load"),
        (2, "dataset", "report"),
        (2, "job", "enrich"),
    ]


def test_a_job_can_be_the_start(reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker) -> None:
    maker.run("load", ["raw"], ["orders"])
    maker.run("enrich", ["orders"], ["report"])
    maker.store(driver)
    assert names(lineage_of(reader, maker, "enrich")) == [
        (0, "job", "enrich"),
        (1, "dataset", "orders"),
        (2, "dataset", "raw"),
        (2, "job", "load"),
    ]


def test_an_output_has_only_the_inputs_that_its_job_lists_for_it(
    reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker
) -> None:
    maker.run("split", ["a", "b"], ["x", "y", "z"], inputs={"x": ["a"], "y": []})
    maker.store(driver)
    assert [n[2] for n in names(lineage_of(reader, maker, "x")) if n[1] == "dataset"] == ["x", "a"]
    assert [n[2] for n in names(lineage_of(reader, maker, "y")) if n[1] == "dataset"] == ["y"]
    assert [n[2] for n in names(lineage_of(reader, maker, "z")) if n[1] == "dataset"] == ["z", "a", "b"]
    assert [n[2] for n in names(lineage_of(reader, maker, "b", "downstream")) if n[1] == "dataset"] == ["b", "z"]


def test_aliases_are_crossed_at_no_cost(reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker) -> None:
    maker.run("load", ["raw"], ["s3://bucket/orders"])
    maker.run("enrich", ["db.orders"], ["report"])
    maker.alias("db.orders", "glue.orders")
    maker.alias("s3://bucket/orders", "glue.orders")
    maker.store(driver)
    answer = lineage_of(reader, maker, "report", limits=TraversalLimits(depth=2))
    depths = {name: depth for depth, _, name in names(answer)}
    assert depths == {
        "report": 0, "enrich": 1, "db.orders": 1, "glue.orders": 1, "s3://bucket/orders": 1, "load": 2, "raw": 2
    }  # fmt: skip
    assert answer.truncations == ()
    assert ("db.orders", "alias", "glue.orders") in edges(answer)


def test_a_cycle_ends(reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker) -> None:
    maker.run("merge", ["table", "news"], ["table"])
    maker.run("fetch", ["table"], ["news"])
    maker.store(driver)
    answer = lineage_of(reader, maker, "table", limits=TraversalLimits(depth=None))
    assert sorted(n[2] for n in names(answer)) == ["fetch", "merge", "news", "table"]
    assert len(answer.edges) == 5


def test_a_truncation_by_depth_counts_what_is_beyond(
    reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker
) -> None:
    maker.run("one", ["a"], ["b"])
    maker.run("uno", ["a"], ["b"])
    maker.run("two", ["b"], ["c"])
    maker.store(driver)
    answer = lineage_of(reader, maker, "c", limits=TraversalLimits(depth=1))
    assert [
        (answer.node(limit.at or "").name[-1], limit.why, limit.shown, limit.total) for limit in answer.truncations
    ] == [("b", "depth", 0, 2)]
    assert not lineage_of(reader, maker, "c", limits=TraversalLimits(depth=2)).truncations


def test_a_truncation_by_neighbours_counts_all_neighbours(
    reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker
) -> None:
    for number in range(7):
        maker.run(f"reader{number}", ["hub"], [f"out{number}"])
    maker.store(driver)
    answer = lineage_of(reader, maker, "hub", "downstream", limits=TraversalLimits(neighbours=3))
    assert [(limit.at, limit.why, limit.shown, limit.total) for limit in answer.truncations] == [
        (find(reader, (maker.namespace, "hub")).key, "neighbours", 3, 7)
    ]
    assert len([n for n in answer.nodes if n.kind == "job"]) == 3


def test_as_of_a_time_the_graph_is_the_one_at_that_time(
    reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker
) -> None:
    maker.run("load", ["old"], ["table"], hour=1)
    maker.run("load", ["new"], ["table"], hour=5)
    maker.store(driver)
    sources = {
        hour: [n[2] for n in names(lineage_of(reader, maker, "table", as_of=at_hour(hour))) if n[0] == 1]
        for hour in (0.5, 1, 4.99, 5, 9)
    }
    assert sources == {0.5: [], 1: ["old", "load"], 4.99: ["old", "load"], 5: ["new", "load"], 9: ["new", "load"]}
    assert {n[2] for n in names(lineage_of(reader, maker, "old", "downstream", as_of=at_hour(2)))} == {
        "old",
        "load",
        "table",
    }


def test_a_dataset_without_a_writer_names_its_last_writer(
    reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker
) -> None:
    """The trade-off of the current graph: A wrote X, then was changed to write Y; B still reads X."""
    maker.run("prepare", ["source"], ["staged"])
    last = maker.run("A", ["staged"], ["X"])
    maker.run("A", ["staged"], ["Y"])
    maker.run("B", ["X"], ["Z"])
    maker.store(driver)
    answer = lineage_of(reader, maker, "Z")
    x = next(node for node in answer.nodes if node.name[-1] == "X")
    writer = x.facts["lastWriter"]
    assert (writer["job"], writer["run"], writer["state"]) == ([maker.namespace, "A"], last, "COMPLETE")
    assert writer["version"]
    assert "A" not in [n[2] for n in names(answer)]
    on = lineage_of(reader, maker, "Z", former_writers=True)
    assert [n[2] for n in names(on)] == ["Z", "X", "B", "staged", "A", "source", "prepare"]
    nodes = on.by_key()
    assert {(nodes[e.source].name[-1], nodes[e.target].name[-1]) for e in on.edges if e.former} == {
        ("A", "X"), ("staged", "A")
    }  # fmt: skip


def test_the_last_of_two_writers_is_named(reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker) -> None:
    maker.run("first", ["a"], ["table"], hour=1)
    maker.run("second", ["b"], ["table"], hour=2)
    last = maker.run("first", ["a"], ["table"], hour=3)
    maker.store(driver)
    answer = lineage_of(reader, maker, "table")
    assert {n[2] for n in names(answer) if n[1] == "job"} == {"first", "second"}
    assert answer.node(answer.start[0]).facts["lastWriter"]["job"] == [maker.namespace, "first"]
    assert answer.node(answer.start[0]).facts["lastWriter"]["run"] == last


def test_nodes_have_their_status(reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker) -> None:
    maker.run("load", ["raw"], ["orders"])
    maker.run("stream", ["orders"], ["live"], state="RUNNING", streaming=True)
    maker.run("blind", ["orders"], ["report"], code="2", unknown=True)
    maker.open_run("load", f"{maker.namespace}-open", hour=1)
    maker.dataset("raw", dropped=True)
    facets = '{"ownership":{"owners":[{"name":"team:sales"},{"nam":"x"}]},"jobType":{"processingType":"SERVICE"}}'
    maker.job("serve", facets=facets)
    maker.run("serve", ["orders"], [])
    maker.store(driver)
    status = {node.name[-1]: node.status for node in lineage_of(reader, maker, "raw", "downstream").nodes}
    assert status == {
        "raw": ("dropped",),
        "load": ("silent",),
        "orders": (),
        "stream": ("streaming",),
        "live": (),
        "blind": ("lineage unknown",),
        "report": (),
        "serve": ("streaming",),
    }
    serve = next(n for n in lineage_of(reader, maker, "raw", "downstream").nodes if n.name[-1] == "serve")
    assert serve.facts["owners"] == ["team:sales"]
    assert serve.facts["lastRunState"] == "COMPLETE"


def test_names_are_found_by_key_by_hash_sign_and_by_tail(
    reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker
) -> None:
    unique = maker.namespace
    for name in (f"db.{unique}orders", f"db.pre{unique}orders", f"x.{unique}#y", f"one.{unique}t", f"two.{unique}t"):
        maker.dataset(name)
    maker.job(f"job.{unique}load")
    maker.store(driver)
    assert find(reader, (unique, f"db.{unique}orders")).name[1] == f"db.{unique}orders"
    assert find(reader, (f"{unique}#db.{unique}orders",)).name[1] == f"db.{unique}orders"
    assert find(reader, (f"{unique}orders",)).name[1] == f"db.{unique}orders"
    assert find(reader, (f"{unique}#y",)).name[1] == f"x.{unique}#y"
    assert find(reader, (f"{unique}load",)).kind == "job"
    with pytest.raises(ConfigError, match=f"(?s){unique}#one.*{unique}#two"):
        find(reader, (f"{unique}t",))
    with pytest.raises(NotFound, match="no dataset or job"):
        find(reader, (f"{unique}nothing",))


def test_a_tail_that_a_dataset_and_its_alias_share_finds_the_dataset(
    reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker
) -> None:
    unique = maker.namespace
    maker.alias(f"/lake/{unique}t", f"default.{unique}t")
    maker.store(driver)
    assert find(reader, (f"{unique}t",)).name[1] == f"/lake/{unique}t"
    assert find(reader, (f"default.{unique}t",)).name[1] == f"default.{unique}t"


def test_inactive_jobs_can_be_left_out(reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker) -> None:
    maker.run("old", ["a"], ["b"], hour=1)
    maker.run("young", ["c"], ["b"], hour=9)
    maker.run("early", ["z"], ["c"], hour=2)
    maker.store(driver)
    answer = lineage_of(reader, maker, "b", active_since=at_hour(9))
    assert [n[2] for n in names(answer)] == ["b", "c", "young"]
    assert answer.question["activeSince"] == "2026-01-01T09:00:00.000000Z"


@pytest.mark.parametrize("nodes", range(2, 30))
def test_an_answer_is_complete_or_has_truncations(
    reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker, nodes: int
) -> None:
    """Limits so low that they truncate within one statement, too."""
    for number in range(4):
        maker.run(f"wide{number}", [f"in{number}{side}" for side in range(5)], ["table", f"also{number}"])
    maker.store(driver)
    whole = lineage_of(reader, maker, "table")
    answer = lineage_of(reader, maker, "table", limits=TraversalLimits(nodes=nodes))
    assert (len(whole.nodes), len(whole.edges)) == (25, 24)
    assert bool(answer.truncations) == ((len(answer.nodes), len(answer.edges)) != (25, 24))
    assert len(answer.nodes) <= nodes


def test_a_version_ends_at_the_moment_at_which_the_next_begins(
    reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker
) -> None:
    maker.run("move", ["a"], ["old"], hour=1)
    maker.run("move", ["b"], ["new"], hour=5)
    maker.store(driver)
    assert [n[2] for n in names(lineage_of(reader, maker, "old", as_of=at_hour(4.999)))] == ["old", "a", "move"]
    assert [n[2] for n in names(lineage_of(reader, maker, "old", as_of=at_hour(5)))] == ["old"]
    assert [n[2] for n in names(lineage_of(reader, maker, "a", "downstream", as_of=at_hour(5)))] == ["a"]
    assert [n[2] for n in names(lineage_of(reader, maker, "new", as_of=at_hour(5)))] == ["new", "b", "move"]


def test_an_answer_notes_deferred_work(reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker) -> None:
    maker.run("load", ["raw"], ["orders"])
    maker.store(driver)
    assert not lineage_of(reader, maker, "orders").notes
    with driver.session() as session:
        session.run("CREATE (:DeferredWork {key: $key})", key=maker.namespace).consume()
        try:
            assert lineage_of(reader, maker, "orders").notes == ("the graph has 1 pieces of deferred work left",)
        finally:
            session.run("MATCH (o:DeferredWork {key: $key}) DELETE o", key=maker.namespace).consume()
