"""A Kafka message's value and headers to an event, whatever its wire form (specification 15).

The form is told by the first bytes, never by trying: ``28 B5 2F FD`` zstd, ``1F 8B`` gzip, ``C3 01`` Avro single-object,
``00`` Confluent framing (taken off before, by `framing`, where a registry is set), anything else JSON. CloudEvents come
in both modes: in binary mode the value is the event, in structured mode (``application/cloudevents…+json``) it is the
member ``data``.
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
    "unfolded",
]

MAX_EVENT_BYTES = 16_000_000
"""How many bytes a compressed message may hold by default: sixteen times what Kafka takes uncompressed by default."""

MAX_RATIO = 1_000
"""How many times its own size a compressed message may hold by default.

Events compress ten to thirty times as a rule, but column lineage that repeats the same inputs for every column does so up to
a thousand times.
"""

FREE_BYTES = 4_000_000
"""How many bytes a compressed message may hold whatever the ratio."""

_CHUNK = 128 * 1024

MAX_LAYERS = 8
"""How often a message may have been compressed: once is usual, a gateway may add another."""


@dataclass(frozen=True, slots=True)
class Decompression:
    """How much a compressed message may hold, all its layers together: bytes, and times its own size above free bytes."""

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
    """Return the event that a message carries; raises EventRejected with a code of specification 8."""
    return read_event(event_json(value, headers, decompression))


def event_json(
    value: bytes | None,
    headers: Sequence[tuple[str, bytes]] = (),
    decompression: Decompression = DEFAULT_DECOMPRESSION,
) -> bytes:
    """Return the event's JSON text, unwrapped; raises EventRejected where there is none."""
    if not value:
        raise EventRejected("not_decodable", "the message has no value")
    if value[0] == 0x7B and not headers:
        return value
    value = unfolded(value, decompression)
    if value.startswith(MAGIC):
        return to_json(value)
    if value.startswith(_CONFLUENT):
        raise EventRejected("unknown_schema", f"no registry is set to ask for schema id {value[1:5].hex()}")
    return _data(value) if _is_cloud_event(headers) else value


def unfolded(value: bytes, decompression: Decompression = DEFAULT_DECOMPRESSION) -> bytes:
    """Return what is in a compressed message, however often it was compressed, within the limits.

    Raises EventRejected: ``too_large`` beyond them, ``not_decodable`` for more than 8 layers and for broken ones.
    """
    return Unfolding(value, decompression).unfold(value) if value.startswith((_ZSTD, _GZIP)) else value


class Unfolding:
    """What is left of a message's limits while its layers are taken off."""

    def __init__(self, message: bytes, limits: Decompression) -> None:
        self._limits = limits
        self._size = len(message)
        self._most = min(limits.most_bytes, max(limits.free_bytes, limits.ratio * len(message)))
        self._held = 0
        self._layers = 0

    def unfold(self, value: bytes) -> bytes:
        """Return what is in a part of the message without its layers, as `unfolded` does."""
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
        """Return what is in a layer, piece by piece, so that no more is held than is allowed."""
        # The bytes of a BytesIO are handed out without a copy.
        held = io.BytesIO()
        while piece := stream.read(_CHUNK):
            self._held += len(piece)
            if self._held > self._most:
                raise EventRejected("too_large", self._excess())
            held.write(piece)
        return held.getvalue()

    def _excess(self) -> str:
        limits = self._limits
        if self._most == limits.most_bytes:
            return f"holds more than {self._most} bytes compressed: see HEADWATER_MAX_DECOMPRESSED_BYTES"
        most = f"{limits.ratio} times its {self._size} bytes, and more than {limits.free_bytes} bytes"
        return f"holds more than {most} compressed: see HEADWATER_MAX_DECOMPRESSION_RATIO"


def _is_cloud_event(headers: Sequence[tuple[str, bytes]]) -> bool:
    return any(
        name.lower() == "content-type" and bytes(text or b"").lower().startswith(b"application/cloudevents")
        for name, text in headers
    )


def _data(envelope: bytes) -> bytes:
    event = parse(envelope)
    if not isinstance(event, dict):
        raise EventRejected("not_an_object", "the CloudEvents envelope is no JSON object")
    if "data" in event:
        return canonical(event["data"]).encode()
    try:
        return base64.b64decode(str(event["data_base64"]), validate=True)
    except (KeyError, ValueError):
        raise EventRejected("not_an_event", "the CloudEvents envelope has no data") from None
