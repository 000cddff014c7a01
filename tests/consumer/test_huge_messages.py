"""Messages as large as a broker takes by default (100 MB a request), and many of what topics take by default.

The stream goes on and nothing is lost, however many messages a batch may have.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterable, Iterator

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from headwater_consumer.kafka.brokers import prepare_topics
from headwater_graph.apply.batch_writer import BatchPosition, BatchReport
from headwater_graph.apply.merged import Portion

from .kafka_room import CollectingWriter, Room, run_event
from .test_stopping import consumer

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


class CountingWriter(CollectingWriter):
    """A graph that keeps the names of runs alone."""

    def write(self, prepared: Iterable[Portion], position: BatchPosition) -> BatchReport:
        names = [Portion([(kind, key, b"", b"") for kind, key, _, _ in portion.rows]) for portion in prepared]
        return super().write(names, position)


@pytest.mark.end_to_end
@pytest.mark.chaos
@pytest.mark.parametrize(("count", "size"), [(3_000, 870_000), (20_000, 60_000), (30_000, 20_000)])
def test_a_batch_of_many_gigabytes_is_read_with_the_default_heap(room: Room, count: int, size: int) -> None:
    room.writer = CountingWriter()
    dice = random.Random(3)

    def messages() -> Iterator[dict[str, object]]:
        for number in range(count):
            yield run_event(f"r{number}", producer=base64.b64encode(dice.randbytes(size * 3 // 4)).decode())

    room.send(messages())
    room.consume()
    assert room.writer.runs == {f"r{number}" for number in range(count)}
    assert {len(payloads) for payloads in room.writer.rows.values()} == {1}
    assert len(room.writer.positions) >= count * size // 100_000_000


@pytest.mark.end_to_end
@pytest.mark.chaos
def test_a_consumer_with_too_little_heap_ends_in_one_line_and_a_later_start_gets_through(room: Room) -> None:
    enlarged(room)
    noise = random.Random(7).randbytes(45_000_000)
    text = base64.b64encode(noise).decode()
    for partition in range(4):
        room.send([run_event(f"r{partition}", producer=text)], partition=partition)
    lines: list[str] = []
    for _ in range(6):
        with consumer(room, 0, "--available-now", spark_driver_memory="700m", home=room.folder / "home") as process:
            _, stderr = process.popen.communicate(timeout=300)
        assert "Traceback" not in stderr
        if process.popen.returncode != 1:
            break
        lines.append(stderr.splitlines()[-1])
    assert process.popen.returncode == 0, lines
    assert {line for line in lines if "ran out of memory" not in line} == set()
    assert {line for line in process.lines() if line.startswith("run ")} == {f"run r{number}" for number in range(4)}


@pytest.mark.end_to_end
@pytest.mark.chaos
def test_a_message_that_no_heap_of_this_size_can_hold_is_named_in_the_end(room: Room) -> None:
    enlarged(room)
    text = base64.b64encode(random.Random(7).randbytes(72_000_000)).decode()
    room.send([run_event("huge", producer=text)], partition=2)
    line = ""
    for _ in range(6):
        with consumer(room, 0, "--available-now", spark_driver_memory="480m", home=room.folder / "home") as process:
            _, stderr = process.popen.communicate(timeout=300)
        assert process.popen.returncode == 1
        line = stderr.splitlines()[-1]
        if "ran out of memory" not in line.partition("(")[0]:
            break
    assert "the message at partition 2, offset 0 (96,000," in line
    assert "does not fit into memory: raise spark_driver_memory" in line
