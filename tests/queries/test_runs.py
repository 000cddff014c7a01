"""Lists of runs and single runs in a real Neo4j."""

from __future__ import annotations

from datetime import timedelta

import neo4j
import pytest

from headwater_avro.errors import ConfigError
from headwater_graph.queries.catalog.finding import NotFound, find, find_run
from headwater_graph.queries.keys import run_node_key
from headwater_graph.queries.lineage.scope import TraversalLimits
from headwater_graph.queries.reader import Neo4jReader
from headwater_graph.queries.runs.run_graph import run_graph
from headwater_graph.queries.runs.runs import RunFilter, list_runs, show_run
from headwater_graph.queries.values import answer_value

from .graph_maker import GraphMaker, at_hour

NOW = at_hour(100)


def test_runs_are_listed_the_latest_first_and_filtered(
    reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker
) -> None:
    first = maker.run("load", ["raw"], ["orders"], hour=1)
    two = maker.run("load", ["raw"], ["orders"], hour=2, state="FAIL")
    other = maker.run("report", ["orders"], ["table"], hour=3)
    maker.store(driver)
    load = find(reader, (maker.namespace, "load"), ("job",)).key
    orders = find(reader, (maker.namespace, "orders")).key

    def ids(**wanted: object) -> list[str]:
        return [run.id for run in list_runs(reader, RunFilter(**wanted), NOW)]  # type: ignore[arg-type]

    assert ids(job=load) == [two, first]
    assert ids(job=load, state="FAIL") == [two]
    assert ids(job=load, until=at_hour(2)) == [first]
    assert ids(job=load, since=at_hour(2)) == [two]
    assert ids(dataset=orders) == [other, two, first]
    assert ids(dataset=orders, job=load) == [two, first]
    assert ids(job=load, before=(at_hour(2), two)) == [first]
    line = list_runs(reader, RunFilter(job=load), NOW)[1]
    assert (line.job, line.state, line.seconds) == ((maker.namespace, "load"), "COMPLETE", 600.0)
    assert line.ended == "2026-01-01T01:00:00.000000Z"


def test_without_filters_all_runs_are_listed(reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker) -> None:
    far = 24 * 365 * 900
    late = [maker.run(f"late{n}", ["raw"], ["x"], hour=far + n, run_id=f"{maker.namespace}-{n}") for n in range(3)]
    maker.store(driver)
    found = list_runs(reader, RunFilter(since=at_hour(far)), NOW, limit=1000)
    assert [run.id for run in found if run.id in late] == late[::-1]


def test_a_batch_run_without_events_for_a_day_is_silent(
    reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker
) -> None:
    quiet = maker.open_run("load", f"{maker.namespace}-quiet", hour=75.9)
    maker.open_run("load", f"{maker.namespace}-busy", hour=76.1)
    maker.open_run("load", f"{maker.namespace}-stream", hour=1, streaming=True)
    maker.run("load", ["a"], ["b"], hour=1)
    maker.store(driver)
    load = find(reader, (maker.namespace, "load"), ("job",)).key
    assert [(r.id, r.status) for r in list_runs(reader, RunFilter(job=load, silent=True), NOW)] == [
        (quiet, ("silent",))
    ]


def test_a_run_shows_what_it_read_and_wrote_version_by_version(
    reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker
) -> None:
    load = maker.run("load", ["raw"], ["orders"], hour=1)
    run_id = maker.run(
        "report", ["orders"], ["table"], hour=2, error="boom", conflicts='[["x","y"]]', codeVersion="abc"
    )
    maker.store(driver)
    shown = show_run(reader, find_run(reader, run_id), NOW)
    assert [(use.dataset[1], use.made_by, use.at) for use in shown.reads] == [
        ("orders", load, "2026-01-01T01:00:00.000000Z")
    ]
    assert [(use.dataset[1], use.made_by) for use in shown.writes] == [("table", run_id)]
    assert (shown.error, shown.conflicts, shown.code_version) == ("boom", [["x", "y"]], "abc")
    assert shown.made_version
    assert shown.run.status == ("conflicts",)
    first = show_run(reader, find_run(reader, load), NOW)
    assert [(use.dataset[1], use.made_by, use.at) for use in first.reads] == [("raw", None, None)]


def test_children_are_a_tree(reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker) -> None:
    runs = {name: maker.run(name, hour=hour) for hour, name in enumerate(("dag", "task1", "task2", "spark"), 1)}
    maker.child(runs["task1"], runs["dag"])
    maker.child(runs["task2"], runs["dag"])
    maker.child(runs["spark"], runs["task2"])
    maker.child(runs["dag"], runs["dag"])
    maker.store(driver)
    shown = show_run(reader, find_run(reader, runs["dag"]), NOW)
    assert [(c.run.id, [g.run.id for g in c.children]) for c in shown.children] == [
        (runs["task1"], []),
        (runs["task2"], [runs["spark"]]),
    ]
    assert not shown.more_children
    under = list_runs(reader, RunFilter(parent=run_node_key(runs["dag"])), NOW)
    assert {run.id for run in under} == {runs["dag"], runs["task1"], runs["task2"]}


