"""The addresses of Marquez: the shapes that its clients read."""

from __future__ import annotations

import uuid
from urllib.parse import quote

import neo4j
from starlette.testclient import TestClient

from ..questions.graph_maker import GraphMaker

API = "/api/v1"
JOB = {
    "id", "type", "name", "simpleName", "namespace", "createdAt", "updatedAt", "inputs", "outputs", "tags", "location",
    "description", "currentVersion", "latestRun", "facets",
}  # fmt: skip


def test_namespaces_and_their_pages(client: TestClient, stored: GraphMaker) -> None:
    ns = stored.namespace
    assert ns in [each["name"] for each in client.get(f"{API}/namespaces").json()["namespaces"]]
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
    assert runs == {"runs": [run], "totalCount": 1}
    assert client.get(f"{API}/namespaces/{ns}/jobs/nothing").status_code == 404


def test_names_with_slashes_and_colons(client: TestClient, driver: neo4j.Driver) -> None:
    maker = GraphMaker(f"s3://bucket:1/{uuid.uuid4().hex}")
    maker.run("a/b", [], ["x:y/z"], run_id=f"{maker.namespace}-1")
    maker.store(driver)
    path = f"{API}/namespaces/{quote(maker.namespace, safe='')}/datasets/{quote('x:y/z', safe='')}"
    assert client.get(path).json()["id"] == {"namespace": maker.namespace, "name": "x:y/z"}
    graph = client.get(f"{API}/lineage", params={"nodeId": f"dataset:{maker.namespace}:x:y/z"}).json()["graph"]
    assert [node["id"] for node in graph] == [f"dataset:{maker.namespace}:x:y/z", f"job:{maker.namespace}:a/b"]


def test_lineage_goes_both_ways_with_edges_at_each_node(client: TestClient, stored: GraphMaker) -> None:
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
