"""Spooled events stay complete, private and bounded, and each record has one process that may send it."""

from __future__ import annotations

import fcntl
import os
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.transport.broker import Message
from headwater.transport.spool import PENDING, Spool, SpoolError, claim, describe_segments, segments

MEGABYTE = 1024 * 1024
messages = st.lists(st.builds(Message, st.none() | st.binary(max_size=50), st.binary(max_size=200)), max_size=10)


def read(path: Path) -> list[Message]:
    segment = claim(path)
    assert segment is not None
    try:
        return list(segment.messages())
    finally:
        segment.release()


def written(directory: Path, *stored: Message) -> Path:
    spool = Spool(directory, "t", MEGABYTE)
    for message in stored:
        spool.append(message)
    spool.close()
    return segments(directory, PENDING)[-1]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(stored=messages.filter(bool), length=st.integers(0, 10_000))
def test_a_segment_truncated_anywhere_still_has_the_whole_records_before(
    tmp_path: Path, stored: list[Message], length: int
) -> None:
    path = written(tmp_path / "s", *stored)
    assert read(path) == stored
    data = path.read_bytes()
    path.write_bytes(data[: length % (len(data) + 1)])
    left = read(path)
    assert left == stored[: len(left)]
    path.unlink()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(stored=messages.filter(bool), at=st.integers(11, 10_000), flip=st.integers(1, 255))
def test_a_damaged_record_is_never_sent(tmp_path: Path, stored: list[Message], at: int, flip: int) -> None:
    path = written(tmp_path / "s", *stored)
    data = bytearray(path.read_bytes())
    place = 11 + at % (len(data) - 11)
    data[place] ^= flip
    path.write_bytes(data)
    assert read(path) in [stored[:n] + stored[n + 1 :] for n in range(len(stored))]
    path.unlink()


def test_a_damaged_byte_loses_only_its_record(tmp_path: Path) -> None:
    stored = [Message(b"key%d" % n, b'{"run": "%d"}' % n * 10) for n in range(500)]
    path = written(tmp_path, *stored)
    data = path.read_bytes()
    begin = 11 + 250 * ((len(data) - 11) // 500)
    for at in range(begin, begin + 200):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])
        left = read(path)
        assert len(left) == 499
        assert set(left) < set(stored)


def test_overwritten_pages_lose_only_their_records(tmp_path: Path) -> None:
    stored = [Message(b"key%d" % n, b"\x00\x01\xff" * 100 + b"%d" % n) for n in range(300)]
    path = written(tmp_path, *stored)
    data = path.read_bytes()
    for filling in (b"\x00", b"\xff", b"\x01"):
        path.write_bytes(data[:20_000] + filling * 8_192 + data[28_192:])
        left = read(path)
        assert set(left) < set(stored)
        assert len(left) >= 300 - 8_192 // 310 - 2


