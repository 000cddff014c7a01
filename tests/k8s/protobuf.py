"""The part of Kubernetes' protobuf that is needed to read the Secrets in which helm stores its releases."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

MAGIC = b"k8s\x00"


def decode(body: bytes) -> dict[str, Any]:
    """Return the object in a protobuf body: names, labels, data and type of a Secret or ConfigMap; ValueError for other bytes.

    Field numbers: runtime.Unknown 1 type and 2 object, ObjectMeta 1 name, 11 labels and 12 annotations, Secret 1
    metadata, 2 data and 3 type (k8s.io/api/core/v1/generated.proto).
    """
    unknown = dict(_fields(body.removeprefix(MAGIC)))
    kind = {number: value.decode() for number, value in _fields(unknown[1])}
    parts = list(_fields(unknown[2]))
    metadata = list(_fields(dict(parts)[1]))
    found: dict[str, Any] = {
        "apiVersion": kind[1],
        "kind": kind[2],
        "metadata": {
            "name": dict(metadata)[1].decode(),
            "labels": {name: value.decode() for name, value in _mapping(metadata, 11)},
            "annotations": {name: value.decode() for name, value in _mapping(metadata, 12)},
        },
    }
    if kind[2] == "Secret":
        found["data"] = {name: base64.b64encode(value).decode() for name, value in _mapping(parts, 2)}
        found["type"] = dict(parts).get(3, b"Opaque").decode()
    return found


def _mapping(fields: list[tuple[int, bytes]], number: int) -> Iterator[tuple[str, bytes]]:
    for entry in (dict(_fields(value)) for found, value in fields if found == number):
        yield entry[1].decode(), entry.get(2, b"")


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield every field of a message with its bytes."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        value, at = _varint(data, at)
        match tag & 7:
            case 2:
                yield tag >> 3, data[at : at + value]
                at += value
            case 0:
                pass
            case other:
                raise ValueError(f"wire type {other}")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
