"""The local stack: real Apache Kafka and real Neo4j as child processes, without Docker, Maven or an installed Java.

::

    addresses = up(default_home())      # starts the servers; a second call returns the same addresses
    addresses(default_home())           # does not connect to the servers; None if they do not run
    status(default_home()).is_up        # connects to the servers
    down(default_home())

Environment: HEADWATER_HOME, HEADWATER_CACHE (jars, shared by all homes), HEADWATER_MAVEN_REPOSITORY (a mirror),
HEADWATER_KAFKA_HEAP (512m), HEADWATER_NEO4J_HEAP (a sixth of the memory: 2g to 4g), HEADWATER_NEO4J_PAGECACHE (256m).
"""

from __future__ import annotations

from pathlib import Path

from .fetch import cache_folder, fetch
from .home import Home, default_home
from .java import spark_java_home
from .kafka_broker import DEAD_LETTER_BYTES, LINEAGE_TOPICS, SOURCE_BYTES, make_topics
from .local import Addresses, Prepare, ServerStatus, Stack, Status
from .progress import SILENT, Progress, progress_on

__all__ = [
    "DEAD_LETTER_BYTES",
    "LINEAGE_TOPICS",
    "SILENT",
    "SOURCE_BYTES",
    "Addresses",
    "Prepare",
    "Progress",
    "ServerStatus",
    "Status",
    "addresses",
    "cache_folder",
    "default_home",
    "down",
    "fetch",
    "make_topics",
    "progress_on",
    "spark_java_home",
    "status",
    "up",
]


def up(
    home: Path,
    *,
    kafka_port: int | None = None,
    neo4j_port: int | None = None,
    reset: bool = False,
    progress: Progress = SILENT,
    prepare: Prepare | None = None,
) -> Addresses:
    """Start the servers of ``home`` that do not run, wait until both respond, create the topics, and return the addresses.

    Ports that are not given are those of the last start, or free ones. ``reset`` stops the servers and deletes their data first.
    ``prepare`` is called once for the data of a home, after the topics are created.
    Raises ConfigError (a port is in use, or the disk can't be written) or ServerUnavailable (no jars, or a server fails).
    """
    wanted = {"kafka": kafka_port, "neo4j": neo4j_port}
    return Stack(Home.at(home)).up(wanted, reset, progress, prepare)


def down(home: Path, *, progress: Progress = SILENT) -> bool:
    """Stop the servers of ``home`` and return whether any ran; their data stay."""
    return Stack(Home.at(home)).down(progress)


def status(home: Path) -> Status:
    """Return which servers of ``home`` run and respond."""
    return Stack(Home.at(home)).status()


def addresses(home: Path) -> Addresses | None:
    """Return the addresses of the servers of ``home`` if both processes run, else None; does not connect to them."""
    return Stack(Home.at(home)).addresses()