@pytest.mark.timeout(60)
@pytest.mark.parametrize("filling", [b"\x00", b"\x01\x00", b"\x00\x00\x10\x00", b"\x00\x00\x00\x01", b"\xff\x03"])
def test_the_search_for_the_next_record_is_bounded(tmp_path: Path, filling: bytes) -> None:
    path = written(tmp_path, Message(b"k", b"one"))
    path.write_bytes(path.read_bytes() + filling * (8 * MEGABYTE // len(filling)))
    assert read(path) == [Message(b"k", b"one")]


def test_damaged_segments_are_listed_and_make_room_first(tmp_path: Path) -> None:
    spool = Spool(tmp_path, "t", 20_000)
    spool.append(Message(None, b"whole" * 1_000))
    spool.close()
    path = written(tmp_path, Message(None, b"x" * 5_000), Message(None, b"y" * 5_000))
    data = path.read_bytes()
    path.write_bytes(data[:100] + b"z" + data[101:])
    segment = claim(path)
    assert segment is not None
    assert segment.retire() == 1
    assert [(row.path.suffix, row.records) for row in describe_segments(tmp_path)] == [(".spool", 1), (".damaged", 1)]
    assert Spool(tmp_path, "t", 20_000).append(Message(None, b"new" * 2_000)) == 0
    assert [row.path.suffix for row in describe_segments(tmp_path)] == [".spool", ".spool"]


def test_a_torn_record_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = written(tmp_path, Message(b"k", b"one"), Message(b"k", b"two"))
    path.write_bytes(path.read_bytes()[:-1])
    assert read(path) == [Message(b"k", b"one")]
    assert [record.message for record in caplog.records if "not a whole record" in record.message] == [
        f"spool segment {path.name} has 13 bytes that are not a whole record; skipped"
    ]


def test_only_the_owner_may_read(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        path = written(tmp_path / "a" / "spool", Message(None, b"x"))
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_folder_open_to_all_is_not_trusted(tmp_path: Path) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(SpoolError, match="open to all"):
        Spool(folder, "t", MEGABYTE).append(Message(None, b"x"))


def test_the_oldest_make_room_and_are_counted(tmp_path: Path) -> None:
    spool = Spool(tmp_path, "t", 64 * 1024)
    removed = sum(spool.append(Message(None, b"%04d" % n + b"x" * 996)) for n in range(200))
    spool.close()
    left = [message.value[:4] for path in segments(tmp_path, PENDING) for message in read(path)]
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 64 * 1024
    assert len(left) + removed == 200
    assert len(left) > 40
    assert left == [b"%04d" % n for n in range(200 - len(left), 200)]


def test_the_limit_holds_for_all_writers_together(tmp_path: Path) -> None:
    others = [Spool(tmp_path, "t", 64 * 1024) for _ in range(4)]
    for _ in range(60):
        for spool in others:
            spool.append(Message(None, b"x" * 1000))
    # A spool measures what the others write only when it believes that the folder is full.
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 4 * 64 * 1024
    for spool in others:
        spool.close()


def test_a_message_larger_than_the_spool_is_refused(tmp_path: Path) -> None:
    spool = Spool(tmp_path, "t", 10_000)
    with pytest.raises(SpoolError) as fault:
        spool.append(Message(None, b"x" * 20_000))
    assert fault.value.reason == "spool_full"
    spool.close()


def test_a_partial_write_does_not_hide_later_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = Spool(tmp_path, "t", MEGABYTE)
    spool.append(Message(b"k", b"one"))
    whole = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: whole(descriptor, data[: len(data) // 2]))
    with pytest.raises(SpoolError) as fault:
        spool.append(Message(b"k", b"two"))
    assert fault.value.reason == "spool_failed"
    monkeypatch.undo()
    spool.append(Message(b"k", b"three"))
    spool.close()
    assert read(segments(tmp_path, PENDING)[0]) == [Message(b"k", b"one"), Message(b"k", b"three")]


def test_a_segment_without_a_whole_header_is_not_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = Spool(tmp_path, "t", MEGABYTE)
    whole = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: whole(descriptor, data[: len(data) // 2]))
    with pytest.raises(SpoolError):
        spool.append(Message(b"k", b"one"))
    monkeypatch.undo()
    spool.append(Message(b"k", b"two"))
    spool.close()
    (path,) = segments(tmp_path, PENDING)
    assert read(path) == [Message(b"k", b"two")]


def test_a_segment_in_use_belongs_to_its_writer(tmp_path: Path) -> None:
    spool = Spool(tmp_path, "t", MEGABYTE)
    spool.append(Message(None, b"x"))
    (path,) = segments(tmp_path, PENDING)
    assert claim(path) is None
    assert [row.busy for row in describe_segments(tmp_path)] == [True]
    spool.close()
    segment = claim(path)
    assert segment is not None
    assert claim(path) is None
    segment.release()


def test_a_segment_of_another_topic_is_left_alone(tmp_path: Path) -> None:
    written(tmp_path, Message(None, b"x"))
    other = Spool(tmp_path, "other", MEGABYTE)
    assert other.claim() is None
    own = Spool(tmp_path, "t", MEGABYTE).claim()
    assert own is not None
    own.release()


def test_a_child_that_closes_a_segment_does_not_unlock_it(tmp_path: Path) -> None:
    spool = Spool(tmp_path, "t", MEGABYTE)
    spool.append(Message(None, b"x"))
    child = os.fork()
    if child == 0:
        spool.close()
        os._exit(0)
    os.waitpid(child, 0)
    assert claim(segments(tmp_path, PENDING)[0]) is None
    spool.close()


def test_other_files_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "0.spool").write_bytes(b"not a segment")
    (tmp_path / "1.spool").write_bytes(b"")
    assert Spool(tmp_path, "t", MEGABYTE).claim() is None
    assert [row.records for row in describe_segments(tmp_path)] == [0, 0]


def test_unnamed_segments_of_killed_writers_are_removed(tmp_path: Path) -> None:
    stale = tmp_path / "0.new"
    stale.write_bytes(b"")
    os.utime(stale, (0, 0))
    written(tmp_path, Message(None, b"x"))
    assert not stale.exists()


def test_locks_end_with_their_process(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        Spool(tmp_path, "t", MEGABYTE).append(Message(None, b"x"))
        os.kill(os.getpid(), 9)
    os.waitpid(child, 0)
    assert read(segments(tmp_path, PENDING)[0]) == [Message(None, b"x")]


def test_the_lock_is_flock(tmp_path: Path) -> None:
    path = written(tmp_path, Message(None, b"x"))
    with path.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert claim(path) is None
