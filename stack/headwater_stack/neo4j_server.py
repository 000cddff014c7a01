"""Neo4j community edition, with Bolt as its only connector."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from headwater_avro.errors import ConfigError

from .files import replace_text
from .java import Program, machine_memory
from .server import LOOPBACK, Place, is_open, run_tool

USER = "neo4j"
_ANSWER = 5.0

_SETTINGS = """\
server.default_listen_address={host}
server.bolt.enabled=true
server.bolt.listen_address={host}:{port}
server.bolt.advertised_address={host}:{port}
server.http.enabled=false
server.https.enabled=false
server.memory.pagecache.size={page_cache}
db.memory.transaction.max={transaction}
db.tx_log.preallocate=false
db.tx_log.rotation.retention_policy=128M size
db.tx_log.rotation.size=32M
dbms.usage_report.enabled=false
client.allow_telemetry=false
dbms.security.allow_csv_import_from_file_urls=false
server.fleet_discovery.enabled=false
internal.dbms.bolt.netty_server_shutdown_quiet_period_duration=0s
"""

_OPENED = ("java.nio", "java.io", "sun.nio.ch", "java.util.concurrent")
_FLAGS = (
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED),
    "--enable-native-access=ALL-UNNAMED",
    "--sun-misc-unsafe-memory-access=allow",
    "-Dlog4j2.disable.jmx=true",
    "-Djava.awt.headless=true",
    "-Dfile.encoding=UTF-8",
    "-Dio.netty.tryReflectionSetAccessible=true",
    # Measured under load on two cores: G1's concurrent threads take more than half as much CPU as the queries.
    "-XX:+UseParallelGC",
    # The objects of a transaction live until it ends. With a young generation of a third of the heap they are copied
    # repeatedly and then moved to the old one: garbage collection takes a fifth of the time of a large transaction.
    "-XX:NewRatio=1",
    # In the first minutes the optimising compiler takes as much CPU as all queries. Less inlining halves that, and the
    # queries are as fast afterwards.
    "-XX:MaxInlineLevel=7",
    "-XX:FreqInlineSize=120",
    "-XX:InlineSmallCode=1200",
)


class Neo4jServer:
    """The Neo4j of a stack; HEADWATER_NEO4J_HEAP (``usual_heap``) and HEADWATER_NEO4J_PAGECACHE (256m) set its memory."""

    name = "neo4j"
    title = "Neo4j"
    groups = ("neo4j",)
    port_count = 1

    def install(self, place: Place, jars: Sequence[Path]) -> None:
        (place.folder / "conf").mkdir(parents=True, exist_ok=True)
        page_cache = os.environ.get("HEADWATER_NEO4J_PAGECACHE") or "256m"
        transaction = transaction_memory(_heap())
        text = _SETTINGS.format(host=LOOPBACK, port=place.ports[0], page_cache=page_cache, transaction=transaction)
        replace_text(place.folder / "conf" / "neo4j.conf", text)
        if not (place.folder / "data" / "dbms" / "auth.ini").exists():
            self._set_password(place, jars)

    def command(self, place: Place, jars: Sequence[Path]) -> Sequence[str]:
        heap = _heap()
        arguments = [f"--home-dir={place.folder}", f"--config-dir={place.folder / 'conf'}", "--console-mode"]
        program = Program("org.neo4j.server.Neo4jCommunity", jars, arguments, _FLAGS, heap)
        return program.command(place.folder / "java.args")

    def answers(self, place: Place) -> bool:
        if not is_open(place.ports[0]):
            return False
        import neo4j  # its import takes a quarter of a second
        from neo4j.exceptions import AuthError, DriverError, Neo4jError

        auth = (USER, place.password)
        try:
            with neo4j.GraphDatabase.driver(uri(place), auth=auth, connection_timeout=_ANSWER) as driver:
                driver.execute_query("RETURN 1")
        except AuthError as refused:
            message = f"Neo4j at {place.address} refuses the password of this home: `headwater up --reset` starts without data"
            raise ConfigError(message) from refused
        except (DriverError, Neo4jError):
            return False
        return True

    def _set_password(self, place: Place, jars: Sequence[Path]) -> None:
        # In a file with the tool's arguments, so that lists of processes do not show it.
        secret = place.folder / "initial-password"
        replace_text(secret, place.password)
        arguments = ["dbms", "set-initial-password", f"@{secret}"]
        command = Program("org.neo4j.cli.AdminTool", jars, arguments, _FLAGS).command(place.folder / "password.args")
        environment = {**os.environ, "NEO4J_HOME": str(place.folder), "NEO4J_CONF": str(place.folder / "conf")}
        try:
            run_tool(self.title, command, place.folder / "password.log", environment)
        finally:
            secret.unlink()


def _heap() -> str:
    return os.environ.get("HEADWATER_NEO4J_HEAP") or usual_heap(machine_memory())


def transaction_memory(heap: str) -> str:
    """Return how much of a heap one transaction may use: 60 %, so that one free query cannot take it from all others.

    Neo4j refuses what is more, and the consumer then writes smaller portions. "0" (no limit) for a heap in an unknown form.
    """
    size = re.fullmatch(r"([0-9]+)([kmg]?)", heap.strip().lower())
    if size is None:
        return "0"
    return f"{int(size[1]) * {'': 1, 'k': 1 << 10, 'm': 1 << 20, 'g': 1 << 30}[size[2]] * 6 // 10 >> 10}k"


def usual_heap(memory: int) -> str:
    """Return the heap for a machine with ``memory`` bytes: a sixth, at least 2 GB for large transactions, at most 4 GB."""
    return f"{min(max(memory // 6, 2 << 30), 4 << 30) >> 20}m"


def uri(place: Place) -> str:
    """Return the Bolt address of a server."""
    return f"bolt://{place.address}"
