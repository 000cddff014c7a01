"""Time from the end of a run until a query returns it, on an idle system: ``python bench/freshness.py --runs 100``.

Starts its own servers and a `headwater consume`; then ends one run at a time with `headwater.lineage` and queries the
graph for its outputs until they appear. The reference, measured in the same run, is the time of a message to a plain
Kafka consumer. Times are milliseconds; the result is appended to bench/results/freshness.jsonl.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import quantiles

import neo4j
from confluent_kafka import Consumer, Producer, TopicPartition
from ingest import empty
from record import show

import headwater_stack
from headwater_stack.kafka_broker import make_topics

TOPIC = "bench.reference"

GIVE_UP = 300.0
"""Seconds after which the benchmark fails."""

POLL_SECONDS = 0.005
"""Seconds between two queries."""

PAUSE = 0.3
"""Seconds between two runs: the system is idle when each begins."""

QUERY = """
MATCH (r:Run {id: $run, state: 'COMPLETE'})-[:WROTE]->(:DatasetVersion)<-[:HAS_VERSION]-(d:Dataset)
MATCH (:Dataset {name: 'orders'})-[:FEEDS]->(:Job)-[:PRODUCES]->(d) RETURN d.name AS name
"""


@contextmanager
def consuming(home: Path) -> Iterator[None]:
    """Run a consumer, as `headwater consume` starts it, during the block."""
    command = [sys.executable, "-c", "from headwater_cli.main import main; main()", "consume"]
    with (home / "consume.log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as consumer:
        try:
            yield
        finally:
            consumer.terminate()


def answered(answers: Callable[[], bool]) -> float:
    """Return the seconds until ``answers`` returns true."""
    began = time.perf_counter()
    while not answers():
        if time.perf_counter() - began > GIVE_UP:
            raise SystemExit(f"no answer after {GIVE_UP:.0f} s")
        time.sleep(POLL_SECONDS)
    return time.perf_counter() - began


def ended_run(number: int) -> str:
    """Emit the events of a run; return its id."""
    from headwater import lineage

    with lineage.run("bench", f"job_{number % 10}") as run:
        run.reads("postgres://warehouse:5432", "orders")
        run.writes("postgres://warehouse:5432", f"daily_{number % 10}")
    return str(run.run_id)


def through_headwater(driver: neo4j.Driver, runs: int) -> list[float]:
    times = []
    for number in range(runs + 1):
        run_id = ended_run(number)
        seconds = answered(lambda run_id=run_id: bool(driver.execute_query(QUERY, run=run_id).records))  # type: ignore[misc]
        # The first waits for Spark to start.
        times += [seconds] if number else []
        time.sleep(PAUSE)
    return times


def through_kafka(bootstrap_servers: str, messages: int) -> list[float]:
    settings = {"bootstrap.servers": bootstrap_servers}
    producer = Producer(settings)
    # A consumer that requests a topic before it is created retries after five minutes.
    make_topics(bootstrap_servers, {TOPIC: 1})
    consumer = Consumer(settings | {"group.id": "bench", "auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    times = []
    for _ in range(messages):
        began = time.perf_counter()
        producer.produce(TOPIC, b"x" * 1_000)
        while (message := consumer.poll(1.0)) is None or message.error():
            producer.poll(0)
        times.append(time.perf_counter() - began)
    consumer.close()
    return times


def graph_driver(at: headwater_stack.Addresses) -> neo4j.Driver:
    """Return a driver without warnings about names that an empty graph does not have yet."""
    account = (at.neo4j_user, at.neo4j_password)
    return neo4j.GraphDatabase.driver(at.neo4j_uri, auth=account, notifications_min_severity="OFF")


def shown(times: list[float]) -> dict[str, float]:
    percentiles = quantiles(times, n=100, method="inclusive")
    return {name: round(percentiles[at - 1] * 1_000, 1) for name, at in (("p50", 50), ("p95", 95), ("p99", 99))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--no-record", action="store_true", help="append nothing to bench/results")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as folder:
        home = Path(folder)
        os.environ["HEADWATER_HOME"] = folder
        try:
            at = empty(home)
            with consuming(home), graph_driver(at) as driver:
                # Not before: the consumer finds the servers by HEADWATER_HOME, which a single address would override.
                os.environ["HEADWATER_KAFKA_BOOTSTRAP_SERVERS"] = at.kafka_bootstrap_servers
                ours = through_headwater(driver, given.runs)
            reference = through_kafka(at.kafka_bootstrap_servers, given.runs)
        finally:
            headwater_stack.down(home)
    result = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "load_average": os.getloadavg()[0],
        "runs": given.runs,
        "milliseconds": shown(ours),
        "kafka_alone_milliseconds": shown(reference),
    }
    show(result, None if given.no_record else "freshness")


if __name__ == "__main__":
    main()
