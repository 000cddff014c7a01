"""The cost of an event as the graph grows: ``python bench/growth.py --runs 1000000``.

The real writer fills its own Neo4j with runs of 2,000 jobs, each of one brief event, without Kafka and Spark,
which do not depend on the stored graph. CPU seconds of writer and server per event are measured in two windows of 20,000
events: after the first 10,000 and at the end; before the first, the servers are warmed up with a graph that is deleted.
Then `headwater graph dump` prints the whole graph, and its memory is measured. The result is appended to
bench/results/growth.jsonl.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from ingest import MEGABYTE, empty, graph_of
from processes import watched
from record import show
from workload import BriefWorkload, Workload

import headwater_stack
from headwater_graph.apply.batch_writer import BatchPosition, GraphWriter
from headwater_graph.rules.coalesce import Coalescer
from headwater_graph.store.neo4j_store import Neo4jStore

FIRST = 10_000
"""Events before the first window."""

WINDOW = 20_000
"""Events in a window."""

BATCH = 10_000
"""Events in a batch."""

WARMING = 150_000
"""Events before the graph is emptied: by then the server's JIT compiler has done its work."""


class Filler:
    """Writes a workload batch by batch; ``events`` counts the written events."""

    def __init__(self, home: Path, workload: Workload) -> None:
        addresses = headwater_stack.addresses(home)
        assert addresses is not None
        self.store = Neo4jStore(graph_of(addresses), "bench").__enter__()
        self.writer = GraphWriter(self.store)
        self._messages = (event for _, event in workload.messages())
        servers = headwater_stack.status(home).servers
        self._server = [server.pid for server in servers if server.name == "neo4j" and server.pid]
        self.events = 0

    def batches(self, left: int) -> Iterator[int]:
        """Write ``left`` further events; yield the number of events of each batch."""
        while left > 0:
            coalescer, count = Coalescer(), 0
            for message in islice(self._messages, min(left, BATCH)):
                coalescer.add(message)
                count += 1
            if not count:
                return
            self.writer.apply(coalescer.rows(), BatchPosition("bench", self.events, {}))
            self.events += count
            left -= count
            yield count

    def window(self) -> dict[str, float]:
        """Write a window of runs; return CPU microseconds per event of writer and server, and the elapsed seconds."""
        began, events = time.perf_counter(), self.events
        with watched(lambda: {"writer": [os.getpid()], "neo4j": self._server}) as usage:
            for _ in self.batches(WINDOW):
                pass
        events = self.events - events
        each = {name: round(used.seconds / events * 1e6, 1) for name, used in usage.items()}
        return each | {"seconds": round(time.perf_counter() - began, 1)}


def dumped(home: Path) -> dict[str, float]:
    """Dump the graph and discard it; return its lines, the seconds and the peak megabytes of the process."""
    command = [sys.executable, "-c", "from headwater_cli.main import main; main()", "graph", "dump"]
    began, lines = time.perf_counter(), 0
    with subprocess.Popen(command, env=os.environ | {"HEADWATER_HOME": str(home)}, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        with watched(lambda: {"dump": [process.pid]}) as usage:
            for _ in process.stdout:
                lines += 1
    if process.returncode:
        raise SystemExit(f"the dump ended with {process.returncode}")
    seconds = time.perf_counter() - began
    return {"lines": lines, "seconds": round(seconds), "peak_megabytes": round(usage["dump"].peak / MEGABYTE)}


def measure(home: Path, runs: int) -> dict[str, Any]:
    """Fill, measure and dump the graph; return the result."""
    empty(home)
    warm = Filler(home, BriefWorkload(events=WARMING))
    for _ in warm.batches(WARMING):
        pass
    with warm.store.driver.session() as session:
        forget = "MATCH (n) WHERE NOT n:HeadwaterSchema CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 10000 ROWS"
        session.run(forget).consume()
    filler = Filler(home, BriefWorkload(events=runs + WINDOW))
    for _ in filler.batches(FIRST):
        pass
    young = filler.window()
    for _ in filler.batches(runs - filler.events):
        if filler.events % 100_000 < BATCH:
            print(f"  {filler.events} events", flush=True)
    old = filler.window()
    each = [window["writer"] + window["neo4j"] for window in (young, old)]
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "load_average": os.getloadavg()[0],
        "events": runs,
        "after_10000": young,
        "after_all": old,
        "ratio": round(each[1] / each[0], 2),
        "dump": dumped(home),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1_000_000, help="events before the second window, a run each")
    parser.add_argument("--no-record", action="store_true", help="append nothing to bench/results")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as folder:
        os.environ["HEADWATER_HOME"] = folder
        try:
            result = measure(Path(folder), given.runs)
        finally:
            headwater_stack.down(Path(folder))
    show(result, None if given.no_record else "growth")


if __name__ == "__main__":
    main()
