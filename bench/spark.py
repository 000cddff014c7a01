"""What lineage costs a Spark action: no listener, ours, the official one; same machine, same run, one driver each.

``python bench/spark.py [--actions N] [--official]`` prints wall time and CPU (JVM and Python together) per action, cold
(the first) and warm (the rest), up to the last delivered event, and the extra of ours as a ratio of the official extra. The
result is appended to bench/results/spark.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results" / "spark.jsonl"
KINDS = ("none", "headwater", "official")


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


def _cpu(jvm: int) -> float:
    fields = Path(f"/proc/{jvm}/stat").read_text().rpartition(")")[2].split()
    own = resource.getrusage(resource.RUSAGE_SELF)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") + own.ru_utime + own.ru_stime


def measure(kind: str, actions: int) -> dict[str, Any]:
    """Run in a process of its own: wall seconds of each action, and CPU seconds of the first and of the rest."""
    folder = Path(tempfile.mkdtemp())
    os.environ["PYSPARK_SUBMIT_ARGS"] = " ".join(_conf(kind, folder))
    os.environ |= {"OPENLINEAGE__TRANSPORT__TYPE": "file", "OPENLINEAGE__TRANSPORT__APPEND": "true"}
    os.environ["OPENLINEAGE__TRANSPORT__LOG_FILE_PATH"] = str(folder / "ours.jsonl")
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F

    spark = SparkSession.builder.appName("bench").getOrCreate()
    assert spark._jvm is not None
    jvm = int(spark._jvm.ProcessHandle.current().pid())
    spark.range(1000).selectExpr("id", "id % 7 as k", "id * 1.5D as v").write.parquet(f"{folder}/in")
    begun_cpu, begun = _cpu(jvm), time.monotonic()
    listening = None
    if kind == "headwater":
        from headwater.spark import instrument

        listening = instrument(spark)
    walls, cpus = [time.monotonic() - begun], [_cpu(jvm) - begun_cpu]
    for number in range(actions):
        begun_cpu, begun = _cpu(jvm), time.monotonic()
        frame = spark.read.parquet(f"{folder}/in").where("v > 3").groupBy("k").agg(F.sum("v").alias("s"))
        frame.write.mode("overwrite").parquet(f"{folder}/out{number % 3}")
        walls.append(time.monotonic() - begun)
        cpus.append(_cpu(jvm) - begun_cpu)
    begun_cpu, begun = _cpu(jvm), time.monotonic()
    if listening is not None:
        listening.close()
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(60_000)
    tail = (time.monotonic() - begun, _cpu(jvm) - begun_cpu)
    events = sum(len(path.read_text().splitlines()) for path in folder.glob("*.jsonl"))
    spark.stop()
    return {"walls": walls, "cpus": cpus, "tail": tail, "events": events}


def _summary(told: dict[str, Any]) -> dict[str, float]:
    warm = len(told["walls"]) - 2
    return {
        "cold wall": (told["walls"][0] + told["walls"][1]) * 1000,
        "cold cpu": (told["cpus"][0] + told["cpus"][1]) * 1000,
        "warm wall": (sum(told["walls"][2:]) + told["tail"][0]) / warm * 1000,
        "warm cpu": (sum(told["cpus"][2:]) + told["tail"][1]) / warm * 1000,
        "events": told["events"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--actions", type=int, default=40)
    parser.add_argument("--official", action="store_true", help="measure the official listener, too (43 MB of jar)")
    parser.add_argument("--one", choices=KINDS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print("RESULT " + json.dumps(measure(options.one, options.actions)))
        return
    found: dict[str, dict[str, float]] = {}
    for kind in KINDS if options.official else KINDS[:2]:
        command = [sys.executable, __file__, "--one", kind, "--actions", str(options.actions)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        line = next(one for one in done.stdout.splitlines() if one.startswith("RESULT "))
        found[kind] = _summary(json.loads(line.removeprefix("RESULT ")))
        print(f"{kind:10}", "  ".join(f"{name} {value:8.1f}" for name, value in found[kind].items()), flush=True)
    result: dict[str, Any] = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "actions": options.actions}
    result["load"] = os.getloadavg()[0]
    for name in ("cold wall", "cold cpu", "warm wall", "warm cpu"):
        extra = found["headwater"][name] - found["none"][name]
        told = f"{name}: ours adds {extra:.1f} ms"
        if "official" in found:
            theirs = found["official"][name] - found["none"][name]
            told += f", the official one {theirs:.1f} ms, ratio {extra / theirs:.2f}"
            result[name] = {"ours_ms": extra, "official_ms": theirs, "ratio": extra / theirs}
        print(told)
    if options.official:
        with RESULTS.open("a", encoding="utf-8") as results:
            results.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
