"""`headwater up | down | status` print what is, and exit 0 when the stack is up and 1 when it is not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import headwater_stack
from headwater_cli.stack import down, status, up
from headwater_stack.local import Stack
from headwater_stack.progress import SILENT

from .fake_server import FakeServer, fake_stack


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home whose servers are fakes; the schema of the graph is made by nobody."""
    monkeypatch.setattr(
        headwater_stack,
        "Stack",
        lambda home: Stack(home, (FakeServer("kafka"), FakeServer("neo4j")), topics=lambda _: None),
    )
    monkeypatch.setattr("headwater_cli.stack.make_schema", made_for.append)
    yield tmp_path
    made_for.clear()
    fake_stack(tmp_path).down(SILENT)


made_for: list[headwater_stack.Addresses] = []
"""For which addresses the graph's schema was asked for."""


def run(command: object, *arguments: object) -> Result:
    return CliRunner().invoke(command, [str(word) for word in arguments], standalone_mode=False)  # type: ignore[arg-type]


def test_up_prints_the_addresses_and_where_the_password_is(home: Path) -> None:
    shown = run(up, "--home", home)
    known = headwater_stack.addresses(home)
    assert known is not None
    assert shown.stdout.splitlines() == [
        f"Kafka  {known.kafka_bootstrap_servers}",
        f"Neo4j  {known.neo4j_uri}  user neo4j, password in {home}/stack/neo4j-password",
    ]
    assert "Fake kafka answers after" in shown.stderr
    assert made_for == [known]


def test_up_as_json_is_one_object_without_the_password(home: Path) -> None:
    shown = run(up, "--home", home, "--json").stdout
    known = headwater_stack.addresses(home)
    assert known is not None
    assert json.loads(shown)["neo4j_uri"] == known.neo4j_uri
    assert known.neo4j_password not in shown


def test_up_takes_ports_and_reset(home: Path) -> None:
    run(up, "--home", home)
    (home / "stack" / "kafka" / "data").write_text("events")
    first = headwater_stack.addresses(home)
    assert first is not None
    port = int(first.neo4j_uri.rpartition(":")[2])
    assert run(up, "--home", home, "--neo4j-port", port, "--reset").exception is None
    assert not (home / "stack" / "kafka" / "data").exists()


def test_status_is_printed_and_is_the_exit_code(home: Path) -> None:
    before = run(status, "--home", home)
    assert before.return_value == 1
    assert before.stdout.splitlines()[0] == "Fake kafka  is not running: `headwater up` starts it"
    run(up, "--home", home)
    after = run(status, "--home", home)
    assert after.return_value == 0
    assert "answers at 127.0.0.1:" in after.stdout
    shown = json.loads(run(status, "--home", home, "--json").stdout)
    assert shown["up"] is True
    assert [server["name"] for server in shown["servers"]] == ["kafka", "neo4j"]


def test_down_says_what_it_did(home: Path) -> None:
    assert run(down, "--home", home).stdout == "nothing was running\n"
    run(up, "--home", home)
    assert run(down, "--home", home).stdout == "stopped\n"
    assert json.loads(run(down, "--home", home, "--json").stdout) == {"stopped": False}


def test_the_home_comes_from_the_environment(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_HOME", str(home))
    assert json.loads(run(status, "--json").stdout)["home"] == str(home)
    monkeypatch.delenv("HEADWATER_HOME")
    monkeypatch.setenv("HOME", "/home/someone")
    assert headwater_stack.default_home() == Path("/home/someone/.local/share/headwater")
