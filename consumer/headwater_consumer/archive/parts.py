"""The files of an archive. The name of a file describes its content, so a listing of names is the whole state of an archive.

``lineage.events/2026-01-31/00003-00000000000000000100-00000000000000000250-<sha256>.jsonl.zst`` holds all messages of
partition 3 from offset 100 up to, not including, 250. The day is that of the latest timestamp in the file, in UTC; the
checksum is that of the file's bytes, as ``sha256sum`` prints it. Between the files of a partition there may be gaps: Kafka
deleted the messages before they were archived, or a file was deleted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from headwater_avro.times import datetime_of

ENDING = ".jsonl.zst"

_NAME = re.compile(
    r"(?P<topic>[a-zA-Z0-9._-]+)/(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})/"
    r"(?P<partition>[0-9]{5,})-(?P<begin>[0-9]{20})-(?P<end>[0-9]{20})-(?P<digest>[0-9a-f]{64})" + re.escape(ENDING)
)


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """One file: the messages of a partition from ``begin`` up to, not including, ``end``."""

    topic: str
    partition: int
    begin: int
    end: int
    day: str
    digest: str

    @property
    def name(self) -> str:
        """The file's name within the archive."""
        place = f"{self.partition:05d}-{self.begin:020d}-{self.end:020d}"
        return f"{self.topic}/{self.day}/{place}-{self.digest}{ENDING}"


@dataclass(frozen=True, slots=True)
class Gap:
    """Messages of a partition that no file holds: from ``begin`` up to, not including, ``end``."""

    partition: int
    begin: int
    end: int


def part_named(name: str) -> Part | None:
    """Return the part with this name; None for a file that is not part of an archive."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    numbers = {field: int(found[field]) for field in ("partition", "begin", "end")}
    return Part(topic=found["topic"], day=found["day"], digest=found["digest"], **numbers)


def parts_of(names: Iterable[str]) -> dict[int, list[Part]]:
    """Return the parts among some names by partition, each partition's by offset."""
    found: dict[int, list[Part]] = {}
    for part in sorted(part for name in names if (part := part_named(name)) is not None):
        found.setdefault(part.partition, []).append(part)
    return found


def ends(parts: dict[int, list[Part]]) -> dict[int, int]:
    """Return, by partition, the offset after the last archived message."""
    return {partition: max(part.end for part in listed) for partition, listed in parts.items()}


def gaps(parts: dict[int, list[Part]]) -> Iterator[Gap]:
    """Yield the offsets between the first and the last file of each partition that are in no file."""
    for partition, listed in parts.items():
        reached = listed[0].begin
        for part in listed:
            if part.begin > reached:
                yield Gap(partition, reached, part.begin)
            reached = max(reached, part.end)


def day_of(timestamp: int) -> str:
    """Return the day of a timestamp in milliseconds; 1970-01-01 for none (-1) and for years after 9999.

    >>> day_of(1767225600000), day_of(-1)
    ('2026-01-01', '1970-01-01')
    """
    try:
        return datetime_of(max(0, timestamp) * 1_000).date().isoformat()
    except OverflowError:
        return datetime_of(0).date().isoformat()
