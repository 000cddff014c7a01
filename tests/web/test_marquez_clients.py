"""What clients of Marquez read of each resource, from events that the real writer stored in a real Neo4j."""

from __future__ import annotations

import uuid
from typing import Any
from urllib.parse import quote

import neo4j
import pytest
from starlette.testclient import TestClient

from headwater_graph.queries.reader import Neo4jReader
from headwater_graph.settings import GraphSettings
from headwater_web import MemorySink, WebSettings, create_app

from ..queries.events import Event, run_event, write
from ..queries.test_size import Counting
from .conftest import NOW
from .raw import client_of

API = "/api/v1"
RAW = {
    "name": "raw",
    "facets": {
        "schema": {
            "fields": [{"name": "id", "type": "int", "description": "the key"}, {"name": "mail", "type": "text"}]
        },
        "documentation": {"description": "what the shop sends"},
        "tags": {
            "tags": [
                {"key": "pii", "value": "true", "field": "mail"},
                {"key": "team", "value": "sales"},
                {"key": "old", "value": "false"},
            ]
        },
    },
    "inputFacets": {
        "dataQualityMetrics": {"rowCount": 7},
        "dataQualityAssertions": {"assertions": [{"assertion": "not_null", "column": "id", "success": True}]},
    },
}
ORDERS = {
    "name": "orders",
    "facets": {
        "schema": {"fields": [{"name": "contact", "type": "text"}, {"name": "made", "type": "int"}]},
        "columnLineage": {
            "fields": {
                "contact": {
                    "inputFields": [
                        {
                            "name": "raw",
                            "field": "mail",
                            "transformations": [{"type": "DIRECT", "subtype": "IDENTITY", "description": "as it is"}],
                        }
                    ]
                }
            }
        },
    },
    "outputFacets": {"outputStatistics": {"rowCount": 3}},
}


def _orders(ns: str) -> Event:
    facets: Event = {**ORDERS["facets"]}  # type: ignore[dict-item]
    (field,) = facets["columnLineage"]["fields"]["contact"]["inputFields"]
    lineage = {"fields": {"contact": {"inputFields": [{**field, "namespace": ns}]}}}
    return {**ORDERS, "facets": {**facets, "columnLineage": lineage}}


def _run(ns: str, hour: int, kind: str = "COMPLETE") -> list[Event]:
    parent = {"run": {"runId": f"{ns}-parent"}, "job": {"namespace": ns, "name": "dag"}}
    nominal = {"nominalStartTime": f"2026-01-01T0{hour}:00:00Z", "nominalEndTime": "2026-01-02T00:00:00Z"}
    common: dict[str, Any] = {
        "run_parent": parent,
        "run_nominalTime": nominal,
        "job_documentation": {"description": "loads the shop"},
        "job_tags": {"tags": [{"key": "nightly", "value": "nightly"}]},
    }
    run = f"{ns}-{hour}"
    return [
        run_event(ns, "load", run, "START", f"2026-01-01T0{hour}:00:00Z", [RAW], **common),
        run_event(ns, "load", run, kind, f"2026-01-01T0{hour}:10:00Z", [RAW], [_orders(ns)], **common),
    ]


def shop_events(ns: str) -> list[Event]:
    """A job of five runs, the last of which failed, and one whose only run is going on."""
    events = [event for hour in (1, 2, 3, 4) for event in _run(ns, hour)] + _run(ns, 5, "FAIL")
    return [*events, run_event(ns, "watch", f"{ns}-open", "START", "2026-01-01T06:00:00Z", ["orders"])]


@pytest.fixture(scope="module")
def shop(graph_server: GraphSettings, driver: neo4j.Driver) -> str:
    ns = f"shop-{uuid.uuid4().hex[:8]}"
    write(graph_server, shop_events(ns))
    return ns


