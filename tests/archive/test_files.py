"""Files of an archive: lines, names, what ends a file, what a reader takes, what is found damaged."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from headwater_avro.errors import ConfigError
from headwater_consumer.archive.lines import Damaged, line_of, message_of
from headwater_consumer.archive.parts import Part, gaps, part_named, parts_of
from headwater_consumer.archive.reader import check_archive, messages_in, messages_of
from headwater_consumer.archive.storage import UNFINISHED, Bucket, Folder, Storage, storage_at
from headwater_consumer.archive.writer import ArchiveResult, ArchiveWriter, Rolling, archive_topic
from headwater_consumer.kafka.messages import Message

from .source import BEGIN, DAY, GivenTopic, MemoryStorage, message

OCTETS = st.none() | st.binary(max_size=30) | st.text(max_size=30).map(lambda text: text.encode("utf-8", "replace"))
MESSAGES = st.builds(
    Message,
    topic=st.just("events"),
    partition=st.integers(0, 2**31 - 1),
    offset=st.integers(0, 2**63 - 1),
    timestamp=st.integers(-1, 2**63 - 1),
    key=OCTETS,
    value=OCTETS,
    headers=st.lists(st.tuples(st.text(max_size=5), OCTETS), max_size=3).map(tuple),
)


def stored(topic: GivenTopic, storage: Storage, rolling: Rolling | None = None) -> ArchiveResult:
    return archive_topic(topic, "events", storage, rolling or Rolling(), stop=threading.Event(), follow=False)


def read(storage: Storage, since: int | None = None) -> list[Message]:
    return list(messages_in(storage, "events", since))


@given(MESSAGES)
def test_a_line_is_the_message(given_message: Message) -> None:
    line = line_of(given_message)
    assert line.count(b"\n") == 1
    assert message_of("events", line) == given_message


NO_BASE64 = line_of(message(0)).replace(b'"k"', b'{"base64":"?"}')


@pytest.mark.parametrize("line", [b"", b"{}", b"[]", NO_BASE64])
def test_a_malformed_line_is_damage(line: bytes) -> None:
    with pytest.raises(Damaged):
        message_of("events", line)


def test_the_name_of_a_file_describes_it_completely() -> None:
    part = Part("lineage.events", 3, 100, 250, "2026-01-31", "ab" * 32)
    assert part.name == f"lineage.events/2026-01-31/00003-{100:020d}-{250:020d}-{'ab' * 32}.jsonl.zst"
    assert part_named(part.name) == part
    assert part_named("lineage.events/archive.json") is None


def test_messages_are_archived_unchanged_and_once() -> None:
    odd = [
        message(0, value=b"\xff\x00"),
        message(1, key=None, value=None),
        message(2, headers=(("a", b"\xfe"), ("a", None))),
    ]
    topic = GivenTopic([*odd, *(message(offset, partition=1) for offset in range(7))])
    storage = MemoryStorage()
    assert stored(topic, storage) == ArchiveResult(10, 2, ())
    assert sorted(read(storage), key=lambda each: each.position) == sorted(
        topic.messages.values(), key=lambda e: e.position
    )
    assert topic.committed == {0: 3, 1: 7}
    before = dict(storage.files)
    assert stored(topic, storage).messages == 0
    assert storage.files == before


def test_a_file_ends_with_its_day_and_with_its_size() -> None:
    times = [BEGIN, BEGIN + 1, BEGIN + DAY, BEGIN + 2, BEGIN + DAY]
    storage = MemoryStorage()
    stored(GivenTopic([message(offset, timestamp=time) for offset, time in enumerate(times)]), storage)
    # A message with an older time stays in the file of its place: order is told by offsets.
    assert [(part.day, part.begin, part.end) for part in parts_of(storage.names("events"))[0]] == [
        ("2026-01-01", 0, 2),
        ("2026-01-02", 2, 5),
    ]
    small = MemoryStorage()
    stored(GivenTopic([message(offset, value=b"x" * 100) for offset in range(4)]), small, Rolling(size=250))
    assert [(part.begin, part.end) for part in parts_of(small.names("events"))[0]] == [(0, 2), (2, 4)]


def test_the_incomplete_files_of_a_killed_writer_are_read_again_by_the_next() -> None:
    topic = GivenTopic([message(offset) for offset in range(20)])
    storage = MemoryStorage()
    killed = ArchiveWriter(storage, "events", {0: 0}, Rolling(size=600))
    for offset in range(13):
        killed.add(topic.messages[0, offset])
    assert 0 < killed.reached[0] < 13
    stored(topic, storage)
    assert [each.offset for each in read(storage)] == list(range(20))
    assert list(gaps(parts_of(storage.names("events")))) == []
    assert sum(part.end - part.begin for part in parts_of(storage.names("events"))[0]) == 20


def test_a_repeated_message_is_archived_once() -> None:
    storage = MemoryStorage()
    writer = ArchiveWriter(storage, "events", {0: 1}, Rolling())
    for offset in (0, 1, 2, 1, 2, 3):
        writer.add(message(offset))
    writer.flush()
    writer.add(message(3))
    writer.flush()
    assert [each.offset for each in read(storage)] == [1, 2, 3]
    assert (writer.messages, writer.files, writer.reached) == (3, 1, {0: 4})


def test_a_topic_and_its_new_partitions_are_followed_until_a_stop_request() -> None:
    topic, storage, stop = GivenTopic([message(0)]), MemoryStorage(), threading.Event()
    polls = iter(range(100))

    def change() -> None:
        turn = next(polls)
        if turn == 2:
            topic.messages[1, 0] = message(0, partition=1)
        if turn == 6:
            stop.set()

    topic.before_poll = change
    archive_topic(topic, "events", storage, Rolling(seconds=0.0), stop=stop)
    assert sorted(each.position for each in read(storage)) == [(0, 0), (1, 0)]


def test_messages_that_kafka_had_deleted_are_reported_as_a_gap() -> None:
    topic, storage = GivenTopic([message(offset) for offset in range(3)]), MemoryStorage()
    stored(topic, storage)
    later = GivenTopic([message(offset) for offset in range(5, 8)])
    later.lows = {0: 5}
    (gap,) = stored(later, storage).gaps
    assert (gap.partition, gap.begin, gap.end) == (0, 3, 5)
    assert check_archive(storage, "events").faults == ("partition 0: offsets 3 to 4 are in no file",)


def test_an_earlier_topic_of_the_name_is_not_mixed_with_the_current_one() -> None:
    storage = MemoryStorage()
    stored(GivenTopic([message(offset) for offset in range(3)]), storage)
    with pytest.raises(ConfigError, match="earlier topic"):
        stored(GivenTopic([message(offset) for offset in range(9)], identity="id-2"), storage)


def test_messages_are_in_order_of_time_over_partitions_and_may_begin_at_a_time() -> None:
    messages = [message(o, partition=p, timestamp=BEGIN + o * DAY + p) for p in (0, 1) for o in range(4)]
    storage = MemoryStorage()
    stored(GivenTopic(messages), storage)
    assert [each.position for each in read(storage)] == [(p, o) for o in range(4) for p in (0, 1)]
    assert [each.position for each in read(storage, BEGIN + 2 * DAY + 1)] == [(1, 2), (0, 3), (1, 3)]


def test_a_message_that_two_writers_archived_comes_once() -> None:
    topic = GivenTopic([message(offset) for offset in range(6)])
    item, other = MemoryStorage(), MemoryStorage()
    stored(topic, item)
    stored(topic, other, Rolling(size=200))
    item.files |= other.files
    assert [each.offset for each in read(item)] == list(range(6))


def test_a_damaged_file_is_reported() -> None:
    storage = MemoryStorage()
    stored(GivenTopic([message(offset) for offset in range(3)]), storage)
    (part,) = parts_of(storage.names("events"))[0]
    storage.files[part.name] = storage.files[part.name][:-1] + b"?"
    with pytest.raises(Damaged, match="checksum"):
        list(messages_of(storage, part))
    assert part.digest in check_archive(storage, "events").faults[0]
    storage.files[part.name] = zstandard.compress(b"".join(map(line_of, [message(0), message(2)])))
    with pytest.raises(Damaged, match="its checksum is"):
        list(messages_of(storage, part))


def test_a_folder_stores_files_atomically_and_admits_one_writer(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "deep" / "er")
    folder.write("events/2026-01-01/a", b"content")
    left = tmp_path / "deep" / "er" / "events" / "2026-01-01" / f"{UNFINISHED}1"
    left.write_bytes(b"half")
    with folder.locked("events"):
        assert not left.exists()
        with pytest.raises(ConfigError, match="another"), Folder(tmp_path / "deep" / "er").locked("events"):
            pass
    folder.write("events/archive.json", b"{}")
    assert sorted(folder.names("events")) == ["events/2026-01-01/a", "events/archive.json"]
    assert folder.read("events/2026-01-01/a") == b"content"
    with pytest.raises(ConfigError, match="can't be read"):
        folder.read("events/2026-01-01/b")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ConfigError, match="can't be written"):
        Folder(tmp_path / "file").write("events/2026-01-01/a", b"")


def test_a_url_is_reached_through_fsspec() -> None:
    bucket = storage_at("memory://bucket/lineage")
    assert isinstance(bucket, Bucket)
    topic = GivenTopic([message(offset) for offset in range(5)])
    assert stored(topic, bucket).messages == 5
    assert stored(topic, bucket).messages == 0
    assert read(bucket) == list(topic.messages.values())
    with pytest.raises(ConfigError):
        bucket.read("events/none")
    with pytest.raises(ConfigError, match="nonsense"):
        storage_at("nonsense://x")


def test_a_url_without_fsspec_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "fsspec", None)
    with pytest.raises(ConfigError, match=r"pip install 'fsspec\[s3\]'"):
        storage_at("s3://bucket/path")
