"""What is remembered of a run, a job and a dataset: elements of a semilattice (specification 2).

A record holds, of each thing that was told, the instance that stays, with the order that made it stay; so two records
of the same thing can be joined without the events they came from. Records are packed as one format byte and
zstd-compressed MessagePack; every format ever written stays readable.
"""

from __future__ import annotations

import threading
from typing import TypeAlias, TypeVar

import msgspec
import zstandard
from msgspec import Struct, field

from headwater_avro.names import Key

Instance: TypeAlias = tuple[int, int, bytes]
"""A facet as one event carried it: (eventTime in microseconds, type rank, JSON text)."""

Facets: TypeAlias = dict[str, Instance]
"""Facet name -> the instance that stays (specification 2.3)."""


class Listing(Struct, array_like=True):
    """A dataset on one side of a run: when it was first and last listed, and its two facet containers.

    ``time`` and ``rank`` are the order of the last event that lists it (for specification 2.7), ``first`` the least eventTime
    that does (for specification 5.1).
    """

    first: int
    time: int
    rank: int
    facets: Facets
    own: Facets


class Naming(Struct, array_like=True):
    """A job as the events of one run name it: the order of the last that does, its facets, and its parent's key.

    ``parent`` is an instance whose text is the canonical JSON of the parent job's key (specification 2.8).
    """

    time: int
    rank: int
    facets: Facets
    parent: Instance | None = None


class RunRecord(Struct, array_like=True):
    """All that the events of one runId told (specification 2). Times in microseconds since 1970-01-01 UTC."""

    jobs: dict[Key, Naming]
    first: int
    last: int
    started: int | None = None
    ended: int | None = None
    terminal: int = 0
    opened: bool = False
    facets: Facets = field(default_factory=dict)
    inputs: dict[Key, Listing] = field(default_factory=dict)
    outputs: dict[Key, Listing] = field(default_factory=dict)
    entries: set[str] = field(default_factory=set)


class JobRecord(Struct, array_like=True):
    """What all events that name a job told of it (specification 6.8, 2.8)."""

    facets: Facets = field(default_factory=dict)
    parent: Instance | None = None


class DatasetRecord(Struct, array_like=True):
    """What all events that name a dataset told of it (specification 6.8)."""

    facets: Facets = field(default_factory=dict)


AnyRecord = TypeVar("AnyRecord", RunRecord, JobRecord, DatasetRecord)

_FORMAT = b"\x01"
_encode = msgspec.msgpack.Encoder().encode
_decoders = {kind: msgspec.msgpack.Decoder(kind).decode for kind in (RunRecord, JobRecord, DatasetRecord)}


class _Zstd(threading.local):
    """zstd for one thread: its objects let go of the interpreter while they work, and two threads in one of them crash it."""

    def __init__(self) -> None:
        self.compress = zstandard.ZstdCompressor(level=1).compress
        self.decompress = zstandard.ZstdDecompressor().decompress


_zstd = _Zstd()


def pack(record: RunRecord | JobRecord | DatasetRecord) -> bytes:
    """Return a record as bytes, the first of which tells the format."""
    return _FORMAT + _zstd.compress(_encode(record))


def unpack(packed: bytes, kind: type[AnyRecord]) -> AnyRecord:
    """Return the record that :func:`pack` made.

    Raises ValueError for a format that this version doesn't know: a newer headwater wrote it.
    """
    if packed[:1] != _FORMAT:
        raise ValueError(
            f"record of format {packed[:1].hex() or 'none'}: written by a newer headwater, upgrade this one"
        )
    return _decoders[kind](_zstd.decompress(packed[1:]))  # type: ignore[return-value]
