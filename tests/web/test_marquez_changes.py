"""What clients of Marquez change: events that a request sends, applied by the real writer to a real Neo4j."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import neo4j
import pytest
from pydantic import SecretStr
from starlette.testclient import TestClient

from headwater_graph.queries.reader import Neo4jReader
from headwater_graph.settings import GraphSettings
from headwater_web import MemorySink, WebSettings, create_app

from ..queries.events import run_event, write
from .conftest import NOW
from .raw import client_of

API = "/api/v1"
FACETS = {
    "schema": {"fields": [{"name": "a/b", "type": "int"}]},
    "tags": {"tags": [{"key": "team", "value": "sales", "source": "CI"}]},
}


@pytest.fixture
def shop(graph_server: GraphSettings, driver: neo4j.Driver) -> str:
    ns = f"tags-{uuid.uuid4().hex[:8]}"
    orders = {"name": "orders/all", "facets": FACETS}
    write(graph_server, [run_event(ns, "load", f"{ns}-1", "COMPLETE", "2026-01-01T00:00:00Z", ["raw"], [orders])])
    return ns


def applied(graph_server: GraphSettings, sink: MemorySink) -> list[dict[str, Any]]:
    """Apply the events that were sent, as the consumer does, and return them."""
    events = [json.loads(event) for event in sink.received]
    sink.received.clear()
    write(graph_server, events)
    return events


def ok(answer: Any) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_tags_of_a_dataset_and_its_fields_change_by_events(
    client: TestClient, sink: MemorySink, graph_server: GraphSettings, shop: str
) -> None:
    dataset = f"{API}/namespaces/{shop}/datasets/{quote('orders/all', safe='')}"
    field = f"{dataset}/fields/{quote('a/b', safe='')}/tags/pii"
    assert ok(client.post(f"{dataset}/tags/gold"))["tags"] == ["gold", "team:sales"]
    # The second change counts on the first one, which the graph does not have yet.
    assert ok(client.post(field))["fields"][0]["tags"] == ["pii"]
    versions = ok(client.get(f"{dataset}/versions"))["totalCount"]
    events = applied(graph_server, sink)
    assert [set(event["dataset"]["facets"]) for event in events] == [{"tags"}, {"tags"}]
    shown = ok(client.get(dataset))
    assert (shown["tags"], shown["fields"][0]["tags"]) == (["gold", "team:sales"], ["pii"])
    assert ok(client.get(f"{dataset}/versions"))["totalCount"] == versions
    ok(client.delete(f"{dataset}/tags/{quote('team:sales', safe='')}"))
    ok(client.delete(field))
    applied(graph_server, sink)
    shown = ok(client.get(dataset))
    assert (shown["tags"], shown["fields"][0]["tags"]) == (["gold"], [])


def test_tags_of_a_job_change_by_events_and_its_lineage_stays(
    client: TestClient, sink: MemorySink, graph_server: GraphSettings, shop: str
) -> None:
    job = f"{API}/namespaces/{shop}/jobs/load"
    before = ok(client.get(job))
    assert ok(client.post(f"{job}/tags/nightly"))["tags"] == ["nightly"]
    applied(graph_server, sink)
    after = ok(client.get(job))
    assert after["tags"] == ["nightly"]
    for member in ("inputs", "outputs", "currentVersion"):
        assert after[member] == before[member]
    ok(client.delete(f"{job}/tags/nightly"))
    applied(graph_server, sink)
    assert ok(client.get(job))["tags"] == []


def test_a_deleted_job_is_retired_and_a_deleted_dataset_dropped(
    client: TestClient, sink: MemorySink, graph_server: GraphSettings, shop: str
) -> None:
    dataset = f"{API}/namespaces/{shop}/datasets/{quote('orders/all', safe='')}"
    assert ok(client.delete(f"{API}/namespaces/{shop}/jobs/load"))["name"] == "load"
    assert ok(client.delete(dataset))["deleted"] is False
    applied(graph_server, sink)
    job = ok(client.get(f"{API}/namespaces/{shop}/jobs/load"))
    assert (job["inputs"], job["outputs"], "headwater_retired" in job["facets"]) == ([], [], True)
    assert ok(client.get(dataset))["deleted"] is True


def test_nothing_is_sent_for_what_the_graph_does_not_have(client: TestClient, sink: MemorySink, shop: str) -> None:
    for method, path in (
        ("POST", f"/namespaces/{shop}/datasets/nothing/tags/a"),
        ("DELETE", f"/namespaces/{shop}/jobs/nothing"),
    ):
        answer = client.request(method, f"{API}{path}")
        assert (answer.status_code, answer.json()["code"]) == (404, 404)
    assert not sink.received


def test_what_no_event_states_is_refused(client: TestClient, sink: MemorySink, shop: str) -> None:
    for method, path in (("PUT", "/tags/new"), ("DELETE", f"/namespaces/{shop}"), ("PUT", f"/namespaces/{shop}")):
        answer = client.request(method, f"{API}{path}", json={"description": "x"})
        assert (answer.status_code, answer.json()["code"]) == (501, 501)
        assert "POST /api/v1/" in answer.json()["message"]
    assert not sink.received


def test_a_change_that_kafka_does_not_take_is_not_counted_on(
    reader: Neo4jReader, graph_server: GraphSettings, shop: str
) -> None:
    sink = MemorySink("unavailable")
    path = f"{API}/namespaces/{shop}/jobs/load/tags"
    with client_of(create_app(reader, sink, WebSettings(), lambda: NOW)) as client:
        assert client.post(f"{path}/first").status_code == 503
        sink.status = "delivered"
        assert ok(client.post(f"{path}/second"))["tags"] == ["second"]


@pytest.fixture
def guarded(reader: Neo4jReader, sink: MemorySink) -> Iterator[TestClient]:
    settings = WebSettings(tokens=(SecretStr("reader-token-123"),), operator_tokens=(SecretStr("operator-token-1"),))
    with client_of(create_app(reader, sink, settings, lambda: NOW)) as client:
        yield client


def test_only_an_operator_deletes(guarded: TestClient, sink: MemorySink, shop: str) -> None:
    path = f"{API}/namespaces/{shop}/jobs/load"
    refused = guarded.delete(path, headers={"Authorization": "Bearer reader-token-123"})
    assert (refused.status_code, refused.json()["code"], len(sink.received)) == (403, 403, 0)
    assert guarded.delete(path, headers={"Authorization": "Bearer operator-token-1"}).status_code == 200
    assert len(sink.received) == 1
