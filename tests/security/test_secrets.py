"""Planted secrets are searched for in everything that a complete run leaves behind."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest

from headwater_consumer.kafka.messages import messages_on

from .conftest import KAFKA_PASSWORD, NEO4J_PASSWORD, PATIENCE, Secured, Shell
from .secured_servers import free_ports
from .test_secured_servers import OVER_HTTP, post, until_listening

pytestmark = pytest.mark.end_to_end

HTTP_TOKEN = "http-5ecret-Wombat-0123456789"
IN_URL = "url-5ecret-Bilby"
IN_SQL = "sql-5ecret-Potoroo"
SECRETS = (KAFKA_PASSWORD, NEO4J_PASSWORD, HTTP_TOKEN, IN_URL, IN_SQL)

JOB = f"""
from headwater import lineage
with lineage.run("shop", "load") as run:
    run.reads("postgresql://reader:{IN_URL}@db.example.org:5432", "orders")
    run.writes("file", "/loaded.csv")
    run.add_job_facet("sql", {{"query": "CREATE USER x WITH PASSWORD '{IN_SQL}'"}})
"""


@contextmanager
def watched(found: set[str]) -> Iterator[None]:
    """Collect the command lines of all processes that run meanwhile."""
    ended = Event()

    def watch() -> None:
        while not ended.wait(1):
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    found.add(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
                except OSError:
                    continue  # it has ended

    watcher = Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def with_secrets(texts: dict[str, str]) -> list[tuple[str, str]]:
    """Return where which secret stands."""
    return [(place, secret) for place, text in texts.items() for secret in SECRETS if secret in text]


def files_below(folder: Path) -> dict[str, str]:
    return {str(path): path.read_bytes().decode("latin-1") for path in folder.rglob("*") if path.is_file()}


def shell_of(secured: Secured, topic: str, folder: Path) -> Shell:
    settings = {
        **secured.scram(),
        **secured.graph(),
        "HEADWATER_KAFKA_TOPIC": topic,
        "HEADWATER_WEB_TOKENS": json.dumps([HTTP_TOKEN]),
    }
    return Shell(settings, folder)


def test_no_secret_is_in_what_a_run_leaves_behind(secured: Secured, secured_topic: str, tmp_path: Path) -> None:
    shell = shell_of(secured, secured_topic, tmp_path)
    commands: set[str] = set()
    left: dict[str, str] = {}
    with watched(commands):
        for name, arguments in {
            "graph init": ("graph", "init"),
            "doctor": ("doctor",),
            "doctor as JSON": ("doctor", "--json"),
        }.items():
            left |= printed(name, shell.headwater(*arguments))
        # Its program comes from standard input: as an argument or a file it would be found itself.
        left |= printed("job", shell.python("-", given=JOB))
        (port,) = free_ports(1)
        server = shell.start("serve", "--port", str(port), log="serve.log")
        try:
            until_listening(tmp_path / "serve.log")
            assert post(port, OVER_HTTP, f"Bearer {HTTP_TOKEN}") == 201
            assert post(port, OVER_HTTP, f"Bearer {HTTP_TOKEN}-wrong") == 401
            consumed = shell.headwater("consume", "--available-now")
            assert consumed.returncode == 0, consumed.stderr
            left |= printed("consume", consumed)
        finally:
            server.terminate()
            server.wait(PATIENCE)
        left |= printed("dump", shell.headwater("graph", "dump"))
        left |= printed("page", shell.headwater("lineage", "upstream", "/loaded.csv", "--format", "json"))
    kafka = {"bootstrap.servers": secured.kafka.plain}
    events = [f"{one.key!r} {one.value!r} {one.headers}" for one in messages_on(kafka, secured_topic)]
    assert len(events) == 3
    left |= {f"event {number}": event for number, event in enumerate(events)}
    left |= {f"process {number}": command for number, command in enumerate(sorted(commands))}
    left |= files_below(tmp_path)
    # What is searched is really there: the run is in the graph, and its processes were seen.
    assert "postgresql://" in left["dump: stdout"]
    assert any("headwater_cli consume" in command for command in commands)
    assert '"who": "token 1"' in (tmp_path / "serve.log").read_text()
    assert with_secrets(left) == []


def test_no_secret_is_in_errors_and_the_spool(secured: Secured, tmp_path: Path) -> None:
    shell = shell_of(secured, "no-such-topic", tmp_path)
    wrong = {
        "HEADWATER_KAFKA_SASL_PASSWORD": KAFKA_PASSWORD + "x",
        "HEADWATER_NEO4J_PASSWORD": NEO4J_PASSWORD + "x",
        # A password in the wrong setting: errors name the setting, not its value.
        "HEADWATER_MAX_BATCH_BYTES": "",
        "HEADWATER_WEB_SESSION_HOURS": "",
    }
    refused = Shell(shell.settings | wrong, tmp_path)
    misplaced = Shell(
        shell.settings | {"HEADWATER_MAX_BATCH_BYTES": KAFKA_PASSWORD, "HEADWATER_WEB_SESSION_HOURS": HTTP_TOKEN},
        tmp_path,
    )
    left: dict[str, str] = {}
    for name, one in {"refused": refused, "misplaced": misplaced}.items():
        left |= printed(f"{name} job", one.python("-", given=JOB))
        for command in ("consume", "doctor", "serve"):
            done = one.headwater(command, *(("--host", "192.0.2.1") if command == "serve" else ()))
            assert done.returncode != 0, (name, command)
            left |= printed(f"{name} {command}", done)
    left |= files_below(tmp_path)
    assert any("spool" in place for place in left)
    assert with_secrets(left) == []


def printed(name: str, done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    return {f"{name}: stdout": done.stdout, f"{name}: stderr": done.stderr}
