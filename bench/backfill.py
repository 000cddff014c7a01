"""The cost of late runs: ``python bench/backfill.py --jobs 2000 --days 60``.

The real writer fills its own Neo4j with daily runs of jobs; each day reads another input, so that each run makes a job version
and each dataset version has other readers. Then, by turns, batches are written of three kinds: ``in_order`` has runs of a new
day, ``late`` has those of the day before, which was left out, and ``mixed`` has runs of a new day and one late run per job.
Each batch has as many runs. The result, seconds per kind and their ratios to ``in_order``, is appended to
bench/results/backfill.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
import uuid
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from growth import Filler
from ingest import empty
from machine import pace
from record import show
from workload import BEGIN, PRODUCER, BriefWorkload, dataset, output_of

import headwater_stack
from headwater_graph.apply.batch_writer import BatchPosition
from headwater_graph.rules.coalesce import Coalescer

RUNS = 10_000
"""Runs of a batch, at least one per job."""

WARMING = 50_000
"""Events before the graph is filled: by then the server's JIT compiler has done its work."""


class Days:
    """Daily runs of jobs: ``often`` runs of each job a day."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self.often = max(1, RUNS // jobs)

    def day(self, day: int, turns: Iterable[int] | None = None) -> Iterator[bytes]:
        """Yield an event for each run of a day, or for some of its turns only."""
        for turn in range(self.often) if turns is None else turns:
            for job in range(self.jobs):
                yield self._event(job, day * self.often + turn)

    def _event(self, job: int, number: int) -> bytes:
        seconds = 86_400 * number // self.often
        event = {
            "eventType": "COMPLETE",
            "eventTime": (BEGIN + timedelta(seconds=seconds, milliseconds=job)).isoformat().replace("+00:00", "Z"),
            "producer": PRODUCER,
            "run": {"runId": str(uuid.UUID(int=number * self.jobs + job, version=4))},
            "job": {"namespace": "backfill", "name": f"job{job}"},
            "inputs": [dataset(f"raw.table{job}"), dataset(f"raw.day{(job + number) % 7}")],
            "outputs": [dataset(output_of(job))],
        }
        return json.dumps(event, separators=(",", ":")).encode()


def seconds_of(filler: Filler, events: Iterable[bytes]) -> float:
    """Write one batch of events; return how long it took."""
    coalescer = Coalescer()
    for event in events:
        coalescer.add(event)
    began = time.perf_counter()
    filler.writer.apply(coalescer.rows(), BatchPosition("bench", filler.events, {}))
    filler.events += 1
    return time.perf_counter() - began


def measure(home: Path, jobs: int, days: int, turns: int) -> dict[str, Any]:
    """Fill the graph and measure; return the result."""
    empty(home)
    filler, workload, before = Filler(home, BriefWorkload(events=WARMING)), Days(jobs), pace()
    for _ in filler.batches(WARMING):
        pass
    for day in range(days):
        seconds_of(filler, workload.day(day))
        print(f"  day {day + 1} of {days}", flush=True)
    found: dict[str, list[float]] = {"in_order": [], "late": [], "mixed": []}
    for turn in range(turns):
        day = days + 5 * turn
        found["in_order"].append(seconds_of(filler, workload.day(day + 1)))
        found["late"].append(seconds_of(filler, workload.day(day)))
        seconds_of(filler, workload.day(day + 2, range(1, workload.often)))
        mixed = [*workload.day(day + 3, range(1, workload.often)), *workload.day(day + 2, [0])]
        found["mixed"].append(seconds_of(filler, mixed))
        print(f"  turn {turn + 1}: { ({kind: round(each[-1], 2) for kind, each in found.items()}) }", flush=True)
    medians = {kind: statistics.median(each) for kind, each in found.items()}
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "load_average": os.getloadavg()[0],
        "pace": [before, pace()],
        "jobs": jobs,
        "versions_per_job": days * workload.often,
        "runs_of_a_batch": jobs * workload.often,
        "seconds": {kind: round(median, 2) for kind, median in medians.items()},
        "ratio_late": round(medians["late"] / medians["in_order"], 2),
        "ratio_mixed": round(medians["mixed"] / medians["in_order"], 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2_000)
    parser.add_argument("--days", type=int, default=20, help="days before the measured ones")
    parser.add_argument("--turns", type=int, default=3, help="measured batches of each kind")
    parser.add_argument("--no-record", action="store_true", help="append nothing to bench/results")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as folder:
        os.environ["HEADWATER_HOME"] = folder
        try:
            result = measure(Path(folder), given.jobs, given.days, given.turns)
        finally:
            headwater_stack.down(Path(folder))
    show(result, None if given.no_record else "backfill")


if __name__ == "__main__":
    main()
