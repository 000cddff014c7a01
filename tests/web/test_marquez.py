"""Marquez's resources, in the form that its clients expect."""

from __future__ import annotations

import itertools
import uuid
import warnings
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import neo4j
import pytest
from starlette.testclient import TestClient

from headwater_graph.queries.reader import Neo4jReader
from headwater_graph.settings import GraphSettings
from headwater_web import MemorySink, WebSettings, create_app

from ..queries.events import run_event, write
from ..queries.graph_maker import START, GraphMaker
from .raw import client_of

API = "/api/v1"
JOB = {
    "id", "type", "name", "simpleName", "namespace", "createdAt", "updatedAt", "inputs", "outputs", "tags", "location",
    "description", "currentVersion", "latestRun", "latestRuns", "parentJobName", "parentJobUuid", "facets",
}  # fmt: skip


def test_namespaces_and_their_pages(client: TestClient, stored: GraphMaker) -> None:
    ns = stored.namespace
    assert ns in [each["name"] for each in client.get(f"{API}/namespaces", params={"limit": 1000}).json()["namespaces"]]
    jobs = client.get(f"{API}/namespaces/{ns}/jobs", params={"limit": 1}).json()
    assert (jobs["totalCount"], [job["name"] for job in jobs["jobs"]]) == (2, ["load"])
    assert client.get(f"{API}/namespaces/{ns}/jobs", params={"offset": 1}).json()["jobs"][0]["name"] == "report"
    assert client.get(f"{API}/namespaces/{ns}/jobs", params={"offset": 9}).json() == {"jobs": [], "totalCount": 2}
    datasets = client.get(f"{API}/namespaces/{ns}/datasets").json()
    assert [each["name"] for each in datasets["datasets"]] == ["orders", "raw", "table"]
    assert client.get(f"{API}/jobs", params={"limit": 1}).json()["totalCount"] >= 2
    assert client.get(f"{API}/namespaces/no-such/jobs").json() == {"jobs": [], "totalCount": 0}


def test_a_job_with_its_latest_run(client: TestClient, stored: GraphMaker) -> None:
    ns = stored.namespace
    job = client.get(f"{API}/namespaces/{ns}/jobs/report").json()
    assert set(job) == JOB
    assert job["id"] == {"namespace": ns, "name": "report"}
    assert job["inputs"] == [{"namespace": ns, "name": "orders"}]
    assert job["type"] == "BATCH"
    run = job["latestRun"]
    assert (run["state"], run["durationMs"]) == ("FAILED", 600_000)
    runs = client.get(f"{API}/namespaces/{ns}/jobs/report/runs").json()
    version = {"namespace": ns, "name": "report", "version": job["currentVersion"]}
    assert runs == {"runs": [{**run, "jobVersion": version}], "totalCount": 1}
    assert client.get(f"{API}/namespaces/{ns}/jobs/nothing").status_code == 404


def test_names_with_slashes_and_colons(client: TestClient, driver: neo4j.Driver) -> None:
    maker = GraphMaker(f"s3://bucket:1/{uuid.uuid4().hex}")
    maker.run("a/b", [], ["x:y/z"], run_id=f"{maker.namespace}-1")
    maker.store(driver)
    path = f"{API}/namespaces/{quote(maker.namespace, safe='')}/datasets/{quote('x:y/z', safe='')}"
    assert client.get(path).json()["id"] == {"namespace": maker.namespace, "name": "x:y/z"}
    graph = client.get(f"{API}/lineage", params={"nodeId": f"dataset:{maker.namespace}:x:y/z"}).json()["graph"]
    assert [node["id"] for node in graph] == [f"dataset:{maker.namespace}:x:y/z", f"job:{maker.namespace}:a/b"]


