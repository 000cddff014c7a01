"""Events to graph, through the real rules and the real store."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from headwater_graph.apply.batch_writer import BatchPosition, GraphWriter
from headwater_graph.rules.coalesce import Coalescer
from headwater_graph.settings import GraphSettings
from headwater_graph.store.neo4j_store import Neo4jStore

Event = dict[str, Any]


def write(settings: GraphSettings, events: Iterable[Event]) -> None:
    """Write events to the graph as one batch of the consumer does."""
    coalescer = Coalescer()
    for event in events:
        coalescer.add(json.dumps(event).encode())
    with Neo4jStore(settings) as store:
        GraphWriter(store).apply(coalescer.rows(), BatchPosition("questions", 0, {}))


def run_event(
    namespace: str,
    job: str,
    run_id: str,
    kind: str,
    time: str,
    reads: Iterable[str | Event] = (),
    writes: Iterable[str | Event] = (),
    **facets: Event,
) -> Event:
    """A RunEvent; datasets are names or objects, ``run_`` and ``job_`` begin the names of facets of run and job."""
    of_run = {name.removeprefix("run_"): facet for name, facet in facets.items() if name.startswith("run_")}
    of_job = {name.removeprefix("job_"): facet for name, facet in facets.items() if name.startswith("job_")}
    return {
        "eventTime": time,
        "eventType": kind,
        "run": {"runId": run_id, "facets": of_run},
        "job": {"namespace": namespace, "name": job, "facets": of_job},
        "inputs": [_dataset(namespace, each) for each in reads],
        "outputs": [_dataset(namespace, each) for each in writes],
    }


def _dataset(namespace: str, dataset: str | Event) -> Event:
    named = {"name": dataset} if isinstance(dataset, str) else dataset
    return {"namespace": namespace, **named}
