"""A Kafka message's value and headers to an event, whatever its wire form (specification 15).

The form is told by the first bytes, never by trying: ``28 B5 2F FD`` zstd, ``1F 8B`` gzip, ``C3 01`` Avro single-object,
``00`` Confluent framing (taken off before, by `framing`, where a registry is set), anything else JSON. CloudEvents come
in both modes: in binary mode the value is the event, in structured mode (``application/cloudevents…+json``) it is the
member ``data``.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import io
import zlib
from collections.abc import Sequence

from .avro_codec import MAGIC, encode_avro, to_json
from .canonical import canonical, parse
from .errors import EventRejected
from .events import Event
from .json_codec import read_event

__all__ = ["MAX_EVENT_BYTES", "encode_avro", "event_json", "read_message", "unfolded"]

MAX_EVENT_BYTES = 128 * 1024 * 1024
"""How many bytes a compressed message may unfold to; a larger one is ``too_large``, or a bomb."""

MAX_LAYERS = 8
"""How often a message may have been compressed: once is usual, a gateway may add another."""

_ZSTD, _GZIP, _CONFLUENT = b"\x28\xb5\x2f\xfd", b"\x1f\x8b", b"\x00"


def read_message(value: bytes | None, headers: Sequence[tuple[str, bytes]] = ()) -> Event:
    """Return the event that a message carries; raises EventRejected with a code of specification 8."""
    return read_event(event_json(value, headers))


def event_json(value: bytes | None, headers: Sequence[tuple[str, bytes]] = ()) -> bytes:
    """Return the event's JSON text, unwrapped; raises EventRejected where there is none."""
    if not value:
        raise EventRejected("not_decodable", "the message has no value")
    if value[0] == 0x7B and not headers:
        return value
    value = unfolded(value)
    if value.startswith(MAGIC):
        return to_json(value)
    if value.startswith(_CONFLUENT):
        raise EventRejected("unknown_schema", f"no registry is set to ask for schema id {value[1:5].hex()}")
    return _data(value) if _is_cloud_event(headers) else value


def unfolded(value: bytes) -> bytes:
    """Return what is in a compressed message, however often it was compressed, within reason; raises EventRejected."""
    for _ in range(MAX_LAYERS):
        if value.startswith(_ZSTD):
            value = _unzstd(value)
        elif value.startswith(_GZIP):
            value = _ungzip(value)
        else:
            return value
    raise EventRejected("not_decodable", f"compressed more than {MAX_LAYERS} times")


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
    except (KeyError, binascii.Error):
        raise EventRejected("not_an_event", "the CloudEvents envelope has no data") from None


def _unzstd(value: bytes) -> bytes:
    import zstandard

    try:
        with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(value)) as stream:
            return _bounded(stream.read(MAX_EVENT_BYTES + 1))
    except zstandard.ZstdError as fault:
        raise EventRejected("not_decodable", f"broken zstd: {fault}") from None


def _ungzip(value: bytes) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(value)) as stream:
            return _bounded(stream.read(MAX_EVENT_BYTES + 1))
    except (OSError, EOFError, zlib.error) as fault:
        raise EventRejected("not_decodable", f"broken gzip: {fault}") from None


def _bounded(text: bytes) -> bytes:
    if len(text) > MAX_EVENT_BYTES:
        raise EventRejected("too_large", f"unfolds to more than {MAX_EVENT_BYTES} bytes")
    return text
