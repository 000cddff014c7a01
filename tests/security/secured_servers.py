"""A Kafka with SASL_SSL and mutual TLS, and a Neo4j that requires TLS: those of the local stack with other settings."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import admin as kafka_admin
from neo4j import GraphDatabase
from neo4j.exceptions import DriverError, Neo4jError

from headwater_stack import fetch
from headwater_stack.kafka_broker import KafkaBroker, admin
from headwater_stack.neo4j_server import USER, Neo4jServer
from headwater_stack.server import LOOPBACK, Place, is_open

from ..servers import broker_of_its_own
from .authority import Authority

_START_TIMEOUT = 180.0
_MECHANISM = "SCRAM-SHA-512"
_PEM = """\
ssl.keystore.type=PEM
ssl.keystore.location={keystore}
ssl.truststore.type=PEM
ssl.truststore.location={authority}
listener.name.ssl.ssl.client.auth=required
sasl.enabled.mechanisms=SCRAM-SHA-512
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
"""


@dataclass(frozen=True, slots=True)
class SecuredKafka(KafkaBroker):
    """Start the stack's Kafka with two more listeners; the plain one remains, for the tests alone."""

    authority: Authority
    scram_port: int
    mutual_port: int

    def install(self, place: Place, jars: Sequence[Path]) -> None:
        KafkaBroker.install(self, place, jars)
        file = place.folder / "server.properties"
        more = f",SASL_SSL://{LOOPBACK}:{self.scram_port},SSL://{LOOPBACK}:{self.mutual_port}"
        listeners = [line + more if "listeners=PLAINTEXT" in line else line for line in file.read_text().splitlines()]
        settings = "\n".join(listeners).replace("PLAINTEXT:PLAINTEXT", "PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,SSL:SSL")
        pem = _PEM.format(keystore=self.authority.sign("broker"), authority=self.authority.certificate)
        file.write_text(f"{settings}\n{pem}")


@dataclass(frozen=True, slots=True)
class KafkaAddresses:
    """The addresses of a secured Kafka: ``plain`` is for the tests alone."""

    plain: str
    scram: str
    mutual: str


@contextmanager
def secured_kafka(folder: Path, authority: Authority, account: tuple[str, str]) -> Iterator[KafkaAddresses]:
    """Run a Kafka with a SCRAM account; its certificate and those of its clients are signed by ``authority``."""
    plain, controller, scram, mutual = free_ports(4)
    broker = SecuredKafka(authority, scram, mutual)
    with broker_of_its_own(broker, folder, (plain, controller)) as address:
        _add_account(address, *account)
        yield KafkaAddresses(address, f"{LOOPBACK}:{scram}", f"{LOOPBACK}:{mutual}")


def _add_account(address: str, user: str, password: str) -> None:
    kafka: Any = kafka_admin
    kind = kafka.ScramCredentialInfo(kafka.ScramMechanism.SCRAM_SHA_512, 4096)
    client = admin(address)
    wanted = [kafka.UserScramCredentialUpsertion(user, kind, password=password.encode())]
    for made in client.alter_user_scram_credentials(wanted).values():
        made.result()


_BOLT = """\
server.bolt.tls_level=REQUIRED
dbms.ssl.policy.bolt.enabled=true
dbms.ssl.policy.bolt.base_directory={folder}
dbms.ssl.policy.bolt.private_key=private.key
dbms.ssl.policy.bolt.public_certificate=public.crt
dbms.ssl.policy.bolt.client_auth=NONE
"""


@dataclass(frozen=True, slots=True)
class SecuredNeo4j(Neo4jServer):
    """Start the stack's Neo4j with TLS only."""

    authority: Authority

    def install(self, place: Place, jars: Sequence[Path]) -> None:
        Neo4jServer.install(self, place, jars)
        folder = place.folder / "certificates"
        folder.mkdir()
        self.authority.sign("neo4j")
        shutil.copy(self.authority.folder / "neo4j.key", folder / "private.key")
        shutil.copy(self.authority.folder / "neo4j.crt", folder / "public.crt")
        with (place.folder / "conf" / "neo4j.conf").open("a") as settings:
            settings.write(_BOLT.format(folder=folder))

    def answers(self, place: Place) -> bool:
        if not is_open(place.ports[0]):
            return False
        try:
            with GraphDatabase.driver(f"bolt+ssc://{place.address}", auth=(USER, place.password)) as driver:
                driver.execute_query("RETURN 1")
        except (DriverError, Neo4jError):
            return False
        return True


@contextmanager
def secured_neo4j(folder: Path, authority: Authority, password: str) -> Iterator[str]:
    """Run a Neo4j that requires TLS; yield its host and port."""
    server = SecuredNeo4j(authority)
    place, log = Place(folder / "neo4j", free_ports(1), password), folder / "neo4j.log"
    jars = fetch(server.groups)
    server.install(place, jars)
    command = server.command(place, jars)
    with log.open("w") as output, subprocess.Popen(command, stdout=output, stderr=output, env=os.environ) as running:
        try:
            deadline = time.monotonic() + _START_TIMEOUT
            while not server.answers(place):
                assert running.poll() is None, log.read_text()[-2000:]
                assert time.monotonic() < deadline, log.read_text()[-2000:]
                time.sleep(0.2)
            yield place.address
        finally:
            running.kill()


def free_ports(count: int) -> tuple[int, ...]:
    """Return ports of the loopback address on which nobody listens."""
    sockets = [socket.create_server((LOOPBACK, 0)) for _ in range(count)]
    ports = tuple(int(held.getsockname()[1]) for held in sockets)
    for held in sockets:
        held.close()
    return ports
