"""A consumer process whose graph is a file and takes its time: ``python slow_consumer.py LOG SECONDS [--available-now]``.

Settings come from the environment. The file gets a line when a batch begins, one per run, and one when it ends.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from headwater_avro.errors import HeadwaterError
from headwater_consumer.config import load
from headwater_consumer.monitoring.log import configure
from headwater_consumer.service import Spark, consume
from headwater_graph.apply.batch_writer import BatchPosition, BatchReport
from headwater_graph.apply.merged import Portion
from headwater_graph.rules.coalesce import MergedRow
from headwater_stack import fetch, spark_java_home


class SlowWriter:
    def __init__(self, log: Path, seconds: float) -> None:
        self._log = log
        self._seconds = seconds

    def prepare(self, rows: Iterable[MergedRow]) -> list[Portion]:
        return [Portion(list(rows))]

    def write(self, prepared: Iterable[Portion], position: BatchPosition) -> BatchReport:
        self._write(f"begin {position.batch_id}")
        time.sleep(self._seconds)
        for portion in prepared:
            for _, key, _, _ in portion.rows:
                self._write(f"run {key.decode()}")
        self._write(f"end {position.batch_id}")
        return BatchReport(
            late_runs=0, refolded_versions=0, deferred_transactions=0, phase_seconds={}, refused=[], committed=True
        )

    def commit_offsets(self, position: BatchPosition) -> None:
        self._write(f"mark {position.batch_id}")

    def _write(self, line: str) -> None:
        with self._log.open("a") as log:
            log.write(line + "\n")


def main() -> None:
    log, seconds = Path(sys.argv[1]), float(sys.argv[2])
    configure("json")
    try:
        consume(
            load(environ=os.environ).settings,
            available_now="--available-now" in sys.argv,
            spark=Spark(fetch(["spark-kafka"]), spark_java_home()),
            open_writer=lambda _: SlowWriter(log, seconds),
        )
    except HeadwaterError as fault:
        sys.exit(f"headwater: {fault}")


if __name__ == "__main__":
    main()
