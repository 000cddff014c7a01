"""The cost of lineage for a Spark action: no listener, headwater's, the official one; same machine and run, a driver each.

``python bench/spark.py [--rounds N] [--actions N]`` runs the three kinds in turn, in every round in another order, and prints
the overhead of each listener per action: wall time and CPU (JVM and Python), cold (from the program's start to the end of
its first action: the official listener comes with the session, ours after it) and warm (each later action, up to the last
delivered event). The overhead is relative to "none" of the same round; the result
has the median of the rounds and their spread, and the ratio of the medians. It is appended to
bench/results/spark.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from processes import used
from record import append

KINDS = ("none", "headwater", "official")
FIGURES = ("cold wall", "cold cpu", "warm wall", "warm cpu")
Figures = dict[str, float]


def _conf(kind: str, folder: Path) -> list[str]:
    conf = {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "1g",
    }
    args = []
    if kind == "official":
        from headwater_stack.fetch import fetch

        args = ["--jars", ",".join(str(path) for path in fetch(["openlineage-spark"]))]
        conf |= {
            "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
            "spark.openlineage.transport.type": "file",
            "spark.openlineage.transport.location": str(folder / "official.jsonl"),
        }
    return [*(part for key, value in conf.items() for part in ("--conf", f"{key}={value}")), *args, "pyspark-shell"]


class Clock:
    """Wall and CPU seconds since the last lap; CPU of both processes of a driver, at first since their start."""

    def __init__(self, jvm: int, begun: float) -> None:
        self.jvm = jvm
        self._last = (begun, 0.0)

    def lap(self) -> tuple[float, float]:
        cpu, _ = used(self.jvm)
        before = self._last
        self._last = (time.monotonic(), cpu + time.process_time())
        return self._last[0] - before[0], self._last[1] - before[1]


def _write(spark: Any, folder: Path, number: int) -> None:
    from pyspark.sql import functions as F

    frame = spark.read.parquet(f"{folder}/in").where("v > 3").groupBy("k").agg(F.sum("v").alias("s"))
    frame.write.mode("overwrite").parquet(f"{folder}/out{number % 3}")


def measure(kind: str, actions: int) -> Figures:
    """Run in its own process; return milliseconds per action, and the number of writes with complete lineage."""
    folder = Path(tempfile.mkdtemp())
    os.environ["PYSPARK_SUBMIT_ARGS"] = " ".join(_conf(kind, folder))
    os.environ |= {"OPENLINEAGE__TRANSPORT__TYPE": "file", "OPENLINEAGE__TRANSPORT__APPEND": "true"}
    os.environ["OPENLINEAGE__TRANSPORT__LOG_FILE_PATH"] = str(folder / "ours.jsonl")
    rows = {"id": [*range(1000)], "k": [n % 7 for n in range(1000)], "v": [n * 1.5 for n in range(1000)]}
    (folder / "in").mkdir()
    pq.write_table(pa.table(rows), folder / "in" / "rows.parquet")
    begun = time.monotonic()
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName("bench").getOrCreate()
    assert spark._jvm is not None
    clock = Clock(int(spark._jvm.ProcessHandle.current().pid()), begun)
    listening = None
    if kind == "headwater":
        from headwater.spark import instrument

        listening = instrument(spark)
    _write(spark, folder, 0)
    cold, warm = clock.lap(), []
    for number in range(1, actions + 1):
        _write(spark, folder, number)
        warm.append(clock.lap())
    if listening is not None:
        listening.close()
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(60_000)
    tail = clock.lap()
    spark.stop()
    # The median excludes outliers of a busy machine; deferred work is included, in the CPU and in the tail.
    wall = median(wall for wall, _ in warm) + tail[0] / actions
    cpu = (sum(cpu for _, cpu in warm) + tail[1]) / actions
    figures = (cold[0], cold[1], wall, cpu)
    return {name: seconds * 1000 for name, seconds in zip(FIGURES, figures, strict=True)} | {
        "complete": _complete_writes(folder)
    }


def _complete_writes(folder: Path) -> int:
    """Return the number of writes with a COMPLETE event that has outputs."""
    events = [json.loads(line) for path in folder.glob("*.jsonl") for line in path.read_text().splitlines()]
    ends = {event["run"]["runId"] for event in events if event["eventType"] == "COMPLETE" and event["outputs"]}
    written = {event["run"]["runId"] for event in events for output in event["outputs"] if "/out" in output["name"]}
    return len(ends & written)


def _driver(kind: str, actions: int) -> Figures:
    command = [sys.executable, __file__, "--kind", kind, "--actions", str(actions)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith("RESULT "))
    found: Figures = json.loads(line.removeprefix("RESULT "))
    if kind != "none" and found["complete"] != actions + 1:
        raise SystemExit(f"{kind} reported {found['complete']} of {actions + 1} writes: a comparison is not possible")
    print(f"{kind:10}", "  ".join(f"{name} {found[name]:7.1f}" for name in FIGURES), flush=True)
    return found


def _compared(rounds: Sequence[dict[str, Figures]], name: str) -> dict[str, Any]:
    """Return the overhead of each listener in each round, and the ratio of the medians."""
    compared: dict[str, Any] = {"none_ms": median(figures["none"][name] for figures in rounds)}
    for kind in KINDS[1:]:
        added = sorted(figures[kind][name] - figures["none"][name] for figures in rounds)
        compared[kind] = {"median_ms": median(added), "rounds_ms": added}
    theirs = compared["official"]["median_ms"]
    compared["ratio"] = compared["headwater"]["median_ms"] / theirs if theirs > 0 else None
    return compared


def _say(name: str, compared: dict[str, Any]) -> None:
    ours, theirs = (compared[kind] for kind in KINDS[1:])
    spread = [
        f"{cost['median_ms']:.1f} ms ({cost['rounds_ms'][0]:.1f} to {cost['rounds_ms'][-1]:.1f})"
        for cost in (ours, theirs)
    ]
    ratio = "no ratio: the official one adds nothing" if compared["ratio"] is None else f"ratio {compared['ratio']:.2f}"
    print(f"{name} of {compared['none_ms']:.1f} ms: headwater adds {spread[0]}, the official one {spread[1]}, {ratio}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--actions", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--kind", choices=KINDS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.kind:
        print("RESULT " + json.dumps(measure(options.kind, options.actions)))
        return
    rounds, loads = [], []
    for number in range(options.rounds):
        loads.append(os.getloadavg()[0])
        order = KINDS[number % 3 :] + KINDS[: number % 3]
        rounds.append({kind: _driver(kind, options.actions) for kind in order})
    result: dict[str, Any] = {name: _compared(rounds, name) for name in FIGURES}
    for name in FIGURES:
        _say(name, result[name])
    at = datetime.now(UTC).isoformat(timespec="seconds")
    append({"at": at, "actions": options.actions, "loads": loads, **result}, "spark")


if __name__ == "__main__":
    main()
