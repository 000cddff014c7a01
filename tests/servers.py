"""Real Kafka and real Neo4j for tests.

``servers`` uses the first of these that is available:

1. addresses from the environment: HEADWATER_TEST_KAFKA and HEADWATER_TEST_NEO4J_URI (with _USER and _PASSWORD);
2. testcontainers, if the package is installed, Docker answers and both images exist locally;
3. the local stack, in its own home, which is stopped and deleted with the session.

Import both fixtures in a conftest: ``from .servers import servers, topic``.
"""

from __future__ import annotations

import os
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import headwater_stack
from headwater_stack.kafka_broker import KafkaBroker, admin
from headwater_stack.server import Place

KAFKA_IMAGE = "confluentinc/cp-kafka:7.6.0"
NEO4J_IMAGE = "neo4j:2026.08.1"
_PARTITIONS = 4
_START_TIMEOUT = 120.0
"""Timeout in seconds for the start of a broker."""


@dataclass(frozen=True, slots=True)
class Servers:
    """The addresses of the servers of this test session; ``origin`` says where they run."""

    kafka_bootstrap_servers: str
    neo4j_uri: str
    neo4j_user: str
    neo4j_password: str = field(repr=False)
    origin: str


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """Real servers for the whole session: use your own ``topic``, and clean the graph before use."""
    with ExitStack() as exits:
        if (given := _from_environment()) is not None:
            yield given
        elif _containers_are_possible():
            yield exits.enter_context(_in_containers())
        else:
            yield exits.enter_context(_local(tmp_path_factory.mktemp("stack")))


@pytest.fixture
def topic(servers: Servers) -> Iterator[str]:
    """A new topic of four partitions; its dead letters are sent to ``<topic>.dead``, which exists too."""
    name = f"test-{uuid.uuid4()}"
    names = {name: _PARTITIONS, f"{name}.dead": 1}
    headwater_stack.make_topics(servers.kafka_bootstrap_servers, names)
    yield name
    client = admin(servers.kafka_bootstrap_servers)
    for deleted in client.delete_topics(list(names)).values():
        deleted.result()


@contextmanager
def broker_of_its_own(kafka: KafkaBroker, folder: Path, ports: tuple[int, ...]) -> Iterator[str]:
    """Run a Kafka that differs from the session's in its settings or its port; yield its address."""
    place, log = Place(folder / "kafka", ports, ""), folder / "kafka.log"
    jars = headwater_stack.fetch(kafka.groups)
    kafka.install(place, jars)
    with log.open("w") as output, subprocess.Popen(kafka.command(place, jars), stdout=output, stderr=output) as running:
        try:
            deadline = time.monotonic() + _START_TIMEOUT
            while not kafka.answers(place):
                assert time.monotonic() < deadline, log.read_text()[-2000:]
                time.sleep(0.2)
            yield place.address
        finally:
            running.kill()


def _from_environment() -> Servers | None:
    kafka, uri = os.environ.get("HEADWATER_TEST_KAFKA"), os.environ.get("HEADWATER_TEST_NEO4J_URI")
    if not kafka or not uri:
        return None
    user = os.environ.get("HEADWATER_TEST_NEO4J_USER", "neo4j")
    return Servers(kafka, uri, user, os.environ.get("HEADWATER_TEST_NEO4J_PASSWORD", ""), "environment")


def _containers_are_possible() -> bool:
    if find_spec("testcontainers") is None:
        return False
    command = ["docker", "image", "inspect", KAFKA_IMAGE, NEO4J_IMAGE]
    try:
        return subprocess.run(command, capture_output=True, timeout=20, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


@contextmanager
def _in_containers() -> Iterator[Servers]:
    # Not a dependency: only users who prefer containers install it.
    make_kafka = import_module("testcontainers.community.kafka").KafkaContainer
    make_neo4j = import_module("testcontainers.community.neo4j").Neo4jContainer
    password = uuid.uuid4().hex
    with make_kafka(KAFKA_IMAGE).with_kraft() as kafka, make_neo4j(NEO4J_IMAGE, password=password) as neo4j:
        yield Servers(
            kafka.get_bootstrap_server(), neo4j.get_connection_url(), "neo4j", password, f"containers of {NEO4J_IMAGE}"
        )


@contextmanager
def _local(home: Path) -> Iterator[Servers]:
    try:
        found = headwater_stack.up(home)
        yield Servers(
            found.kafka_bootstrap_servers, found.neo4j_uri, found.neo4j_user, found.neo4j_password, f"stack in {home}"
        )
    finally:
        headwater_stack.down(home)
