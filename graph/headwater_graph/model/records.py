"""The records of runs, jobs and datasets: elements of a join semilattice (specification 2).

For each thing that events state, a record holds the instance that remains and its place in the order of events. So two
records of one thing can be merged without the events they come from. A packed record is one format byte and
zstd-compressed MessagePack; every format that was ever written stays readable.
"""

from __future__ import annotations

import threading
from typing import TypeAlias, TypeVar

import msgspec
import zstandard
from msgspec import Struct, field

from headwater_avro.names import Key

Instance: TypeAlias = tuple[int, int, bytes]
"""A facet as one event carries it: (eventTime in microseconds, type rank, JSON text)."""

Facets: TypeAlias = dict[str, Instance]
"""Facet name -> the instance that remains (specification 2.3)."""


class Listing(Struct, array_like=True):
    """A dataset on one side of a run: when it was first and last listed, and its two facet containers.

    ``time`` and ``rank`` are the order of the last event that lists it (for specification 2.7). ``first`` is the least
    eventTime of these events (for specification 5.1). ``own`` are the input or output facets.
    """

    first: int
    time: int
    rank: int
    facets: Facets
    own: Facets


class Naming(Struct, array_like=True):
    """A job that events of a run name: the order of the last such event, the job's facets and its parent's key.

    ``parent`` is an instance whose text is the canonical JSON of the parent job's key (specification 2.8).
    """

    time: int
    rank: int
    facets: Facets
    parent: Instance | None = None


class RunRecord(Struct, array_like=True):
    """The merge of all events of one runId (specification 2). Times are in microseconds since 1970-01-01 UTC."""

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
    """The merge of what all events that name a job state about it (specification 6.8, 2.8)."""

    facets: Facets = field(default_factory=dict)
    parent: Instance | None = None


class DatasetRecord(Struct, array_like=True):
    """The merge of what all events that name a dataset state about it (specification 6.8)."""

    facets: Facets = field(default_factory=dict)


AnyRecord = TypeVar("AnyRecord", RunRecord, JobRecord, DatasetRecord)

_FORMAT = b"\x01"
_encode = msgspec.msgpack.Encoder().encode
_decoders = {kind: msgspec.msgpack.Decoder(kind).decode for kind in (RunRecord, JobRecord, DatasetRecord)}


class _Zstd(threading.local):
    """A zstd compressor and decompressor per thread: they release the GIL, and two threads in one of them crash the process."""

    def __init__(self) -> None:
        self.compress = zstandard.ZstdCompressor(level=1).compress
        self.decompress = zstandard.ZstdDecompressor().decompress


_zstd = _Zstd()


def pack(record: RunRecord | JobRecord | DatasetRecord) -> bytes:
    """Return a record as bytes; the first byte is the version of the format."""
    return _FORMAT + _zstd.compress(_encode(record))


def unpack(packed: bytes, kind: type[AnyRecord]) -> AnyRecord:
    """Return the record that ``pack`` packed.

    Raises ValueError for a format that this version doesn't know: a newer headwater wrote it.
    """
    if packed[:1] != _FORMAT:
        raise ValueError(f"record of format {packed[:1].hex() or 'none'}: a newer headwater wrote it, upgrade this one")
    return _decoders[kind](_zstd.decompress(packed[1:]))  # type: ignore[return-value]
