"""The requests that Marquez's web interface sends, each with the members that it reads from the answer.

The built interface itself cannot be had for a test: it is neither on npm (``marquez-web`` is not there) nor in Debian, and
exists as a container image alone. What it requests and reads is listed here instead, as its version 0.50 does: one entry for
each request.
A member ``a.b`` is ``b`` in ``a``; ``a[].b`` is ``b`` in each item of the list ``a``, which must not be empty.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import neo4j
import pytest
from starlette.testclient import TestClient

from headwater_graph.settings import GraphSettings

from ..queries.events import write
from .test_marquez_clients import shop_events

API = "/api/v1"
RUN = (
    "id", "state", "createdAt", "updatedAt", "startedAt", "endedAt", "durationMs", "facets", "nominalStartTime",
    "nominalEndTime", "args",
)  # fmt: skip
JOB = (
    "id.namespace", "id.name", "type", "name", "namespace", "createdAt", "updatedAt", "inputs", "outputs", "location",
    "description", "tags", "parentJobName", "simpleName", "latestRun", "latestRuns",
)  # fmt: skip
FIELD = ("name", "type", "tags", "description")
DATASET = (
    "id.namespace", "id.name", "type", "name", "physicalName", "namespace", "sourceName", "createdAt", "updatedAt",
    "lastModifiedAt", "tags", "description", "facets", "deleted", "columnLineage",
)  # fmt: skip
VERSION = (
    "id.version",
    "version",
    "createdAt",
    "fields",
    "tags",
    "facets",
    "lifecycleState",
    "createdByRun",
    "description",
)
NODE = ("id", "type", "data.name", "data.namespace", "inEdges", "outEdges")
COLUMN = (
    "id",
    "type",
    "data.namespace",
    "data.dataset",
    "data.field",
    "data.fieldType",
    "data.inputFields",
    "inEdges",
    "outEdges",
)


def each(items: str, *members: str) -> tuple[str, ...]:
    return tuple(f"{items}[].{member}" for member in members)


@dataclass(frozen=True)
class Request:
    """A request of one screen: ``{ns}`` is the namespace, encoded as the interface does; ``read`` are the members it reads."""

    screen: str
    path: str
    read: tuple[str, ...]
    method: str = "GET"


REQUESTS = (
    Request("every", "/namespaces", each("namespaces", "name", "isHidden", "createdAt", "updatedAt", "ownerName")),
    Request("every", "/tags", each("tags", "name", "description")),
    Request(
        "dashboard",
        "/stats/lineage-events?period=DAY&timezone=Europe/Berlin",
        each("", "start", "complete", "fail", "abort", "startInterval", "endInterval"),
    ),
    Request(
        "dashboard", "/stats/jobs?period=WEEK&timezone=Europe/Berlin", each("", "count", "startInterval", "endInterval")
    ),
    Request("dashboard", "/stats/datasets?period=DAY&timezone=UTC", each("", "count")),
    Request("dashboard", "/stats/sources?period=DAY&timezone=UTC", each("", "count")),
    Request("dashboard", "/jobs?limit=25&offset=0", ("totalCount", *each("jobs", *JOB))),
    Request(
        "dashboard",
        "/jobs?limit=25&offset=0&lastRunStates=FAILED",
        ("totalCount", *each("jobs", *JOB, "latestRun.state")),
    ),
    Request("jobs", "/namespaces/{ns}/jobs?limit=25&offset=0", ("totalCount", *each("jobs", *JOB))),
    Request(
        "job",
        "/namespaces/{ns}/jobs/load",
        (*JOB, *(f"latestRun.{member}" for member in RUN), *each("latestRuns", *RUN)),
    ),
    Request(
        "job",
        "/namespaces/{ns}/jobs/load/runs?limit=10&offset=0",
        ("totalCount", *each("runs", *RUN, "jobVersion.version", "jobVersion.name")),
    ),
    Request("job", "/jobs/runs/{ns}-1/facets?type=run", ("runId", "facets.nominalTime")),
    Request("job", "/jobs/runs/{ns}-1/facets?type=job", ("runId", "facets.documentation")),
    Request(
        "datasets",
        "/namespaces/{ns}/datasets?limit=20&offset=0",
        ("totalCount", *each("datasets", *DATASET, *each("fields", *FIELD))),
    ),
    Request(
        "dataset",
        "/namespaces/{ns}/datasets/orders",
        (*DATASET, *each("fields", *FIELD), *each("columnLineage", "name", "inputFields")),
    ),
    Request(
        "dataset",
        "/namespaces/{ns}/datasets/raw",
        ("facets.dataQualityAssertions.assertions", "facets.dataQualityMetrics"),
    ),
    Request(
        "dataset",
        "/namespaces/{ns}/datasets/orders/versions?limit=25&offset=0",
        ("totalCount", *each("versions", *VERSION, "createdByRun.id", *each("fields", *FIELD))),
    ),
    Request("lineage", "/lineage?nodeId=dataset:{ns}:orders&depth=2", each("graph", *NODE)),
    Request("lineage", "/lineage/?nodeId=job:{ns}:load&depth=2", each("graph", *NODE)),
    Request(
        "columns", "/column-lineage?nodeId=dataset:{ns}:orders&depth=2&withDownstream=true", each("graph", *COLUMN)
    ),
    Request("search", "/search/?q=shop&sort=UPDATE_AT&limit=100", ("totalCount", "results")),
    Request(
        "search",
        "/search?q=orders&sort=NAME&limit=100&filter=DATASET",
        each("results", "name", "namespace", "nodeId", "type", "updatedAt"),
    ),
    Request(
        "events",
        "/events/lineage?limit=20&before=2026-12-31T00:00:00.000Z&after=&offset=0&sortDirection=desc",
        (
            "totalCount",
            *each("events", "eventType", "eventTime", "run.runId", "job.name", "job.namespace", "inputs", "outputs"),
        ),
    ),
    Request("dataset", "/namespaces/{ns}/datasets/orders/tags/gold", (*DATASET,), "POST"),
    Request("dataset", "/namespaces/{ns}/datasets/orders/tags/gold", (*DATASET,), "DELETE"),
    Request("dataset", "/namespaces/{ns}/datasets/orders/fields/made/tags/gold", (*DATASET,), "POST"),
    Request("dataset", "/namespaces/{ns}/datasets/orders/fields/made/tags/gold", (*DATASET,), "DELETE"),
    Request("job", "/namespaces/{ns}/jobs/load/tags/gold", JOB, "POST"),
    Request("job", "/namespaces/{ns}/jobs/load/tags/gold", JOB, "DELETE"),
    Request("job", "/namespaces/{ns}/jobs/load", JOB, "DELETE"),
    Request("dataset", "/namespaces/{ns}/datasets/orders", DATASET, "DELETE"),
)


def missing(value: Any, member: str) -> bool:
    """Return whether an answer lacks a member."""
    if not member:
        return False
    if "[]" in member.split(".")[0] or member.startswith("[]"):
        name, _, rest = member.partition("[]")
        items = value.get(name) if name else value
        return not items or any(missing(item, rest.lstrip(".")) for item in items)
    name, _, rest = member.partition(".")
    return not isinstance(value, dict) or name not in value or missing(value[name], rest)


@pytest.fixture(scope="module")
def interface_shop(graph_server: GraphSettings, driver: neo4j.Driver) -> str:
    """A namespace with a slash in it, and nothing in it that another test reads."""
    ns = f"shop/{uuid.uuid4().hex[:8]}"
    write(graph_server, shop_events(ns))
    return ns


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda each: f"{each.method} {each.path}")
def test_the_interface_finds_what_it_reads(client: TestClient, interface_shop: str, request_: Request) -> None:
    path = request_.path.replace("{ns}", quote(interface_shop, safe=""))
    answer = client.request(request_.method, f"{API}{path}")
    assert answer.status_code == 200, answer.text
    assert [member for member in request_.read if missing(answer.json(), member)] == []


def test_a_member_that_is_missing_is_noticed() -> None:
    value = {"a": {"b": 1}, "list": [{"x": 1, "inner": [{"y": 1}]}, {"inner": []}]}
    assert not missing(value, "a.b")
    assert not missing([{"y": 1}], "[].y")
    assert missing(value, "a.c")
    assert missing(value, "list[].x")
    assert missing(value, "list[].inner[].y")