def test_a_run_is_found_by_the_beginning_of_its_id(
    reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker
) -> None:
    for suffix in ("aa", "ab", "a"):
        maker.run("load", run_id=f"{maker.namespace}-{suffix}")
    maker.store(driver)
    assert find_run(reader, f"{maker.namespace}-ab").name == (f"{maker.namespace}-ab",)
    assert find_run(reader, f"{maker.namespace}-a").name == (f"{maker.namespace}-a",)
    with pytest.raises(ConfigError, match="several run ids begin"):
        find_run(reader, f"{maker.namespace}-")
    with pytest.raises(NotFound):
        find_run(reader, f"{maker.namespace}-b")


def test_the_duration_of_an_open_run_is_counted_until_now(
    reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker
) -> None:
    run_id = maker.open_run("load", f"{maker.namespace}-open", hour=99)
    maker.store(driver)
    assert show_run(reader, find_run(reader, run_id), NOW).run.seconds == timedelta(hours=1).total_seconds()


def test_the_run_graph_leads_back_to_the_sources_version_by_version(
    reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker
) -> None:
    """The current graph no longer knows what an earlier run read; the run graph does."""
    first = maker.run("load", ["raw"], ["orders"], hour=1)
    report = maker.run("report", ["orders"], ["table"], hour=2)
    maker.run("load", ["new"], ["orders"], hour=3)
    mail = maker.run("mail", ["table"], [], hour=4)
    maker.store(driver)
    answer = run_graph(reader, find_run(reader, mail), "upstream", NOW)
    assert [(n.depth, n.name[0]) for n in answer.nodes if n.kind == "run"] == [(0, mail), (1, report), (2, first)]
    versions = [(n.depth, n.name[1], n.status) for n in answer.nodes if n.kind == "version"]
    assert versions == [(1, "table", ()), (2, "orders", ()), (3, "raw", ("unknown origin",))]
    nodes = answer.by_key()
    assert {(nodes[e.source].kind, e.kind, nodes[e.target].kind) for e in answer.edges} == {
        ("version", "read", "run"),
        ("run", "wrote", "version"),
    }
    down = run_graph(reader, find_run(reader, first), "downstream", NOW)
    assert [(n.depth, n.name[0]) for n in down.nodes if n.kind == "run"] == [(0, first), (1, report), (2, mail)]
    assert not down.truncations


def test_a_run_graph_limits_the_versions_of_a_run_and_the_readers_of_a_version(
    reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker
) -> None:
    load = maker.run("load", ["a", "b", "c"], ["x", "y", "z"], hour=1)
    for number in range(3):
        maker.run(f"read{number}", ["x", "y", "z"], [], hour=2 + number)
    maker.store(driver)
    start, limits = find_run(reader, load), TraversalLimits(neighbours=2)
    down = run_graph(reader, start, "downstream", NOW, limits)
    assert {(c.why, c.shown, c.total) for c in down.truncations} == {("neighbours", 2, 3)}
    assert {down.node(c.at or "").kind for c in down.truncations} == {"run", "version"}
    up = run_graph(reader, start, "upstream", NOW, limits)
    assert [(up.node(c.at or "").kind, c.shown, c.total) for c in up.truncations] == [("run", 2, 3)]
    # The versions, which are not shown, have more readers than the limit.
    near = answer_value(run_graph(reader, start, "downstream", NOW, TraversalLimits(depth=0, neighbours=2)))
    assert {cut["why"] for cut in near["cuts"]} == {"depth", "neighbours"}


def test_the_run_graph_has_truncations(reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker) -> None:
    load = maker.run("load", ["raw"], ["orders"], hour=1)
    for number in range(5):
        maker.run(f"read{number}", ["orders"], [f"out{number}"], hour=2 + number)
    maker.store(driver)
    start = find_run(reader, load)
    wide = run_graph(reader, start, "downstream", NOW, TraversalLimits(neighbours=3))
    assert [(wide.node(c.at or "").name[1], c.why, c.shown, c.total) for c in wide.truncations] == [
        ("orders", "neighbours", 3, 5)
    ]
    deep = run_graph(
        reader, find_run(reader, f"{maker.namespace}-run-read1"), "upstream", NOW, TraversalLimits(depth=1)
    )
    assert [(deep.node(c.at or "").name[0], c.why, c.total) for c in deep.truncations] == [(load, "depth", 1)]
    assert [c.why for c in run_graph(reader, start, "downstream", NOW, TraversalLimits(nodes=4)).truncations] == [
        "size"
    ]
