"""Names in requests: any text of any length takes a bounded amount of work and memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from typing import Any

import pytest
from starlette.testclient import TestClient

from headwater_avro.names import MAX_KEY_LENGTH
from headwater_graph.queries.catalog.finding import NotFound, find
from headwater_graph.queries.keys import names_in
from headwater_graph.queries.reader import Row
from headwater_web import MemorySink, WebSettings, create_app

from ..given_answers import GivenAnswers
from .raw import client_of

LONG = "x" * (MAX_KEY_LENGTH + 1)


class Graph:
    """A graph without nodes that counts the requested keys."""

    def __init__(self) -> None:
        self.keys = 0
        counted = self._counted
        self.reader = GivenAnswers(
            dict.fromkeys(
                (
                    "catalog/dataset_details",
                    "catalog/job_details",
                    "find/dataset_by_key",
                    "find/job_by_key",
                    "columns/of_dataset",
                ),
                counted,
            )
        )
        self.client: TestClient = client_of(create_app(self.reader, MemorySink(), WebSettings()))

    def _counted(self, **parameters: Any) -> Sequence[Row]:
        self.keys += len(parameters.get("keys", [0]))
        return []


def test_a_text_can_mean_several_pairs_of_names() -> None:
    assert list(names_in("a:b:c", ":")) == [("a", "b:c"), ("a:b", "c")]
    assert list(names_in("a", ":")) == list(names_in(":a", ":")) == list(names_in("a:", ":")) == []
    assert list(names_in("::a::", ":")) == [(":", "a::"), ("::a", ":")]
    longest = "x" * MAX_KEY_LENGTH
    assert list(names_in(f"{longest}:{longest}", ":")) == [(longest, longest)]
    assert list(names_in(f"{longest}x:{longest}", ":")) == list(names_in(f"{longest}:{longest}x", ":")) == []


@pytest.mark.parametrize("length", [1, 2, 3, 10, 1_999, 2_000, 2_001, 3_999, 4_000, 4_001, 4_002, 10_000])
def test_a_text_of_separators_means_no_more_pairs_than_a_name_has_characters(length: int) -> None:
    found = list(names_in("#" * length, "#"))
    names = range(1, MAX_KEY_LENGTH + 1)
    assert [len(namespace) for namespace, _ in found] == [
        at for at in range(length) if at in names and length - 1 - at in names
    ]


@pytest.mark.parametrize("kind", ["dataset", "job", "datasetField"])
@pytest.mark.parametrize("colons", [100, 101, 400, 6_000])
@pytest.mark.parametrize("address", ["/api/v1/lineage", "/api/v1/column-lineage"])
def test_a_node_id_of_colons_takes_bounded_memory_and_keys(address: str, kind: str, colons: int) -> None:
    graph = Graph()
    graph.client.get(address, params={"nodeId": "dataset:a:b"})
    tracemalloc.start()
    try:
        status = graph.client.get(address, params={"nodeId": f"{kind}:{':' * colons}"}).status_code
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert status in (400, 404, 422)
    assert graph.keys <= 6_000
    assert peak < 20_000_000


@pytest.mark.parametrize(
    "node_id",
    [
        f"dataset:{LONG}:name",
        f"job:namespace:{LONG}",
        f"datasetField:namespace:{LONG}:field",
        f"datasetField:namespace:name:{LONG}",
        f"datasetField:{':x' * 101}",
    ],
)
def test_a_node_id_with_a_name_that_is_too_long_is_refused(node_id: str) -> None:
    graph = Graph()
    answer = graph.client.get("/api/v1/column-lineage", params={"nodeId": node_id})
    assert (answer.status_code, graph.keys) == (400, 0)
    assert "2000" in answer.json()["detail"] or "100 colons" in answer.json()["detail"]


@pytest.mark.parametrize(
    "path",
    [
        f"/api/v1/namespaces/{LONG}",
        f"/api/v1/namespaces/{LONG}/jobs",
        f"/api/v1/namespaces/n/jobs/{LONG}",
        f"/api/v1/namespaces/n/jobs/{LONG}/runs",
        f"/api/v1/namespaces/n/jobs/{LONG}/versions",
        f"/api/v1/namespaces/n/datasets/{LONG}",
        f"/api/v1/namespaces/{LONG}/datasets/d/versions/v",
        f"/api/v1/sources/{LONG}",
        f"/api/v1/jobs/runs/{LONG}",
        f"/api/v1/graph/runs/{LONG}",
        f"/api/v1/search?q={LONG * 3}",
    ],
)
def test_a_name_that_is_too_long_is_refused(path: str) -> None:
    graph = Graph()
    answer = graph.client.get(path)
    assert (answer.status_code, graph.keys) == (422, 0), answer.text


def test_names_of_separators_are_searched_within_bounds() -> None:
    graph = Graph()
    for length in (100, 2_000, 4_001, 50_000):
        with pytest.raises(NotFound):
            find(graph.reader, ["#" * length], ["dataset"])
    assert graph.keys <= 5_000
