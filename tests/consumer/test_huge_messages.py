"""Messages as large as a broker takes by default (100 MB a request), and many of what topics take by default.

The stream goes on and nothing is lost, however many messages a batch may have. Every test has consumers in processes of their
own: where one runs out of memory, no other test does.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from headwater_consumer.kafka.brokers import prepare_topics

from ..servers import Servers
from .kafka_room import Room, run_event
from .test_stopping import consumer

pytestmark = [pytest.mark.end_to_end, pytest.mark.chaos]

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


@pytest.fixture
def room(servers: Servers, topic: str, tmp_path: Path) -> Room:
    return Room(servers.kafka_bootstrap_servers, topic, tmp_path)


def consumed(room: Room, starts: int, heap: str = "1g") -> list[str]:
    """Return what consumers write, started again at most ``starts`` times in all after running out of memory."""
    reasons: list[str] = []
    for _ in range(starts):
        with consumer(room, 0, "--available-now", spark_driver_memory=heap, home=room.folder / "home") as process:
            _, stderr = process.popen.communicate(timeout=900)
        assert "Traceback" not in stderr
        if process.popen.returncode == 0:
            return process.lines()
        reasons.append(stderr.splitlines()[-1])
        assert "ran out of memory" in reasons[-1]
    raise AssertionError(reasons)


def runs_in(lines: list[str]) -> list[str]:
    return sorted(line.removeprefix("run ") for line in lines if line.startswith("run "))


def test_messages_of_100_megabytes_are_merged_or_dead_lettered_like_others(room: Room) -> None:
    enlarged(room)
    noise = random.Random(7).randbytes(HUNDRED_MEGABYTES - 1_000)
    bad = b"{bad" + noise
    good = run_event("huge", producer=base64.b64encode(noise[: HUNDRED_MEGABYTES * 3 // 4 - 1_000]).decode())
    assert len(json.dumps(good)) > 0.99 * HUNDRED_MEGABYTES
    room.send([run_event("before"), bad, good, run_event("after")], partition=0)
    assert set(runs_in(consumed(room, starts=2))) == {"before", "huge", "after"}
    (letter,) = room.letters()
    assert letter.code == "not_decodable"
    assert letter.message.value == bad


@pytest.mark.parametrize(("count", "size"), [(3_000, 870_000), (20_000, 60_000), (30_000, 20_000)])
def test_a_batch_of_many_gigabytes_is_read_with_the_default_heap(room: Room, count: int, size: int) -> None:
    dice = random.Random(3)

    def messages() -> Iterator[dict[str, object]]:
        for number in range(count):
            yield run_event(f"r{number}", producer=base64.b64encode(dice.randbytes(size * 3 // 4)).decode())

    room.send(messages())
    lines = consumed(room, starts=1)
    assert runs_in(lines) == sorted(f"r{number}" for number in range(count))
    assert len([line for line in lines if line.startswith("end ")]) >= count * size // 100_000_000


@pytest.mark.parametrize(("megabytes", "heap"), [(60, "700m"), (96, "480m")])
def test_messages_too_large_for_the_heap_get_through_at_the_start_after_java_ran_out_of_memory(
    room: Room, megabytes: int, heap: str
) -> None:
    enlarged(room)
    text = base64.b64encode(random.Random(7).randbytes(megabytes * 750_000)).decode()
    for partition in range(4):
        room.send([run_event(f"r{partition}", producer=text)], partition=partition)
    assert runs_in(consumed(room, starts=2, heap=heap)) == [f"r{number}" for number in range(4)]