def test_lineage_has_both_directions_and_edges_at_each_node(client: TestClient, stored: GraphMaker) -> None:
    ns = stored.namespace
    graph = client.get(f"{API}/lineage", params={"nodeId": f"dataset:{ns}:orders"}).json()["graph"]
    assert [node["id"] for node in graph] == [
        f"dataset:{ns}:orders", f"dataset:{ns}:raw", f"dataset:{ns}:table", f"job:{ns}:load", f"job:{ns}:report"
    ]  # fmt: skip
    orders = graph[0]
    assert orders["type"] == "DATASET"
    assert orders["inEdges"] == [{"origin": f"job:{ns}:load", "destination": f"dataset:{ns}:orders"}]
    assert orders["outEdges"] == [{"origin": f"dataset:{ns}:orders", "destination": f"job:{ns}:report"}]
    assert graph[3]["data"]["latestRun"]["state"] == "COMPLETED"
    assert client.get(f"{API}/lineage", params={"nodeId": f"dataset:{ns}:nothing"}).status_code == 404
    assert client.get(f"{API}/lineage", params={"nodeId": "orders"}).status_code == 400


def test_search_names_nodes_by_their_ids(client: TestClient, maker: GraphMaker, driver: neo4j.Driver) -> None:
    maker.dataset(f"table_{maker.namespace}")
    maker.store(driver)
    found = client.get(f"{API}/search", params={"q": maker.namespace}).json()
    assert found["totalCount"] == 1
    assert found["results"][0]["nodeId"] == f"dataset:{maker.namespace}:table_{maker.namespace}"


def test_a_page_of_namespaces_and_a_namespace(client: TestClient, stored: GraphMaker) -> None:
    everything = client.get(f"{API}/namespaces", params={"limit": 1000}).json()["namespaces"]
    assert client.get(f"{API}/namespaces", params={"limit": 1, "offset": 1}).json()["namespaces"] == everything[1:2]
    assert client.get(f"{API}/namespaces/{stored.namespace}").json()["name"] == stored.namespace
    assert client.get(f"{API}/namespaces/none-such").status_code == 404


COLUMN_NODE = {"id", "type", "data", "inEdges", "outEdges"}
COLUMN = {
    "namespace", "dataset", "datasetVersion", "field", "fieldType", "transformationDescription", "transformationType",
    "inputFields",
}  # fmt: skip


def test_column_lineage_of_a_dataset_a_field_and_a_job(client: TestClient, stored: GraphMaker) -> None:
    ns = stored.namespace
    raw, amount = f"datasetField:{ns}:raw:a", f"datasetField:{ns}:orders:amount"
    for node in (f"dataset:{ns}:orders", amount, f"job:{ns}:load"):
        first, second = client.get(f"{API}/column-lineage", params={"nodeId": node}).json()["graph"]
        assert (first["id"], second["id"], first["type"]) == (amount, raw, "DATASET_FIELD")
        assert set(first) == set(second) == COLUMN_NODE
        assert set(first["data"]) == COLUMN
        # As in Marquez an edge begins at the node that shows it.
        assert first["inEdges"] == [{"origin": amount, "destination": raw}]
        assert second["outEdges"] == [{"origin": raw, "destination": amount}]
        assert second["data"]["inputFields"] == []
        (source,) = first["data"]["inputFields"]
        assert set(source) == COLUMN - {"fieldType", "inputFields"}
        assert (source["field"], source["transformationType"]) == ("a", "DIRECT/IDENTITY")


def test_column_lineage_includes_downstream_fields_on_request(client: TestClient, stored: GraphMaker) -> None:
    node = {"nodeId": f"datasetField:{stored.namespace}:raw:a"}
    assert len(client.get(f"{API}/column-lineage", params=node).json()["graph"]) == 1
    assert len(client.get(f"{API}/column-lineage", params={**node, "withDownstream": True}).json()["graph"]) == 2
    for missing in ("dataset:none:none", "datasetField:none:none:none", "datasetField:x"):
        assert client.get(f"{API}/column-lineage", params={"nodeId": missing}).status_code == 404
    assert client.get(f"{API}/column-lineage", params={"nodeId": "orders"}).status_code == 400


