"""Extremely large plans and file lists: the duration of an action with and without the listener.

``python bench/spark_limits.py`` runs a projection of 8,000 expressions, a few joins with 1,500 columns in sight, a
chain of 500 joins (``--links``), 300 projections of 2,000 columns, and a read of 10,000 files, each without and with
the listener in its own driver; it prints the action's wall time, the overhead of the listener, the delay of the last
event, the CPU of both processes until that moment, and what is missing according to the event.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from spark import Clock

EXPRESSIONS, JOINS, COLUMNS, LINKS, FILES = 8_000, 30, 50, 500, 10_000


def wide(spark: Any, _folder: Path, _links: int) -> Any:
    return spark.range(10).selectExpr(*(f"id + {n}{' + id' * 6} as c{n}" for n in range(EXPRESSIONS // 8)))


def joins(spark: Any, folder: Path, _links: int) -> Any:
    whole = spark.range(10)
    for number in range(JOINS):
        rows = {"id": range(10), **{f"j{number}_{c}": range(10) for c in range(COLUMNS)}}
        pq.write_table(
            pa.table({name: list(values) for name, values in rows.items()}), folder / f"side{number}.parquet"
        )
        whole = whole.join(spark.read.parquet(str(folder / f"side{number}.parquet")), "id")
    return whole


def chained(spark: Any, folder: Path, links: int) -> Any:
    """Return a chain of ``links`` joins, each with its own file of one column."""
    whole = spark.range(10)
    for number in range(links):
        file = folder / f"link{number}.parquet"
        pq.write_table(pa.table({"id": list(range(10)), f"v{number}": list(range(10))}), file)
        whole = whole.join(spark.read.schema(f"id long, v{number} long").parquet(str(file)), "id")
    return whole


def projections(spark: Any, _folder: Path, _links: int) -> Any:
    """Return 2,000 columns and 300 more, each by a projection of its own over those before."""
    whole = spark.range(10).selectExpr(*(f"id + {n} as c{n}" for n in range(2_000)))
    for number in range(300):
        whole = whole.withColumn(f"d{number}", whole[f"c{number}"] * 2)
    return whole


def many(spark: Any, folder: Path, _links: int) -> Any:
    source = folder / "many"
    source.mkdir()
    for number in range(FILES):
        (source / f"{number}.txt").write_text("x\n")
    return spark.read.text([str(path) for path in sorted(source.iterdir())]).groupBy("value").count()


CASES = {"expressions": wide, "joins": joins, "chain": chained, "projections": projections, "files": many}


def measure(case: str, listens: bool, links: int) -> dict[str, Any]:
    """Run in its own process; return the seconds of the action, and those until the last event after it."""
    conf = ("spark.master=local[2]", "spark.ui.enabled=false", "spark.log.level=ERROR", "spark.driver.memory=4g")
    more = (
        "spark.sql.shuffle.partitions=2",
        "spark.sql.autoBroadcastJoinThreshold=1g",
        "spark.buffer.pageSize=1m",
        "spark.driver.extraJavaOptions=-Xss32m",
    )
    args = [part for setting in (*conf, *more) for part in ("--conf", setting)]
    os.environ["PYSPARK_SUBMIT_ARGS"] = " ".join([*args, "pyspark-shell"])
    from pyspark.sql import SparkSession

    from headwater.spark import instrument
    from headwater.transport import MemoryTransport

    spark = SparkSession.builder.appName("limits").getOrCreate()
    spark.range(3).write.format("noop").mode("overwrite").save()
    folder, transport = Path(tempfile.mkdtemp()), MemoryTransport()
    listening = instrument(spark, transport) if listens else None
    assert spark._jvm is not None
    frame = CASES[case](spark, folder, links)
    clock = Clock(int(spark._jvm.ProcessHandle.current().pid()), 0.0)
    clock.lap()
    frame.write.parquet(str(folder / "out"))
    action, cpu = clock.lap()
    if listening is not None:
        listening.close(timeout=60)
    tail, later = clock.lap()
    spark.stop()
    ends = [event for event in transport.events if event["eventType"] == "COMPLETE" and event["outputs"]]
    summary: dict[str, Any] = {"runs": len(ends)}
    if ends:
        output = ends[-1]["outputs"][0]["facets"]
        summary |= {
            "inputs": len(ends[-1]["inputs"]),
            "columns": len(output.get("columnLineage", {}).get("fields", ())),
        }
        summary |= {
            "schema": len(output.get("schema", {}).get("fields", ())),
            "missing": ends[-1]["run"]["facets"].get("headwater_incomplete", {}).get("reason"),
        }
    return {"action": action, "tail": tail, "cpu": cpu + later, "summary": summary}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    parser.add_argument("--listen", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--links", type=int, default=LINKS, help="joins in the chain")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"some of {', '.join(CASES)}")
    options = parser.parse_args()
    if options.case:
        print("RESULT " + json.dumps(measure(options.case, options.listen, options.links)))
        return
    for case in options.cases or CASES:
        found = []
        for extra in ([], ["--listen"]):
            command = [sys.executable, __file__, "--case", case, "--links", str(options.links), *extra]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"{case} failed:\n{done.stderr[-4000:]}")
            line = next(line for line in done.stdout.splitlines() if line.startswith("RESULT "))
            found.append(json.loads(line.removeprefix("RESULT ")))
        plain, with_listener = found
        added = with_listener["action"] - plain["action"]
        print(
            f"{case:12} action {plain['action']:6.1f} s, with the listener {with_listener['action']:6.1f} s ({added:+.1f}),",
            f"last event {with_listener['tail']:.1f} s later; CPU {plain['cpu']:.1f} s and {with_listener['cpu']:.1f} s;",
            f"events {json.dumps(with_listener['summary'])}",
            flush=True,
        )


if __name__ == "__main__":
    main()
