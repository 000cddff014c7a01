"""DAG runs of a real Airflow, each with a home of its own, and the configuration that the documents show."""

from __future__ import annotations

import functools
import json
import re
import shutil
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from .environments import CHECKOUT, environment, run

HERE = Path(__file__).parent
PLUGIN = "from headwater.operators.airflow.plugin import HeadwaterPlugin\n"
INSTANT = datetime(2026, 5, 1, tzinfo=UTC)


def run_dag(version: str, dag: str, folder: Path, environ: dict[str, str]) -> str:
    """Run a DAG with ``airflow dags test`` and return its log."""
    (folder / "plugins").mkdir(parents=True)
    (folder / "plugins" / "lineage.py").write_text(PLUGIN)
    shutil.copy(_migrated(version) / "airflow.db", folder / "airflow.db")
    program = str(environment(HERE / f"airflow-{version}.txt") / "airflow")
    done = run([program, "dags", "test", dag, INSTANT.date().isoformat()], _settings(folder) | environ, cwd=folder)
    return done.stdout + done.stderr


def documented(page: str) -> list[dict[str, str]]:
    """Return the settings of each block of a document that configures Airflow's lineage or openlineage-python."""
    blocks = re.findall(r"^```ini\n(.*?)^```", (CHECKOUT / "docs" / page).read_text(), re.MULTILINE | re.DOTALL)
    return [dict(line.split("=", 1) for line in block.splitlines() if line) for block in blocks]


@functools.cache
def _migrated(version: str) -> Path:
    """Return a home of Airflow with an empty database, which is made once a session."""
    folder = Path(tempfile.mkdtemp(prefix=f"headwater-airflow-{version}-"))
    program = str(environment(HERE / f"airflow-{version}.txt") / "airflow")
    migrated = run([program, "db", "migrate"], _settings(folder), cwd=folder)
    assert migrated.returncode == 0, migrated.stderr[-3000:]
    return folder


def _settings(folder: Path) -> dict[str, str]:
    return {
        "AIRFLOW_HOME": str(folder),
        "AIRFLOW__CORE__DAGS_FOLDER": str(HERE / "dags"),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(folder / "plugins"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__OPENLINEAGE__NAMESPACE": "team",
        "AIRFLOW_CONN_SHOP": json.dumps({"conn_type": "sqlite", "host": str(folder / "shop.db")}),
        "HEADWATER_EMITTER_SPOOL_DIR": str(folder / "spool"),
        "HEADWATER_EMITTER_SENDER_LIFETIME": "60",
        "TEST_FOLDER": "/shop",
    }
