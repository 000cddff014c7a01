"""Messages as large as a broker takes by default (100 MB a request): the stream goes on and nothing is lost."""

from __future__ import annotations

import base64
import json
import random

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from headwater_consumer.kafka.brokers import prepare_topics

from .kafka_room import Room, run_event

HUNDRED_MEGABYTES = 100_000_000
ROOM_FOR_HEADERS = 1_000_000


def enlarged(room: Room) -> None:
    """Let the topic take messages of 100 MB; its dead letters follow, as at every start of the consumer."""
    largest = ConfigEntry(
        "max.message.bytes", str(HUNDRED_MEGABYTES + ROOM_FOR_HEADERS), incremental_operation=AlterConfigOpType.SET
    )
    resource = ConfigResource(ResourceType.TOPIC, room.topic, incremental_configs=[largest])
    admin = AdminClient(room.client)
    admin.incremental_alter_configs([resource])[resource].result()
    prepare_topics(room.client, room.topic, f"{room.topic}.dead")


@pytest.mark.end_to_end
@pytest.mark.chaos
def test_messages_of_100_megabytes_are_merged_or_dead_lettered_like_others(room: Room) -> None:
    enlarged(room)
    noise = random.Random(7).randbytes(HUNDRED_MEGABYTES - 1_000)
    bad = b"{bad" + noise
    good = run_event("huge", producer=base64.b64encode(noise[: HUNDRED_MEGABYTES * 3 // 4 - 1_000]).decode())
    assert len(json.dumps(good)) > 0.99 * HUNDRED_MEGABYTES
    room.send([run_event("before"), bad, good, run_event("after")], partition=0)
    room.consume()
    assert room.writer.runs == {"before", "huge", "after"}
    (letter,) = room.letters()
    assert letter.code == "not_decodable"
    assert letter.message.value == bad