@pytest.fixture(scope="module")
def far_future(graph_server: GraphSettings, driver: neo4j.Driver) -> str:
    """A namespace with two runs that the real writer stored from events far in the future."""
    ns = f"future-{uuid.uuid4().hex[:8]}"
    nominal = {"nominalStartTime": "2030-01-01T00:00:00Z"}
    rows = {"name": "orders", "outputFacets": {"outputStatistics": {"rowCount": 3}}}
    events = [
        run_event(ns, "load", f"{ns}-1", "START", "2030-01-01T00:00:00Z", ["raw"], run_nominalTime=nominal),
        run_event(ns, "load", f"{ns}-1", "COMPLETE", "2030-01-01T00:10:00Z", [], [rows], job_sql={"query": "select 1"}),
        run_event(ns, "load", f"{ns}-2", "COMPLETE", "2030-01-02T00:00:00Z", ["raw"], ["orders"]),
    ]
    write(graph_server, events)
    return ns


RUN = {
    "id", "createdAt", "updatedAt", "nominalStartTime", "nominalEndTime", "state", "startedAt", "endedAt", "durationMs",
    "args", "jobVersion", "inputDatasetVersions", "outputDatasetVersions", "facets",
}  # fmt: skip


def test_a_run_with_the_versions_it_read_and_wrote(client: TestClient, far_future: str) -> None:
    run = client.get(f"{API}/jobs/runs/{far_future}-1").json()
    assert set(run) == RUN
    assert (run["state"], run["durationMs"], run["nominalStartTime"]) == ("COMPLETED", 600_000, "2030-01-01T00:00:00Z")
    assert run["jobVersion"]["name"] == "load"
    assert [each["datasetVersionId"]["name"] for each in run["inputDatasetVersions"]] == ["raw"]
    assert run["outputDatasetVersions"][0]["facets"] == {"outputStatistics": {"rowCount": 3}}
    of_job = client.get(f"{API}/jobs/runs/{far_future}-1/facets", params={"type": "job"}).json()
    assert of_job == {"runId": f"{far_future}-1", "facets": {"sql": {"query": "select 1"}}}
    assert list(client.get(f"{API}/jobs/runs/{far_future}-1/facets").json()["facets"]) == ["nominalTime"]
    assert client.get(f"{API}/jobs/runs/none-such-run").status_code == 404


DATASET_VERSION = {
    "id", "type", "name", "physicalName", "createdAt", "version", "namespace", "sourceName", "fields", "tags",
    "lastModifiedAt", "description", "lifecycleState", "createdByRun", "facets",
}  # fmt: skip
JOB_VERSION = {
    "id", "name", "createdAt", "version", "namespace", "location", "inputs", "outputs", "latestRun", "facets",
}  # fmt: skip


def test_the_versions_of_a_dataset_the_newest_first(
    client: TestClient, graph_server: GraphSettings, driver: neo4j.Driver
) -> None:
    ns = f"future-{uuid.uuid4().hex[:8]}"
    schema = {"fields": [{"name": "amount", "type": "int"}]}
    table = {"name": "s3/orders", "facets": {"schema": schema}}
    events = [
        run_event(ns, "load", f"{ns}-{hour}", "COMPLETE", f"2026-01-01T0{hour}:00:00Z", ["raw"], [table])
        for hour in (1, 2, 3)
    ]
    write(graph_server, events)
    address = f"{API}/namespaces/{ns}/datasets/{quote('s3/orders', safe='')}/versions"
    page = client.get(address, params={"limit": 1, "offset": 1}).json()
    (version,) = page["versions"]
    assert (page["totalCount"], set(version)) == (3, DATASET_VERSION)
    assert (version["createdByRun"]["id"], version["createdAt"][:16]) == (f"{ns}-2", "2026-01-01T02:00")
    assert version["fields"] == [{"name": "amount", "type": "int", "tags": [], "description": None}]
    single = client.get(f"{address}/{version['version']}").json()
    assert single == version | {"facets": {"schema": schema}}
    assert client.get(f"{address}/none-such").status_code == 404
    other = client.get(f"{API}/namespaces/{ns}/datasets/raw/versions/{version['version']}")
    assert other.status_code == 404
    assert client.get(f"{API}/namespaces/{ns}/datasets/nothing/versions").status_code == 404


