"""The cost of `emit()` for a job, with Kafka up, down and hanging, compared with openlineage-python's own Kafka transport.

    python bench/emit.py [--kafka HOST:PORT] [--events N]

Real event objects of about 3 kB, created before the clock starts; every case runs in its own process. Without --kafka (or
HEADWATER_KAFKA_BOOTSTRAP_SERVERS) the broker is the mock in librdkafka. The reference transport waits for each event's
delivery or timeout, by its default; its timeout is set to 2 s, and it gets few events if it would wait for each.
Times are medians and 99.9th percentiles of single calls; ratios are the reference's over ours.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from record import append

CASES = ("up", "down", "hanging")
REFERENCE_TIMEOUT_MS = 2_000


def events(count: int) -> list[Any]:
    from openlineage.client import event_v2
    from openlineage.client.facet_v2 import column_lineage_dataset, parent_run, schema_dataset, sql_job

    def schema() -> Any:
        fields = [schema_dataset.SchemaDatasetFacetFields(f"column_{n}", "string") for n in range(6)]
        return schema_dataset.SchemaDatasetFacet(fields=fields)

    def lineage() -> Any:
        fields = {
            f"column_{n}": column_lineage_dataset.Fields(
                [column_lineage_dataset.InputField("postgres://warehouse:5432", "shop.public.orders", f"column_{n}")]
            )
            for n in range(5)
        }
        return column_lineage_dataset.ColumnLineageDatasetFacet(fields=fields)

    def event(n: int) -> Any:
        parent = parent_run.ParentRunFacet(run=parent_run.Run(str(uuid.uuid4())), job=parent_run.Job("airflow", "dag"))
        job = event_v2.Job(
            "spark", f"job_{n % 100}", facets={"sql": sql_job.SQLJobFacet("SELECT * FROM orders WHERE id > 7")}
        )
        return event_v2.RunEvent(
            eventTime="2024-01-01T00:00:00.000000Z",
            eventType=event_v2.RunState.COMPLETE,
            run=event_v2.Run(str(uuid.uuid4()), facets={"parent": parent}),
            job=job,
            inputs=[
                event_v2.InputDataset("postgres://warehouse:5432", "shop.public.orders", facets={"schema": schema()})
            ],
            outputs=[
                event_v2.OutputDataset("s3://lake", "orders", facets={"schema": schema(), "columnLineage": lineage()})
            ],
        )

    return [event(n) for n in range(count)]


def ours(address: str, spool: str) -> Any:
    from headwater.transport import HeadwaterConfig, HeadwaterTransport

    return HeadwaterTransport(HeadwaterConfig(bootstrap_servers=address, spool_dir=spool, topic="bench.emit"))


def reference(address: str) -> Any:
    from openlineage.client.transport.kafka import KafkaConfig, KafkaTransport

    timeout = {"message.timeout.ms": str(REFERENCE_TIMEOUT_MS), "log_level": "0"}
    return KafkaTransport(KafkaConfig(config={"bootstrap.servers": address} | timeout, topic="bench.emit"))


def measure(transport: Any, workload: list[Any], pause: float) -> dict[str, float]:
    calls = []
    started = time.perf_counter()
    for event in workload:
        at = time.perf_counter()
        transport.emit(event)
        calls.append(time.perf_counter() - at)
        if pause:
            time.sleep(pause)
    emit_seconds = time.perf_counter() - started
    flushed = getattr(transport, "flush", None)
    if callable(flushed):
        flushed(30.0 if pause == 0 else 5.0)
    return {
        "p50_us": statistics.median(calls) * 1e6,
        "p999_us": sorted(calls)[min(len(calls) - 1, int(len(calls) * 0.999))] * 1e6,
        "max_us": max(calls) * 1e6,
        "events_per_s": len(workload) / (time.perf_counter() - started),
        "emitted_per_s": len(workload) / emit_seconds,
    }


def child(case: dict[str, Any]) -> None:
    """Run a case in this process; print its numbers to standard output as JSON."""
    workload = events(case["events"])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with tempfile.TemporaryDirectory() as spool:
        transport = ours(case["address"], spool) if case["who"] == "ours" else reference(case["address"])
        numbers = measure(transport, workload, case["pause"])
        transport.close(2.0)
        numbers["spool_mb"] = sum(path.stat().st_size for path in Path(spool).iterdir()) / 1e6
    numbers["grown_mb"] = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e3
    print(json.dumps(numbers), flush=True)
    os._exit(0)


def hour(case: dict[str, Any]) -> None:
    """Emit an hour of a busy job's events (10 per second) with Kafka down as fast as possible, and measure the memory."""
    from headwater.transport import counters

    workload = events(200)
    with tempfile.TemporaryDirectory() as spool:
        transport = ours("127.0.0.1:1", spool)
        for event in workload:
            transport.emit(event)
        time.sleep(1)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for n in range(case["events"]):
            transport.emit(workload[n % len(workload)])
            # At most a hundred times real time: the queue never fills, as it would not in a real hour.
            time.sleep(0.001)
        transport.close(30.0)
        numbers = {
            "grown_mb": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e3,
            "spooled": counters().spooled,
            "lost": counters().lost(),
        }
    print(json.dumps(numbers), flush=True)
    os._exit(0)


