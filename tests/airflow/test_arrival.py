"""Every event of a real Airflow is in real Kafka, with each configuration that the documents show, and both ways agree.

The tests assert on what Kafka has when ``airflow dags test`` has ended, not on a spool or a log.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import headwater_stack
from headwater.operators import task_run_id, workflow_run_id

from ..servers import Servers
from ..transport.events import arrived_since, ends
from .dag_runs import INSTANT, documented, run_dag
from .test_airflow import SELECTED

pytestmark = pytest.mark.timeout(900)

TOPIC = "lineage.events"
BLOCKS = {
    f"{page}-{number}": settings
    for page in ("deploy.md", "operators.md")
    for number, settings in enumerate(documented(page))
    if any(name.startswith("AIRFLOW") or name.endswith("TRANSPORT__FLUSH") for name in settings)
}
"""The blocks that configure Airflow: the plugin, the provider, and the provider with openlineage-python's own transport."""
WAYS = {
    "plugin": BLOCKS["operators.md-0"],
    "provider": BLOCKS["operators.md-1"],
}


@dataclass(frozen=True)
class Arrived:
    """What a DAG run left in Kafka."""

    settings: dict[str, str]
    folder: Path
    log: str
    events: list[dict[str, Any]]

    def of_job(self, job: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["job"]["name"] == job]


_arrived: dict[str, Arrived] = {}


def events_of(settings: dict[str, str], servers: Servers, folder: Path) -> Arrived:
    """Run the DAG with documented settings, whose only change is Kafka's address; equal settings run once."""
    key = json.dumps(settings, sort_keys=True)
    if key not in _arrived:
        address = servers.kafka_bootstrap_servers
        headwater_stack.make_topics(address, {TOPIC: 4})
        before = ends(address, TOPIC)
        environ = {name: value.replace("kafka:9092", address) for name, value in settings.items()}
        log = run_dag("3", "both_ways", folder, environ)
        messages = [json.loads(value) for value in arrived_since(address, TOPIC, before)]
        events = [event for event in messages if event["job"]["namespace"] == "team"]
        _arrived[key] = Arrived(settings, folder, log, events)
    return _arrived[key]


