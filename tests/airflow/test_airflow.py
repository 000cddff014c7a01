"""A real Airflow runs a DAG of four tasks, with its own provider and with our listener, and the graph is correct.

`airflow dags test` runs the real task runner, listeners and all, in one process and without a server; events leave
through `HeadwaterTransport` into its spool, and the graph is the reference model's of exactly these messages.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headwater.operators import task_run_id, workflow_run_id

from ..command_line import headwater
from ..feeding import dumped, feed
from ..laws.model import dump
from ..servers import Servers
from ..store.empty import emptied, opened
from .dag_runs import INSTANT, run_dag
from .environments import spooled, through_kafka

pytestmark = pytest.mark.timeout(900)


# The provider emits each event from a forked child with a new transport, and ends it by os._exit.
BESIDE = {"OPENLINEAGE__TRANSPORT__TYPE": "headwater.transport.HeadwaterTransport"}
# Before its version 2.3 or so the provider counts itself as switched off unless its own section names a transport.
BESIDE_OLD = {"AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps({"type": "headwater.transport.HeadwaterTransport"})}
IN_PLACE = {"AIRFLOW__OPENLINEAGE__DISABLED": "True", "HEADWATER_AIRFLOW_LISTENER": "on"}
WAYS = {
    "provider-3": ("3", BESIDE),
    "provider-2": ("2", BESIDE),
    "provider-2.10": ("2.10", BESIDE_OLD),
    "listener-3": ("3", IN_PLACE),
    "listener-2": ("2", IN_PLACE),
    "listener-2.10": ("2.10", IN_PLACE),
}
# HEADWATER_TEST_AIRFLOW names versions (3, 2, 2.10, with commas between them); any other value selects all of them.
VERSIONS = {version for version, _ in WAYS.values()}
SELECTED = set(os.environ.get("HEADWATER_TEST_AIRFLOW", "").split(",")) & VERSIONS or VERSIONS


def ways(*names: str) -> list[str]:
    """Return the ways whose version is selected."""
    return [name for name in names or WAYS if WAYS[name][0] in SELECTED]


WORKFLOW = workflow_run_id(namespace="team", workflow="four_tasks", clear_number=0, instant=INSTANT)
# job -> for each of its runs: try number, map index, state, inputs, outputs
EXPECTED: dict[str, list[tuple[int, int, str, list[str], list[str]]]] = {
    "make_orders": [(1, -1, "COMPLETE", ["/shop/raw.csv"], ["/shop/orders.csv"])],
    "count": [(1, -1, "COMPLETE", ["/shop/orders.csv"], ["/shop/counts.csv"])],
    "ship": [
        (1, 0, "COMPLETE", ["/shop/counts.csv", "part-1.csv"], ["/shop/parts.csv"]),
        (1, 1, "COMPLETE", ["/shop/counts.csv", "part-2.csv"], ["/shop/parts.csv"]),
    ],
    "bill": [(1, -1, "FAIL", [], ["/shop/bills.csv"]), (2, -1, "COMPLETE", [], ["/shop/bills.csv"])],
}


@dataclass(frozen=True)
class Airflow:
    """The messages of a DAG run, and their graph."""

    way: str
    log: str
    messages: list[bytes]
    graph: list[dict[str, Any]]

    @property
    def is_recent(self) -> bool:
        """Airflow 2.10's provider of its own day knows no assets of the scheme ``file``, and describes jobs less."""
        return self.way != "provider-2.10"

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(message) for message in self.messages]

    def run(self, run_id: str) -> dict[str, Any]:
        (found,) = [line for line in self.graph if line["kind"] == "run" and line["id"] == run_id]
        return found

    def job(self, name: str) -> dict[str, Any]:
        (found,) = [line for line in self.graph if line["kind"] == "job" and line["key"] == ["team", name]]
        return found

    def runs_of(self, job: str) -> list[dict[str, Any]]:
        return [line for line in self.graph if line["kind"] == "run" and line.get("job") == ["team", job]]


def airflow(way: str, dag: str, folder: Path) -> Airflow:
    """Run a DAG in an Airflow of its own, and read back what its events became."""
    version, environ = WAYS[way]
    log = run_dag(version, dag, folder, environ)
    messages = spooled(folder / "spool")
    graph = [json.loads(line) for line in dump(messages).splitlines()]
    return Airflow(way, log, messages, graph)


