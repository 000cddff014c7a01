"""The example programs through real Kafka into real Neo4j, and queries for their operations."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from headwater_graph.store.neo4j_store import Neo4jStore

from ..command_line import headwater
from ..feeding import differences, dumped, feed
from ..laws.model import dump as model_dump
from ..servers import Servers
from ..store.empty import emptied, opened
from ..transport.events import arrived
from .test_examples import EXAMPLES, example_files

pytestmark = pytest.mark.end_to_end

Json = dict[str, Any]


class ProgramGraph(NamedTuple):
    """The graph of the programs' events, and the folder of their files."""

    store: Neo4jStore
    messages: list[bytes]
    folder: Path

    def lines(self, kind: str) -> list[Json]:
        return [line for line in map(json.loads, dumped(self.store).splitlines()) if line["kind"] == kind]


@pytest.fixture
def graph(servers: Servers, topic: str, tmp_path: Path) -> Iterator[ProgramGraph]:
    """Run each example twice, read its events from Kafka and write them as the consumer does."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("OPENLINEAGE", "HEADWATER"))
    }
    environment |= {
        "HEADWATER_HOME": str(tmp_path),
        "HEADWATER_KAFKA_BOOTSTRAP_SERVERS": servers.kafka_bootstrap_servers,
        "HEADWATER_KAFKA_TOPIC": topic,
    }
    for program, files in example_files(tmp_path).items():
        for _ in range(2):
            command = [sys.executable, str(EXAMPLES / program), *map(str, files)]
            subprocess.run(command, check=True, env=environment, cwd=tmp_path, timeout=120)
    # Of each run START, the operations, COMPLETE.
    messages = [value for _, value in arrived(servers.kafka_bootstrap_servers, topic, 18)]
    with opened(servers) as store:
        feed(emptied(store), messages)
        yield ProgramGraph(store, messages, tmp_path)


def test_the_lineage_of_the_programs_is_in_the_graph_and_can_be_queried(graph: ProgramGraph, servers: Servers) -> None:
    expected, actual = model_dump(graph.messages), dumped(graph.store)
    assert actual == expected, differences(expected, actual)
    edges = {
        (line["job"][1], Path(line["from"][1]).name, line["from"][2], line["to"][2], line["subtype"])
        for line in graph.lines("columnEdge")
    }
    assert edges >= {
        ("normalize_users", "users.csv", "FirstName", "Name", "TRANSFORMATION"),
        ("normalize_users", "users.csv", "UID", "UID", "IDENTITY"),
        ("word_count", "lines.txt", "record", "count", "TRANSFORMATION"),
        ("customer_report", "customers.csv", "name", "customer", "IDENTITY"),
        ("customer_report", "purchases.csv", "customer_id", "*", "JOIN"),
    }
    _operations_are_stored_once(graph)
    _operations_of_a_column(graph, servers)
    _operations_of_a_column_after_a_join(graph, servers)
    query = ["lineage", "upstream", "--operations"]
    assert headwater(servers, *query, str(graph.folder / "profiles.csv"), "--past").code == 2
    assert headwater(servers, *query, str(graph.folder / "users.csv")).code == 1


def _operations_are_stored_once(graph: ProgramGraph) -> None:
    """Two runs of a program have the same fingerprint; the operations are stored under it and in no run."""
    sets = {
        line["key"][1]: line["facets"]["headwater_fieldOperations"]["operations"]
        for line in graph.lines("dataset")
        if line["key"][0] == "urn:headwater:field-operations"
    }
    assert sorted(
        {operation["name"] for operation in operations} & {"Concat", "Create", "join.Join"}
        for operations in sets.values()
    )
    assert len(sets) == 3
    assert len(graph.lines("run")) == 6
    named = [
        dataset["facets"]["headwater_fieldOperations"]
        for event in map(json.loads, graph.messages)
        for dataset in event.get("outputs", ())
    ]
    assert {facet["fingerprint"] for facet in named} == set(sets)
    assert not any("operations" in facet for facet in named)


def _operations_of_a_column(graph: ProgramGraph, servers: Servers) -> None:
    profiles, users = (str(graph.folder / name) for name in ("profiles.csv", "users.csv"))
    code, text, _ = headwater(servers, "lineage", "upstream", "file", profiles, "Name", "--operations")
    lines = text.splitlines()
    assert code == 0
    assert lines[0] == f"dataset file {profiles}  Name"
    assert lines[1].startswith("└─ job examples normalize_users  · run ")
    concat = "(Concatenating the FirstName and LastName fields to create the Name field.)"
    assert [" ".join(line.split()) for line in lines[2:]] == [
        f"read {users} file {users} → FirstName, LastName",
        f"Concat FirstName, LastName → Name {concat}",
        f"write {profiles} Name → file {profiles}",
    ]
    again = headwater(servers, "lineage", "upstream", f"file#{profiles}#Name", "--operations", "--json").out
    assert json.loads(again)["steps"][0]["operations"][1]["name"] == "Concat"


def _operations_of_a_column_after_a_join(graph: ProgramGraph, servers: Servers) -> None:
    report = str(graph.folder / "report.csv")
    code, text, _ = headwater(servers, "lineage", "upstream", report, "--column", "cents", "--operations", "--json")
    ((step),) = json.loads(text)["steps"]
    assert (code, step["columns"], step["state"]) == (0, ["cents"], "COMPLETE")
    names = [operation["name"] for operation in step["operations"]]
    assert "cents.to cents" in names
    assert {"cents.Filter", "join.Join", "join.Identity cents.cents"} <= set(names)
    assert "join.Rename customers.name" not in names