def test_the_versions_of_a_job_the_newest_first(client: TestClient, maker: GraphMaker, driver: neo4j.Driver) -> None:
    for reads in (["a"], ["a", "b"], ["b"]):
        maker.run("load", reads, ["c"])
    maker.store(driver)
    address = f"{API}/namespaces/{maker.namespace}/jobs/load/versions"
    page = client.get(address, params={"limit": 1, "offset": 1}).json()
    (version,) = page["versions"]
    assert (page["totalCount"], set(version)) == (3, JOB_VERSION)
    assert version["inputs"] == [{"namespace": maker.namespace, "name": name} for name in ("a", "b")]
    assert version["outputs"] == [{"namespace": maker.namespace, "name": "c"}]
    assert client.get(f"{address}/{version['version']}").json() == version
    assert client.get(f"{address}/none-such").status_code == 404
    assert client.get(f"{API}/namespaces/{maker.namespace}/jobs/nothing/versions").status_code == 404


def test_a_source_is_a_namespace_of_datasets(client: TestClient, stored: GraphMaker) -> None:
    everything = client.get(f"{API}/sources", params={"limit": 1000}).json()["sources"]
    assert stored.namespace in [each["name"] for each in everything]
    assert client.get(f"{API}/sources", params={"limit": 1, "offset": 1}).json()["sources"] == everything[1:2]
    assert client.get(f"{API}/sources/{stored.namespace}").json()["name"] == stored.namespace
    assert client.get(f"{API}/sources/none-such").status_code == 404


def test_events_of_a_time_window_are_reconstructed(client: TestClient, far_future: str) -> None:
    def query(**params: Any) -> tuple[list[str], int]:
        answer = client.get(f"{API}/events/lineage", params={"after": "2030-01-01T00:00:00Z", "limit": 1000, **params})
        found = [event for event in answer.json()["events"] if event["job"]["namespace"] == far_future]
        return [event["eventTime"][:16] for event in found], answer.json()["totalCount"]

    assert query()[0] == ["2030-01-02T00:00", "2030-01-01T00:10", "2030-01-01T00:00"]
    assert query(sortDirection="asc")[0] == ["2030-01-01T00:00", "2030-01-01T00:10", "2030-01-02T00:00"]
    assert query(before="2030-01-01T12:00:00Z")[0] == ["2030-01-01T00:10", "2030-01-01T00:00"]
    # It counts one event beyond the page, of those in the graph, which are three at least.
    page = client.get(f"{API}/events/lineage", params={"limit": 1, "offset": 1}).json()
    assert (len(page["events"]), page["totalCount"]) == (1, 3)
    assert client.get(f"{API}/events/lineage", params={"before": "soon"}).status_code == 400