@pytest.fixture(scope="module", params=ways())
def four_tasks(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Airflow:
    return airflow(request.param, "four_tasks", tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module", params=ways("listener-3", "listener-2", "listener-2.10"))
def own_methods(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Airflow:
    return airflow(request.param, "own_methods", tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module", params=ways("provider-3", "provider-2", "listener-3"))
def client_objects(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Airflow:
    return airflow(request.param, "client_objects", tmp_path_factory.mktemp(request.param))


def id_of(task: str, try_number: int, map_index: int, workflow: str = "four_tasks") -> str:
    return task_run_id(
        namespace="team", workflow=workflow, task=task, try_number=try_number, map_index=map_index, instant=INSTANT
    )


@pytest.mark.parametrize("task", EXPECTED)
def test_every_attempt_is_a_run_with_its_state_and_datasets(four_tasks: Airflow, task: str) -> None:
    assert {line["id"] for line in four_tasks.runs_of(f"four_tasks.{task}")} == {
        id_of(task, *each[:2]) for each in EXPECTED[task]
    }
    for try_number, map_index, state, inputs, outputs in EXPECTED[task]:
        line = four_tasks.run(id_of(task, try_number, map_index))
        assert line["state"] == state
        if four_tasks.is_recent:
            assert [key[1] for key, *_ in line["reads"]] == inputs
            assert [key[1] for key, *_ in line["writes"]] == outputs
        assert line["startedAt"] < line["endedAt"]


@pytest.mark.parametrize("task", EXPECTED)
def test_every_attempt_is_a_child_of_the_dag_run(four_tasks: Airflow, task: str) -> None:
    assert {line["parent"] for line in four_tasks.runs_of(f"four_tasks.{task}")} == {WORKFLOW}
    assert four_tasks.job(f"four_tasks.{task}")["parent"] == ["team", "four_tasks"]


def test_the_dag_run_completes(four_tasks: Airflow) -> None:
    assert four_tasks.run(WORKFLOW)["state"] == "COMPLETE"
    assert four_tasks.run(WORKFLOW)["job"] == ["team", "four_tasks"]


def test_the_edges_between_datasets_are_in_the_graph(four_tasks: Airflow) -> None:
    if not four_tasks.is_recent:
        pytest.skip("the provider for Airflow 2.10 emits no datasets of this DAG")
    edges = {(line["from"][-1], line["to"][-1]) for line in four_tasks.graph if line["kind"] == "edge"}
    through = [("/shop/raw.csv", "make_orders", "/shop/orders.csv"), ("/shop/orders.csv", "count", "/shop/counts.csv")]
    for source, task, target in [*through, ("/shop/counts.csv", "ship", "/shop/parts.csv")]:
        assert {(source, f"four_tasks.{task}"), (f"four_tasks.{task}", target)} <= edges


def test_a_failure_has_its_reason(four_tasks: Airflow) -> None:
    error = four_tasks.run(id_of("bill", 1, -1))["facets"]["errorMessage"]
    assert "the press is jammed" in error["message"]
    assert "RuntimeError" in error["stackTrace"]
    assert "errorMessage" not in four_tasks.run(id_of("bill", 2, -1))["facets"]


def test_jobs_are_described(four_tasks: Airflow) -> None:
    facets = four_tasks.job("four_tasks.make_orders")["facets"]
    assert (facets["jobType"]["integration"], facets["jobType"]["jobType"]) == ("AIRFLOW", "TASK")
    owners = [owner["name"] for owner in facets["ownership"]["owners"]]
    assert owners == ["ada", "ben"] if four_tasks.is_recent else "ada,ben" in owners
    if four_tasks.is_recent:
        assert facets["documentation"]["description"] == "Orders, counted and shipped."
        assert [tag["key"] for tag in facets["tags"]["tags"]] == ["lineage"]


def test_each_event_is_emitted_by_a_single_listener(four_tasks: Airflow) -> None:
    kinds = [
        (event["eventType"], event["run"]["runId"]) for event in four_tasks.events if event["eventType"] != "RUNNING"
    ]
    assert len(kinds) == len(set(kinds))


def test_what_is_made_of_the_clients_objects_is_read_by_the_provider_and_by_us(client_objects: Airflow) -> None:
    line = client_objects.run(id_of("loads", 1, -1, "client_objects"))
    assert line["state"] == "COMPLETE"
    assert [key for key, *_ in line["writes"]] == [["s3://shop", "a.csv"]]
    assert line["facets"]["externalQuery"]["externalQueryId"] == "loads-1"


def test_a_template_in_a_name_is_resolved_and_an_empty_name_left_out(own_methods: Airflow) -> None:
    line = own_methods.run(id_of("loads", 1, -1, "own_methods"))
    assert [key for key, *_ in line["writes"]] == [["s3://shop", "day=2026-05-01/a.csv"]]
    assert line["facets"]["externalQuery"]["externalQueryId"] == "loads-1"


def test_carried_over_values_survive_a_real_deferral(own_methods: Airflow) -> None:
    line = own_methods.run(id_of("waits", 1, -1, "own_methods"))
    assert line["state"] == "COMPLETE"
    # Airflow 2's `dags test` continues with the same object; a real worker, and Airflow 3, create another one.
    attribute = "lost" if own_methods.way.startswith("listener-2") else "unknown"
    assert [key[1] for key, *_ in line["writes"]] == sorted(["known", attribute])


def test_a_deferred_task_starts_once(own_methods: Airflow) -> None:
    starts = [event["job"]["name"] for event in own_methods.events if event["eventType"] == "START"]
    assert starts.count("own_methods.waits") == 1


def test_a_task_that_skips_itself_completes(own_methods: Airflow) -> None:
    # Airflow 2 calls no listener for a skipped task, so its end is not known.
    state = "RUNNING" if own_methods.way.startswith("listener-2") else "COMPLETE"
    assert own_methods.run(id_of("skips", 1, -1, "own_methods"))["state"] == state


def test_assets_of_airflows_own_hooks_are_inputs(own_methods: Airflow) -> None:
    line = own_methods.run(id_of("hooked", 1, -1, "own_methods"))
    assert [key for key, *_ in line["reads"]] == [["s3://shop", "hooked.csv"]]


def test_through_kafka_and_neo4j_the_products_own_queries_return_the_same(
    four_tasks: Airflow, servers: Servers, topic: str
) -> None:
    with opened(servers) as store:
        feed(emptied(store), through_kafka(four_tasks.messages, servers, topic))
        assert [json.loads(line) for line in dumped(store).splitlines()] == four_tasks.graph
    _runs_and_parents(servers, four_tasks)
    if four_tasks.is_recent:
        _upstream(servers)


def _query(servers: Servers, *arguments: str) -> Any:
    return json.loads(headwater(servers, *arguments, "--json").out)


def _runs_and_parents(servers: Servers, four_tasks: Airflow) -> None:
    for task, attempts in EXPECTED.items():
        listed = _query(servers, "run", "list", "--job", f"four_tasks.{task}")["runs"]
        assert {(run["id"], run["state"]) for run in listed} == {
            (id_of(task, number, index), state) for number, index, state, _, _ in attempts
        }
        for number, index, _, inputs, outputs in attempts:
            shown = _query(servers, "run", "show", id_of(task, number, index))
            assert shown["parent"] == WORKFLOW
            if four_tasks.is_recent:
                assert [use["dataset"][1] for use in shown["reads"]] == inputs
                assert [use["dataset"][1] for use in shown["writes"]] == outputs
    assert "the press is jammed" in _query(servers, "run", "show", id_of("bill", 1, -1))["error"]


def _upstream(servers: Servers) -> None:
    answer = _query(servers, "lineage", "upstream", "/shop/parts.csv")
    assert {(node["depth"], node["node"][2]) for node in answer["nodes"]} >= {
        (0, "/shop/parts.csv"),
        (1, "four_tasks.ship"),
        (1, "/shop/counts.csv"),
        (2, "four_tasks.count"),
        (2, "/shop/orders.csv"),
        (3, "four_tasks.make_orders"),
        (3, "/shop/raw.csv"),
    }
