"""Decode a Kafka message's value and headers to an event, whatever its encoding (specification 15).

The first bytes determine the encoding: ``28 B5 2F FD`` zstd, ``1F 8B`` gzip, ``C3 01`` Avro single-object encoding, ``00``
Confluent framing (which ``framing`` removes before if a registry is configured), anything else JSON. Both modes of
CloudEvents are supported: in binary mode the value is the event, in structured mode (``application/cloudevents…+json``) the
event is the member ``data``.
"""

from __future__ import annotations

import base64
import gzip
import io
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from .avro_codec import MAGIC, encode_avro, to_json
from .canonical import canonical, parse
from .errors import EventRejected
from .events import Event
from .json_codec import read_event

__all__ = [
    "DEFAULT_DECOMPRESSION",
    "MAX_EVENT_BYTES",
    "Decompression",
    "encode_avro",
    "event_json",
    "read_message",
]

MAX_EVENT_BYTES = 16_000_000
"""Default limit of the decompressed bytes of a message: sixteen times Kafka's default limit of a message."""

MAX_RATIO = 1_000
"""Default limit of the decompression ratio of a message.

Events usually compress by a factor of ten to thirty, but column lineage that repeats the same inputs for every column by up
to a thousand.
"""

FREE_BYTES = 4_000_000
"""Decompressed bytes that a message may have whatever the ratio."""

_CHUNK = 128 * 1024

MAX_LAYERS = 8
"""How many times a message may be compressed: once is usual, a gateway may add another layer."""


@dataclass(frozen=True, slots=True)
class Decompression:
    """Limits of a compressed message, all layers together: decompressed bytes, and the ratio above ``free_bytes``."""

    most_bytes: int = MAX_EVENT_BYTES
    ratio: int = MAX_RATIO
    free_bytes: int = FREE_BYTES


DEFAULT_DECOMPRESSION: Final = Decompression()

_ZSTD, _GZIP, _CONFLUENT = b"\x28\xb5\x2f\xfd", b"\x1f\x8b", b"\x00"


def read_message(
    value: bytes | None,
    headers: Sequence[tuple[str, bytes]] = (),
    decompression: Decompression = DEFAULT_DECOMPRESSION,
) -> Event:
    """Return the event in a message; raises EventRejected with a code of specification 8."""
    return read_event(event_json(value, headers, decompression))


def event_json(
    value: bytes | None,
    headers: Sequence[tuple[str, bytes]] = (),
    decompression: Decompression = DEFAULT_DECOMPRESSION,
) -> bytes:
    """Return the JSON text of the event in a message; raises EventRejected if there is no event."""
    if not value:
        raise EventRejected("not_decodable", "the message has no value")
    if value[0] == 0x7B and not headers:
        return value
    value = Decompressor(value, decompression).decompress(value)
    if value.startswith(MAGIC):
        return to_json(value)
    if value.startswith(_CONFLUENT):
        raise EventRejected("unknown_schema", f"no schema registry is set to resolve the schema id {value[1:5].hex()}")
    return _data(value) if _is_cloud_event(headers) else value


class Decompressor:
    """Decompresses the layers of one message, which share the limits."""

    def __init__(self, message: bytes, limits: Decompression) -> None:
        self._limits = limits
        self._size = len(message)
        self._max_bytes = min(limits.most_bytes, max(limits.free_bytes, limits.ratio * len(message)))
        self._bytes = 0
        self._layers = 0

    def decompress(self, value: bytes) -> bytes:
        """Return a part of the message decompressed, however many times it was compressed.

        Raises EventRejected: ``too_large`` beyond the limits, ``not_decodable`` for more than 8 layers and for broken ones.
        """
        while value.startswith((_ZSTD, _GZIP)):
            self._layers += 1
            if self._layers > MAX_LAYERS:
                raise EventRejected("not_decodable", f"compressed more than {MAX_LAYERS} times")
            value = self._unzstd(value) if value.startswith(_ZSTD) else self._ungzip(value)
        return value

    def _unzstd(self, value: bytes) -> bytes:
        import zstandard

        try:
            with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(value)) as stream:
                return self._read(stream)
        except zstandard.ZstdError as fault:
            raise EventRejected("not_decodable", f"broken zstd: {fault}") from None

    def _ungzip(self, value: bytes) -> bytes:
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(value)) as stream:
                return self._read(stream)
        except (OSError, EOFError, zlib.error) as fault:
            raise EventRejected("not_decodable", f"broken gzip: {fault}") from None

    def _read(self, stream: Any) -> bytes:
        """Return the content of a layer; reads in chunks, so that it never holds more than the limit."""
        # A BytesIO returns its bytes without a copy.
        content = io.BytesIO()
        while chunk := stream.read(_CHUNK):
            self._bytes += len(chunk)
            if self._bytes > self._max_bytes:
                raise EventRejected("too_large", self._excess())
            content.write(chunk)
        return content.getvalue()

    def _excess(self) -> str:
        limits = self._limits
        if self._max_bytes == limits.most_bytes:
            return f"more than {self._max_bytes} bytes when decompressed: see HEADWATER_MAX_DECOMPRESSED_BYTES"
        most = f"{limits.ratio} times its {self._size} bytes, and more than {limits.free_bytes} bytes,"
        return f"more than {most} when decompressed: see HEADWATER_MAX_DECOMPRESSION_RATIO"


def _is_cloud_event(headers: Sequence[tuple[str, bytes]]) -> bool:
    return any(
        name.lower() == "content-type" and bytes(text or b"").lower().startswith(b"application/cloudevents")
        for name, text in headers
    )


def _data(envelope: bytes) -> bytes:
    event = parse(envelope)
    if not isinstance(event, dict):
        raise EventRejected("not_an_object", "the CloudEvents envelope is not a JSON object")
    if "data" in event:
        return canonical(event["data"]).encode()
    try:
        return base64.b64decode(str(event["data_base64"]), validate=True)
    except (KeyError, ValueError):
        raise EventRejected("not_an_event", "the CloudEvents envelope has no data") from None
