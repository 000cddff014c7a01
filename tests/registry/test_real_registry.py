"""Schemas in a real registry, registered as Confluent's serializers do, and messages read by their ids."""

from __future__ import annotations

import json
import urllib.request
import uuid
from typing import Any

import pytest

from headwater_avro.codec import encode_avro, read_message
from headwater_avro.errors import EventRejected
from headwater_avro.framing import unframed
from headwater_avro.registry import HttpSchemas, RegistrySettings

from ..avro.registries import ENVELOPE, framed

EVENT = {
    "eventTime": "2026-01-01T00:00:00Z",
    "eventType": "START",
    "run": {"runId": "r"},
    "job": {"namespace": "n", "name": "j"},
}
TEXT = json.dumps(EVENT, separators=(",", ":")).encode()
JSON_SCHEMA = '{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}'


def registered(url: str, schema: str, **more: str) -> int:
    """Register a schema under a new subject; return its id."""
    request = urllib.request.Request(
        f"{url}/subjects/test-{uuid.uuid4().hex}/versions",
        data=json.dumps({"schema": schema, **more}).encode(),
        headers={"Content-Type": "application/vnd.schemaregistry.v1+json"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        response: dict[str, Any] = json.load(answer)
    return int(response["id"])


@pytest.fixture
def schemas(registry_url: str) -> HttpSchemas:
    return HttpSchemas(RegistrySettings(registry_url))


def test_messages_with_ids_of_avro_and_json_schemas_are_the_event(registry_url: str, schemas: HttpSchemas) -> None:
    avro, as_json = registered(registry_url, ENVELOPE), registered(registry_url, JSON_SCHEMA, schemaType="JSON")
    for message in (framed(avro, encode_avro(TEXT)[10:]), framed(as_json, TEXT)):
        assert read_message(unframed(message, schemas)) == read_message(TEXT)
    assert schemas.subjects() >= 2


def test_unknown_ids_and_other_schemas_are_unknown_schemas(registry_url: str, schemas: HttpSchemas) -> None:
    other = registered(registry_url, '{"type": "record", "name": "Order", "fields": []}')
    for number in (other, 2_000_000_000):
        with pytest.raises(EventRejected) as caught:
            unframed(framed(number, b"\x00"), schemas)
        assert caught.value.code == "unknown_schema"
