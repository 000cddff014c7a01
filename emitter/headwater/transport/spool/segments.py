"""The segments of a spool: files of records, each with one writer or one reader at a time.

A segment is a header (magic, topic) and records (``records``). Its name is ``<time>-<pid>-<random>`` with a suffix:
``.spool`` for events to send; ``.refused`` for events that Kafka never accepts as they are, which are sent on request
only; ``.damaged`` for segments with unreadable records, whose other records were sent.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..broker import Message
from .records import Gap, unpack

try:
    import fcntl
except ImportError:  # Windows has no flock, so there is no spool
    fcntl = None  # type: ignore[assignment]

logger = logging.getLogger("headwater.transport")

_MAGIC = b"HWSPOOL1"
_HEADER = struct.Struct("<8sH")
PENDING, REFUSED, DAMAGED, NEW = ".spool", ".refused", ".damaged", ".new"


@dataclass(frozen=True, slots=True)
class SegmentInfo:
    """One segment as ``headwater spool list`` shows it; ``busy``: its writer or sender is alive."""

    path: Path
    topic: str
    records: int
    size: int
    modified: float
    busy: bool


class Segment:
    """A segment that this process has claimed: no other process reads, sends or removes it until ``release``."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    def messages(self) -> Iterator[Message]:
        """Yield the whole records; torn or damaged bytes are skipped with one warning."""
        skipped = 0
        for record in _records(self._read()):
            if isinstance(record, Message):
                yield record
            else:
                skipped += record.end - record.start
        if skipped:
            logger.warning(
                "spool segment %s has %d bytes that are not a whole record; skipped", self.path.name, skipped
            )

    def topic(self) -> str:
        return _topic(os.pread(self._descriptor, 4096, 0))

    def retire(self) -> int:
        """Remove the segment, or set it aside if a record is damaged; return the number of unreadable places."""
        gaps = [record for record in _records(self._read()) if isinstance(record, Gap)]
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
        # Closing releases the lock; an explicit unlock in a forked child would take it from the parent.
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def header(topic: str) -> bytes:
    """Return the bytes at the beginning of a segment of this topic."""
    name = topic.encode()
    return _HEADER.pack(_MAGIC, len(name)) + name


def segments(directory: Path, *suffixes: str) -> list[Path]:
    """Return the segments with these suffixes, oldest first."""
    try:
        return sorted(path for path in directory.iterdir() if path.suffix in suffixes)
    except FileNotFoundError:
        return []


def create(path: Path) -> int:
    """Create a segment's file, mode 0600, and return its descriptor, locked; raise OSError where that is impossible."""
    if fcntl is None:
        raise OSError(errno.ENOTSUP, "this system has no flock, so there is no spool")
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def claim(path: Path) -> Segment | None:
    """Return the segment, locked; None if its writer is alive, another process sends it, or it does not exist."""
    if fcntl is None:
        return None
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Between opening and locking, another process may have sent and removed it.
        if os.fstat(descriptor).st_nlink:
            return Segment(path, descriptor)
    except OSError as fault:
        logger.debug("segment %s is locked: %s", path.name, fault)
    os.close(descriptor)
    return None


def describe_segments(directory: Path) -> list[SegmentInfo]:
    """Return all segments of the directory, oldest first, for display."""
    infos = []
    for path in segments(directory, PENDING, REFUSED, DAMAGED):
        with contextlib.suppress(OSError):
            data, status = path.read_bytes(), path.stat()
            segment = claim(path)
            if segment is not None:
                segment.release()
            records = sum(isinstance(record, Message) for record in _records(data))
            infos.append(SegmentInfo(path, _topic(data), records, len(data), status.st_mtime, segment is None))
    return infos


def _records(data: bytes) -> Iterator[Message | Gap]:
    return unpack(data, _body_start(data))


def _body_start(data: bytes) -> int:
    if len(data) < _HEADER.size or not data.startswith(_MAGIC):
        return len(data)
    return _HEADER.size + int(_HEADER.unpack_from(data)[1])


def _topic(data: bytes) -> str:
    return data[_HEADER.size : _body_start(data)].decode("utf-8", "replace") if data.startswith(_MAGIC) else ""
