"""``headwater demo`` as a new user runs it, twice."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import neo4j
import pytest

import headwater_stack

pytestmark = pytest.mark.end_to_end


def headwater(home: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENLINEAGE")}
    command = [sys.executable, "-m", "headwater_cli", *arguments]
    done = subprocess.run(
        command,
        env=environment | {"HEADWATER_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    assert done.returncode == code, done.stdout[-2000:] + done.stderr[-4000:]
    return done


def dump(home: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in headwater(home, "graph", "dump").stdout.splitlines()]


def current(lines: list[dict[str, Any]]) -> list[Any]:
    """The current graph and the columns, without what differs from one run to the next."""
    stored = ("from", "to", "job", "type", "subtype", "masking")
    chosen = [line for line in lines if line["kind"] in ("edge", "columnEdge")]
    return sorted(str({name: line.get(name) for name in stored}) for line in chosen)


def readme_commands() -> list[list[str]]:
    """The commands that the README tells a new user to try after the demo, without the one that ends it."""
    text = (Path(__file__).parents[2] / "README.md").read_text()
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [
        line.removeprefix("headwater ")
        for block in blocks
        for line in block.splitlines()
        if line.startswith("headwater ")
    ]
    commands = [shlex.split(line.partition("#")[0].partition("|")[0]) for line in lines]
    assert len(commands) >= 5
    return [command for command in commands if command != ["down"]]


def as_an_older_headwater_left_it(home: Path) -> None:
    addresses = headwater_stack.addresses(home)
    assert addresses is not None
    auth = (addresses.neo4j_user, addresses.neo4j_password)
    with neo4j.GraphDatabase.driver(addresses.neo4j_uri, auth=auth) as driver:
        driver.execute_query(
            "MATCH (s:HeadwaterSchema) SET s.version = 1 WITH s MATCH (v:JobVersion) REMOVE v.lastRunState, v.lastRunStreaming"
        )


@pytest.mark.timeout(1500)
def test_the_demo_gives_the_same_graph_twice_with_another_run_of_each_job(tmp_path: Path) -> None:
    home = tmp_path / "home"
    try:
        first = headwater(home, "demo")
        once = dump(home)
        assert "http://" not in headwater(home, "demo", "--no-serve").stdout
        twice = dump(home)
        for command in readme_commands():
            headwater(home, *command)
        assert headwater(home, "graph", "check").stdout == ""
        as_an_older_headwater_left_it(home)
        refused = headwater(home, "demo", code=2).stderr
        headwater(home, "graph", "migrate", "--apply")
        assert headwater(home, "graph", "check").stdout == ""
    finally:
        headwater_stack.down(home)
    assert "headwater graph migrate --apply" in refused
    assert "PySpark job" not in refused
    shown = first.stdout
    assert re.search(
        r"http://127\.0\.0\.1:\d+/lineage\?kind=dataset&namespace=file&name=\S+revenue\.csv$", shown, re.MULTILINE
    )
    for name in ("orders.csv", "customers.csv", "enriched_orders", "publish_report", "revenue"):
        assert name in shown
    assert current(once) == current(twice)
    assert any(line["kind"] == "columnEdge" and line["to"][2] == "revenue" for line in once)
    jobs = [tuple(line["job"]) for line in once if line["kind"] == "run"]
    assert len(jobs) >= 4
    assert Counter(tuple(line["job"]) for line in twice if line["kind"] == "run") == Counter(jobs * 2)
