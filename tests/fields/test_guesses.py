"""A traced program whose column origins are guesses, through real Kafka into real Neo4j: every answer says so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import SecretStr

from headwater_graph.queries.reader import Neo4jReader
from headwater_graph.settings import graph_settings
from headwater_web import MemorySink, WebSettings, create_app

from ..command_line import headwater
from ..feeding import feed
from ..servers import Servers
from ..store.empty import emptied, opened
from ..transport.events import arrived
from ..web.raw import client_of

pytestmark = pytest.mark.end_to_end

PROGRAM = """
import sqlite3
import pandas as pd
from headwater import lineage

connection = sqlite3.connect("shop.db")
with lineage.run("shop", "load") as run, run.trace():
    pd.read_csv("orders.csv").to_sql("Orders", connection, index=False)
with lineage.run("shop", "report") as run, run.trace() as traced:
    orders = pd.read_sql('SELECT amount FROM main."orders"', connection)
    orders.to_csv("report.csv", index=False)
    print(traced)
connection.close()
"""


@pytest.fixture
def folder(servers: Servers, topic: str, tmp_path: Path) -> Path:
    """The folder of the program's files; its events are in the graph."""
    (tmp_path / "orders.csv").write_text("id,amount\n1,2\n")
    others = {name: value for name, value in os.environ.items() if not name.startswith(("OPENLINEAGE", "HEADWATER"))}
    environment = others | {
        "HEADWATER_HOME": str(tmp_path),
        "HEADWATER_KAFKA_BOOTSTRAP_SERVERS": servers.kafka_bootstrap_servers,
        "HEADWATER_KAFKA_TOPIC": topic,
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, cwd=tmp_path, capture_output=True, timeout=120, check=True
    )
    assert done.stdout.decode() == "<Trace: 1 datasets read, 1 written, 0 reads and writes unnamed>\n"
    with opened(servers) as store:
        # Of each run START, the operations, COMPLETE.
        feed(emptied(store), [value for _, value in arrived(servers.kafka_bootstrap_servers, topic, 6)])
    return tmp_path


def test_what_is_guessed_is_marked_as_a_guess_in_every_answer(servers: Servers, folder: Path) -> None:
    report, database = str(folder / "report.csv"), f"sqlite://{folder / 'shop.db'}"
    upstream = ["lineage", "upstream", "file", report]
    tree = headwater(servers, *upstream, "--column", "amount")
    assert tree.code == 0
    assert tree.out.splitlines() == [
        f"column file {report} amount",
        f"└─ column {database} Orders amount  (DIRECT/TRANSFORMATION, guess)",
        f"   ├─ column file {folder / 'orders.csv'} amount  (DIRECT/TRANSFORMATION, guess)",
        f"   └─ column file {folder / 'orders.csv'} id  (DIRECT/TRANSFORMATION, guess)",
    ]
    answer = json.loads(headwater(servers, *upstream, "--columns", "--json").out)
    assert [edge["guess"] for edge in answer["edges"]] == [True, True, True]
    operations = headwater(servers, *upstream, "amount", "--operations").out
    assert "(guess)" in operations
    guesses = [one["name"] for one in _operations(servers, *upstream, "amount") if one.get("guess")]
    assert guesses == ["pandas: every column read so far feeds every column written"] * 2
    _over_http(servers, report)


def _operations(servers: Servers, *upstream: str) -> list[dict[str, object]]:
    steps = json.loads(headwater(servers, *upstream, "--operations", "--json").out)["steps"]
    return [operation for step in steps for operation in step["operations"]]


def _over_http(servers: Servers, report: str) -> None:
    password = SecretStr(servers.neo4j_password)
    settings = graph_settings(uri=servers.neo4j_uri, user=servers.neo4j_user, password=password)
    named = {"namespace": "file", "name": report, "column": "amount"}
    with Neo4jReader(settings) as reader, client_of(create_app(reader, MemorySink(), WebSettings())) as client:
        columns = client.get("/api/v1/graph/columns/upstream", params=named).json()
        assert [edge["guess"] for edge in columns["edges"]] == [True, True, True]
        (first, *_) = client.get("/api/v1/graph/operations", params=named).json()["steps"]
        assert [one.get("guess", False) for one in first["operations"]] == [False, True, False]
