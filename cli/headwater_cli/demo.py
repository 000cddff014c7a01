"""``headwater demo``: run example jobs on local servers and show their lineage."""

from __future__ import annotations

import csv
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

import headwater_stack
from headwater_avro.errors import HeadwaterError

from .demo_page import show_page
from .stack import home_option, make_schema

_JOBS = Path(__file__).parent / "demo_jobs"
_STEPS = ("clean_orders", "enrich_orders", "revenue_by_country")
_SPARK = "--conf spark.ui.enabled=false --conf spark.sql.shuffle.partitions=2 --driver-memory 1g"
_COUNTRIES = ("de", "fr", "pl", "pt", "se")


@click.command()
@home_option
@click.option("--serve/--no-serve", default=True, show_default=True, help="End with a page that shows the lineage.")
def demo(home: Path, serve: bool) -> None:
    """Run example jobs on local Kafka, Spark and Neo4j servers, and show their lineage.

    It ends with the address of a page that shows the lineage, served until Ctrl-C if this is a terminal. The servers keep
    running, so that you can query the graph; `headwater down` stops them.
    """
    home = home.expanduser().resolve()
    with _step("local Kafka and Neo4j"):
        addresses = headwater_stack.up(home, progress=headwater_stack.progress_on(sys.stderr))
        # Each time: if the graph has an older schema, this fails before the jobs run, not after them.
        make_schema(addresses)
    folder = home / "demo"
    with _step("input files"):
        make_inputs(folder / "landing")
    environment = _environment(home, addresses)
    for name in _STEPS:
        with _step(f"PySpark job {name}, instrumented"):
            _run(["instrument", str(_JOBS / f"{name}.py"), str(folder)], folder, name, environment)
    with _step("job publish_report, with openlineage-python alone"):
        script = [sys.executable, str(_JOBS / "publish_report.py"), str(folder)]
        _finish(script, folder, "publish_report", environment | _stock_client(addresses))
    with _step("consumer: Kafka to Neo4j"):
        _run(["consume", "--available-now"], folder, "consume", environment)
    _show(folder, environment)
    if serve:
        dataset = ("file", str(folder / "reports/revenue.csv"))
        show_page(folder / "logs" / "serve.log", environment, dataset, is_terminal=sys.stdout.isatty())


def make_inputs(folder: Path) -> None:
    """Write the demo's orders and customers as CSV files, always the same."""
    folder.mkdir(parents=True, exist_ok=True)
    dice = random.Random(7)
    with (folder / "customers.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("id", "email", "country"))
        writer.writerows((number, f"c{number}@example.org", dice.choice(_COUNTRIES)) for number in range(1, 201))
    with (folder / "orders.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("order_id", "customer_id", "amount", "status", "ordered_at"))
        for number in range(1, 2001):
            status, day = dice.choice(("paid", "paid", "open", "void")), f"2026-01-{dice.randint(1, 28):02}"
            writer.writerow((number, dice.randint(1, 200), round(dice.uniform(5, 500), 2), status, day))


# ---- running -------------------------------------------------------------------------------------------------------


@contextmanager
def _step(what: str) -> Iterator[None]:
    begin = time.monotonic()
    click.echo(f"{click.style('▸', fg='cyan')} {what} …", err=True)
    yield
    click.echo(f"  done in {time.monotonic() - begin:.1f} s", err=True)


def _environment(home: Path, addresses: headwater_stack.Addresses) -> dict[str, str]:
    """Return the environment of the demo's commands, with the settings of the local stack only."""
    others = {name: value for name, value in os.environ.items() if not name.startswith(("HEADWATER_", "OPENLINEAGE"))}
    cache = {name: os.environ[name] for name in ("HEADWATER_CACHE", "HEADWATER_MAVEN_REPOSITORY") if name in os.environ}
    return (
        others
        | cache
        | {
            "HEADWATER_HOME": str(home),
            "HEADWATER_KAFKA_BOOTSTRAP_SERVERS": addresses.kafka_bootstrap_servers,
            "HEADWATER_NEO4J_URI": addresses.neo4j_uri,
            "HEADWATER_NEO4J_USER": addresses.neo4j_user,
            "HEADWATER_NEO4J_PASSWORD": addresses.neo4j_password,
            "JAVA_HOME": str(headwater_stack.spark_java_home()),
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_SUBMIT_ARGS": f"{_SPARK} pyspark-shell",
        }
    )


def _stock_client(addresses: headwater_stack.Addresses) -> dict[str, str]:
    """Return the settings of openlineage-python's own Kafka transport."""
    return {
        "OPENLINEAGE__TRANSPORT__TYPE": "kafka",
        "OPENLINEAGE__TRANSPORT__TOPIC": "lineage.events",
        "OPENLINEAGE__TRANSPORT__CONFIG": json.dumps({"bootstrap.servers": addresses.kafka_bootstrap_servers}),
    }


def _run(arguments: list[str], folder: Path, name: str, environment: dict[str, str]) -> None:
    _finish([sys.executable, "-m", "headwater_cli", *arguments], folder, name, environment)


def _finish(command: list[str], folder: Path, name: str, environment: dict[str, str]) -> None:
    """Run a command in the demo's folder; raises HeadwaterError with the end of its log if it fails."""
    logs = folder / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    log = logs / f"{name}.log"
    with log.open("w") as file:
        done = subprocess.run(command, cwd=folder, env=environment, stdout=file, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        tail = "\n  ".join(log.read_text(errors="replace").splitlines()[-8:])
        raise HeadwaterError(f"{name} ended with exit code {done.returncode}; its log is {log}:\n  {tail}")


# ---- showing -------------------------------------------------------------------------------------------------------


def _show(folder: Path, environment: dict[str, str]) -> None:
    report, revenue = str(folder / "reports/revenue.csv"), str(folder / "tables/revenue_by_country")
    _run_and_print(
        ["lineage", "upstream", "file", report], "What feeds the report, back to the first files:", environment
    )
    _run_and_print(
        ["lineage", "upstream", "file", revenue, "--columns"], "Where the columns of its table come from:", environment
    )
    _run_and_print(["run", "list", "--limit", "8"], "The last runs:", environment)
    _run_and_print(["run", "show", _last_run(environment)], "The last run of all:", environment)
    click.echo(
        "\nWhat to try next (the servers keep running; `headwater down` stops them):\n"
        f"  headwater lineage impact file {folder / 'landing/customers.csv'}\n"
        "  headwater search revenue\n"
        '  headwater cypher "MATCH (d:Dataset)-[:FEEDS]->(j:Job)-[:PRODUCES]->(o:Dataset) RETURN d.name, j.name, o.name"\n'
        "  headwater graph dump | head\n"
        "  headwater consume            # and run a job of yours: headwater instrument your_job.py"
    )


def _run_and_print(arguments: list[str], why: str, environment: dict[str, str]) -> None:
    click.echo(f"\n{click.style(why, bold=True)}\n$ headwater {' '.join(arguments)}", nl=True)
    sys.stdout.flush()
    subprocess.run([sys.executable, "-m", "headwater_cli", *arguments], env=environment, check=True)


def _last_run(environment: dict[str, str]) -> str:
    command = [sys.executable, "-m", "headwater_cli", "run", "list", "--limit", "1", "--json"]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    runs = found["runs"] if isinstance(found, dict) else found
    return str(runs[0]["id"])
