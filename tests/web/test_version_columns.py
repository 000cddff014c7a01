"""Versions of datasets and the columns of runs over HTTP."""

from __future__ import annotations

from starlette.testclient import TestClient

from headwater_graph.settings import GraphSettings

from ..queries.events import run_event, write
from ..queries.graph_maker import GraphMaker
from .test_graph_api import get


def test_a_version_and_the_columns_of_its_run(
    client: TestClient, graph_server: GraphSettings, maker: GraphMaker
) -> None:
    space, run_id = maker.namespace, f"{maker.namespace}/run"
    origin = {"namespace": space, "name": "raw", "field": "a"}
    facets = {
        "schema": {"fields": [{"name": "b", "type": "int"}]},
        "columnLineage": {"fields": {"b": {"inputFields": [origin]}}},
    }
    out = {"name": "out", "facets": facets}
    write(graph_server, [run_event(space, "copy", run_id, "COMPLETE", "2026-01-01T01:00:00Z", ["raw"], [out])])
    (written,) = get(client, f"/runs/{run_id}")["writes"]
    version = get(client, f"/versions/{written['version']}")
    assert (version["dataset"], version["madeBy"], version["schema"]) == ([space, "out"], run_id, [["b", "int"]])
    answer = get(client, f"/versions/{written['version']}/columns/upstream", column="b")
    start = ["versionColumn", space, "out", written["version"], "b"]
    assert answer["start"] == [start]
    (edge,) = answer["edges"]
    assert edge["to"] == start
    assert edge["from"][:3] == ["versionColumn", space, "raw"]
    assert (edge["run"], edge["job"]) == (run_id, [space, "copy"])
    back = get(client, f"/versions/{edge['from'][3]}/columns/downstream", column="a")
    assert start in [node["node"] for node in back["nodes"]]


def test_faults_of_the_question_are_answered(client: TestClient) -> None:
    assert client.get("/api/v1/graph/versions/none").status_code == 404
    assert client.get("/api/v1/graph/versions/none/columns/upstream", params={"column": "a"}).status_code == 404
    assert client.get("/api/v1/graph/versions/none/columns/upstream").status_code == 422
    assert client.get("/api/v1/graph/versions/none/columns/sideways", params={"column": "a"}).status_code == 422
