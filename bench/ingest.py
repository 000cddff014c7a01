"""From Kafka to committed in Neo4j: ``make bench-ingest``, or ``python bench/ingest.py --events 300000``.

Starts its own servers, produces the workload to the topic, and lets a `headwater consume --available-now` read it. The
sustained rate is measured after a warm-up: in a new server's first minutes its compiler takes as much CPU as its queries, but a
pipeline runs for weeks. The rate of the first events on cold servers is reported too.

In the same run it measures two references: a raw Spark read of the topic, the cost of reading alone, and a plain
write of the graph's rows to an empty Neo4j, the cost of writing alone; both on cold servers, as the whole run. Prints all
results, and appends them as a JSON line to bench/results/ingest.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from machine import pace
from processes import Usage, tree, watched
from record import show
from references import raw_read, read_rows, write_rows
from workload import Workload

import headwater_stack
from headwater_graph.settings import graph_settings
from headwater_graph.store import schema

TOPIC = "lineage.events"
MEGABYTE = 1_000_000

BEHIND = 60_000
"""Events after the measured ones, about two batches: so the last measured batch, as all others, overlaps with the next."""


@dataclass(frozen=True, slots=True)
class OffsetRanges:
    """Consecutive batches: messages, seconds, and CPU seconds by group of processes."""

    messages: int
    seconds: float
    cpu: dict[str, float]

    @property
    def rate(self) -> float:
        """Messages per second."""
        return self.messages / self.seconds

    @property
    def cost(self) -> dict[str, int]:
        """Microseconds of CPU per message, by group of processes."""
        return {name: round(seconds / self.messages * 1e6) for name, seconds in self.cpu.items()}


@dataclass(frozen=True, slots=True)
class Ingest:
    """Measurements of a consumer: the whole run, the first events on cold servers, and the events after the warm-up."""

    whole: OffsetRanges
    cold: OffsetRanges
    sustained: OffsetRanges
    usage: dict[str, Usage]
    last: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CommittedOffsets:
    """The progress of a consumer: messages, the time in seconds, CPU seconds by group of processes."""

    messages: int
    time: float
    cpu: dict[str, float]

    def until(self, end: CommittedOffsets) -> OffsetRanges:
        """Return the difference between this and a later progress."""
        cpu = {name: seconds - self.cpu.get(name, 0) for name, seconds in end.cpu.items()}
        return OffsetRanges(end.messages - self.messages, end.time - self.time, cpu)


def fill(bootstrap_servers: str, workload: Workload) -> float:
    """Produce the workload to the topic; return its megabytes."""
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


def consume(home: Path, warm_up: int, events: int) -> Ingest:
    """Run the consumer over the whole topic and measure it."""
    environ = os.environ | {"HEADWATER_HOME": str(home), "HEADWATER_LOG_FORMAT": "json"}
    command = [sys.executable, "-c", "from headwater_cli.main import main; main()", "consume", "--available-now"]
    servers = {server.name: server.pid for server in headwater_stack.status(home).servers}
    with subprocess.Popen(command, env=environ, stderr=subprocess.PIPE, text=True) as consumer:
        assert consumer.stderr is not None

        def groups() -> dict[str, list[int]]:
            return tree(consumer.pid) | {name: [pid] for name, pid in servers.items() if pid}

        with watched(groups) as usage:
            lines, batches, offsets = _followed(consumer.stderr, usage)
    if consumer.returncode:
        raise SystemExit(f"the consumer ended with {consumer.returncode}: {lines[-3:]}")

    def reached(messages: int) -> CommittedOffsets:
        return next(offset for offset in offsets if offset.messages >= messages)

    first, end = offsets[0], offsets[-1]
    sustained = reached(warm_up).until(reached(warm_up + events))
    return Ingest(first.until(end), first.until(reached(events)), sustained, usage, batches[-1])


def _followed(
    log: Iterable[str], usage: dict[str, Usage]
) -> tuple[list[str], list[dict[str, Any]], list[CommittedOffsets]]:
    """Follow a log; return all lines, the log entry of each batch, and the progress at the start and after each."""
    lines: list[str] = []
    batches: list[dict[str, Any]] = []
    offsets: list[CommittedOffsets] = []
    for line in log:
        lines.append(line)
        report: dict[str, Any] = json.loads(line) if line.startswith("{") else {}
        if report.get("event") != "batch written":
            continue
        seconds, ended = report["seconds"], datetime.fromisoformat(report["time"]).timestamp()
        if not offsets:
            offsets.append(CommittedOffsets(0, ended - seconds["read"] - seconds["total"], {}))
        batches.append(report)
        cpu = {name: used.seconds for name, used in usage.items()}
        offsets.append(CommittedOffsets(offsets[-1].messages + report["messages"], ended, cpu))
        print(f"  batch {report['batch']}: {report['messages']} messages in {seconds['total']:.1f} s", flush=True)
    return lines, batches, offsets


def empty(home: Path) -> headwater_stack.Addresses:
    """Return empty servers with the topics and the graph's schema only."""
    addresses = headwater_stack.up(home, reset=True)
    schema.init(graph_of(addresses))
    return addresses


