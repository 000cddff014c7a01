"""Events that could not be delivered, on disk until they can be.

Theory of operation. Many processes of one machine share the directory: each may be killed at any point, and any of them
may send what another left. There is no server and no index; a process needs only the directory.

- *One writer.* Each process appends to a segment of its own (``segments``), mode 0600, with one ``write`` for each record.
  A process that is killed leaves whole records and at most one torn record at the end. A failed write is truncated, so
  that no partial record precedes others. Each record has a checksum: one that is damaged later loses only itself.
- *A lock for each segment.* The writer holds an exclusive ``flock`` on its segment. The system releases it when the
  writer closes the file or dies, and who gets the lock may send and remove the segment. A segment gets its final name
  only when it is locked and its header is written, so no process can claim one that is incomplete.
- *Removal after acknowledgement.* A segment is removed only when Kafka has acknowledged all of its records. A sender
  that dies before leaves the segment, and the next one sends it again: events are delivered at least once, which is
  enough because consumers merge events.
- *A limit.* When the directory reaches ``max_bytes``, the oldest segments that no process holds are removed, damaged ones
  first. What is lost is counted.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import time
from pathlib import Path
from typing import Literal

from ..broker import Message
from ..counters import DropReason
from .records import pack
from .segments import DAMAGED, NEW, PENDING, REFUSED, Segment, claim, create, header, segments


class SpoolError(Exception):
    """A record could not be stored; ``reason`` is the reason to count."""

    def __init__(self, reason: Literal["spool_full", "spool_failed"], detail: str) -> None:
        super().__init__(detail)
        self.reason: DropReason = reason


class Spool:
    """The spool of one topic in one directory, as one process writes and reads it; not thread-safe."""

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
        self._own: set[Path] = set()

    def append(self, message: Message) -> int:
        """Store the message; return how many older ones were removed to make room. Raises SpoolError."""
        record = pack(message)
        try:
            if self._descriptor is None or self._size + len(record) > self._segment_bytes:
                self._open()
            removed = self._make_room(len(record))
            self._write(record)
        except OSError as fault:
            raise SpoolError("spool_failed", f"{self.directory}: {fault.strerror or fault}") from fault
        return removed

    def _open(self) -> None:
        self.close()
        _prepare(self.directory)
        self._remove_unnamed()
        name = f"{time.time_ns():020d}-{os.getpid()}-{secrets.token_hex(4)}"
        path = self.directory / f"{name}{NEW}"
        self._descriptor = create(path)
        self._size = 0
        try:
            self._write(header(self._topic))
            # Only a locked segment with a whole header gets the name that other processes search for.
            self._path = path.rename(self.directory / f"{name}{self._suffix}")
        except OSError:
            # Nothing may be appended to a segment that no process will read.
            self.close()
            raise
        self._own.add(self._path)
        self._used = sum(size for _, size in self._sizes())

    def _remove_unnamed(self) -> None:
        # Segments whose writer was killed between creating and naming them are empty.
        for path in segments(self.directory, NEW):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > 60:
                    path.unlink()

    def _write(self, data: bytes) -> None:
        assert self._descriptor is not None
        try:
            written = os.write(self._descriptor, data)
            if written != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            # A partial record would damage those that come after it.
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
            raise SpoolError("spool_full", f"{self.directory} has {self._used} of {self._max_bytes} bytes")
        return removed

    def _sizes(self) -> list[tuple[Path, int]]:
        sizes = []
        # The readable records of damaged segments were sent: they make room first.
        for path in segments(self.directory, DAMAGED) + segments(self.directory, PENDING, REFUSED):
            with contextlib.suppress(OSError):
                sizes.append((path, path.stat().st_size))
        return sizes

    def claim(self) -> Segment | None:
        """Return a segment of this topic that no process holds, or None.

        The oldest of this process is first: a forked child ends soon, and others can send what they left. The segment that
        this process writes is closed before.
        """
        self.close()
        paths = sorted(segments(self.directory, self._suffix), key=_is_of_another_process)
        return next((segment for path in paths if (segment := self._claim(path)) is not None), None)

    def _claim(self, path: Path) -> Segment | None:
        segment = claim(path)
        if segment is None or segment.topic() == self._topic:
            return segment
        segment.release()
        return None

    def has_unclaimed(self, older_than: float = 0.0) -> bool:
        """Return whether no process holds a segment of this topic that was written more than so many seconds ago."""
        for path in segments(self.directory, self._suffix):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime >= older_than and (segment := self._claim(path)) is not None:
                    segment.release()
                    return True
        return False

    def has_own_segments(self) -> bool:
        """Return whether a segment that this process wrote still exists."""
        self._own = {path for path in self._own if path.exists()}
        return bool(self._own)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = self._path = None


def _is_of_another_process(path: Path) -> bool:
    return path.name.split("-")[1:2] != [str(os.getpid())]


def _prepare(directory: Path) -> None:
    """Create the directory, mode 0700; raise OSError for another user's, which could read or insert events."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if stat.S_IMODE(directory.stat().st_mode) & 0o002 or directory.stat().st_uid != os.geteuid():
        raise PermissionError(
            errno.EPERM, "the spool directory belongs to another user or is open to all", str(directory)
        )
