"""The Cypher files: what their heads say is what they take, and the server plans them without a scan."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from headwater_graph.store.neo4j_store import Neo4jStore
from headwater_graph.store.statements import FOLDERS, cypher, names, prepared, schema_statements

from ..servers import Servers
from .empty import opened

READS_AND_WRITES = names("read") + names("write")
SCANS = (
    "NodeByLabelScan",
    "AllNodesScan",
    "NodeIndexScan",
    "DirectedRelationshipTypeScan",
    "UndirectedRelationshipTypeScan",
    "DirectedRelationshipIndexScan",
    "UndirectedRelationshipIndexScan",
)
# What is owed is nothing or little, and asked for as a whole.
MAY_SCAN = ("read/deferred_work",)


@pytest.mark.parametrize("name", READS_AND_WRITES)
def test_a_file_says_which_parameters_it_takes(name: str) -> None:
    purpose, parameters, *_ = cypher(name).splitlines()
    assert purpose.startswith("// ")
    assert purpose.endswith(".")
    assert parameters.startswith("// parameters: ")
    body = "\n".join(line for line in cypher(name).splitlines() if not line.startswith("//"))
    used = set(re.findall(r"\$(\w+)", body))
    assert used == set(re.findall(r"\$(\w+)", parameters)), name
    members = set(re.findall(r"\brow\.(\w+)", body))
    told = re.search(r"\$rows \[\{([^}]*)\}", parameters)
    if told:
        assert members <= set(re.findall(r"\w+", told[1])), name


@pytest.mark.parametrize("name", [name for folder in FOLDERS for name in names(folder)])
def test_every_index_that_a_statement_names_is_one_to_seek_in(name: str) -> None:
    # While a graph is young its statistics lag behind, and the planner takes a scan of the index for as good as a seek.
    assert cypher(name).count("USING INDEX") == cypher(name).count("USING INDEX SEEK")


@pytest.mark.parametrize("name", READS_AND_WRITES)
def test_what_is_found_by_its_key_names_its_seek(name: str) -> None:
    # In an empty graph a scan of the key's index costs the planner the same, and a plan that is kept stays when there is much.
    lines = cypher(name).splitlines()
    for line, following in pairwise(lines):
        found = re.match(r"\s*MATCH \((\w*):(\w+) \{(\w+):", line)
        if found:
            assert following.strip() == "USING INDEX SEEK {}:{}({})".format(*found.groups()), line


def test_what_is_sent_is_not_written_out_for_a_log() -> None:
    _, parameters = prepared("read/runs", {"rows": [{"key": "of a run"}]})
    assert parameters == {"given": {"rows": [{"key": "of a run"}]}}
    assert "of a run" not in repr(parameters)


@pytest.fixture(scope="module")
def graph(servers: Servers) -> Iterator[Neo4jStore]:
    with opened(servers) as store:
        yield store


def operators(plan: dict[str, Any]) -> Iterator[str]:
    yield plan["operatorType"].partition("@")[0]
    for child in plan.get("children", []):
        yield from operators(child)


@pytest.mark.end_to_end
@pytest.mark.parametrize("name", READS_AND_WRITES)
def test_the_server_finds_everything_by_an_index(name: str, graph: Neo4jStore) -> None:
    given: dict[str, Any] = dict.fromkeys(re.findall(r"\$(\w+)", cypher(name)), "x")
    given |= {"rows": [], "limit": 1}
    with graph.driver.session(database="neo4j") as session:
        text, parameters = prepared(name, given)
        plan = session.run("EXPLAIN " + text, parameters).consume().plan
    assert plan is not None
    found = [operator for operator in operators(plan) if operator in SCANS]
    assert not found or name in MAY_SCAN, found


@pytest.mark.end_to_end
@pytest.mark.parametrize("name", [name for name in names("read") if "LIMIT" in cypher(name)])
def test_what_asks_for_the_next_few_reads_no_more_than_these_even_while_statistics_are_empty(
    name: str, graph: Neo4jStore
) -> None:
    # An OR may make the planner unite seeks and sort all that they find, so no limit holds. Statistics decide whether it does.
    text, parameters = prepared(name, {"rows": [], "limit": 1})
    with graph.driver.session(database="neo4j") as session:
        session.run("CALL db.clearQueryCaches()").consume()
        plan = session.run("EXPLAIN " + text, parameters).consume().plan
    assert plan is not None
    assert not {"Union", "Top", "Sort"} & set(operators(plan)) or name in MAY_SCAN


@pytest.mark.end_to_end
def test_the_schema_can_be_made_twice(graph: Neo4jStore) -> None:
    with graph.driver.session(database="neo4j") as session:
        for statement in schema_statements():
            assert session.run(statement).consume().counters.constraints_added == 0