def get(client: TestClient, path: str, **params: Any) -> Any:
    answer = client.get(f"{API}{path}", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_runs_of_a_job_come_in_pages_and_are_counted(client: TestClient, shop: str) -> None:
    path = f"/namespaces/{shop}/jobs/load/runs"
    page = get(client, path, limit=2, offset=1)
    assert ([run["id"] for run in page["runs"]], page["totalCount"]) == ([f"{shop}-4", f"{shop}-3"], 5)
    assert get(client, path, limit=2, offset=9) == {"runs": [], "totalCount": 5}


def test_a_listed_run_has_facets_nominal_times_and_its_job_version(client: TestClient, shop: str) -> None:
    run = get(client, f"/namespaces/{shop}/jobs/load/runs", limit=1)["runs"][0]
    assert set(run["facets"]) == {"nominalTime", "parent"}
    assert (run["nominalStartTime"], run["nominalEndTime"]) == ("2026-01-01T05:00:00Z", "2026-01-02T00:00:00Z")
    version = get(client, f"/namespaces/{shop}/jobs/load")["currentVersion"]
    assert run["jobVersion"] == {"namespace": shop, "name": "load", "version": version}


def test_a_dataset_that_is_only_read_has_fields_description_and_times(client: TestClient, shop: str) -> None:
    raw = get(client, f"/namespaces/{shop}/datasets/raw")
    assert [(each["name"], each["type"], each["description"]) for each in raw["fields"]] == [
        ("id", "int", "the key"),
        ("mail", "text", None),
    ]
    assert raw["description"] == "what the shop sends"
    assert (raw["createdAt"][:16], raw["updatedAt"][:16]) == ("2026-01-01T01:10", "2026-01-01T05:10")
    assert raw["lastModifiedAt"] is None


def test_tags_of_fields_datasets_and_jobs(client: TestClient, shop: str) -> None:
    raw = get(client, f"/namespaces/{shop}/datasets/raw")
    assert {each["name"]: each["tags"] for each in raw["fields"]} == {"id": [], "mail": ["pii"]}
    assert raw["tags"] == ["team:sales"]
    assert get(client, f"/namespaces/{shop}/jobs/load")["tags"] == ["nightly"]
    assert {"pii", "team:sales", "nightly"} <= {tag["name"] for tag in get(client, "/tags", limit=1000)["tags"]}


def test_data_quality_is_among_the_facets_of_a_dataset(client: TestClient, shop: str) -> None:
    raw = get(client, f"/namespaces/{shop}/datasets/raw")
    assert raw["facets"]["dataQualityMetrics"] == {"rowCount": 7}
    assert raw["facets"]["dataQualityAssertions"]["assertions"][0]["success"] is True
    listed = {each["name"]: each for each in get(client, f"/namespaces/{shop}/datasets")["datasets"]}
    assert listed["raw"] == raw
    assert listed["orders"]["facets"]["outputStatistics"] == {"rowCount": 3}


def test_a_dataset_has_the_columns_from_which_its_own_are_derived(client: TestClient, shop: str) -> None:
    for dataset in (
        get(client, f"/namespaces/{shop}/datasets/orders"),
        get(client, f"/namespaces/{shop}/datasets", limit=1)["datasets"][0],
    ):
        (column,) = dataset["columnLineage"]
        source = {"namespace": shop, "dataset": "raw", "field": "mail"}
        how = {"transformationDescription": "as it is", "transformationType": "DIRECT/IDENTITY"}
        assert column == {"name": "contact", "inputFields": [source | how], **how}
    assert get(client, f"/namespaces/{shop}/datasets/raw")["columnLineage"] == []


def test_created_is_when_the_first_version_was_made(client: TestClient, shop: str) -> None:
    job, orders = get(client, f"/namespaces/{shop}/jobs/load"), get(client, f"/namespaces/{shop}/datasets/orders")
    assert (job["createdAt"][:16], job["updatedAt"][:16]) == ("2026-01-01T01:10", "2026-01-01T05:10")
    assert (orders["createdAt"][:16], orders["updatedAt"][:16]) == ("2026-01-01T01:10", "2026-01-01T05:10")


def test_a_job_has_its_latest_runs_and_its_parent(client: TestClient, shop: str) -> None:
    job = get(client, f"/namespaces/{shop}/jobs/load")
    assert [run["id"] for run in job["latestRuns"]] == [f"{shop}-{hour}" for hour in (5, 4, 3, 2, 1)]
    assert job["latestRun"]["id"] == f"{shop}-5"
    assert (job["parentJobName"], job["simpleName"]) == ("dag", "load")
    watch = get(client, f"/namespaces/{shop}/jobs/watch")
    assert (watch["latestRun"]["state"], watch["parentJobName"]) == ("RUNNING", None)
    assert [run["id"] for run in watch["latestRuns"]] == [f"{shop}-open"]


@pytest.mark.parametrize(
    ("states", "names"),
    [
        (["FAILED"], ["load"]),
        (["RUNNING"], ["watch"]),
        (["COMPLETED"], []),
        (["FAILED", "RUNNING"], ["load", "watch"]),
        ([], ["dag", "load", "watch"]),
    ],
)
def test_jobs_by_the_state_of_their_last_run(
    client: TestClient, shop: str, states: list[str], names: list[str]
) -> None:
    page = get(client, f"/namespaces/{shop}/jobs", lastRunStates=states)
    assert ([job["name"] for job in page["jobs"]], page["totalCount"]) == (names, len(names))
    assert client.get(f"{API}/jobs", params={"lastRunStates": "GREEN"}).status_code == 422


def test_a_search_is_filtered_sorted_and_dated(client: TestClient, graph_server: GraphSettings, shop: str) -> None:
    word = uuid.uuid4().hex[:10]
    write(graph_server, [
        run_event(f"{word}-a", f"b{word}", f"{word}-1", "COMPLETE", "2026-01-03T00:00:00Z", [], [f"a{word}"]),
        run_event(f"{word}-b", f"c{word}", f"{word}-2", "COMPLETE", "2026-01-02T00:00:00Z", [], [f"d{word}"]),
    ])  # fmt: skip

    def names(**params: str) -> list[str]:
        return [each["name"][0] for each in get(client, "/search", q=word, **params)["results"]]

    assert names(sort="NAME") == ["a", "b", "c", "d"]
    assert names(sort="UPDATE_AT")[:2] in (["a", "b"], ["b", "a"])
    assert names(sort="NAME", filter="JOB") == names(sort="name", filter="job") == ["b", "c"]
    assert names(sort="NAME", filter="DATASET") == ["a", "d"]
    assert names(sort="NAME", namespace=f"{word}-b") == ["c", "d"]
    assert names(sort="NAME", after="2026-01-02T12:00:00Z") == ["a", "b"]
    first = get(client, "/search", q=word, sort="NAME")["results"][0]
    assert first["updatedAt"] == "2026-01-03T00:00:00.000000Z"
    assert client.get(f"{API}/search", params={"q": word, "sort": "COLOUR"}).status_code == 422


def test_the_versions_have_the_facets_of_their_runs(client: TestClient, shop: str) -> None:
    versions = get(client, f"/namespaces/{shop}/datasets/orders/versions")["versions"]
    assert set(versions[0]["facets"]) == {"schema", "columnLineage", "outputStatistics"}
    (version,) = get(client, f"/namespaces/{shop}/jobs/load/versions")["versions"]
    assert set(version["facets"]) == {"documentation", "tags"}
    assert set(version["latestRun"]["facets"]) == {"nominalTime", "parent"}


def test_columns_without_origins_have_data(client: TestClient, shop: str) -> None:
    graph = get(client, "/column-lineage", nodeId=f"dataset:{shop}:orders", withDownstream=True)["graph"]
    data = {node["id"]: node["data"] for node in graph}
    origin = data[f"datasetField:{shop}:raw:mail"]
    assert (origin["dataset"], origin["field"], origin["fieldType"], origin["inputFields"]) == (
        "raw",
        "mail",
        "text",
        [],
    )


AMBIGUOUS = ("a/versions", "b/runs", "c/jobs", "d/versions/1", "e%2Fversions", "f/tags/g", "h/datasets/i/versions")


@pytest.fixture(scope="module")
def ambiguous(graph_server: GraphSettings, driver: neo4j.Driver) -> str:
    ns = f"x/jobs/{uuid.uuid4().hex[:8]}/datasets"
    write(graph_server, [
        run_event(ns, name, f"{ns}-{name}", "COMPLETE", "2026-01-01T00:00:00Z", [], [name]) for name in AMBIGUOUS
    ])  # fmt: skip
    return ns


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_a_name_that_looks_like_a_path_is_one_name(client: TestClient, ambiguous: str, name: str) -> None:
    under = f"{API}/namespaces/{quote(ambiguous, safe='')}"
    for kind in ("jobs", "datasets"):
        found = client.get(f"{under}/{kind}/{quote(name, safe='')}").json()
        assert found["id"] == {"namespace": ambiguous, "name": name}
        versions = client.get(f"{under}/{kind}/{quote(name, safe='')}/versions").json()
        assert [version["name"] for version in versions["versions"]] == [name]
    run = client.get(f"{API}/jobs/runs/{quote(f'{ambiguous}-{name}', safe='')}")
    assert run.json()["id"] == f"{ambiguous}-{name}"
    assert [each["name"] for each in client.get(f"{under}/jobs").json()["jobs"]] == sorted(AMBIGUOUS)


def test_names_with_slashes_that_are_not_encoded_are_found(
    client: TestClient, graph_server: GraphSettings, driver: neo4j.Driver
) -> None:
    # Marquez's own page sends some names as they are.
    ns = f"s3/{uuid.uuid4().hex[:8]}"
    write(graph_server, [run_event(ns, "j", f"{ns}-1", "COMPLETE", "2026-01-01T00:00:00Z", [], ["a/b%2Fc"])])
    for name in (quote("a/b%2Fc", safe=""), "a/b%252Fc"):
        assert get(client, f"/namespaces/{ns}/datasets/{name}")["name"] == "a/b%2Fc"


def test_an_error_has_a_code_and_a_message(client: TestClient, shop: str) -> None:
    for path, status in (
        (f"/namespaces/{shop}/jobs/nothing", 404),
        ("/lineage?nodeId=orders", 400),
        ("/search", 422),
        (f"/namespaces/{shop}/jobs?lastRunStates=x", 422),
    ):
        answer = client.get(f"{API}{path}")
        error = answer.json()
        assert (answer.status_code, error["code"], error["message"]) == (status, status, error["detail"])
    assert "message" not in client.get(f"{API}/graph/runs/nothing").json()


def test_the_runs_upstream_of_a_run(client: TestClient, graph_server: GraphSettings, driver: neo4j.Driver) -> None:
    ns = f"up-{uuid.uuid4().hex[:8]}"
    write(graph_server, [
        run_event(ns, job, f"{ns}-{job}", "COMPLETE", f"2026-01-01T0{hour}:00:00Z", reads, writes)
        for hour, (job, reads, writes) in enumerate(
            [("first", [], ["a"]), ("second", ["a", "given"], ["b"]), ("third", ["b"], ["c"])], start=1
        )
    ])  # fmt: skip
    runs = get(client, "/runlineage/upstream", runId=f"{ns}-third")["runs"]
    assert [run["run"]["id"] for run in runs] == [f"{ns}-third", f"{ns}-second", f"{ns}-first"]
    second = runs[1]
    assert (second["job"]["namespace"], second["job"]["name"], second["run"]["status"]) == (ns, "second", "COMPLETED")
    made = {each["name"]: each["producedByRunId"] for each in second["inputs"]}
    assert made == {"a": f"{ns}-first", "given": None}
    assert all(each["version"] for each in second["inputs"])
    assert len(get(client, "/runlineage/upstream", runId=f"{ns}-third", depth=1)["runs"]) == 2
    assert client.get(f"{API}/runlineage/upstream", params={"runId": "nothing"}).status_code == 404


WIDE = 400
"""Jobs on each side of the middle of a large graph of lineage."""


@pytest.fixture(scope="module")
def wide(graph_server: GraphSettings, driver: neo4j.Driver) -> str:
    """A dataset that many jobs write and many read, each with facets of some kilobytes."""
    ns = f"wide-{uuid.uuid4().hex[:8]}"
    sql = {"query": "select " + ", ".join(f"column_{number}" for number in range(300))}
    fields = {"fields": [{"name": f"column_{number}", "type": "int"} for number in range(10)]}
    events = []
    for number in range(WIDE):
        for job, reads, writes in (
            (f"in-{number}", [f"source-{number}"], ["hub"]),
            (f"out-{number}", ["hub"], [f"to-{number}"]),
        ):
            written = [{"name": name, "facets": {"schema": fields, "notes": sql}} for name in writes]
            events.append(
                run_event(ns, job, f"{ns}-{job}", "COMPLETE", "2026-01-01T00:00:00Z", reads, written, job_sql=sql)
            )
    write(graph_server, events)
    return ns


def test_a_large_graph_of_lineage_costs_little_more_than_headwaters_own(reader: Neo4jReader, wide: str) -> None:
    """Statements are counted: what each of the two answers reads, and how large they are."""
    counting = Counting(reader)
    with client_of(create_app(counting, MemorySink(), WebSettings(), lambda: NOW)) as client:
        marquez = client.get(f"{API}/lineage", params={"nodeId": f"dataset:{wide}:hub", "depth": 2})
        read = counting.questions
        own = [
            client.get(f"{API}/graph/lineage/{direction}", params={"namespace": wide, "name": "hub", "depth": 2})
            for direction in ("upstream", "downstream")
        ]
    assert len(marquez.json()["graph"]) == 4 * WIDE + 1
    assert read <= counting.questions - read + 3
    # Its nodes have fields and its edges are listed twice; facets are not part of it.
    assert len(marquez.content) < 5 * sum(len(answer.content) for answer in own)
    assert "column_299" not in marquez.text
