"""The Avro envelope (specification 15): ``C3 01``, the schema's fingerprint, then the record; facets are their JSON texts.

The envelope is an encoding of the JSON event, not a second model: ``to_json`` restores the event's JSON, which is then read
as any other. An event that the envelope cannot represent (for instance, one whose eventType is not a string) stays JSON.
"""

from __future__ import annotations

import io
import json
from functools import cache
from importlib import resources
from typing import Any, TypeAlias, cast

from msgspec import Raw
from msgspec import json as fast_json

from .canonical import Json, canonical, parse
from .errors import EventRejected

MAGIC = b"\xc3\x01"
"""The first bytes of an Avro single-object encoding; eight bytes of CRC-64-AVRO fingerprint follow, little-endian."""

_OWN = {"inputs": "inputFacets", "outputs": "outputFacets"}
_TEXTS = ("eventTime", "eventType", "producer", "schemaURL")


_Record: TypeAlias = dict[str, Any]
"""An Avro record of the envelope, or of a part of it."""


@cache
def _schemas() -> dict[bytes, Any]:
    """Return every released schema, as (file name, schema), by its fingerprint."""
    from fastavro.schema import fingerprint, to_parsing_canonical_form

    released = {}
    folder = resources.files("headwater_avro") / "schemas"
    for file in folder.iterdir():
        if file.name.startswith("event") and file.name.endswith(".avsc"):
            schema = parse_schema(file.read_text())
            digest = fingerprint(to_parsing_canonical_form(schema), "CRC-64-AVRO")
            released[bytes.fromhex(digest)] = (file.name, schema)
    return released


def parse_schema(text: str) -> Any:
    """Return the parsed form of an Avro schema; raises ValueError if the text is not an Avro schema."""
    import fastavro
    from fastavro.schema import SchemaParseException

    try:
        return fastavro.parse_schema(json.loads(text))
    except (SchemaParseException, KeyError, TypeError) as fault:
        raise ValueError(f"{type(fault).__name__}: {fault}") from fault


@cache
def _newest() -> tuple[bytes, Any]:
    return next((digest, schema) for digest, (name, schema) in _schemas().items() if name == "event.avsc")


def encode_avro(event: bytes) -> bytes:
    """Return the Avro single-object encoding of a JSON event; needs the extra ``avro``.

    Raises EventRejected (``not_decodable``) for text that is not JSON, and ValueError for an event that the envelope cannot
    represent: send it as JSON.
    """
    import fastavro

    digest, schema = _newest()
    record = _record(parse(event))
    body = io.BytesIO()
    fastavro.schemaless_writer(body, schema, record)
    return MAGIC + digest + body.getvalue()


def to_json(message: bytes) -> bytes:
    """Return the JSON text of an event in Avro single-object encoding.

    Raises EventRejected: ``unknown_schema`` for a fingerprint that no released schema has, ``not_decodable`` for bytes
    that do not match their schema.
    """
    released = _schemas().get(message[2:10])
    if released is None:
        raise EventRejected("unknown_schema", f"no released schema has the fingerprint {message[2:10].hex()}")
    return read_record(message[10:], released[1])


def read_record(body: bytes, schema: Any) -> bytes:
    """Return the JSON text of an event from an Avro record; ``schema`` is the parsed schema of any envelope version.

    Raises EventRejected: ``unknown_schema`` for a schema that the newest envelope cannot read, ``not_decodable`` for bytes
    that do not match the schema.
    """
    import fastavro
    from fastavro.read import SchemaResolutionError

    try:
        record = fastavro.schemaless_reader(io.BytesIO(body), schema, _newest()[1])
    except SchemaResolutionError as fault:
        raise EventRejected("unknown_schema", f"not a version of the envelope: {fault}") from None
    except (EOFError, ValueError, IndexError, UnicodeDecodeError, OverflowError, MemoryError, TypeError) as fault:
        raise EventRejected("not_decodable", f"not a record of its schema: {type(fault).__name__}: {fault}") from None
    return _text(cast("_Record", record))


# ---- JSON -> record ----------------------------------------------------------------------------------------------------


def _record(event: Json | None) -> _Record:
    if not isinstance(event, dict):
        raise ValueError("the event is not a JSON object")
    others = dict(event)
    record: _Record = {name: _text_or_none(others.pop(name, None), name) for name in _TEXTS}
    record["run"] = _entity(others.pop("run", None), ("runId",), ())
    for name in ("job", "dataset"):
        record[name] = _entity(others.pop(name, None), ("namespace", "name"), ())
    for side, own in _OWN.items():
        datasets = others.pop(side, None)
        if datasets is not None and not isinstance(datasets, list):
            raise ValueError(f"{side} is not a list")
        record[side] = datasets and [_entity(dataset, ("namespace", "name"), (own,)) for dataset in datasets]
    record["others"] = _json_texts(others)
    return record


def _text_or_none(value: Json | None, name: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{name} is not a string")
    return value


def _entity(value: Json | None, identity: tuple[str, ...], own: tuple[str, ...]) -> _Record | None:
    if value is None:
        return None
    if not isinstance(value, dict) or not all(isinstance(value.get(name), str) for name in identity):
        raise ValueError(f"an entity lacks {' or '.join(identity)}")
    others = dict(value)
    entity: _Record = {name: others.pop(name) for name in identity}
    for container in ("facets", *own):
        facets = others.pop(container, None)
        if facets is not None and not isinstance(facets, dict):
            raise ValueError(f"{container} is not an object")
        # None differs from empty: version ids are made of the canonical JSON of whole events (specification 4.4, 5.4).
        entity[container] = None if facets is None else _json_texts(facets)
    entity["others"] = _json_texts(others)
    return entity


def _json_texts(members: dict[str, Json]) -> dict[str, bytes]:
    return {name: canonical(value).encode() for name, value in members.items()}


# ---- record -> JSON ----------------------------------------------------------------------------------------------------


def _text(record: _Record) -> bytes:
    event: _Record = {name: record[name] for name in _TEXTS if record[name] is not None}
    for name in ("run", "job", "dataset"):
        if record[name] is not None:
            event[name] = _object(record[name])
    for side in _OWN:
        if record[side] is not None:
            event[side] = [_object(dataset) for dataset in record[side]]
    return fast_json.encode(event | _raw(record["others"]))


def _object(entity: _Record) -> _Record:
    present = {name: value for name, value in entity.items() if value is not None}
    members = {name: _raw(value) if isinstance(value, dict) else value for name, value in present.items()}
    return members | members.pop("others")


def _raw(texts: dict[str, bytes]) -> dict[str, Raw]:
    return {name: Raw(text) for name, text in texts.items()}
