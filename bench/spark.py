"""What lineage costs a Spark action: no listener, ours, the official one; same machine, same run, a driver each.

``python bench/spark.py [--rounds N] [--actions N]`` runs the three kinds in turn, in every round in another order, and prints
what each listener adds to an action: wall time and CPU (JVM and Python together), cold (from the program's start to the end of
its first action: the official listener comes with the session, ours after it) and warm (each later action, up to the last
delivered event). An addition is taken against "none" of the same round; told
are the median of the rounds and their spread, and the ratio of the medians. The result is appended to
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
from keeping import keep
from processes import used

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
    """Wall and CPU seconds since the last look; the CPU of a driver's two processes, from their start where there was none."""

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
    """Run in a process of its own; milliseconds an action, and how many writes were told to their end."""
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
    # The median leaves out what a busy machine does to single actions; what is put off stays in: in the CPU, and in the tail.
    wall = median(one[0] for one in warm) + tail[0] / actions
    cpu = (sum(one[1] for one in warm) + tail[1]) / actions
    figures = (cold[0], cold[1], wall, cpu)
    return {name: seconds * 1000 for name, seconds in zip(FIGURES, figures, strict=True)} | {"told": _told(folder)}


def _told(folder: Path) -> int:
    """How many writes were told to their end."""
    events = [json.loads(line) for path in folder.glob("*.jsonl") for line in path.read_text().splitlines()]
    ends = {event["run"]["runId"] for event in events if event["eventType"] == "COMPLETE" and event["outputs"]}
    written = {event["run"]["runId"] for event in events for one in event["outputs"] if "/out" in one["name"]}
    return len(ends & written)


def _driver(kind: str, actions: int) -> Figures:
    command = [sys.executable, __file__, "--one", kind, "--actions", str(actions)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    line = next(one for one in done.stdout.splitlines() if one.startswith("RESULT "))
    found: Figures = json.loads(line.removeprefix("RESULT "))
    if kind != "none" and found["told"] != actions + 1:
        raise SystemExit(f"{kind} told {found['told']} of {actions + 1} writes: there is nothing to compare")
    print(f"{kind:10}", "  ".join(f"{name} {found[name]:7.1f}" for name in FIGURES), flush=True)
    return found


def _compared(rounds: Sequence[dict[str, Figures]], name: str) -> dict[str, Any]:
    """What each listener adds in each round, and how the medians compare."""
    told: dict[str, Any] = {"none_ms": median(one["none"][name] for one in rounds)}
    for kind in KINDS[1:]:
        added = sorted(one[kind][name] - one["none"][name] for one in rounds)
        told[kind] = {"median_ms": median(added), "rounds_ms": added}
    theirs = told["official"]["median_ms"]
    told["ratio"] = told["headwater"]["median_ms"] / theirs if theirs > 0 else None
    return told


def _say(name: str, told: dict[str, Any]) -> None:
    ours, theirs = (told[kind] for kind in KINDS[1:])
    spread = [
        f"{one['median_ms']:.1f} ms ({one['rounds_ms'][0]:.1f} to {one['rounds_ms'][-1]:.1f})" for one in (ours, theirs)
    ]
    ratio = "no ratio: the official one adds nothing" if told["ratio"] is None else f"ratio {told['ratio']:.2f}"
    print(f"{name} of {told['none_ms']:.1f} ms: ours adds {spread[0]}, the official one {spread[1]}, {ratio}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--actions", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--one", choices=KINDS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print("RESULT " + json.dumps(measure(options.one, options.actions)))
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
    keep({"at": at, "actions": options.actions, "loads": loads, **result}, "spark")


if __name__ == "__main__":
    main()
