"""From Kafka to committed in Neo4j: ``make bench-ingest``, or ``python bench/ingest.py --events 300000``.

Starts servers of its own, puts the workload on the topic, and lets a `headwater consume --available-now` read it. What is
sustained is measured behind a warm-up: in a new server's first minutes its compiler takes as much CPU as its queries, and a
pipeline that runs for weeks has no first minute. What the first events take from cold servers is told too.

In the same run it measures two references: a raw Spark read of the topic, which is what reading costs alone, and a bare
write of the graph's rows to an empty Neo4j, which is what writing costs alone; both from cold, as the whole run. Prints all
of it, and appends it as one JSON line to bench/results/ingest.jsonl.
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
from keeping import show
from machine import pace
from processes import Usage, tree, watched
from references import raw_read, read_rows, write_rows
from workload import Workload

import headwater_stack
from headwater_graph.settings import graph_settings
from headwater_graph.store import schema

TOPIC = "lineage.events"
MEGABYTE = 1_000_000

BEHIND = 60_000
"""Events behind those measured, some two batches: the one that is measured last has the next one read beside it, as all have."""


@dataclass(frozen=True, slots=True)
class OffsetRanges:
    """Some batches one after the other: messages, seconds, and CPU seconds by group of processes."""

    messages: int
    seconds: float
    cpu: dict[str, float]

    @property
    def rate(self) -> float:
        """Messages a second."""
        return self.messages / self.seconds

    @property
    def cost(self) -> dict[str, int]:
        """Microseconds of CPU a message, by group of processes."""
        return {name: round(seconds / self.messages * 1e6) for name, seconds in self.cpu.items()}


@dataclass(frozen=True, slots=True)
class Ingest:
    """What the consumer did: the whole, what came first from cold servers, and what came behind the warm-up."""

    whole: OffsetRanges
    cold: OffsetRanges
    sustained: OffsetRanges
    usage: dict[str, Usage]
    last: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CommittedOffsets:
    """How far a consumer has come: messages, the time in seconds, CPU seconds by group of processes."""

    messages: int
    time: float
    cpu: dict[str, float]

    def until(self, end: CommittedOffsets) -> OffsetRanges:
        """Return what lies between this and a later mark."""
        cpu = {name: seconds - self.cpu.get(name, 0) for name, seconds in end.cpu.items()}
        return OffsetRanges(end.messages - self.messages, end.time - self.time, cpu)


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


def consume(home: Path, warm_up: int, events: int) -> Ingest:
    """Let the consumer read all of the topic, and watch it."""
    environ = os.environ | {"HEADWATER_HOME": str(home), "HEADWATER_LOG_FORMAT": "json"}
    command = [sys.executable, "-c", "from headwater_cli.main import main; main()", "consume", "--available-now"]
    servers = {server.name: server.pid for server in headwater_stack.status(home).servers}
    with subprocess.Popen(command, env=environ, stderr=subprocess.PIPE, text=True) as consumer:
        assert consumer.stderr is not None

        def groups() -> dict[str, list[int]]:
            return tree(consumer.pid) | {name: [pid] for name, pid in servers.items() if pid}

        with watched(groups) as usage:
            lines, batches, marks = _followed(consumer.stderr, usage)
    if consumer.returncode:
        raise SystemExit(f"the consumer ended with {consumer.returncode}: {lines[-3:]}")

    def reached(messages: int) -> CommittedOffsets:
        return next(mark for mark in marks if mark.messages >= messages)

    first, end = marks[0], marks[-1]
    sustained = reached(warm_up).until(reached(warm_up + events))
    return Ingest(first.until(end), first.until(reached(events)), sustained, usage, batches[-1])


def _followed(
    log: Iterable[str], usage: dict[str, Usage]
) -> tuple[list[str], list[dict[str, Any]], list[CommittedOffsets]]:
    """Follow a consumer's log: all lines, what is told of each batch, and a mark before the first and at the end of each."""
    lines: list[str] = []
    batches: list[dict[str, Any]] = []
    marks: list[CommittedOffsets] = []
    for line in log:
        lines.append(line)
        told: dict[str, Any] = json.loads(line) if line.startswith("{") else {}
        if told.get("event") != "batch written":
            continue
        seconds, ended = told["seconds"], datetime.fromisoformat(told["time"]).timestamp()
        if not marks:
            marks.append(CommittedOffsets(0, ended - seconds["read"] - seconds["total"], {}))
        batches.append(told)
        cpu = {name: used.seconds for name, used in usage.items()}
        marks.append(CommittedOffsets(marks[-1].messages + told["messages"], ended, cpu))
        print(f"  batch {told['batch']}: {told['messages']} messages in {seconds['total']:.1f} s", flush=True)
    return lines, batches, marks


def empty(home: Path) -> headwater_stack.Addresses:
    """Return servers with nothing on them but the topics and the graph's schema."""
    addresses = headwater_stack.up(home, reset=True)
    schema.init(graph_of(addresses))
    return addresses


def graph_of(addresses: headwater_stack.Addresses) -> Any:
    return graph_settings(
        uri=addresses.neo4j_uri, user=addresses.neo4j_user, password=addresses.neo4j_password, write_timeout=600
    )


def measure(home: Path, warm_up: int, events: int, jobs: int) -> dict[str, Any]:
    """Run everything; return what is printed."""
    workload, before = Workload(events=warm_up + events + BEHIND, jobs=jobs), pace()
    addresses = empty(home)
    print(f"putting {workload.events} events on the topic", flush=True)
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
    parser.add_argument("--events", type=int, default=300_000, help="behind the warm-up [300000]")
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
