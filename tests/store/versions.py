"""The graph on another Neo4j, such as a long-term release: ``python -m tests.store.versions 5.26.25 [pytest's arguments]``.

Resolves that version, starts it, and has every test of the graph run against it that
needs no Kafka: the statements and their plans, the store, the rules, the queries.
"""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headwater_stack.fetch import cache_folder
from headwater_stack.java import Program
from headwater_stack.neo4j_server import USER, Neo4jServer, uri
from headwater_stack.resolve import jars_of
from headwater_stack.server import Place

TESTS = (
    "tests/store",
    "tests/laws/test_neo4j.py",
    "tests/golden",
    "tests/apply",
    "tests/audit",
    "tests/retention",
    "tests/queries",
    # No Kafka runs beside this Neo4j.
    "--deselect=tests/queries/test_commands.py::test_a_job_is_retired_by_an_event",
    "--deselect=tests/queries/test_commands.py::test_dead_letters_are_counted_by_reason_each_once",
)
SETTINGS = """\
server.bolt.listen_address={address}
server.bolt.advertised_address={address}
server.http.enabled=false
server.memory.pagecache.size=256m
dbms.usage_report.enabled=false
dbms.security.auth_enabled=true
"""
OPENED = tuple(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in ("java.nio", "java.io", "sun.nio.ch"))
STARTED = 120.0
"""Seconds that the server may take to start."""


@contextmanager
def started(version: str, folder: Path) -> Iterator[Place]:
    """Run a Neo4j of this version."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        place = Place(folder, (free.getsockname()[1],), secrets.token_urlsafe(16))
    jars = jars_of(f"org.neo4j:neo4j:{version}!", cache_folder() / "resolved")
    (folder / "conf").mkdir()
    (folder / "conf" / "neo4j.conf").write_text(SETTINGS.format(address=place.address))
    environ = os.environ | {"NEO4J_HOME": str(folder), "NEO4J_CONF": str(folder / "conf")}
    (folder / "secret").write_text(place.password)
    admin = Program("org.neo4j.cli.AdminTool", jars, ["dbms", "set-initial-password", f"@{folder / 'secret'}"], OPENED)
    subprocess.run(admin.command(folder / "admin.args"), env=environ, check=True, stdout=subprocess.DEVNULL)
    where = [f"--home-dir={folder}", f"--config-dir={folder / 'conf'}", "--console-mode"]
    server = Program("org.neo4j.server.CommunityEntryPoint", jars, where, OPENED, heap="2g")
    log = folder / "log"
    with (
        log.open("w") as output,
        subprocess.Popen(server.command(folder / "java.args"), stdout=output, stderr=output) as running,
    ):
        try:
            until = time.monotonic() + STARTED
            while not Neo4jServer().answers(place):
                if running.poll() is not None or time.monotonic() > until:
                    raise SystemExit(f"Neo4j {version} does not start:\n{log.read_text()[-4000:]}")
                time.sleep(0.5)
            yield place
        finally:
            running.terminate()


def main() -> None:
    if len(sys.argv) == 1:
        raise SystemExit("which version? For instance: make test-neo4j VERSION=5.26.25")
    version, *arguments = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder, started(version, Path(folder)) as place:
        environ = os.environ | {
            "HEADWATER_TEST_KAFKA": "127.0.0.1:1",
            "HEADWATER_TEST_NEO4J_URI": uri(place),
            "HEADWATER_TEST_NEO4J_USER": USER,
            "HEADWATER_TEST_NEO4J_PASSWORD": place.password,
        }
        done = subprocess.run([sys.executable, "-m", "pytest", *(arguments or TESTS)], env=environ, check=False)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
