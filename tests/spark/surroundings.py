"""Services of some reference jobs: a broker at a fixed address, another PySpark."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from headwater_stack.kafka_broker import KafkaBroker, make_topics
from headwater_stack.server import is_open

from ..airflow.environments import SOURCES, environment
from ..servers import broker_of_its_own

HERE = Path(__file__).parent
CHECKOUT = HERE.parents[1]
_TOPICS = {"reference.kb": 1, "reference.ks": 1, "reference.ks_out": 1}
_PORT, _CONTROLLER = 9092, 9093
_RUN_PROGRAM = "import sys; from headwater.spark.program import run; sys.exit(run(sys.argv[1], sys.argv[2:]))"


@contextmanager
def broker(folder: Path) -> Iterator[None]:
    """Run a Kafka on port 9092 with the jobs' topics, unless there is one already."""
    if is_open(_PORT):
        make_topics(f"127.0.0.1:{_PORT}", _TOPICS)
        yield
        return
    with broker_of_its_own(KafkaBroker(), folder, (_PORT, _CONTROLLER)) as address:
        make_topics(address, _TOPICS)
        yield


def interpreter(pyspark: str | None) -> tuple[str, dict[str, str]]:
    """Return the Python with this PySpark or a listed version of it, and the variables that it needs."""
    if pyspark is None:
        return sys.executable, dict(os.environ)
    python = environment(HERE / f"pyspark-{pyspark}.txt") / "python"
    paths = os.pathsep.join([str(CHECKOUT), SOURCES, str(CHECKOUT / "stack")])
    return str(python), {**os.environ, "PYTHONPATH": paths}


def run_jobs(names: Sequence[str], out: Path, pyspark: str | None = None) -> str:
    """Run jobs in one driver, of this PySpark or of a listed version; return their log."""
    python, environ = interpreter(pyspark)
    command = [python, "-m", "tests.spark.reference", "--out", str(out), *names]
    done = subprocess.run(command, capture_output=True, text=True, timeout=840, cwd=CHECKOUT, env=environ)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stderr


def run_in_process(job: Path, out: Path) -> str:
    """Run a job that ends its own process, as ``headwater instrument`` does; return its log."""
    work, log = out / "work" / job.stem, out / f"{job.stem}.jsonl"
    work.mkdir(parents=True)
    environ = {
        **os.environ,
        "WORK": str(work),
        "OPENLINEAGE__TRANSPORT__TYPE": "file",
        "OPENLINEAGE__TRANSPORT__LOG_FILE_PATH": str(log),
        "OPENLINEAGE__TRANSPORT__APPEND": "true",
        "PYSPARK_SUBMIT_ARGS": "--conf spark.ui.enabled=false --conf spark.log.level=ERROR pyspark-shell",
    }
    command = [sys.executable, "-c", _RUN_PROGRAM, str(job)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=work, env=environ)
    assert done.returncode == 0, done.stderr[-4000:]
    log.write_text("".join(json.dumps(json.loads(line)) + "\n" for line in log.read_text().splitlines()))
    return done.stderr
