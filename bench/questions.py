"""Duration of lineage queries by depth, in graphs of 1,000 to 100,000 jobs created by the real writer.

    python bench/questions.py --uri bolt://127.0.0.1:7687 --jobs 1000 --jobs 100000

The graph stays, in its own namespace, for later runs. The reference in the same run is a query as users would write it by
hand: one Cypher pattern of bounded length over the same edges, without aliases, limits and status. Both are
run alternately. The traversal level by level, which replaces the single statement in special cases, is run after them.
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
from machine import pace
from record import append

from headwater_graph.apply.batch_writer import BatchPosition, GraphWriter
from headwater_graph.queries.answers import Node
from headwater_graph.queries.keys import dataset_node_key
from headwater_graph.queries.lineage.lineage import lineage, traverse
from headwater_graph.queries.lineage.scope import Scope, TraversalLimits
from headwater_graph.queries.reader import Neo4jReader
from headwater_graph.rules.coalesce import Coalescer
from headwater_graph.settings import GraphSettings, graph_settings
from headwater_graph.store import schema
from headwater_graph.store.neo4j_store import Neo4jStore

SPREAD = 70
"""Maximum distance of a job's inputs in the previous layer: 10 levels of 100,000 jobs reach 1,500 datasets."""

BATCH = 2_000
WARM = 20
"""How many queries of each kind run before the clock starts."""

START = datetime(2026, 1, 1, tzinfo=UTC)
BY_HAND = """
MATCH (d:Dataset {key: $key})
MATCH (source:Dataset) (()-[:FEEDS]->(:Job)-[:PRODUCES]->()){1,%d} (d)
RETURN DISTINCT source.namespace AS namespace, source.name AS name
"""


def events(namespace: str, jobs: int, choose: random.Random) -> Iterator[dict[str, Any]]:
    """Yield a COMPLETE event per job: layers of datasets, each derived from two or three of the previous layer."""
    width = max(50, jobs // 20)
    for number in range(jobs):
        layer, place = divmod(number, width)
        near = [(place + choose.randint(-SPREAD, SPREAD)) % width for _ in range(choose.choice((2, 2, 3)))]
        sources = sorted({f"layer{layer}.table{source}" for source in near})
        yield {
            "eventTime": (START + timedelta(seconds=number)).isoformat(),
            "eventType": "COMPLETE",
            "run": {"runId": f"{namespace}-{number}"},
            "job": {"namespace": namespace, "name": f"job{number}", "facets": {"jobType": {"processingType": "BATCH"}}},
            "inputs": [{"namespace": namespace, "name": name} for name in sources],
            "outputs": [{"namespace": namespace, "name": f"layer{layer + 1}.table{place}"}],
        }


def build(settings: GraphSettings, namespace: str, jobs: int) -> None:
    """Write the graph with the consumer's writer, unless it exists."""
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
    """Run every kind of query from each start alternately, so that other load on the machine affects all kinds equally.

    Return per kind the sorted milliseconds, and the average number of nodes of a result.
    """
    for start in starts[:WARM]:
        for run_query in kinds.values():
            run_query(start)
    times: dict[str, list[float]] = {kind: [] for kind in kinds}
    sizes: dict[str, list[int]] = {kind: [] for kind in kinds}
    for start in starts:
        for kind, run_query in kinds.items():
            began = time.perf_counter()
            sizes[kind].append(run_query(start))
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
@click.option("--queries", type=int, default=100, help="Queries of each kind.")
def main(uri: str, user: str, password: str, sizes: tuple[int, ...], depths: tuple[int, ...], queries: int) -> None:
    """Print p50, p95 and p99 by depth, and the ratio of ours to Cypher written by hand."""
    settings = graph_settings(uri=uri, user=user, password=password)
    for jobs in sizes:
        namespace = f"bench-questions-{jobs}-{SPREAD}"
        build(settings, namespace, jobs)
        with Neo4jReader(settings) as reader:
            for depth in depths:
                report(reader, namespace, jobs, depth, queries)


def report(reader: Neo4jReader, namespace: str, jobs: int, depth: int, queries: int) -> None:
    width = max(50, jobs // 20)
    layers = jobs // width
    choose = random.Random(depth)
    names = [f"layer{layers}.table{choose.randrange(width)}" for _ in range(queries)]
    starts = [Node(dataset_node_key(namespace, name), "dataset", (namespace, name)) for name in names]
    scope, now = Scope(TraversalLimits(depth=depth)), datetime.now(UTC)
    kinds: dict[str, Callable[[Node], int]] = {
        "lineage": lambda start: len(lineage(reader, start, "upstream", now, scope).nodes),
    }
    if depth <= 10:
        kinds["by hand"] = lambda start: len(reader.run(BY_HAND % depth, {"key": start.key}))
    result: dict[str, Any] = {"jobs": jobs, "depth": depth, "load": round(os.getloadavg()[0], 1), "pace": pace()}
    level_kinds: dict[str, Callable[[Node], int]] = {
        "level by level": lambda start: len(traverse(reader, start, "upstream", scope).nodes)
    }
    for kind, (times, size) in (measured(kinds, starts) | measured(level_kinds, starts)).items():
        result[kind] = {f"p{share}": round(percentile(times, share / 100), 1) for share in (50, 95, 99)} | {
            "nodes": round(size)
        }
    if "by hand" in result:
        result["ratio of medians to by hand"] = round(result["lineage"]["p50"] / result["by hand"]["p50"], 2)
    click.echo(json.dumps(result))
    machine = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "python": platform.python_version()}
    append(machine | result, "questions")


if __name__ == "__main__":
    main()
