"""Servers with TLS, certificates and accounts, for the session; and commands of headwater in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import headwater_stack

from .authority import Authority, made_authority
from .secured_servers import KafkaAddresses, secured_kafka, secured_neo4j

PATIENCE = 600
"""Seconds after which a command is taken for hung."""

KAFKA_USER = "lineage"
KAFKA_PASSWORD = "kafka-5ecret-Quokka"
NEO4J_PASSWORD = "neo4j-5ecret-Numbat"


@dataclass(frozen=True, slots=True)
class Secured:
    """A Kafka and a Neo4j with TLS; certificates of ``authority`` are trusted, those of ``stranger`` are not."""

    kafka: KafkaAddresses
    neo4j: str
    authority: Authority
    stranger: Authority

    def scram(self) -> dict[str, str]:
        """Return the settings for Kafka by SASL_SSL."""
        return {
            "HEADWATER_KAFKA_BOOTSTRAP_SERVERS": self.kafka.scram,
            "HEADWATER_KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
            "HEADWATER_KAFKA_SASL_MECHANISM": "SCRAM-SHA-512",
            "HEADWATER_KAFKA_SASL_USERNAME": KAFKA_USER,
            "HEADWATER_KAFKA_SASL_PASSWORD": KAFKA_PASSWORD,
            "HEADWATER_KAFKA_SSL_CA": str(self.authority.certificate),
        }

    def mutual(self) -> dict[str, str]:
        """Return the settings for Kafka by mutual TLS."""
        return {
            "HEADWATER_KAFKA_BOOTSTRAP_SERVERS": self.kafka.mutual,
            "HEADWATER_KAFKA_SECURITY_PROTOCOL": "SSL",
            "HEADWATER_KAFKA_SSL_CA": str(self.authority.certificate),
            "HEADWATER_KAFKA_SSL_KEYSTORE": str(self.authority.sign("client")),
        }

    def graph(self) -> dict[str, str]:
        """Return the settings for Neo4j."""
        return {
            "HEADWATER_NEO4J_URI": f"bolt+s://{self.neo4j}",
            "HEADWATER_NEO4J_PASSWORD": NEO4J_PASSWORD,
            "HEADWATER_NEO4J_CA": str(self.authority.certificate),
        }


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("secured")
    authority, stranger = made_authority(folder / "authority"), made_authority(folder / "stranger")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWATER_KAFKA_HEAP", "256m")
        patch.setenv("HEADWATER_NEO4J_HEAP", "512m")
        patch.setenv("HEADWATER_NEO4J_PAGECACHE", "64m")
        with (
            secured_kafka(folder, authority, (KAFKA_USER, KAFKA_PASSWORD)) as kafka,
            secured_neo4j(folder, authority, NEO4J_PASSWORD) as neo4j,
        ):
            yield Secured(kafka, neo4j, authority, stranger)


@pytest.fixture
def secured_topic(secured: Secured) -> str:
    name = f"secured-{uuid.uuid4()}"
    headwater_stack.make_topics(secured.kafka.plain, {name: 2, f"{name}.dead": 1})
    return name


@dataclass(frozen=True, slots=True)
class Shell:
    """Runs commands in an environment that has the given settings only; ``folder`` has everything that they leave."""

    settings: dict[str, str]
    folder: Path

    def environment(self) -> dict[str, str]:
        others = {
            name: value for name, value in os.environ.items() if not name.startswith(("HEADWATER_", "OPENLINEAGE"))
        }
        others |= {name: os.environ[name] for name in ("HEADWATER_CACHE",) if name in os.environ}
        own = {
            "HEADWATER_HOME": str(self.folder / "home"),
            "HEADWATER_CHECKPOINT": str(self.folder / "checkpoint"),
            "HEADWATER_SPARK_MASTER": "local[2]",
            "HEADWATER_SPARK_DRIVER_MEMORY": "600m",
            "JAVA_HOME": str(headwater_stack.spark_java_home()),
        }
        return others | own | self.settings

    def headwater(self, *arguments: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command of headwater to its end."""
        return self.python("-m", "headwater_cli", *arguments, given=given)

    def python(self, *arguments: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run Python to its end."""
        return subprocess.run(
            [sys.executable, *arguments],
            env=self.environment(),
            cwd=self.folder,
            input=given,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def start(self, *arguments: str, log: str) -> subprocess.Popen[bytes]:
        """Start a command of headwater in the background; its output goes to a file of ``folder``."""
        with (self.folder / log).open("ab") as output:
            command = [sys.executable, "-m", "headwater_cli", *arguments]
            return subprocess.Popen(command, env=self.environment(), cwd=self.folder, stdout=output, stderr=output)
