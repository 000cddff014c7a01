"""Queries over HTTP: responses, limits, errors, access."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl

import neo4j
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr
from starlette.testclient import TestClient

from headwater.fields import Destination, FieldOperation, MemoryRun, Source, apply, resolve
from headwater_avro.errors import ConfigError, ServerUnavailable
from headwater_graph.queries.free_cypher.run import FreeCypher
from headwater_graph.queries.reader import Neo4jReader
from headwater_graph.queries.reports.reports import Report
from headwater_graph.settings import GraphSettings
from headwater_graph.store import schema
from headwater_web import MemorySink, WebSettings, create_app
from headwater_web.settings import web_settings

from ..given_answers import GivenAnswers
from ..queries.events import run_event, write
from ..queries.graph_maker import GraphMaker
from .raw import client_of

GRAPH = "/api/v1/graph"


def get(client: TestClient, path: str, **params: Any) -> Any:
    answer = client.get(f"{GRAPH}{path}", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def names(value: Any) -> list[str]:
    return [node["node"][-1] for node in value["nodes"]]


def test_lineage_is_answered_as_on_the_command_line(client: TestClient, stored: GraphMaker) -> None:
    ns = stored.namespace
    up = get(client, "/lineage/upstream", namespace=ns, name="table")
    assert names(up) == ["table", "orders", "report", "raw", "load"]
    assert up["complete"] is True
    down = get(client, "/lineage/downstream", name=f"{ns}#raw", depth=1)
    assert names(down) == ["raw", "orders", "load"]
    assert down["cuts"] == [{"at": ["dataset", ns, "orders"], "why": "depth", "shown": 0, "total": 1}]
    assert names(get(client, "/lineage/impact", namespace=ns, name="raw")) == ["orders", "load", "table", "report"]
    assert len(names(get(client, "/lineage/component", namespace=ns, name="load", kind="job"))) == 5
    way = get(client, "/lineage/path", **{"from": f"{ns}#raw", "to": f"{ns}#orders"})
    assert names(way) == ["raw", "load", "orders"]
    assert names(get(client, "/lineage/upstream", namespace=ns, name="table", as_of="2026-01-01T01:30:00Z")) == [
        "table"
    ]


def test_column_lineage_is_returned(client: TestClient, stored: GraphMaker) -> None:
    ns = stored.namespace
    assert names(get(client, "/columns/upstream", namespace=ns, name="orders", column="amount")) == ["amount", "a"]


def test_runs_are_paged_by_cursor(client: TestClient, stored: GraphMaker) -> None:
    job = f"{stored.namespace}#load"
    first = get(client, "/runs", dataset=f"{stored.namespace}#orders", limit=1)
    assert [run["job"][1] for run in first["runs"]] == ["report"]
    second = get(client, "/runs", dataset=f"{stored.namespace}#orders", limit=1, cursor=first["next"])
    assert [run["job"][1] for run in second["runs"]] == ["load"]
    assert "next" not in second
    run_id = get(client, "/runs", job=job)["runs"][0]["id"]
    assert [use["dataset"][1] for use in get(client, f"/runs/{run_id}")["writes"]] == ["orders"]
    assert [node["node"][0] for node in get(client, f"/runs/{run_id}/lineage/downstream")["nodes"]] == [
        "run",
        "run",
        "version",
        "version",
    ]
    failed = get(client, "/runs", job=f"{stored.namespace}#report", state="FAIL")["runs"][0]["id"]
    changes = [change["what"] for change in get(client, f"/runs/{failed}/diff", before=run_id)["facts"]]
    assert changes[:2] == ["job", "state"]
    assert client.get(f"{GRAPH}/runs", params={"cursor": "nonsense"}).status_code == 400


def test_an_unknown_parameter_is_refused(client: TestClient, stored: GraphMaker) -> None:
    """`asOf` instead of `as_of` would return the current graph."""
    named = {"namespace": stored.namespace, "name": "orders"}
    refused = client.get(f"{GRAPH}/lineage/upstream", params={**named, "asOf": "2026-01-01T00:00:00Z"})
    assert refused.status_code == 422
    assert refused.json()["detail"].startswith(
        "unknown parameter asOf: the parameters are active_since, as_of, depth, "
    )
    assert client.get(f"{GRAPH}/runs/nothing", params={"facets": "1"}).status_code == 422
    assert client.get(f"{GRAPH}/lineage/upstream", params={**named, "as_of": "2026-01-01T00:00:00Z"}).is_success


def test_entities_versions_reports_and_search(client: TestClient, stored: GraphMaker) -> None:
    ns = stored.namespace
    assert get(client, "/datasets/show", namespace=ns, name="orders")["upstream"] == [["job", ns, "load"]]
    assert get(client, "/jobs/versions", namespace=ns, name="load")["versions"][0]["reasons"] == ["first version"]
    assert get(client, "/datasets/versions", namespace=ns, name="orders")["versions"][0]["job"] == [ns, "load"]
    found = get(client, "/reports/unmade", limit=1000)
    assert {"namespace": ns, "dataset": "raw"} in found["rows"] or found["cut"]
    assert ["dataset", ns, "orders"] in get(client, "/search", text="ORDERS", limit=1000)["nodes"]


def test_two_versions_of_a_job_are_compared(client: TestClient, maker: GraphMaker, driver: neo4j.Driver) -> None:
    ns = maker.namespace
    for reads in (["a"], ["a", "b"], ["b"]):
        maker.run("load", reads, ["c"])
    maker.run("once", ["a"], ["d"])
    maker.store(driver)
    last = get(client, "/jobs/diff", namespace=ns, name="load")
    assert [last[side]["number"] for side in ("before", "after")] == [2, 3]
    assert last["changes"] == [f"inputs changed: - {ns} a"]
    whole = get(client, "/jobs/diff", **{"namespace": ns, "name": "load", "from": "1", "to": "2"})
    assert whole["changes"] == [f"inputs changed: + {ns} b"]
    for wrong, status in (({"from": "no-id"}, 404), ({"to": "1"}, 400), ({"first": "1"}, 422)):
        refused = client.get(f"{GRAPH}/jobs/diff", params={"namespace": ns, "name": "load", **wrong})
        assert refused.status_code == status, wrong
    only = client.get(f"{GRAPH}/jobs/diff", params={"namespace": ns, "name": "once"})
    assert (only.status_code, "the oldest one" in only.json()["detail"]) == (400, True)


def test_the_operations_that_produced_a_column(client: TestClient, graph_server: GraphSettings) -> None:
    ns = f"operations-{uuid.uuid4().hex[:8]}"
    raw, run = Source.of(ns, "raw"), MemoryRun()
    upper = FieldOperation("Upper", [raw["a"]], ["x"])
    apply(resolve([upper], Destination.of(ns, "out"), sources=[raw]), run)
    facets = {**run.outputs[ns, "out"], **run.attached[ns, "out"][1]}
    outputs = [{"name": "out", "facets": facets}]
    write(graph_server, [run_event(ns, "load", f"{ns}-1", "COMPLETE", "2026-01-01T01:00:00Z", ["raw"], outputs)])
    answer = get(client, "/operations", namespace=ns, name="out", column="x")
    (step,) = answer["steps"]
    assert (step["run"], step["columns"]) == (f"{ns}-1", ["x"])
    assert "Upper" in [operation["name"] for operation in step["operations"]]
    nothing = client.get(f"{GRAPH}/operations", params={"namespace": ns, "name": "out", "column": "none"})
    assert nothing.status_code == 404


def test_dead_letters_are_a_report_like_the_others(reader: Neo4jReader) -> None:
    letters = Report("dead-letters", "messages", ("code", "messages"), (("too_large", 7), ("not_an_event", 2)))
    app = create_app(reader, MemorySink(), WebSettings(), letters=lambda: letters)
    with client_of(app) as client:
        first = get(client, "/reports/dead-letters", limit=1)
        assert first["rows"] == [{"code": "too_large", "messages": 7}]
        second = get(client, "/reports/dead-letters", limit=1, cursor=first["next"])
        assert (second["rows"], "next" in second) == ([{"code": "not_an_event", "messages": 2}], False)
        names = get(client, "/reports")["reports"]
        assert {"dead-letters", "coverage", "silent"} <= set(names)


def test_without_kafka_there_is_no_report_on_dead_letters(client: TestClient) -> None:
    refused = client.get(f"{GRAPH}/reports/dead-letters")
    assert (refused.status_code, refused.headers["content-type"]) == (503, "application/problem+json")
    assert "HEADWATER_KAFKA_BOOTSTRAP_SERVERS" in refused.json()["detail"]


def test_every_list_continues_at_its_cursor(client: TestClient, maker: GraphMaker, driver: neo4j.Driver) -> None:
    ns = maker.namespace
    for code in ("c1", "c2", "c3"):
        maker.run(f"job-{ns}", ["raw"], [f"lone-{ns}"], code=code)
    maker.run("other", ["raw"], [f"lone-{ns}-too"])
    maker.store(driver)

    def all_of(path: str, member: str, **params: Any) -> list[Any]:
        found, page = [], get(client, path, limit=1, **params)
        while True:
            assert len(page[member]) == 1
            found += page[member]
            if "next" not in page:
                return found
            page = get(client, path, limit=1, cursor=page["next"], **params)

    numbers = [line["number"] for line in all_of("/jobs/versions", "versions", namespace=ns, name=f"job-{ns}")]
    assert numbers == [3, 2, 1]
    versions = all_of("/datasets/versions", "versions", namespace=ns, name=f"lone-{ns}")
    assert [line["at"][11:13] for line in versions] == ["03", "02", "01"]
    assert all_of("/search", "nodes", text=ns, kind=["job", "dataset"]) == [
        ["job", ns, f"job-{ns}"],
        ["dataset", ns, f"lone-{ns}-too"],
        ["dataset", ns, f"lone-{ns}"],
    ]
    first = get(client, "/reports/unread", limit=1)
    assert first["cut"]
    assert get(client, "/reports/unread", limit=1, cursor=first["next"])["rows"][0] != first["rows"][0]


@pytest.mark.parametrize("path", ["/runs", "/search?text=x", "/reports/unread", "/datasets/versions?name=orders"])
@pytest.mark.parametrize("cursor", ["nonsense", "W10=", "WzFd", "Wy0xXQ==", "bnVsbA==", "WzEsInQiXQ==x"])
def test_a_cursor_of_another_origin_is_refused(client: TestClient, stored: GraphMaker, path: str, cursor: str) -> None:
    given = {"cursor": cursor} | ({"namespace": stored.namespace} if path.startswith("/datasets") else {})
    answer = client.get(f"{GRAPH}{path}", params={**given, **dict(parse_qsl(path.partition("?")[2]))})
    # A number is a place in lists that are ranked anew, and nothing in lists by time.
    assert answer.status_code == (200 if cursor == "WzFd" and path[1] in "sr" and path != "/runs" else 400), answer.text


def test_a_server_that_reaches_the_graph_is_ready(client: TestClient) -> None:
    assert client.get("/readyz").text == "ready\n"

    def away(**_: object) -> list[Any]:
        raise ServerUnavailable("Neo4j", "bolt://secret:7687", "start it")

    settings = WebSettings(tokens=(SecretStr("open"),))
    waiting = client_of(create_app(GivenAnswers({"catalog/answers": away}), MemorySink(), settings))
    assert waiting.get("/readyz").status_code == 503
    assert waiting.get("/healthz").status_code == 200


def test_an_unchanged_response_is_not_sent_again(client: TestClient, stored: GraphMaker) -> None:
    path = f"{GRAPH}/lineage/upstream?namespace={stored.namespace}&name=table"
    tag = client.get(path).headers["etag"]
    again = client.get(path, headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get(path, headers={"If-None-Match": '"other"'}).status_code == 200


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/lineage/upstream?name=nothing-of-this-name", 404),
        ("/lineage/upstream", 422),
        ("/lineage/sideways?name=x", 422),
        ("/lineage/upstream?name=x&depth=-1", 422),
        ("/lineage/upstream?name=x&depth=1000000", 400),
        ("/lineage/upstream?name=x&as_of=yesterday", 400),
        ("/runs/no-such-run", 404),
        ("/reports/nothing", 404),
        ("/no/such/path", 404),
    ],
)
def test_errors_are_problems(client: TestClient, path: str, status: int) -> None:
    answer = client.get(GRAPH + path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert (body["status"], body["type"]) == (status, "about:blank")
    assert body["detail"]


def test_a_graph_of_another_schema_is_503_until_it_is_migrated(
    graph_server: GraphSettings, driver: neo4j.Driver, stored: GraphMaker
) -> None:
    named = {"namespace": stored.namespace, "name": "orders"}
    with Neo4jReader(graph_server) as fresh:
        other = client_of(create_app(fresh, MemorySink(), WebSettings()))
        try:
            driver.execute_query("MERGE (s:HeadwaterSchema) SET s.version = 1")
            refused = other.get(f"{GRAPH}/lineage/upstream", params=named)
            assert (refused.status_code, "headwater graph migrate" in refused.json()["detail"]) == (503, True)
        finally:
            list(schema.migrate(graph_server))
        assert other.get(f"{GRAPH}/lineage/upstream", params=named).is_success


def test_a_graph_that_does_not_answer_is_503() -> None:
    def away(**_: object) -> list[Any]:
        raise ServerUnavailable("Neo4j", "bolt://secret:7687", "start it")

    app = create_app(GivenAnswers({"find/dataset_by_tail": away}), MemorySink(), WebSettings())
    answer = client_of(app).get(f"{GRAPH}/lineage/upstream?name=x")
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "5"
    assert "secret" not in answer.text


def test_requests_need_a_token_if_tokens_are_set() -> None:
    app = create_app(GivenAnswers(), MemorySink(), WebSettings(tokens=(SecretStr("open"), SecretStr("sesame"))))
    client = client_of(app)
    path = f"{GRAPH}/search?text=x"
    assert client.get(path).status_code == 401
    assert client.get(path, headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert client.get(path, headers={"Authorization": "Basic sesame"}).status_code == 401
    assert client.get(path, headers={"Authorization": "Bearer sesame"}).json() == {"nodes": []}
    assert client.post("/api/v1/lineage", content=b"{}").status_code == 401
    assert client.get("/healthz").text == "ok\n"


def test_without_tokens_the_server_listens_on_loopback_only() -> None:
    with pytest.raises(ConfigError, match=r"0\.0\.0\.0 is not a loopback address"):
        web_settings(host="0.0.0.0")
    assert web_settings(host="0.0.0.0", tokens=("t",)).port == 8080
    assert web_settings(host="::1").host == "::1"


def test_cross_origin_requests_are_refused_unless_allowed() -> None:
    origin = {"Origin": "https://lineage.example"}
    closed = client_of(create_app(GivenAnswers(), MemorySink(), WebSettings()))
    assert "access-control-allow-origin" not in closed.get("/healthz", headers=origin).headers
    opened = client_of(create_app(GivenAnswers(), MemorySink(), WebSettings(cors_origins=("https://lineage.example",))))
    assert opened.get("/healthz", headers=origin).headers["access-control-allow-origin"] == "https://lineage.example"


def test_the_api_describes_itself(client: TestClient) -> None:
    described = client.get("/api/v1/openapi.json").json()
    assert f"{GRAPH}/lineage/{{direction}}" in described["paths"]
    operations = [operation for path in described["paths"].values() for operation in path.values()]
    assert all(operation.get("description") for operation in operations)


TEXTS = st.text(max_size=12) | st.sampled_from(
    ["1", "-1", "true", "2026-01-01T00:00:00Z", "ns#x", "WyJhIiwgMV0=", "job"]
)
KNOWN = (
    "name",
    "namespace",
    "kind",
    "depth",
    "nodes",
    "as_of",
    "text",
    "limit",
    "cursor",
    "state",
    "job",
    "from",
    "to",
)
PARAMETERS = st.dictionaries(st.sampled_from((*KNOWN, "column", "since", "parent")), TEXTS, max_size=5)
PATHS = (
    "/lineage/upstream", "/lineage/component", "/lineage/impact", "/lineage/path", "/columns/downstream", "/search",
    "/runs", "/runs/x", "/runs/x/diff", "/jobs/show", "/datasets/versions", "/reports/stale",
)  # fmt: skip


@given(st.sampled_from(PATHS), PARAMETERS)
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_query_breaks_the_server(reader: Neo4jReader, path: str, parameters: dict[str, str]) -> None:
    client = client_of(create_app(reader, MemorySink(), WebSettings()))
    answer = client.get(GRAPH + path, params=parameters)
    assert answer.status_code in (200, 400, 404, 422)


# ---- Cypher --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def free(reader: Neo4jReader) -> Iterator[TestClient]:
    """The application with free Cypher: one second, three rows."""
    cypher = FreeCypher(reader, 1.0, 3, "HEADWATER_WEB_CYPHER_TIMEOUT", strangers=True)
    with client_of(create_app(reader, MemorySink(), WebSettings(), cypher=cypher)) as client:
        yield client


def test_an_answer_of_cypher_is_limited_in_bytes(reader: Neo4jReader) -> None:
    cypher = FreeCypher(reader, 30.0, 10_000, "HEADWATER_WEB_CYPHER_TIMEOUT", strangers=True, bytes=1_000)
    with client_of(create_app(reader, MemorySink(), WebSettings(), cypher=cypher)) as client:
        cut_short = run_cypher(client, "UNWIND range(1, 5000) AS n RETURN n AS number", limit=10_000).json()
        assert 10 < len(cut_short["rows"]) < 100
        assert cut_short["more"] is True
        refused = run_cypher(client, "RETURN range(1, 1000) AS numbers")
    assert refused.status_code == 400
    assert "a row is larger than an answer may be" in refused.json()["detail"]


def run_cypher(client: TestClient, query: str, **more: Any) -> Any:
    return client.post(f"{GRAPH}/cypher", json={"query": query, **more})


def test_cypher_returns_rows(free: TestClient, stored: GraphMaker) -> None:
    query = "MATCH (j:Job {namespace: $ns})-[:CURRENT]->(v) RETURN j.name AS job, v.validFrom AS since ORDER BY job"
    answer = run_cypher(free, query, parameters={"ns": stored.namespace}, limit=1)
    row = {"job": "load", "since": "2026-01-01T01:00:00.000000Z"}
    assert answer.json() == {"columns": ["job", "since"], "rows": [row], "more": True}
    assert free.post(f"{GRAPH}/cypher", json={"query": "RETURN 1.0 / 0 AS x"}).json()["rows"] == [{"x": "inf"}]
    assert run_cypher(free, "SHOW INDEXES YIELD name LIMIT 1").status_code == 200
    assert run_cypher(free, "UNWIND [] AS x RETURN x").json() == {"columns": [], "rows": [], "more": False}


@pytest.mark.parametrize(
    "query",
    [
        "LOAD CSV FROM 'http://127.0.0.1:1/' AS line RETURN line",
        "CALL db.labels()",
        "RETURN EXISTS { CALL db.labels() YIELD label RETURN label } AS x",
        "CALL () { LOAD CSV FROM 'file:///etc/passwd' AS line RETURN line } RETURN line",
        "SHOW SETTINGS",
        "SHOW USERS",
        "SHOW TRANSACTIONS",
        "TERMINATE TRANSACTIONS 'neo4j-transaction-1'",
        "CREATE USER nobody SET PASSWORD 'secret-secret'",
        "ALTER CURRENT USER SET PASSWORD FROM 'a' TO 'b'",
        "DROP INDEX job_key",
        "EXPLAIN LOAD CSV FROM 'http://127.0.0.1:1/' AS line RETURN line",
    ],
)
def test_cypher_reaches_nothing_but_the_graph(free: TestClient, query: str) -> None:
    answer = run_cypher(free, query)
    assert answer.status_code == 400
    assert "only the graph can be read here" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("more", "status", "said"),
    [
        ({"query": "CREATE (n:Nothing)"}, 400, "this would write"),
        ({"query": "// why not\nMATCH (n:Job) SET n.x = 1"}, 400, "this would write"),
        ({"query": "PROFILE MATCH (n:Job) DETACH DELETE n"}, 400, "Neo4j refuses it"),
        ({"query": "MATCH (n RETURN n"}, 400, "SyntaxError"),
        ({"query": "RETURN 1 AS a; MATCH (n) DETACH DELETE n"}, 400, "exactly one statement"),
        ({"query": "RETURN $x AS x"}, 400, "Expected parameter"),
        ({"query": "UNWIND range(1, 1000000000) AS n RETURN sum(n)"}, 400, "(HEADWATER_WEB_CYPHER_TIMEOUT)"),
        ({"query": "RETURN 1 AS x", "limit": 4}, 400, "limit is at most 3"),
        ({"query": "RETURN $x AS x", "parameters": {"x": [2**63]}}, 400, "64 bits"),
        ({"query": "RETURN $x AS x", "parameters": {"x": json.loads("[" * 300 + "]" * 300)}}, 400, "nested"),
        ({"query": ""}, 422, "query"),
        ({"query": "RETURN 1 AS x", "params": {}}, 422, "params"),
    ],
)
def test_refused_cypher_gives_the_reason(free: TestClient, more: dict[str, Any], status: int, said: str) -> None:
    answer = free.post(f"{GRAPH}/cypher", json=more)
    assert answer.status_code == status
    assert said in answer.json()["detail"]
    assert run_cypher(free, "RETURN 1 AS x").json()["rows"] == [{"x": 1}]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (rb'{"query": "RETURN $x AS x", "parameters": {"x": ["\ud800"]}}', 400),
        (rb'{"query": "RETURN 1 AS x", "parameters": {"\udfff": 1}}', 400),
        (rb'{"query": "RETURN \"\ud800\" AS x"}', 422),
    ],
)
def test_half_a_surrogate_pair_is_refused(free: TestClient, body: bytes, status: int) -> None:
    answer = free.post(f"{GRAPH}/cypher", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == status, answer.text


def test_a_server_without_cypher_says_so(client: TestClient) -> None:
    answer = run_cypher(client, "RETURN 1 AS x")
    assert answer.status_code == 404
    assert "HEADWATER_WEB_CYPHER_TIMEOUT" in answer.json()["detail"]
