"""The summary of a node describes the node after each batch, after retention and after a rebuild."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from headwater_avro.times import parse_time
from headwater_graph.apply.limits import TransactionLimits
from headwater_graph.audit.check import check
from headwater_graph.audit.rebuild import rebuild
from headwater_graph.queries.catalog.finding import find
from headwater_graph.queries.lineage.lineage import lineage
from headwater_graph.queries.reader import Neo4jReader
from headwater_graph.retention.retain import retain
from headwater_graph.store import schema
from headwater_graph.store.neo4j_store import Neo4jStore
from headwater_graph.store.node_summary import NodeSummary, summaries_of

from ..feeding import feed
from ..servers import Servers
from .empty import emptied, opened

pytestmark = pytest.mark.end_to_end

NOW = datetime(2026, 1, 2, tzinfo=UTC)
Facets = dict[str, Any]


@pytest.fixture
def graph(servers: Servers) -> Iterator[Neo4jStore]:
    with opened(servers) as store:
        yield emptied(store)
        emptied(store)


def event(
    run: str,
    second: int,
    kind: str,
    outputs: Facets | None = None,
    facets: Facets | None = None,
    parent: str | None = None,
    job: str = "job",
) -> bytes:
    """A run; ``outputs`` are facets by dataset, ``facets`` those of the job."""
    message: Facets = {
        "eventTime": f"2026-01-01T00:00:{second:02}Z",
        "eventType": kind,
        "run": {"runId": run},
        "job": {"namespace": "j", "name": job, "facets": facets or {}},
        "inputs": [{"namespace": "d", "name": "in"}],
        "outputs": [
            {"namespace": "d", "name": name, "facets": dataset_facets}
            for name, dataset_facets in (outputs or {}).items()
        ],
    }
    if parent:
        message["run"]["facets"] = {
            "parent": {"run": {"runId": f"run of {parent}"}, "job": {"namespace": "j", "name": parent}}
        }
    return json.dumps(message).encode()


def owned_by(*names: str) -> Facets:
    return {"owners": [{"name": name} for name in names]}


def also(*names: str) -> Facets:
    return {"symlinks": {"identifiers": [{"namespace": "d", "name": name, "type": "TABLE"} for name in names]}}


def summary(store: Neo4jStore, name: str) -> NodeSummary | None:
    """Return the summary of the job or dataset of a name; None where it has none."""
    query = "MATCH (n:Job|Dataset {name: $name}) RETURN n.summary"
    records, _, _ = store.driver.execute_query(query, {"name": name}, database_="neo4j")
    ((text,),) = records
    return None if text is None else summaries_of([text])[0]


def shown(store: Neo4jStore, *batches: list[bytes], of: str = "job") -> NodeSummary:
    """Return the summary of a node after some batches; the graph is consistent after each of them."""
    for batch in batches:
        feed(store, batch)
        assert list(check(store)) == []
    found = summary(store, of)
    assert found is not None
    return found


def test_a_job_is_shown_as_its_last_run_left_it(graph: Neo4jStore) -> None:
    first = shown(graph, [event("r1", 1, "COMPLETE", {"out": {}}, {"ownership": owned_by("a", 'b "\\')})])
    version = first.facts["version"]
    assert first.marks == ()
    assert first.facts == {
        "version": version,
        "since": "2026-01-01T00:00:01.000000Z",
        "runs": 1,
        "lastRun": "r1",
        "lastRunAt": "2026-01-01T00:00:01.000000Z",
        "lastRunState": "COMPLETE",
        "owners": ["a", 'b "\\'],
    }
    again = shown(graph, [event("r2", 2, "FAIL", {"out": {}}, {"ownership": owned_by("c")})])
    assert again.facts | {"lastRun": "r1"} == first.facts | {
        "runs": 2,
        "lastRunAt": "2026-01-01T00:00:02.000000Z",
        "lastRunState": "FAIL",
        "owners": ["c"],
    }
    before = shown(graph, [event("r0", 0, "COMPLETE", {"out": {}})])
    assert (before.facts["runs"], before.facts["lastRun"]) == (3, "r2")
    assert (
        shown(graph, [event("r4", 4, "COMPLETE", {"out": {}})], [event("r3", 3, "COMPLETE", {"out": {}})]).facts["runs"]
        == 5
    )
    assert shown(graph, [event("r5", 5, "START", {"out": {}}, {"ownership": owned_by("d")})]).facts["owners"] == ["d"]


def test_a_run_that_turns_out_to_be_of_another_job_is_shown_there(graph: Neo4jStore) -> None:
    first = shown(graph, [event("r1", 1, "COMPLETE", {"out": {}})])
    shown(graph, [event("r2", 2, "COMPLETE", {"out": {}}), event("r3", 3, "COMPLETE", {"more": {}})])
    last = shown(graph, [event("r3", 4, "OTHER", {"more": {}}, job="other")])
    assert last.facts == first.facts | {"runs": 2, "lastRun": "r2", "lastRunAt": "2026-01-01T00:00:02.000000Z"}
    assert shown(graph, [event("r2", 5, "OTHER", {"out": {}}, job="other")]) == first
    assert shown(graph, of="other").facts["lastRun"] == "r3"


def test_a_new_version_a_code_version_and_a_state_are_shown(graph: Neo4jStore) -> None:
    streaming = {"jobType": {"processingType": "STREAMING", "integration": "SPARK"}}
    before = shown(graph, [event("r1", 1, "START", {"out": {}}, streaming)])
    assert (before.marks, before.facts["lastRunState"]) == (("streaming",), "RUNNING")
    assert shown(graph, [event("r1", 9, "COMPLETE")]).facts["lastRunState"] == "COMPLETE"
    code = {"sourceCodeLocation": {"type": "git", "version": "abc"}}
    after = shown(graph, [event("r2", 20, "COMPLETE", {"out": {}}, code)])
    assert (after.marks, after.facts["codeVersion"]) == (("streaming",), "abc")
    other = shown(graph, [event("r3", 30, "COMPLETE", {"more": {}}, {"jobType": {"processingType": "BATCH"}})])
    assert other.facts["version"] != after.facts["version"]
    assert other.marks == ()


def test_a_node_that_is_only_named_has_a_summary(graph: Neo4jStore) -> None:
    parent = shown(graph, [event("r1", 1, "COMPLETE", {"out": also("other")}, parent="parent")], of="parent")
    assert (parent.marks, parent.facts) == (("no run yet",), {})
    for name in ("out", "other"):
        assert shown(graph, of=name).aliased
    feed(graph, [event("r2", 2, "COMPLETE", {"other": {}})])
    for name in ("out", "other"):
        assert not shown(graph, [event("r3", 3, "COMPLETE", {"out": also()})], of=name).aliased


def test_a_dataset_is_shown_as_it_was_written_last(graph: Neo4jStore) -> None:
    first = shown(graph, [event("r1", 1, "COMPLETE", {"out": {"ownership": owned_by("team")}})], of="out")
    facts = {"writtenAt": "2026-01-01T00:00:01.000000Z", "writtenBy": "r1", "owners": ["team"]}
    assert first.facts == {"version": first.facts["version"]} | facts
    external = {"version": {"datasetVersion": "snapshot 7"}}
    named = shown(graph, [event("r1", 1, "OTHER", {"out": external})], of="out")
    assert named.facts == first.facts | {"external": "snapshot 7"}
    dropped = {"lifecycleStateChange": {"lifecycleStateChange": "DROP"}}
    assert shown(graph, [event("r2", 2, "COMPLETE", {"out": dropped})], of="out").marks == ("dropped",)
    assert shown(graph, [event("r3", 3, "COMPLETE", {"out": {"lifecycleStateChange": {}}})], of="out").marks == ()
    unwritten = shown(graph, of="in")
    assert list(unwritten.facts) == ["version"]


def test_times_before_1970_are_exact_to_the_microsecond(graph: Neo4jStore) -> None:
    message = event("r1", 1, "COMPLETE", {"out": {}}).replace(b"2026-01-01T00:00:01Z", b"1969-12-31T23:59:58.700001Z")
    found = shown(graph, [message])
    assert found.facts["since"] == found.facts["lastRunAt"] == "1969-12-31T23:59:58.700001Z"
    assert shown(graph, of="out").facts["writtenAt"] == "1969-12-31T23:59:58.700001Z"
    feed(graph, [event("r2", 2, "COMPLETE", {"out": {}})])
    assert retain(graph, parse_time("1970-01-01T00:00:00Z"))["runs"] == 1


def test_what_retention_removes_and_a_rebuild_derives_is_shown(graph: Neo4jStore) -> None:
    feed(graph, [event(f"r{n}", n, "COMPLETE", {"out": {}} if n < 5 else {"more": {}}) for n in range(1, 9)])
    retain(graph, parse_time("2026-01-01T00:00:07Z"))
    assert shown(graph).facts["runs"] == 4
    rebuild(graph)
    assert list(check(graph)) == []
    retain(graph, parse_time("2026-01-01T01:00:00Z"))
    last = shown(graph)
    assert (last.facts["runs"], last.facts["lastRun"], last.facts.get("lastRunState")) == (4, "r8", None)
    rebuild(graph, TransactionLimits(rows=2))
    assert shown(graph) == last


def test_a_node_with_control_characters_has_no_summary_and_is_queried(graph: Neo4jStore) -> None:
    code = {"sourceCodeLocation": {"type": "git", "version": "line\nbreak"}}
    feed(graph, [event("r1", 1, "COMPLETE", {"out": {"ownership": owned_by("a\u001fb")}}, code)])
    assert list(check(graph)) == []
    assert summary(graph, "job") is summary(graph, "out") is None
    with Neo4jReader(graph.settings) as reader:
        out, _, job = lineage(reader, find(reader, ("d", "out")), "upstream", NOW).nodes
    assert out.facts["owners"] == ["a\u001fb"]
    assert job.facts["codeVersion"] == "line\nbreak"


def test_a_check_finds_a_wrong_summary_and_a_rebuild_corrects_it(graph: Neo4jStore) -> None:
    feed(graph, [event("r1", 1, "COMPLETE", {"out": {}}, parent="parent")])
    right = [summary(graph, name) for name in ("job", "parent", "out")]
    query = "MATCH (n:Job|Dataset) WHERE n.name <> 'in' SET n.summary = 'x'"
    graph.driver.execute_query(query, database_="neo4j")
    assert {json.loads(difference.line)["of"][2] for difference in check(graph)} == {"job", "parent", "out"}
    rebuild(graph)
    assert list(check(graph)) == []
    assert [summary(graph, name) for name in ("job", "parent", "out")] == right


def test_a_migration_from_version_2_sets_the_summaries(graph: Neo4jStore) -> None:
    streaming = {"jobType": {"processingType": "SERVICE"}, "ownership": owned_by("a", "b")}
    feed(graph, [event("r1", 1, "START", {"out": {"ownership": owned_by("team")}}, streaming, "parent")])
    before = [summary(graph, name) for name in ("job", "parent", "out", "in")]
    assert before[0] is not None
    assert (before[0].marks, before[0].facts["owners"]) == (("streaming",), ["a", "b"])
    query = "MATCH (n:Job|Dataset), (s:HeadwaterSchema) REMOVE n.summary, n.owners, n.streaming SET s.version = 2"
    graph.driver.execute_query(query, database_="neo4j")
    assert len(list(check(graph))) >= 4
    assert [version for version, _ in schema.migrate(graph.settings)] == [3, 4]
    assert [summary(graph, name) for name in ("job", "parent", "out", "in")] == before
    assert list(check(graph)) == []
