"""The records of a spool segment as bytes; pure.

A record is the length of its body, the CRC-32 of the rest, the length of the key (FFFF: no key), key and value. Nothing
separates records: after a damaged one, the next is found by its checksum.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from ..broker import Message

_RECORD = struct.Struct("<IIH")
_NO_KEY = 0xFFFF
_LONGEST = 64 * 1024 * 1024

# Where a record can begin: a length below 64 MB. Runs of zeros, which file systems leave after a power failure, can't.
_BEGINNING = re.compile(rb"(?=.{3}[\x00-\x03].{6})(?!\x00{10})", re.DOTALL)
_ATTEMPT_COST = 128
_BUDGET, _LEAST_BUDGET = 32, 1024 * 1024
"""How many bytes of checksums a search may compute for each byte searched."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Bytes ``start`` to ``end`` that are not a whole record; ``torn``: a record whose end was never written."""

    start: int
    end: int
    torn: bool


def pack(message: Message) -> bytes:
    """Return the message as a record."""
    key = message.key or b""
    length = _NO_KEY if message.key is None else min(len(key), _NO_KEY - 1)
    body = struct.pack("<H", length) + key[:length] + message.value
    return _RECORD.pack(len(body) - 2, zlib.crc32(body), length) + body[2:]


def unpack(data: bytes, start: int) -> Iterator[Message | Gap]:
    """Yield the records from ``start`` on, and a gap for each damaged place between them."""
    at = start
    while at < len(data):
        end = _end_of_record(data, at)
        if end is None:
            gap = Gap(at, end := _next_record(data, at + 1), _is_torn(data, at) and end == len(data))
            yield gap
        else:
            yield _message(data, at, end)
        at = end


def _end_of_record(data: bytes, at: int) -> int | None:
    if at + _RECORD.size > len(data):
        return None
    size, checksum, key_length = _RECORD.unpack_from(data, at)
    end = at + _RECORD.size + size
    if size > _LONGEST or end > len(data) or (key_length != _NO_KEY and key_length > size):
        return None
    # The checksum covers the length of the key, which precedes the body.
    return end if zlib.crc32(memoryview(data)[at + 8 : end]) == checksum else None


def _message(data: bytes, at: int, end: int) -> Message:
    key_length = _RECORD.unpack_from(data, at)[2]
    start = at + _RECORD.size
    if key_length == _NO_KEY:
        return Message(None, data[start:end])
    return Message(data[start : start + key_length], data[start + key_length : end])


def _next_record(data: bytes, at: int) -> int:
    """Return where the next whole record begins; the end of the data if there is none or the search costs too much."""
    budget = _LEAST_BUDGET + _BUDGET * (len(data) - at)
    for beginning in _BEGINNING.finditer(data, at):
        start = beginning.start()
        if _end_of_record(data, start) is not None:
            return start
        size = _RECORD.unpack_from(data, start)[0]
        budget -= _ATTEMPT_COST + (size if start + size <= len(data) else 0)
        if budget < 0:
            break
    return len(data)


def _is_torn(data: bytes, at: int) -> bool:
    if at + _RECORD.size > len(data):
        return True
    size = _RECORD.unpack_from(data, at)[0]
    return bool(at + _RECORD.size + size > len(data))
