"""A property that follows from facets needs no change of a statement: it is defined in ``model/facet_properties.py`` alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headwater_graph.apply import entities
from headwater_graph.audit.check import check
from headwater_graph.audit.rederive import internal_lines
from headwater_graph.model.facet_properties import dataset_properties_of, facets_of, job_properties_of
from headwater_graph.store.neo4j_store import Neo4jStore

from ..feeding import feed
from ..servers import Servers
from .empty import emptied, opened

pytestmark = pytest.mark.end_to_end

PropertiesOf = Callable[[str], dict[str, Any]]


@pytest.fixture
def graph(servers: Servers) -> Iterator[Neo4jStore]:
    with opened(servers) as store:
        yield emptied(store)
        emptied(store)


def with_description(properties_of: PropertiesOf) -> PropertiesOf:
    """Return a function that adds the property ``description`` to those of a job or dataset."""

    def extended(facets: str) -> dict[str, Any]:
        facet = facets_of(facets).get("documentation", {})
        return properties_of(facets) | {"description": facet.get("description")}

    return extended


@pytest.fixture
def described(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, scan, properties_of in (
        ("job_properties_of", "check/jobs", job_properties_of),
        ("dataset_properties_of", "check/datasets", dataset_properties_of),
    ):
        extended = with_description(properties_of)
        monkeypatch.setattr(entities, name, extended)
        monkeypatch.setattr(internal_lines, name, extended)
        monkeypatch.setitem(internal_lines._DERIVED_PROPERTIES, scan, extended)


def event(second: int, facets: dict[str, Any], run_facets: dict[str, Any] | None = None) -> bytes:
    run = {"runId": "r", "facets": run_facets or {}}
    return json.dumps(
        {
            "eventTime": f"2026-01-01T00:00:{second:02}Z",
            "eventType": "RUNNING",
            "run": run,
            "job": {"namespace": "n", "name": "job", "facets": facets},
            "outputs": [{"namespace": "n", "name": "table", "facets": facets}],
        }
    ).encode()


def stored(store: Neo4jStore) -> list[tuple[Any, Any]]:
    query = "MATCH (n:Job|Dataset) RETURN n.description, n.owners ORDER BY n.name"
    records, _, _ = store.driver.execute_query(query, database_="neo4j")
    return [tuple(record) for record in records]


def test_an_added_property_is_written_checked_and_removed_with_its_facet(graph: Neo4jStore, described: None) -> None:
    owners = {"ownership": {"owners": [{"name": "team"}]}}
    feed(graph, [event(1, {"documentation": {"description": "orders"}} | owners)])
    assert stored(graph) == [("orders", ["team"])] * 2
    assert list(check(graph)) == []
    feed(graph, [event(2, {})])
    assert stored(graph) == [("orders", ["team"])] * 2
    feed(graph, [event(3, {"documentation": {"_deleted": True}})])
    assert stored(graph) == [(None, ["team"])] * 2
    assert list(check(graph)) == []


def test_a_wrong_added_property_is_found_by_a_check(graph: Neo4jStore, described: None) -> None:
    feed(graph, [event(1, {"documentation": {"description": "orders"}})])
    graph.driver.execute_query("MATCH (n:Dataset) SET n.description = 'other'", database_="neo4j")
    assert {difference.line.count(b"description") for difference in check(graph)} == {1}
