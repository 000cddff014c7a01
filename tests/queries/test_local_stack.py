"""Commands find the Neo4j of a local stack, whatever is set for Kafka."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import neo4j
import pytest

from headwater_stack.home import Home, Running
from headwater_stack.process import spawn, stop

from ..servers import Servers
from .graph_maker import GraphMaker


@pytest.fixture
def stack_home(tmp_path: Path, servers: Servers) -> Iterator[Path]:
    """The home of a stack whose Neo4j is that of the tests; a process that sleeps is in the place of both servers."""
    home, port = Home.at(tmp_path), urlsplit(servers.neo4j_uri).port
    assert port is not None
    process = spawn([sys.executable, "-c", "import time; time.sleep(600)"], tmp_path / "log", os.environ)
    try:
        home.write_state({"kafka": Running((1, 2), process), "neo4j": Running((port,), process)})
        home.password_file.write_text(servers.neo4j_password, encoding="ascii")
        yield tmp_path
    finally:
        stop([process], 10)


@pytest.mark.parametrize("command", [("lineage", "upstream"), ("dataset", "show"), ("dataset", "versions")])
def test_questions_find_the_neo4j_of_the_local_stack_if_only_kafka_is_set(
    command: tuple[str, ...], stack_home: Path, maker: GraphMaker, driver: neo4j.Driver
) -> None:
    maker.run("load", ["raw"], ["table"], hour=1)
    maker.store(driver)
    others = {name: value for name, value in os.environ.items() if not name.startswith("HEADWATER_")}
    done = subprocess.run(
        [sys.executable, "-m", "headwater_cli", *command, maker.namespace, "table"],
        env=others | {"HEADWATER_HOME": str(stack_home), "HEADWATER_KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1"},
        cwd=stack_home,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{maker.namespace} load" in done.stdout