def run_child(case: dict[str, Any]) -> dict[str, float]:
    command = [sys.executable, __file__, "--child", json.dumps(case)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    return dict(json.loads(done.stdout.splitlines()[-1]))


@contextmanager
def hanging() -> Iterator[str]:
    """A server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        accepted: list[socket.socket] = []

        def accept() -> None:
            while True:
                try:
                    accepted.append(server.accept()[0])
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"


@contextmanager
def kafka(given: str | None) -> Iterator[str]:
    if given:
        from headwater_stack import make_topics

        make_topics(given, {"bench.emit": 4})
        yield given
        return
    from confluent_kafka import Producer

    mock = Producer({"test.mock.num.brokers": 1, "log_level": 0})
    (broker,) = mock.list_topics(timeout=10).brokers.values()
    yield f"{broker.host}:{broker.port}"


def report(count: int, given: str | None) -> dict[str, Any]:
    result: dict[str, Any] = {"events": count, "broker": "kafka" if given else "librdkafka's mock"}
    with kafka(given) as up, hanging() as hang:
        addresses = {"up": up, "down": "127.0.0.1:1", "hanging": hang}
        for case in CASES:
            address = addresses[case]
            paced = run_child({"who": "ours", "address": address, "events": count, "pause": 0.002})
            burst = run_child({"who": "ours", "address": address, "events": count, "pause": 0})
            few = min(count, 500) if case == "up" else 5
            theirs = run_child({"who": "theirs", "address": address, "events": few, "pause": 0})
            result[case] = {"paced": paced, "burst": burst, "reference": theirs}
            show(case, paced, burst, theirs)
    result["hour_down"] = run_child({"who": "hour", "events": 36_000})
    grown, spooled, lost = (result["hour_down"][name] for name in ("grown_mb", "spooled", "lost"))
    print(f"36,000 events with Kafka down: memory grows by {grown:.0f} MB, {spooled} on disk, {lost} lost")
    return result


def show(case: str, paced: dict[str, float], burst: dict[str, float], theirs: dict[str, float]) -> None:
    print(f"Kafka {case}")
    for name, numbers in (("every 2 ms", paced), ("at full speed", burst), ("openlineage-python's", theirs)):
        print(
            f"  {name:22}p50 {numbers['p50_us']:10.1f} us   p99.9 {numbers['p999_us']:10.1f} us   "
            f"max {numbers['max_us']:10.1f} us   {numbers['events_per_s']:8.0f} events/s to the end"
        )
    p50, p999 = theirs["p50_us"] / paced["p50_us"], theirs["p999_us"] / paced["p999_us"]
    print(f"  ratio, reference : ours   p50 {p50:,.0f}   p99.9 {p999:,.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kafka", default=os.environ.get("HEADWATER_KAFKA_BOOTSTRAP_SERVERS"))
    parser.add_argument("--events", type=int, default=3_000)
    parser.add_argument("--child", type=json.loads, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        (hour if arguments.child["who"] == "hour" else child)(arguments.child)
        return
    result = report(arguments.events, arguments.kafka)
    append({"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())} | result, "emit")


if __name__ == "__main__":
    main()
