"""Prefect and Dagster run the examples of the documentation, and their lineage is in the graph."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ..laws.model import dump
from .environments import CHECKOUT, environment, run, spooled

HERE = Path(__file__).parent
QUIET = {
    "DO_NOT_TRACK": "1",
    "DAGSTER_DISABLE_TELEMETRY": "1",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
}
pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize("example", ["prefect_flow", "dagster_assets"])
def test_a_task_of_another_scheduler_is_in_the_graph_with_its_flow(example: str, tmp_path: Path) -> None:
    python = str(environment(HERE / "schedulers.txt") / "python")
    environ = {
        "PREFECT_HOME": str(tmp_path / "prefect"),
        "HEADWATER_EMITTER_SPOOL_DIR": str(tmp_path / "spool"),
        **QUIET,
    }
    done = run([python, str(CHECKOUT / "examples" / "operators" / f"{example}.py")], environ, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    graph = [json.loads(line) for line in dump(spooled(tmp_path / "spool")).splitlines()]
    (task,) = [line for line in graph if line["kind"] == "run" and line.get("job") == ["team", "nightly.load"]]
    assert task["state"] == "COMPLETE"
    assert [key for key, *_ in task["reads"]] == [["s3://raw", "orders.csv"]]
    assert [key for key, *_ in task["writes"]] == [["s3://clean", "orders"]]
    (job,) = [line for line in graph if line["kind"] == "job" and line["key"] == ["team", "nightly.load"]]
    assert job["parent"] == ["team", "nightly"]
