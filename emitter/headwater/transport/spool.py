"""What couldn't be delivered, kept on disk until it can be.

A directory of segments, ``<time>-<pid>-<random>.spool``, each written by one process, mode 0600. A segment is a head
(magic, topic) and records (`headwater.transport.records`), each appended by one `write`. So a process killed at any point
leaves whole records and at most one torn at the end. A record that was damaged later loses only itself: when the others
are sent, its segment is set aside as ``.damaged``, which nobody sends and which counts against the size of the spool.

A writer holds an exclusive ``flock`` on its segment. Whoever gets the lock may send and remove it: a lock that can be
had means that the writer is gone, or has closed it. ``.refused`` segments hold what Kafka will never take as it is;
they are sent on request only.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import secrets
import stat
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from headwater.transport.broker import Message
from headwater.transport.counters import DropReason
from headwater.transport.records import Gap, pack, unpack

try:
    import fcntl
except ImportError:  # Windows has no flock: there the spool is off, and says so
    fcntl = None  # type: ignore[assignment]

logger = logging.getLogger("headwater.transport")

MAGIC = b"HWSPOOL1"
PENDING, REFUSED, DAMAGED, NEW = ".spool", ".refused", ".damaged", ".new"
_HEAD = struct.Struct("<8sH")


class SpoolFault(Exception):
    """A record could not be kept."""

    def __init__(self, reason: Literal["spool_full", "spool_failed"], detail: str) -> None:
        super().__init__(detail)
        self.reason: DropReason = reason


@dataclass(frozen=True, slots=True)
class Found:
    """One segment as `headwater spool list` shows it; ``busy``: its writer or sender is alive."""

    path: Path
    topic: str
    records: int
    size: int
    modified: float
    busy: bool


class Segment:
    """A segment that this process has claimed: nobody else reads, sends or removes it until `release`."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    def messages(self) -> Iterator[Message]:
        """The whole records; what is torn or damaged is skipped with one warning."""
        data = self._read()
        skipped = 0
        for record in unpack(data, _body_start(data)):
            if isinstance(record, Message):
                yield record
            else:
                skipped += record.end - record.start
        if skipped:
            logger.warning("spool segment %s has %d bytes that are no whole record; skipped", self.path.name, skipped)

    def topic(self) -> str:
        return _topic(os.pread(self._descriptor, 4096, 0))

    def retire(self) -> int:
        """Remove the segment, or set it aside if a record is damaged; return how many places can't be read."""
        data = self._read()
        gaps = [record for record in unpack(data, _body_start(data)) if isinstance(record, Gap)]
        damaged = sum(not gap.torn for gap in gaps)
        if damaged:
            aside = self.path.with_suffix(DAMAGED)
            logger.warning("%d damaged records of spool segment %s are set aside in %s", damaged, self.path.name, aside)
            self.path.rename(aside)
            self.release()
        else:
            self.remove()
        return len(gaps)

    def _read(self) -> bytes:
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        with os.fdopen(os.dup(self._descriptor), "rb") as file:
            return file.read()

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)
        self.release()

    def release(self) -> None:
        # Closing gives the lock back; an explicit unlock in a forked child would take it from the parent.
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


