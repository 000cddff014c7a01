"""The Avro envelope (specification 15): ``C3 01``, the schema's fingerprint, then the record; facets pass as their JSON texts.

The envelope is a form of the JSON event, no second model: :func:`to_json` gives the event's text back, and that is read
as any other. What an envelope can't hold (an eventType that is no text, say) stays JSON.
"""

from __future__ import annotations

import io
import json
from functools import cache
from importlib import resources
from typing import Any, cast

from msgspec import Raw
from msgspec import json as fast_json

from .canonical import Json, canonical, parse
from .errors import EventRejected

MAGIC = b"\xc3\x01"
"""The first bytes of an Avro single-object encoding; eight bytes of CRC-64-AVRO fingerprint follow, little-endian."""

_OWN = {"inputs": "inputFacets", "outputs": "outputFacets"}
_TEXTS = ("eventTime", "eventType", "producer", "schemaURL")


@cache
def _schemas() -> dict[bytes, Any]:
    """Every schema ever released, under its fingerprint."""
    from fastavro.schema import fingerprint, to_parsing_canonical_form

    known = {}
    folder = resources.files("headwater_avro") / "schemas"
    for file in folder.iterdir():
        if file.name.startswith("event") and file.name.endswith(".avsc"):
            schema = parse_schema(file.read_text())
            print_ = fingerprint(to_parsing_canonical_form(schema), "CRC-64-AVRO")
            known[bytes.fromhex(print_)] = (file.name, schema)
    return known


def parse_schema(text: str) -> Any:
    """Return an Avro schema parsed; ValueError for text that is none."""
    import fastavro
    from fastavro.schema import SchemaParseException

    try:
        return fastavro.parse_schema(json.loads(text))
    except (SchemaParseException, KeyError, TypeError) as fault:
        raise ValueError(f"{type(fault).__name__}: {fault}") from fault


@cache
def _newest() -> tuple[bytes, Any]:
    return next((print_, schema) for print_, (name, schema) in _schemas().items() if name == "event.avsc")


def encode_avro(event: bytes) -> bytes:
    """Return the single-object Avro form of a JSON event.

    Raises EventRejected (``not_decodable``) for text that is no JSON, and ValueError for an event that the envelope can't
    hold: send it as JSON. Needs the extra ``avro``.
    """
    import fastavro

    print_, schema = _newest()
    record = _record(parse(event))
    body = io.BytesIO()
    fastavro.schemaless_writer(body, schema, record)
    return MAGIC + print_ + body.getvalue()


def to_json(message: bytes) -> bytes:
    """Return the JSON text of an event in Avro single-object form.

    Raises EventRejected: ``unknown_schema`` for a fingerprint that no released schema has, ``not_decodable`` for bytes
    that don't follow their schema.
    """
    known = _schemas().get(message[2:10])
    if known is None:
        raise EventRejected("unknown_schema", f"no released schema has the fingerprint {message[2:10].hex()}")
    return read_record(message[10:], known[1])


def read_record(body: bytes, schema: Any) -> bytes:
    """Return the JSON text of an event from an Avro record of a parsed schema, any version of the envelope.

    Raises EventRejected: ``unknown_schema`` for a schema that the newest envelope can't read, ``not_decodable`` for bytes
    that don't follow it.
    """
    import fastavro
    from fastavro.read import SchemaResolutionError

    try:
        record = fastavro.schemaless_reader(io.BytesIO(body), schema, _newest()[1])
    except SchemaResolutionError as fault:
        raise EventRejected("unknown_schema", f"no version of the envelope: {fault}") from None
    except (EOFError, ValueError, IndexError, UnicodeDecodeError, OverflowError, MemoryError, TypeError) as fault:
        raise EventRejected("not_decodable", f"no record of its schema: {type(fault).__name__}: {fault}") from None
    return _text(cast("dict[str, Any]", record))


# ---- JSON -> record ----------------------------------------------------------------------------------------------------


def _record(event: Json | None) -> dict[str, Any]:
    if not isinstance(event, dict):
        raise ValueError("the event is no JSON object")
    left = dict(event)
    record: dict[str, Any] = {name: _text_or_none(left.pop(name, None), name) for name in _TEXTS}
    record["run"] = _entity(left.pop("run", None), ("runId",), ())
    for name in ("job", "dataset"):
        record[name] = _entity(left.pop(name, None), ("namespace", "name"), ())
    for side, own in _OWN.items():
        listed = left.pop(side, None)
        if listed is not None and not isinstance(listed, list):
            raise ValueError(f"{side} is no list")
        record[side] = None if listed is None else [_entity(one, ("namespace", "name"), (own,)) for one in listed]
    record["others"] = _json_texts(left)
    return record


def _text_or_none(value: Json | None, name: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{name} is no text")
    return value


def _entity(value: Json | None, identity: tuple[str, ...], own: tuple[str, ...]) -> dict[str, Any] | None:
    if value is None:
        return None
    if not isinstance(value, dict) or not all(isinstance(value.get(name), str) for name in identity):
        raise ValueError(f"an entity lacks {' or '.join(identity)}")
    left = dict(value)
    entity: dict[str, Any] = {name: left.pop(name) for name in identity}
    for container in ("facets", *own):
        facets = left.pop(container, None)
        if facets is not None and not isinstance(facets, dict):
            raise ValueError(f"{container} is no object")
        # None is told from empty: the canonical JSON of a whole event names versions (specification 4.4, 5.4).
        entity[container] = None if facets is None else _json_texts(facets)
    entity["others"] = _json_texts(left)
    return entity


def _json_texts(members: dict[str, Json]) -> dict[str, bytes]:
    return {name: canonical(value).encode() for name, value in members.items()}


# ---- record -> JSON ----------------------------------------------------------------------------------------------------


def _text(record: dict[str, Any]) -> bytes:
    event: dict[str, Any] = {name: record[name] for name in _TEXTS if record[name] is not None}
    for name in ("run", "job", "dataset"):
        if record[name] is not None:
            event[name] = _object(record[name])
    for side in _OWN:
        if record[side] is not None:
            event[side] = [_object(one) for one in record[side]]
    return fast_json.encode(event | _raw(record["others"]))


def _object(entity: dict[str, Any]) -> dict[str, Any]:
    told = {name: value for name, value in entity.items() if value is not None}
    members = {name: _raw(value) if isinstance(value, dict) else value for name, value in told.items()}
    others = members.pop("others")
    return members | others


def _raw(texts: dict[str, bytes]) -> dict[str, Raw]:
    return {name: Raw(text) for name, text in texts.items()}
