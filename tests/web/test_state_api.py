"""The overview and the state of the consumer over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterable

from starlette.testclient import TestClient

from headwater_avro.errors import ServerUnavailable
from headwater_graph.queries.reports.consumer_state import Offsets
from headwater_web import MemorySink, WebSettings, create_app
from headwater_web.state_api import Ends

from ..given_answers import GivenAnswers
from ..queries.graph_maker import GraphMaker
from .raw import client_of

GRAPH = "/api/v1/graph"
WRITER = {
    "holder": "host-1", "at": None, "batch": 7, "offsets": json.dumps({"events": {"0": 5}}), "losses": None, "horizon": None,
    "deferred": 0,
}  # fmt: skip


def consumer_of(ends: Ends | None) -> dict[str, object]:
    app = create_app(GivenAnswers({"status/writer": [WRITER]}), MemorySink(), WebSettings(), ends=ends)
    with client_of(app) as client:
        answer = client.get(f"{GRAPH}/consumer")
    assert answer.status_code == 200, answer.text
    found: dict[str, object] = answer.json()
    return found


def test_the_overview_has_its_lists(client: TestClient, stored: GraphMaker) -> None:
    found = client.get(f"{GRAPH}/overview", params={"limit": 100}).json()
    assert found.keys() == {"counts", "failed", "silent", "latest", "changes", "isEmpty"}
    assert [stored.namespace, "report"] in [run["job"] for run in found["failed"]]
    assert all(len(found[name]) <= 100 for name in ("failed", "silent", "latest", "changes"))
    assert client.get(f"{GRAPH}/overview", params={"limit": 101}).status_code == 422


def test_the_state_of_the_consumer_of_a_real_graph(client: TestClient, stored: GraphMaker) -> None:
    found = client.get(f"{GRAPH}/consumer").json()
    assert found.keys() >= {"partitions", "losses", "deferredWork"}
    assert "lag" not in found


def test_the_lag_needs_kafka() -> None:
    asked: list[list[str]] = []

    def ends(topics: Iterable[str]) -> Offsets:
        asked.append(list(topics))
        return {"events": {0: 12}}

    assert consumer_of(ends)["lag"] == 7
    assert asked == [["events"]]
    assert "lag" not in consumer_of(None)


def test_while_kafka_does_not_answer_the_rest_is_shown() -> None:
    def ends(topics: Iterable[str]) -> Offsets:
        raise ServerUnavailable("Kafka", "localhost:9092", "start it")

    found = consumer_of(ends)
    assert found["kafka"] == "Kafka does not answer"
    assert found["batch"] == 7
    assert "lag" not in found
