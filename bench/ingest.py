"""From Kafka to committed in Neo4j: ``make bench-ingest``, or ``python bench/ingest.py --events 300000``.

Starts servers of its own, puts the workload on the topic, and lets a `headwater consume --available-now` read it. In the
same run it measures two references: a raw Spark read of the topic, which is what reading costs alone, and a bare write
of the graph's rows to an empty Neo4j, which is what writing costs alone. Prints all of it, and appends it as one JSON
line to bench/results/ingest.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from keeping import show
from processes import Usage, tree, watched
from references import raw_read, read_rows, write_rows
from workload import Workload

import headwater_stack
from headwater_graph import schema
from headwater_graph.settings import graph_settings

TOPIC = "lineage.events"
MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Ingest:
    """What the consumer did: seconds from the first batch's start, and of the second half, when the JVMs are warm."""

    messages: int
    seconds: float
    steady_messages: int
    steady_seconds: float
    usage: dict[str, Usage]
    last: dict[str, Any]


def fill(bootstrap_servers: str, workload: Workload) -> float:
    """Put the workload on the topic; return the megabytes."""
    settings = {"bootstrap.servers": bootstrap_servers, "linger.ms": 20, "compression.type": "zstd"}
    producer, size = Producer(settings | {"partitioner": "murmur2_random"}), 0
    for key, value in workload.messages():
        size += len(value)
        while True:
            try:
                producer.produce(TOPIC, value, key=key)
            except BufferError:
                producer.poll(0.1)
            else:
                break
    assert producer.flush(120) == 0
    return size / MEGABYTE


def consume(home: Path) -> Ingest:
    """Let the consumer read all of the topic, and watch it."""
    environ = os.environ | {"HEADWATER_HOME": str(home), "HEADWATER_LOG_FORMAT": "json"}
    command = [sys.executable, "-c", "from headwater_cli.main import main; main()", "consume", "--available-now"]
    servers = {server.name: server.pid for server in headwater_stack.status(home).servers}
    with subprocess.Popen(command, env=environ, stderr=subprocess.PIPE, text=True) as consumer:
        assert consumer.stderr is not None

        def groups() -> dict[str, list[int]]:
            return tree(consumer.pid) | {name: [pid] for name, pid in servers.items() if pid}

        with watched(groups) as usage:
            lines = [told for told in map(_told, consumer.stderr) if told is not None]
    if consumer.returncode:
        raise SystemExit(f"the consumer ended with {consumer.returncode}: {lines[-3:]}")
    return _measured(lines, usage)


def _told(line: str) -> dict[str, Any] | None:
    if not line.startswith("{"):
        return None
    told: dict[str, Any] = json.loads(line)
    if told["event"] == "batch written":
        print(f"  batch {told['batch']}: {told['messages']} messages in {told['seconds']['total']:.1f} s", flush=True)
    return told


def _measured(lines: list[dict[str, Any]], usage: dict[str, Usage]) -> Ingest:
    batches = [line for line in lines if line["event"] == "batch written"]
    ends = [datetime.fromisoformat(batch["time"]).timestamp() for batch in batches]
    counts = [batch["messages"] for batch in batches]
    begin = ends[0] - sum(batches[0]["seconds"][phase] for phase in ("read", "total"))
    half = len(batches) // 2
    steady = ends[-1] - (ends[half - 1] if half else begin)
    return Ingest(sum(counts), ends[-1] - begin, sum(counts[half:]), steady, usage, batches[-1])


def empty(home: Path) -> headwater_stack.Addresses:
    """Return servers with nothing on them but the topics and the graph's schema."""
    addresses = headwater_stack.up(home, reset=True)
    schema.init(graph_of(addresses))
    return addresses


def graph_of(addresses: headwater_stack.Addresses) -> Any:
    return graph_settings(
        uri=addresses.neo4j_uri, user=addresses.neo4j_user, password=addresses.neo4j_password, write_timeout=600
    )


def measure(home: Path, workload: Workload) -> dict[str, Any]:
    """Run everything; return what is printed."""
    addresses = empty(home)
    print(f"putting {workload.events} events on the topic", flush=True)
    megabytes = fill(addresses.kafka_bootstrap_servers, workload)
    ingest = consume(home)
    print("reading the topic with Spark alone", flush=True)
    read = raw_read(addresses.kafka_bootstrap_servers, TOPIC)
    rows = read_rows(addresses)
    print(f"writing {rows.counts[0]} nodes and {rows.counts[1]} relationships alone", flush=True)
    write = write_rows(empty(home), rows)
    steady = ingest.steady_messages / ingest.steady_seconds if ingest.steady_messages else None
    rate = ingest.messages / ingest.seconds
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "load_average": os.getloadavg()[0],
        "events": ingest.messages,
        "jobs": workload.jobs,
        "megabytes": round(megabytes),
        "seconds": round(ingest.seconds, 1),
        "events_per_second": round(rate),
        "steady_events_per_second": steady and round(steady),
        "raw_read_events_per_second": round(workload.events / read),
        "bare_write_events_per_second": round(workload.events / write),
        "ratio_to_raw_read": round(rate / (workload.events / read), 3),
        "ratio_to_bare_write": round(rate / (workload.events / write), 3),
        "nodes": rows.counts[0],
        "relationships": rows.counts[1],
        "cpu_seconds": {name: round(used.seconds, 1) for name, used in ingest.usage.items()},
        "cpu_microseconds_per_event": {
            name: round(used.seconds / ingest.messages * 1e6) for name, used in ingest.usage.items()
        },
        "peak_megabytes": {name: round(used.peak / MEGABYTE) for name, used in ingest.usage.items()},
        "last_batch_seconds": ingest.last["seconds"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=Workload().events)
    parser.add_argument("--jobs", type=int, default=Workload().jobs)
    parser.add_argument("--home", type=Path, help="keep the servers' data here [a temporary folder]")
    parser.add_argument("--no-record", action="store_true", help="append nothing to bench/results")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as folder:
        home = given.home or Path(folder)
        began = time.monotonic()
        try:
            result = measure(home, Workload(events=given.events, jobs=given.jobs))
        finally:
            headwater_stack.down(home)
    show(result, None if given.no_record else "ingest")
    print(f"took {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