@pytest.fixture(scope="module", params=list(BLOCKS))
def each_block(request: pytest.FixtureRequest, servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Arrived:
    if "3" not in SELECTED:
        pytest.skip("runs in Airflow 3")
    return events_of(BLOCKS[request.param], servers, tmp_path_factory.mktemp(request.param) / "airflow")


@pytest.fixture(scope="module")
def both_ways(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Arrived]:
    if "3" not in SELECTED:
        pytest.skip("runs in Airflow 3")
    return {way: events_of(WAYS[way], servers, tmp_path_factory.mktemp(way) / "airflow") for way in WAYS}


def test_the_documents_configure_the_plugin_the_provider_and_its_own_transport() -> None:
    kinds = [settings.get("OPENLINEAGE__TRANSPORT__TYPE", "plugin") for settings in BLOCKS.values()]
    assert set(kinds) == {"plugin", "headwater.transport.HeadwaterTransport", "kafka"}


def id_of(task: str, try_number: int, map_index: int) -> str:
    return task_run_id(
        namespace="team", workflow="both_ways", task=task, try_number=try_number, map_index=map_index, instant=INSTANT
    )


def expected_runs() -> set[tuple[str, str, str]]:
    """Return the start and the end of each run: its job, its id, the type of the event.

    ``airflow dags test`` calls no listener when a DAG run starts.
    """
    runs = {(f"both_ways.{task}", id_of(task, 1, -1)): "COMPLETE" for task in ("load", "copy", "count")}
    runs |= {("both_ways.ship", id_of("ship", 1, index)): "COMPLETE" for index in (0, 1)}
    runs |= {("both_ways.bill", id_of("bill", 1, -1)): "FAIL", ("both_ways.bill", id_of("bill", 2, -1)): "COMPLETE"}
    dag_run = workflow_run_id(namespace="team", workflow="both_ways", clear_number=0, instant=INSTANT)
    return {(*run, kind) for run, end in runs.items() for kind in ("START", end)} | {("both_ways", dag_run, "COMPLETE")}


def test_the_start_and_the_end_of_every_run_are_in_kafka(each_block: Arrived) -> None:
    found = {(event["job"]["name"], event["run"]["runId"], event["eventType"]) for event in each_block.events}
    of_tasks = {run for run in found if ".query." not in run[0]}
    assert of_tasks == expected_runs(), each_block.log[-5000:]


def test_nothing_is_left_on_disk(each_block: Arrived) -> None:
    assert list((each_block.folder / "spool").glob("*.spool")) == []


def described(arrived: Arrived) -> dict[tuple[str, str], dict[str, Any]]:
    """Return for each run what has to be the same in both ways: namespace, parent, inputs and outputs."""
    runs: dict[tuple[str, str], dict[str, Any]] = {}
    for event in arrived.events:
        facets = event["run"].get("facets", {})
        run = runs.setdefault(
            (event["job"]["name"], event["run"]["runId"]), {"inputs": set(), "outputs": set(), "parents": set()}
        )
        run["namespace"] = event["job"]["namespace"]
        if parent := facets.get("parent"):
            root = parent.get("root") or {"run": {}, "job": {}}
            members = (parent["job"]["namespace"], parent["job"]["name"], parent["run"]["runId"])
            run["parents"].add((*members, root["job"].get("name"), root["run"].get("runId")))
        for side in ("inputs", "outputs"):
            run[side] |= {(dataset["namespace"], dataset["name"]) for dataset in event.get(side, ())}
    return {name: run for name, run in runs.items() if ".query." not in name[0]}


def test_both_ways_give_the_same_runs_parents_and_datasets(both_ways: dict[str, Arrived]) -> None:
    plugin, provider = (described(both_ways[way]) for way in ("plugin", "provider"))
    database = {way: f"sqlite://{found.folder / 'shop.db'}" for way, found in both_ways.items()}
    assert plugin == with_database(provider, database["provider"], database["plugin"])
    assert plugin.keys() == {(job, run_id) for job, run_id, _ in expected_runs()}


def with_database(
    runs: dict[tuple[str, str], dict[str, Any]], given: str, wanted: str
) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the runs with another database file: each Airflow has its own."""

    def renamed(value: Any) -> Any:
        if not isinstance(value, set):
            return value
        return {tuple(wanted if part == given else part for part in members) for members in value}

    return {key: {name: renamed(value) for name, value in run.items()} for key, run in runs.items()}


@pytest.mark.parametrize("way", WAYS)
def test_sql_operators_on_sqlite_have_tables_and_columns(way: str, both_ways: dict[str, Arrived]) -> None:
    database = f"sqlite://{both_ways[way].folder / 'shop.db'}"
    runs = {job: run for (job, _), run in described(both_ways[way]).items()}
    assert (runs["both_ways.load"]["inputs"], runs["both_ways.load"]["outputs"]) == (set(), {(database, "raw")})
    assert runs["both_ways.copy"]["inputs"] == {(database, "raw")}
    assert runs["both_ways.copy"]["outputs"] == {(database, "orders"), (database, "raw")}
    (complete,) = [e for e in both_ways[way].of_job("both_ways.copy") if e["eventType"] == "COMPLETE"]
    (orders,) = [dataset for dataset in complete["outputs"] if dataset["name"] == "orders"]
    fields = orders["facets"]["columnLineage"]["fields"]
    assert {name: [origin["field"] for origin in field["inputFields"]] for name, field in fields.items()} == {
        "id": ["id"],
        "total": ["price"],
    }
    assert "create table orders" in complete["job"]["facets"]["sql"]["query"]
