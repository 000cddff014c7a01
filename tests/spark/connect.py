"""The emitter and Spark Connect sessions, with real servers in this process and in another one.

``check(python)`` runs both with the interpreter of an environment that has ``pyspark[connect]``; ``check_client`` runs the second
with one that has the pure client ``pyspark-client``, where there is neither a JVM nor a SparkContext.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).parents[2]
SOURCES = tuple(str(CHECKOUT / part) for part in ("emitter", "avro"))

SERVER = """
import sys
from pyspark import SparkConf, SparkContext
conf = SparkConf().setAppName("server").setMaster("local[1]")
conf.set("spark.plugins", "org.apache.spark.sql.connect.SparkConnectPlugin")
SparkContext(conf=conf.set("spark.connect.grpc.binding.port", sys.argv[1]))
print("ready", flush=True)
sys.stdin.read()
"""
JOB = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
spark.range(3).selectExpr("id", "id * 2 as x").write.mode("overwrite").parquet(sys.argv[2])
print(type(spark).__module__, spark.read.parquet(sys.argv[2]).count())
sys.exit(5)
"""
RUN = "import sys; from headwater.spark.program import run; sys.exit(run(sys.argv[1], sys.argv[2:]))"


def check(python: Path, folder: Path) -> list[str]:
    """Return the problems, one line each; those of the job's own result come first."""
    found = _in_process(_job(python, folder / "here", "local[1]"))
    with _server(python, folder) as address:
        return found + _warned(_job(python, folder / "elsewhere", address))


def check_client(python: Path, server: Path, folder: Path) -> list[str]:
    """Return the problems of the pure client of ``python``, whose server runs in the environment of ``server``."""
    with _server(server, folder) as address:
        return _warned(_job(python, folder / "client", address))


@contextmanager
def _server(python: Path, folder: Path) -> Iterator[str]:
    port = str(_free_port())
    with subprocess.Popen(
        [str(python), "-c", SERVER, port],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=_environ(folder),
        text=True,
    ) as server:
        assert server.stdout is not None
        while server.stdout.readline().strip() not in ("ready", ""):
            pass
        try:
            yield f"sc://localhost:{port}"
        finally:
            server.communicate("", timeout=60)


TOKEN = secrets.token_hex()


def _environ(folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(SOURCES),
        "SPARK_CONNECT_AUTHENTICATE_TOKEN": TOKEN,
        "OPENLINEAGE__TRANSPORT__TYPE": "file",
        "OPENLINEAGE__TRANSPORT__LOG_FILE_PATH": str(folder / "events.jsonl"),
        "OPENLINEAGE__TRANSPORT__APPEND": "true",
    }


def _job(python: Path, folder: Path, remote: str) -> tuple[Any, list[dict[str, Any]]]:
    folder.mkdir(parents=True)
    (folder / "job.py").write_text(JOB)
    command = [str(python), "-c", RUN, "job.py", remote, str(folder / "out")]
    environ = _environ(folder)
    if remote.startswith("local"):
        environ["SPARK_TESTING"] = "1"  # its server takes any free port
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environ, timeout=100)
    log = folder / "events.jsonl"
    events = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return done, events


def _own_result(done: Any) -> list[str]:
    said = done.stdout.strip().splitlines()[-1:] or [done.stderr[-2000:]]
    wrong = [] if said[0].endswith("pyspark.sql.connect.session 3") else [f"the job said {said[0]!r}"]
    return wrong if done.returncode == 5 else [*wrong, f"the job's exit code was {done.returncode}, not 5"]


def _warnings(done: Any) -> list[str]:
    return [line for line in done.stderr.splitlines() if "lineage" in line]


def _in_process(outcome: tuple[Any, list[dict[str, Any]]]) -> list[str]:
    done, events = outcome
    wrong = [f"warned of {line!r}" for line in _warnings(done)]
    ends = [event for event in events if event["eventType"] == "COMPLETE" and event["outputs"]]
    names = [dataset["name"] for event in ends for dataset in event["outputs"]]
    if len(names) != 1 or not names[0].endswith("/here/out"):
        wrong.append(f"a server in the job's own process reported {names}")
    return [f"in this process: {line}" for line in [*_own_result(done), *wrong]]


def _warned(outcome: tuple[Any, list[dict[str, Any]]]) -> list[str]:
    done, events = outcome
    wrong = [f"emitted {len(events)} events"] if events else []
    said = _warnings(done)
    if len(said) != 1 or "Spark Connect session" not in said[0]:
        wrong.append(f"warned by {said}")
    return [f"in another process: {line}" for line in [*_own_result(done), *wrong]]


def _free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])