def graph_of(addresses: headwater_stack.Addresses) -> Any:
    return graph_settings(
        uri=addresses.neo4j_uri, user=addresses.neo4j_user, password=addresses.neo4j_password, write_timeout=600
    )


def measure(home: Path, warm_up: int, events: int, jobs: int) -> dict[str, Any]:
    """Run all measurements; return the result."""
    workload, before = Workload(events=warm_up + events + BEHIND, jobs=jobs), pace()
    addresses = empty(home)
    print(f"producing {workload.events} events to the topic", flush=True)
    megabytes = fill(addresses.kafka_bootstrap_servers, workload)
    ingest = consume(home, warm_up, events)
    print("reading the topic with Spark alone", flush=True)
    read = workload.events / raw_read(addresses.kafka_bootstrap_servers, TOPIC)
    rows = read_rows(addresses)
    print(f"writing {rows.counts[0]} nodes and {rows.counts[1]} relationships alone", flush=True)
    write = workload.events / write_rows(empty(home), rows)
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "load_average": os.getloadavg()[0],
        "pace_milliseconds": before,
        "events": ingest.whole.messages,
        "jobs": workload.jobs,
        "megabytes": round(megabytes),
        "events_per_second": round(ingest.sustained.rate),
        "events_measured": ingest.sustained.messages,
        "cold_events_per_second": round(ingest.cold.rate),
        "whole_events_per_second": round(ingest.whole.rate),
        "raw_read_events_per_second": round(read),
        "bare_write_events_per_second": round(write),
        "whole_to_raw_read": round(ingest.whole.rate / read, 3),
        "whole_to_bare_write": round(ingest.whole.rate / write, 3),
        "nodes": rows.counts[0],
        "relationships": rows.counts[1],
        "cpu_seconds": {name: round(seconds, 1) for name, seconds in ingest.whole.cpu.items()},
        "cpu_microseconds_per_event": ingest.sustained.cost,
        "cold_cpu_microseconds_per_event": ingest.cold.cost,
        "peak_megabytes": {name: round(used.peak / MEGABYTE) for name, used in ingest.usage.items()},
        "last_batch_seconds": ingest.last["seconds"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=300_000, help="events after the warm-up [300000]")
    parser.add_argument("--warm-up", type=int, default=300_000, help="events before the clock runs [300000]")
    parser.add_argument("--jobs", type=int, default=Workload().jobs)
    parser.add_argument("--home", type=Path, help="keep the servers' data here [a temporary folder]")
    parser.add_argument("--no-record", action="store_true", help="append nothing to bench/results")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as folder:
        home = given.home or Path(folder)
        began = time.monotonic()
        try:
            result = measure(home, given.warm_up, given.events, given.jobs)
        finally:
            headwater_stack.down(home)
    show(result, None if given.no_record else "ingest")
    print(f"took {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
