"""A large graph for the page: ``python bench/large_graph.py --home FOLDER --jobs 100000 --runs 1000000``.

The real writer fills its own Neo4j, without Kafka's part. Layers of jobs run in turns, a day apart; the first run of each
job has the columns of its output, one run in 97 fails, and the last turn leaves some runs without an end. Beside them:
a dataset with readers (``HUB``), a table with columns (``WIDE``), and a ladder of jobs with known numbers of cards.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import uuid
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import neo4j
from ingest import graph_of
from workload import BEGIN, PRODUCER, Workload, dataset, facet, output_of

import headwater_stack
from headwater_graph.apply.batch_writer import BatchPosition, GraphWriter
from headwater_graph.rules.coalesce import Coalescer
from headwater_graph.store import schema
from headwater_graph.store.neo4j_store import Neo4jStore

HUB = "hub.customers"
READERS = 5_000
WIDE = "wide.customers"
WIDE_COLUMNS = 2_000
GRIDS = (150, 2_000)
"""Cards of the connected graphs that are laid out as a whole."""

LEVELS = 20
"""The greatest depth that the page shows at once."""

BATCH = 10_000
"""Events in a batch."""

FAILS = 97
"""One in so many runs fails."""

Event = dict[str, Any]


class LargeWorkload(Workload):
    """A run per event: ``events`` runs of ``jobs`` jobs, without duplicates and disorder."""

    def large_events(self) -> Iterator[Event]:
        """Yield an event per run, by time."""
        turns = -(-self.events // self.jobs)
        for run in range(self.events):
            turn, job = divmod(run, self.jobs)
            state = "FAIL" if run % FAILS == FAILS - 1 else "COMPLETE"
            if turn == turns - 1 and job % 1_000 == 1:
                state = "START"
            yield event(
                self._job(job),
                f"run-{run}",
                BEGIN + timedelta(days=turn, milliseconds=500 * job),
                state,
                [dataset(name) for name in self._inputs(job, 0)],
                [dataset(output_of(job)) | ({"facets": self._facets(job)} if turn == 0 else {})],
            )

    def _facets(self, job: int) -> dict[str, object]:
        names = ("customer_id", f"amount_{job % 977}", "updated_at")
        change = [{"type": "DIRECT", "subtype": "IDENTITY", "description": "", "masking": False}]
        source = dataset(self._inputs(job, 0)[0])
        origins = {
            name: {"inputFields": [source | {"field": name, "transformations": change}]}
            for name in (names[0], names[2])
        }
        return {
            "schema": facet(fields=[{"name": name, "type": "string"} for name in names]),
            "columnLineage": facet(fields=origins),
        }


def event(
    job: dict[str, object],
    run: str,
    when: datetime,
    state: str,
    inputs: list[dict[str, object]],
    outputs: list[dict[str, object]],
) -> Event:
    """Return a run event; the runId is derived from ``run``."""
    return {
        "eventType": state,
        "eventTime": when.isoformat().replace("+00:00", "Z"),
        "producer": PRODUCER,
        "run": {"runId": str(uuid.uuid5(uuid.NAMESPACE_URL, run))},
        "job": job,
        "inputs": inputs,
        "outputs": outputs,
    }


def shape_events() -> Iterator[Event]:
    """Yield the events of the hub, of the wide table, and of the graphs with known numbers of cards."""
    when = BEGIN + timedelta(days=20)
    for reader in range(READERS):
        yield event(job_of(f"hub.reader_{reader}"), f"hub-{reader}", when, "COMPLETE", [dataset(HUB)], [])
    yield wide_event(when)
    for cards in GRIDS:
        yield from grid_events(cards, when)


def job_of(name: str) -> dict[str, object]:
    return {"namespace": "workload", "name": name}


def wide_event(when: datetime) -> Event:
    names = [f"field_{number}" for number in range(WIDE_COLUMNS)]
    change = [{"type": "DIRECT", "subtype": "TRANSFORMATION", "description": "", "masking": True}]
    origins = {
        name: {"inputFields": [dataset("wide.source") | {"field": name, "transformations": change}]} for name in names
    }
    facets = {
        "schema": facet(fields=[{"name": name, "type": "string"} for name in names]),
        "columnLineage": facet(fields=origins),
    }
    output = dataset(WIDE) | {"facets": facets}
    return event(job_of("wide.copy"), "wide", when, "COMPLETE", [dataset("wide.source")], [output])


def grid_start(cards: int) -> str:
    """Return the name of the dataset from which a graph with so many cards is reached."""
    return f"grid{cards}.start"


def grid_events(cards: int, when: datetime) -> Iterator[Event]:
    """Yield the jobs of a graph with ``cards`` datasets and jobs, all downstream of ``grid_start``.

    Each job writes one dataset and reads one or two of the level before. There are at most as many levels as the page shows.
    """
    jobs = cards // 2
    width = -(-jobs // min(LEVELS, round(jobs**0.5)))
    for number in range(jobs):
        level, place = divmod(number, width)
        before = (level - 1) * width
        sources = {before + place, before + (place * 7 + level) % width if number % 3 == 0 else before + place}
        inputs = [f"grid{cards}.table_{source}" for source in sorted(sources)] if level else [grid_start(cards)]
        output = dataset(f"grid{cards}.table_{number}")
        job = job_of(f"grid{cards}.job_{number}")
        yield event(job, f"grid-{cards}-{number}", when, "COMPLETE", [dataset(name) for name in inputs], [output])


def fill(addresses: headwater_stack.Addresses, events: Iterable[Event]) -> int:
    """Write events batch by batch; return their number."""
    written, messages = 0, (json.dumps(each, separators=(",", ":")).encode() for each in events)
    with Neo4jStore(graph_of(addresses), "bench") as store:
        writer = GraphWriter(store)
        while batch := list(islice(messages, BATCH)):
            coalescer = Coalescer()
            for message in batch:
                coalescer.add(message)
            writer.apply(coalescer.rows(), BatchPosition("bench", written, {}))
            written += len(batch)
            if written % 100_000 < BATCH:
                print(f"  {written} events", flush=True)
    return written


def build(home: Path, jobs: int, runs: int) -> headwater_stack.Addresses:
    """Start the servers of ``home``; write the runs that its graph lacks, after those of an earlier call."""
    os.environ["HEADWATER_HOME"] = str(home)
    addresses = headwater_stack.up(home)
    schema.init(graph_of(addresses))
    shapes = sum(1 for _ in shape_events())
    if stored_runs(addresses) < shapes:
        fill(addresses, shape_events())
    stored = stored_runs(addresses) - shapes
    if stored < runs:
        began = time.monotonic()
        fill(addresses, islice(LargeWorkload(events=runs, jobs=jobs, layers=20).large_events(), stored, None))
        print(f"{runs - stored} runs written in {time.monotonic() - began:.0f} s", flush=True)
    return addresses


def stored_runs(addresses: headwater_stack.Addresses) -> int:
    auth = (addresses.neo4j_user, addresses.neo4j_password)
    with neo4j.GraphDatabase.driver(addresses.neo4j_uri, auth=auth) as driver:
        return int(driver.execute_query("MATCH (r:Run) RETURN count(r) AS runs").records[0]["runs"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, required=True, help="the servers' data stay here")
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=1_000_000)
    given = parser.parse_args()
    build(given.home, given.jobs, given.runs)


if __name__ == "__main__":
    main()
