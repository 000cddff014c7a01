"""How long lineage takes by depth, in graphs of 1,000 to 100,000 jobs that the real writer made.

    python bench/questions.py --uri bolt://127.0.0.1:7687 --jobs 1000 --jobs 100000

The graph stays, in a namespace of its own, and is used again. The reference in the same run is what one would write by
hand: one Cypher pattern of bounded length over the same edges, which knows neither aliases nor limits nor marks. Both are
asked by turns. The walk level by level, which stands in wherever one statement can't tell all, is asked after them.
"""

from __future__ import annotations

import json
import os
import platform
import random
import statistics
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import click
from keeping import keep
from machine import pace

from headwater_graph.apply.batch_writer import BatchPosition, GraphWriter
from headwater_graph.queries.answers import Node
from headwater_graph.queries.keys import dataset_key
from headwater_graph.queries.lineage.lineage import lineage, traverse
from headwater_graph.queries.lineage.scope import Scope, TraversalLimits
from headwater_graph.queries.reader import Neo4jReader
from headwater_graph.rules.coalesce import Coalescer
from headwater_graph.settings import GraphSettings, graph_settings
from headwater_graph.store import schema
from headwater_graph.store.neo4j_store import Neo4jStore

SPREAD = 70
"""How far to either side a job looks for its inputs in the layer before: 10 levels of 100,000 jobs reach 1,500 datasets."""

BATCH = 2_000
WARM = 20
"""How many questions of each kind are asked before the clock runs."""

START = datetime(2026, 1, 1, tzinfo=UTC)
BY_HAND = """
MATCH (d:Dataset {key: $key})
MATCH (source:Dataset) (()-[:FEEDS]->(:Job)-[:PRODUCES]->()){1,%d} (d)
RETURN DISTINCT source.namespace AS namespace, source.name AS name
"""


def events(namespace: str, jobs: int, choose: random.Random) -> Iterator[dict[str, Any]]:
    """One COMPLETE event a job: layers of datasets, each made from two or three of the layer before."""
    width = max(50, jobs // 20)
    for number in range(jobs):
        layer, place = divmod(number, width)
        near = [(place + choose.randint(-SPREAD, SPREAD)) % width for _ in range(choose.choice((2, 2, 3)))]
        sources = sorted({f"layer{layer}.table{each}" for each in near})
        yield {
            "eventTime": (START + timedelta(seconds=number)).isoformat(),
            "eventType": "COMPLETE",
            "run": {"runId": f"{namespace}-{number}"},
            "job": {"namespace": namespace, "name": f"job{number}", "facets": {"jobType": {"processingType": "BATCH"}}},
            "inputs": [{"namespace": namespace, "name": name} for name in sources],
            "outputs": [{"namespace": namespace, "name": f"layer{layer + 1}.table{place}"}],
        }


def build(settings: GraphSettings, namespace: str, jobs: int) -> None:
    """Write the graph with the consumer's own writer, unless it is there."""
    schema.init(settings)
    with Neo4jReader(settings) as reader:
        rows = reader.run("MATCH (j:Job {namespace: $ns}) RETURN count(j) AS jobs", {"ns": namespace})
    if rows[0]["jobs"] == jobs:
        return
    began, coalescer = time.perf_counter(), Coalescer()
    with Neo4jStore(settings, "bench") as store:
        writer = GraphWriter(store)
        for number, event in enumerate(events(namespace, jobs, random.Random(1)), 1):
            coalescer.add(json.dumps(event).encode())
            if number % BATCH == 0 or number == jobs:
                writer.apply(coalescer.rows(), BatchPosition("bench", number, {}))
    click.echo(f"{jobs} jobs written in {time.perf_counter() - began:.0f} s")


def measured(kinds: dict[str, Callable[[Node], int]], starts: list[Node]) -> dict[str, tuple[list[float], float]]:
    """Ask of each start in every kind, one after the other, so that whatever else the machine does is the same for all.

    Returns per kind the milliseconds, sorted, and how many nodes an answer has on average.
    """
    for start in starts[:WARM]:
        for ask in kinds.values():
            ask(start)
    times: dict[str, list[float]] = {kind: [] for kind in kinds}
    sizes: dict[str, list[int]] = {kind: [] for kind in kinds}
    for start in starts:
        for kind, ask in kinds.items():
            began = time.perf_counter()
            sizes[kind].append(ask(start))
            times[kind].append((time.perf_counter() - began) * 1000)
    return {kind: (sorted(times[kind]), statistics.mean(sizes[kind])) for kind in kinds}


def percentile(times: list[float], share: float) -> float:
    return times[min(len(times) - 1, int(len(times) * share))]


@click.command()
@click.option("--uri", required=True, help="Neo4j's address.")
@click.option("--user", default="neo4j")
@click.option("--password", default="")
@click.option("--jobs", "sizes", type=int, multiple=True, default=(1_000, 10_000, 100_000))
@click.option("--depth", "depths", type=int, multiple=True, default=(1, 3, 5, 10))
@click.option("--asked", type=int, default=100, help="Questions of each kind.")
def main(uri: str, user: str, password: str, sizes: tuple[int, ...], depths: tuple[int, ...], asked: int) -> None:
    """Print p50, p95 and p99 by depth, and the ratio of ours to Cypher written by hand."""
    settings = graph_settings(uri=uri, user=user, password=password)
    for jobs in sizes:
        namespace = f"bench-questions-{jobs}-{SPREAD}"
        build(settings, namespace, jobs)
        with Neo4jReader(settings) as reader:
            for depth in depths:
                report(reader, namespace, jobs, depth, asked)


def report(reader: Neo4jReader, namespace: str, jobs: int, depth: int, asked: int) -> None:
    width = max(50, jobs // 20)
    layers = jobs // width
    choose = random.Random(depth)
    names = [f"layer{layers}.table{choose.randrange(width)}" for _ in range(asked)]
    starts = [Node(dataset_key(namespace, name), "dataset", (namespace, name)) for name in names]
    scope, now = Scope(TraversalLimits(depth=depth)), datetime.now(UTC)
    kinds: dict[str, Callable[[Node], int]] = {
        "lineage": lambda start: len(lineage(reader, start, "upstream", now, scope).nodes),
    }
    if depth <= 10:
        kinds["by hand"] = lambda start: len(reader.run(BY_HAND % depth, {"key": start.key}))
    told: dict[str, Any] = {"jobs": jobs, "depth": depth, "load": round(os.getloadavg()[0], 1), "pace": pace()}
    walks: dict[str, Callable[[Node], int]] = {
        "level by level": lambda start: len(traverse(reader, start, "upstream", scope).nodes)
    }
    for kind, (times, size) in (measured(kinds, starts) | measured(walks, starts)).items():
        told[kind] = {f"p{share}": round(percentile(times, share / 100), 1) for share in (50, 95, 99)} | {
            "nodes": round(size)
        }
    if "by hand" in told:
        told["ratio of medians to by hand"] = round(told["lineage"]["p50"] / told["by hand"]["p50"], 2)
    click.echo(json.dumps(told))
    machine = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "python": platform.python_version()}
    keep(machine | told, "questions")


if __name__ == "__main__":
    main()
