"""A broker with access control: refused events are stored, and sent once writing is allowed."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import admin as kafka_admin

from headwater_stack import make_topics
from headwater_stack.kafka_broker import KafkaBroker
from headwater_stack.server import Place

from ..servers import broker_of_its_own
from .conftest import MakeTransport
from .events import arrived, emit_slowest, eventually

TOPIC = "guarded"
acl: Any = kafka_admin
DENIAL = (
    acl.ResourceType.TOPIC,
    TOPIC,
    acl.ResourcePatternType.LITERAL,
    "User:ANONYMOUS",
    "*",
    acl.AclOperation.WRITE,
    acl.AclPermissionType.DENY,
)


@dataclass(frozen=True, slots=True)
class GuardedKafka(KafkaBroker):
    """Start the stack's Kafka with an authorizer; everything is allowed that no rule forbids."""

    def install(self, place: Place, jars: Sequence[Path]) -> None:
        KafkaBroker.install(self, place, jars)
        with (place.folder / "server.properties").open("a") as settings:
            settings.write("authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n")
            settings.write("allow.everyone.if.no.acl.found=true\n")


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[str]:
    with broker_of_its_own(GuardedKafka(), tmp_path, free_ports(2)) as address:
        make_topics(address, {TOPIC: 1})
        yield address


def free_ports(count: int) -> tuple[int, ...]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = tuple(int(held.getsockname()[1]) for held in sockets)
    for held in sockets:
        held.close()
    return ports


def test_writing_that_is_forbidden(guarded: str, make_transport: MakeTransport) -> None:
    admin = acl.AdminClient({"bootstrap.servers": guarded})
    (made,) = admin.create_acls([acl.AclBinding(*DENIAL)]).values()
    made.result()
    transport = make_transport(
        bootstrap_servers=guarded, topic=TOPIC, delivery_timeout=2.0, replay_interval=0.5, running_interval=0.0
    )
    assert emit_slowest(transport, 30) < 2.0
    assert eventually(lambda: transport.counters().spooled == 30)
    (deleted,) = admin.delete_acls([acl.AclBindingFilter(*DENIAL)]).values()
    deleted.result()
    assert eventually(lambda: transport.counters().replayed == 30, 30)
    assert len(arrived(guarded, TOPIC, 30)) == 30