class Spool:
    """The spool of one topic in one directory, as one process writes and reads it; not for several threads at once."""

    def __init__(self, directory: Path, topic: str, max_bytes: int, suffix: str = PENDING) -> None:
        self.directory = directory
        self._topic = topic
        self._max_bytes = max_bytes
        self._segment_bytes = min(8 * 1024 * 1024, max(max_bytes // 8, 4096))
        self._suffix = suffix
        self._descriptor: int | None = None
        self._path: Path | None = None
        self._size = 0
        self._used = 0
        self._mine: set[Path] = set()

    def append(self, message: Message) -> int:
        """Keep the message; returns how many older ones were removed to make room. Raises SpoolFault."""
        record = pack(message)
        try:
            if self._descriptor is None or self._size + len(record) > self._segment_bytes:
                self._open()
            removed = self._make_room(len(record))
            self._write(record)
        except OSError as fault:
            raise SpoolFault("spool_failed", f"{self.directory}: {fault.strerror or fault}") from fault
        return removed

    def _open(self) -> None:
        self.close()
        if fcntl is None:
            raise SpoolFault("spool_failed", "this system has no flock, so there is no spool")
        prepare(self.directory)
        self._sweep()
        name = f"{time.time_ns():020d}-{os.getpid()}-{secrets.token_hex(4)}"
        path = self.directory / f"{name}{NEW}"
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC
        self._descriptor = os.open(path, flags, 0o600)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        topic = self._topic.encode()
        self._size = 0
        self._path = path
        self._write(_HEAD.pack(MAGIC, len(topic)) + topic)
        # Only a locked segment with a whole head gets the name that others look for.
        self._path = path.rename(self.directory / f"{name}{self._suffix}")
        self._mine.add(self._path)
        self._used = sum(size for _, size in self._sizes())

    def _sweep(self) -> None:
        # Segments whose writer was killed between making and naming them hold nothing.
        for path in segments(self.directory, NEW):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > 60:
                    path.unlink()

    def _write(self, data: bytes) -> None:
        assert self._descriptor is not None
        written = 0
        try:
            written = os.write(self._descriptor, data)
            if written != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            # Half a record in the middle would hide all that come after it.
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
            raise
        self._size += written
        self._used += written

    def _make_room(self, size: int) -> int:
        if self._used + size <= self._max_bytes:
            return 0
        sizes = self._sizes()
        self._used = sum(n for _, n in sizes)
        removed = 0
        for path, n in sizes:
            if self._used + size <= self._max_bytes:
                return removed
            if path != self._path and (segment := claim(path)) is not None:
                removed += sum(1 for _ in segment.messages()) if path.suffix != DAMAGED else 0
                segment.remove()
                self._used -= n
        if self._used + size > self._max_bytes:
            raise SpoolFault("spool_full", f"{self.directory} holds {self._used} of {self._max_bytes} bytes")
        return removed

    def _sizes(self) -> list[tuple[Path, int]]:
        sizes = []
        # Of damaged segments all that can be read was sent: they make room first.
        for path in segments(self.directory, DAMAGED) + segments(self.directory, PENDING, REFUSED):
            with contextlib.suppress(OSError):
                sizes.append((path, path.stat().st_size))
        return sizes

    def claim(self) -> Segment | None:
        """The oldest segment of this topic that nobody holds; this process's own is closed for it."""
        self.close()
        for path in segments(self.directory, self._suffix):
            segment = claim(path)
            if segment is None:
                continue
            if segment.topic() == self._topic:
                return segment
            segment.release()
        return None

    def holds_own(self) -> bool:
        """Whether anything that this process wrote is still there."""
        self._mine = {path for path in self._mine if path.exists()}
        return bool(self._mine)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = self._path = None


def prepare(directory: Path) -> None:
    """Make the directory, mode 0700; raises OSError where it is another user's, which could read or plant events."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if stat.S_IMODE(directory.stat().st_mode) & 0o002 or directory.stat().st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, "the spool directory is another user's, or open to all", str(directory))


def segments(directory: Path, *suffixes: str) -> list[Path]:
    """The segments with these suffixes, oldest first."""
    try:
        return sorted(path for path in directory.iterdir() if path.suffix in suffixes)
    except FileNotFoundError:
        return []


def claim(path: Path) -> Segment | None:
    """Lock a segment; None if its writer is alive, another sends it, or it is gone."""
    if fcntl is None:
        return None
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Between opening and locking another may have sent and removed it.
        if os.fstat(descriptor).st_nlink:
            return Segment(path, descriptor)
    except OSError as fault:
        logger.debug("segment %s is held: %s", path.name, fault)
    os.close(descriptor)
    return None


def found(directory: Path) -> list[Found]:
    """All segments of the directory, oldest first, for display."""
    rows = []
    for path in segments(directory, PENDING, REFUSED, DAMAGED):
        with contextlib.suppress(OSError):
            data, status = path.read_bytes(), path.stat()
            segment = claim(path)
            if segment is not None:
                segment.release()
            records = sum(isinstance(record, Message) for record in unpack(data, _body_start(data)))
            rows.append(Found(path, _topic(data), records, len(data), status.st_mtime, segment is None))
    return rows


def _body_start(data: bytes) -> int:
    if len(data) < _HEAD.size or not data.startswith(MAGIC):
        return 0 if not data else len(data)
    return _HEAD.size + int(_HEAD.unpack_from(data)[1])


def _topic(data: bytes) -> str:
    return data[_HEAD.size : _body_start(data)].decode("utf-8", "replace") if data.startswith(MAGIC) else ""
