"""The examples of the documentation run, and emit the documented lineage."""

from __future__ import annotations

import importlib.util
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from headwater.operators import CollectingSink, OperatorRunner, TaskLineageListener

from .plain_operators import NOON, names

EXAMPLES = Path(__file__).parents[2] / "examples" / "operators"


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"headwater_example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    file = tmp_path / "orders.csv"
    file.write_text("id,customer,amount\n1,ada,10\n2,ben,20\n")
    return file


def test_a_loaded_file_has_columns_and_rows(orders: Path, tmp_path: Path) -> None:
    sink = CollectingSink()
    database = tmp_path / "shop.db"
    outcome = OperatorRunner("shop", sink=sink).run(example("load_file").LoadFile("load", orders, database, "orders"))
    assert (outcome.state, outcome.result) == ("success", 2)
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("select sum(amount) from orders").fetchone() == (30,)
    start, complete = sink.events
    assert names(start, "inputs") == names(complete, "inputs") == [str(orders)]
    (target,) = complete["outputs"]
    assert (target["namespace"], target["name"]) == (f"sqlite://{database}", "main.orders")
    assert [field["name"] for field in target["facets"]["schema"]["fields"]] == ["id", "customer", "amount"]
    assert target["outputFacets"]["outputStatistics"]["rowCount"] == 2
    (came_from,) = target["facets"]["columnLineage"]["fields"]["amount"]["inputFields"]
    assert (came_from["namespace"], came_from["name"], came_from["field"]) == ("file", str(orders), "amount")


@pytest.mark.parametrize(("amount", "state"), [("10", "success"), ("-1", "failed")])
def test_checks_are_data_quality_facets_on_success_and_failure(tmp_path: Path, amount: str, state: str) -> None:
    database = tmp_path / "shop.db"
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("create table orders (id, amount)")
        connection.executemany("insert into orders values (?, ?)", [(1, 5), (2, int(amount))])
    check = example("check_table").CheckTable(
        "check", database, "orders", {"positive": "amount > 0", "numbered": "id > 0"}
    )
    sink = CollectingSink()
    outcome = OperatorRunner("shop", sink=sink).run(check)
    assert outcome.state == state
    (dataset,) = sink.events[-1]["inputs"]
    facets = dataset["inputFacets"]
    results = {
        check["name"]: (check["success"], check["actual"]) for check in facets["dataQualityAssertions"]["assertions"]
    }
    assert results == {"positive": (state == "success", "0" if state == "success" else "1"), "numbered": (True, "0")}
    assert (facets["dataQualityMetrics"]["rowCount"], facets["dataQualityMetrics"]["columnMetrics"]) == (2, {})
    if state == "failed":
        assert sink.events[-1]["run"]["facets"]["errorMessage"]["message"] == "positive"


def test_the_workflow_runs_from_a_shell(orders: Path, tmp_path: Path) -> None:
    environ = {"PATH": "", "HOME": str(tmp_path), "HEADWATER_HOME": str(tmp_path / "headwater")}
    command = [sys.executable, str(EXAMPLES / "nightly.py"), str(orders), str(tmp_path / "shop.db")]
    done = subprocess.run(command, capture_output=True, text=True, env=environ, timeout=60, check=False)
    assert done.stdout.split() == ["success", "success"], done.stderr
    assert list((tmp_path / "headwater" / "spool").glob("*.spool"))


def lineage_of(_: Any) -> Any:
    return {"inputs": [{"namespace": "s3://raw", "name": "a"}], "outputs": [{"namespace": "s3://clean", "name": "b"}]}


def listening() -> tuple[TaskLineageListener, CollectingSink]:
    sink = CollectingSink()
    return TaskLineageListener(sink, clock=lambda: NOON), sink


def test_prefects_hooks_become_events_and_a_retry_is_a_run_of_its_own() -> None:
    listener, sink = listening()
    hooks = example("prefect_flow").PrefectLineage("team", "nightly", lineage_of, listener).hooks()
    task = SimpleNamespace(name="load")
    first, second = (prefect_run(count) for count in (1, 2))
    hooks["on_running"][0](task, first, SimpleNamespace())
    hooks["on_failure"][0](task, first, SimpleNamespace(message="no"))
    hooks["on_running"][0](task, second, SimpleNamespace())
    hooks["on_completion"][0](task, second, SimpleNamespace())
    assert [event["eventType"] for event in sink.events] == ["START", "FAIL", "START", "COMPLETE"]
    assert len({event["run"]["runId"] for event in sink.events}) == 2
    assert {event["job"]["name"] for event in sink.events} == {"nightly.load"}
    assert {event["run"]["facets"]["parent"]["run"]["runId"] for event in sink.events} == {"f1"}
    assert sink.events[1]["run"]["facets"]["errorMessage"]["message"] == "no"
    assert names(sink.events[3], "outputs") == ["b"]


def prefect_run(count: int) -> Any:
    return SimpleNamespace(id="t1", flow_run_id="f1", run_count=count, start_time=NOON)


def test_dagsters_hooks_become_events() -> None:
    listener, sink = listening()
    lineage = example("dagster_assets").DagsterLineage("team", lineage_of, listener)
    run_id = "019f0000-0000-7000-8000-000000000001"
    context = SimpleNamespace(
        run_id=run_id, job_name="nightly", op=SimpleNamespace(name="load"), op_exception=OSError("no")
    )
    lineage.succeeded(context)
    lineage.failed(context)
    assert [event["eventType"] for event in sink.events] == ["START", "COMPLETE", "START", "FAIL"]
    assert {event["job"]["name"] for event in sink.events} == {"nightly.load"}
    assert {event["run"]["facets"]["parent"]["run"]["runId"] for event in sink.events} == {run_id}
    assert names(sink.events[1], "inputs") == ["a"]


@pytest.mark.parametrize("name", ["prefect_flow", "dagster_assets"])
def test_an_example_whose_scheduler_is_missing_says_what_to_install(name: str) -> None:
    if importlib.util.find_spec(name.split("_")[0]):
        pytest.skip("the scheduler is installed here: take it out of this environment to run this")
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py")], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert "pip install" in done.stderr
