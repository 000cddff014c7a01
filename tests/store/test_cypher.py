"""The Cypher files: their heads state what they take, and the server plans them without a scan."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources
from itertools import pairwise, takewhile
from typing import Any

import pytest

from headwater_graph.store.neo4j_store import Neo4jStore
from headwater_graph.store.statements import cypher, prepared, schema_statements

from ..servers import Servers
from .empty import opened
from .statement_files import FOLDERS, names

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
# There is little deferred work or none, and all of it is read.
MAY_SCAN = ("read/deferred_work",)


FILES = [name for folder in (*FOLDERS, "fragments") for name in names(folder)]
README = (resources.files("headwater_graph") / "cypher" / "README.md").read_text()
WRITE_VERBS = re.findall(r"^\| `(\w+)` \| [a-z ]+s\b.*\|$", README.partition("| verb |")[2], re.MULTILINE)
PURPOSE_VERBS = {verb.title() for verb in WRITE_VERBS} | {"Return", "Compute", "Reset", "Remove", "Lock"}
JARGON = re.compile(
    r"\b(told|tells?|kept|keeps?|gone|goes|owe[ds]?|glances?|bare|cut|put|stands?|nobody|anew|untie|tie|whence)\b",
    re.IGNORECASE,
)


def head_of(name: str) -> tuple[str, str]:
    """Return the purpose and the parameters that the head of a file states."""
    head = list(takewhile(lambda line: line.startswith("// "), cypher(name).splitlines()))
    purpose = " ".join(line[3:] for line in head if not line.startswith("// parameters: "))
    return purpose, head[-1].removeprefix("// parameters: ") if len(head) > 1 else ""


def test_the_readme_defines_the_six_verbs_of_writes() -> None:
    assert sorted(WRITE_VERBS) == ["create", "delete", "link", "set", "unlink", "upsert"]


@pytest.mark.parametrize("name", [name for name in names("write") if name != "write/lock"])
def test_a_write_is_named_by_one_of_the_verbs_and_its_purpose_begins_with_it(name: str) -> None:
    verb = name.removeprefix("write/").partition("_")[0]
    assert verb in WRITE_VERBS
    assert head_of(name)[0].partition(" ")[0] == verb.title()


@pytest.mark.parametrize("name", FILES)
def test_the_head_of_a_file_is_plain_english(name: str) -> None:
    purpose, parameters = head_of(name)
    assert purpose.partition(" ")[0] in PURPOSE_VERBS
    assert purpose.endswith(".")
    assert not JARGON.search(purpose)
    assert parameters or name.startswith("fragments/")


@pytest.mark.parametrize("name", READS_AND_WRITES)
def test_the_head_of_a_file_lists_its_parameters(name: str) -> None:
    _, parameters = head_of(name)
    body = "\n".join(line for line in cypher(name).splitlines() if not line.startswith("//"))
    used = set(re.findall(r"\$(\w+)", body))
    assert used == set(re.findall(r"\$(\w+)", parameters)), name
    members = set(re.findall(r"\brow\.(\w+)", body))
    declared = re.search(r"\$rows \[\{([^}]*)\}", parameters)
    if declared:
        assert members <= set(re.findall(r"\w+", declared[1])), name


@pytest.mark.parametrize("name", [name for folder in FOLDERS for name in names(folder)])
def test_every_index_hint_demands_a_seek(name: str) -> None:
    # The statistics of a young graph lag behind, and the planner rates a scan of the index equal to a seek.
    assert cypher(name).count("USING INDEX") == cypher(name).count("USING INDEX SEEK")


@pytest.mark.parametrize("name", READS_AND_WRITES)
def test_a_match_by_key_has_an_index_hint(name: str) -> None:
    # In an empty graph the planner rates a scan of the key's index equal, and the plan is used until the graph is large.
    lines = cypher(name).splitlines()
    for line, following in pairwise(lines):
        found = re.match(r"\s*MATCH \((\w*):(\w+) \{(\w+):", line)
        if found:
            assert following.strip() == "USING INDEX SEEK {}:{}({})".format(*found.groups()), line


def test_parameters_are_not_formatted_for_a_log() -> None:
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
def test_a_limited_read_is_limited_even_while_statistics_are_empty(name: str, graph: Neo4jStore) -> None:
    # For an OR the planner may unite seeks and sort all their rows, which voids the limit. It depends on the statistics.
    text, parameters = prepared(name, {"rows": [], "limit": 1})
    with graph.driver.session(database="neo4j") as session:
        session.run("CALL db.clearQueryCaches()").consume()
        plan = session.run("EXPLAIN " + text, parameters).consume().plan
    assert plan is not None
    assert not {"Union", "Top", "Sort"} & set(operators(plan)) or name in MAY_SCAN


@pytest.mark.end_to_end
def test_the_schema_can_be_created_twice(graph: Neo4jStore) -> None:
    with graph.driver.session(database="neo4j") as session:
        for statement in schema_statements():
            assert session.run(statement).consume().counters.constraints_added == 0
