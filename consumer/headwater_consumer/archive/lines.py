"""A message as one line of JSON, with nothing added and nothing lost.

``{"partition": 0, "offset": 12, "timestamp": 1767225600000, "key": "…", "value": "…", "headers": [["name", "…"]]}``

Keys, values and header values are texts where their bytes are UTF-8, else ``{"base64": "…"}``, and null where Kafka has
null; ``timestamp`` is in milliseconds since 1970, -1 where the message has none.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any, TypeAlias

from headwater_avro.errors import HeadwaterError
from headwater_consumer.kafka.messages import Message

Octets: TypeAlias = str | dict[str, str] | None
"""Bytes as JSON has them."""


class Damaged(HeadwaterError):
    """A file of an archive is not what was written: restore it from a copy."""


def line_of(message: Message) -> bytes:
    """Return a message as a line, with its newline."""
    told = {
        "partition": message.partition,
        "offset": message.offset,
        "timestamp": message.timestamp,
        "key": _told(message.key),
        "value": _told(message.value),
        "headers": [[name, _told(value)] for name, value in message.headers],
    }
    return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def message_of(topic: str, line: bytes) -> Message:
    """Return the message that :func:`line_of` wrote; raises Damaged for any other line."""
    try:
        told = json.loads(line)
        return Message(
            topic,
            int(told["partition"]),
            int(told["offset"]),
            int(told["timestamp"]),
            _octets(told["key"]),
            _octets(told["value"]),
            tuple((str(name), _octets(value)) for name, value in told["headers"]),
        )
    except (ValueError, TypeError, KeyError, binascii.Error) as fault:
        raise Damaged(f"a line of the archive is no message: {line[:80]!r}") from fault


def _told(octets: bytes | None) -> Octets:
    if octets is None:
        return None
    try:
        return octets.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(octets).decode()}


def _octets(told: Any) -> bytes | None:
    match told:
        case None:
            return None
        case str():
            return told.encode()
        case _:
            return base64.b64decode(told["base64"], validate=True)