def test_statistics_by_hour_and_by_day(reader: Neo4jReader, driver: neo4j.Driver) -> None:
    """Uses a year of its own, so that all numbers but the totals are those of this test."""
    now = datetime(2041, 3, 31, 12, 30, tzinfo=UTC)
    maker = GraphMaker(f"stats-{uuid.uuid4().hex[:12]}")
    hours = (now - START) / timedelta(hours=1)
    maker.run("old", [], ["kept"], hour=hours - 24 * 30)
    maker.run("old", [], ["kept"], hour=hours - 3, minutes=90)
    maker.run("new", ["kept"], ["made"], hour=hours - 3, state="FAIL")
    maker.run("new", ["kept"], ["made"], hour=hours, state="ABORT")
    maker.store(driver)
    with client_of(create_app(reader, MemorySink(), WebSettings(), lambda: now)) as client:

        def stats(what: str, **params: str) -> list[dict[str, Any]]:
            answer = client.get(f"{API}/stats/{what}", params=params)
            assert answer.status_code == 200, answer.text
            found: list[dict[str, Any]] = answer.json()
            return found

        day = stats("lineage-events", period="DAY")
        assert (len(day), day[-1]["startInterval"]) == (24, "2041-03-31T12:00:00.000000Z")
        assert all(single["endInterval"] == other["startInterval"] for single, other in itertools.pairwise(day))
        far_future = {
            each["startInterval"][11:13]: [each[name] for name in ("start", "complete", "fail", "abort")]
            for each in day
        }
        assert {hour: counts for hour, counts in far_future.items() if any(counts)} == {
            "08": [1, 0, 0, 0],
            "09": [1, 1, 1, 0],
            "12": [1, 0, 0, 1],
        }
        for what in ("jobs", "datasets"):
            counts = [each["count"] for each in stats(what)]
            assert counts[-5:] == [counts[-1] - 1, *[counts[-1]] * 4]
            assert len(set(counts[:-4])) == 1
        assert len({each["count"] for each in stats("sources")}) == 1
        week = stats("lineage-events", period="WEEK", timezone="Europe/Berlin")
        # The clocks go forward on the last of these days.
        assert [each["startInterval"] for each in week[-2:]] == [
            "2041-03-29T23:00:00.000000Z",
            "2041-03-30T23:00:00.000000Z",
        ]
        assert (len(week), week[-1]["endInterval"], week[-1]["start"]) == (7, "2041-03-31T22:00:00.000000Z", 3)
        assert client.get(f"{API}/stats/jobs", params={"timezone": "../x"}).status_code == 400
        assert client.get(f"{API}/stats/jobs", params={"period": "YEAR"}).status_code == 422


def test_a_namespace_is_counted_from_its_first_dataset_on(reader: Neo4jReader, driver: neo4j.Driver) -> None:
    now = datetime(2042, 1, 1, 12, 30, tzinfo=UTC)
    for name in ("one", "other"):
        maker = GraphMaker(f"stats-{name}-{uuid.uuid4().hex[:12]}")
        hour = (now - START) / timedelta(hours=1)
        maker.run("make", [], ["a"], hour=hour - 5)
        maker.run("make more", [], ["b"], hour=hour)
        maker.store(driver)
    with client_of(create_app(reader, MemorySink(), WebSettings(), lambda: now)) as client:
        counts = [each["count"] for each in client.get(f"{API}/stats/sources").json()]
    assert counts[-7:] == [counts[-1] - 2, *[counts[-1]] * 6]


def test_the_python_client_of_marquez_reads_the_graph(far_future: str, address: str) -> None:
    # Its own dependencies warn about themselves when they are imported.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from marquez_client import MarquezClient
    client = MarquezClient(address)
    assert far_future in [each["name"] for each in client.list_namespaces(limit=1000)["namespaces"]]
    assert client.get_namespace(far_future)["name"] == far_future
    assert [job["name"] for job in client.list_jobs(far_future)["jobs"]] == ["load"]
    assert client.get_job(far_future, "load")["latestRun"]["id"] == f"{far_future}-2"
    assert [each["name"] for each in client.list_datasets(far_future)["datasets"]] == ["orders", "raw"]
    current = client.get_dataset(far_future, "orders")["currentVersion"]
    assert client.list_dataset_versions(far_future, "orders", limit=1)["versions"][0]["id"]["version"] == current
    assert client.get_dataset_version(far_future, "orders", current)["createdByRun"]["id"] == f"{far_future}-2"
    assert client.get_source(far_future)["name"] == far_future
    assert far_future in [each["name"] for each in client.list_sources(limit=1000)["sources"]]
    assert [run["id"] for run in client.list_job_runs(far_future, "load")["runs"]] == [
        f"{far_future}-2",
        f"{far_future}-1",
    ]
    with pytest.raises(ValueError, match="UUID"):
        # The client asks for no run whose id is not a UUID; any other client may.
        client.get_job_run(f"{far_future}-1")
    assert client.list_events(limit=1)["totalCount"] >= 1
    assert "tags" in client.list_tags()
