"""Run jobs of ``spark-reference`` one after another in one driver, with our listener, and store the events of each.

``python -m tests.spark.reference --out DIR [NAME ...]`` writes ``DIR/NAME.jsonl``; with ``--compare`` it then prints, per
job, the facts of our events that the official integration does not have (+) and the other way round (-).  One driver for all
saves the ten seconds that a JVM takes to start; a job with settings that are fixed at the start runs alone.  ``--official``
adds the official listener to the same run, so that jobs of any folder (``--jobs``) are compared without recorded facts.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import shutil
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .comparison import difference, expected, facts

REFERENCE = Path(__file__).resolve().parents[2] / "../shared/data/spark-reference"
_JARS = {"@kafka": "spark-kafka", "@iceberg": "iceberg", "delta": "delta", "spark-avro": "spark-avro"}
_THEIRS = ".official.jsonl"
# Fixed when the JVM or its first session starts.
OFFICIAL = "io.openlineage.spark.agent.OpenLineageSparkListener"
_ALONE = ("spark.driver.extraJavaOptions", "spark.sql.catalogImplementation", "spark.hadoop.javax")


def settings(job: Path, work: str) -> dict[str, str]:
    """Return the settings in the ``# conf:`` lines of a job."""
    lines = [
        line.removeprefix("# conf:").strip() for line in job.read_text().splitlines() if line.startswith("# conf:")
    ]
    return {key: value.replace("$WORK", work) for key, _, value in (line.partition("=") for line in lines)}


def groups(job: Path) -> set[str]:
    """Return the groups of jars in a job's ``# jars:`` line."""
    line = next((line for line in job.read_text().splitlines() if line.startswith("# jars:")), "")
    return {group for jar, group in _JARS.items() if jar in line}


def needs_own_driver(job: Path) -> bool:
    return any(key.startswith(_ALONE) for key in settings(job, ""))


def start(jobs: Sequence[Path], own: dict[str, str], official: bool = False) -> None:
    """Set the driver's configuration."""
    from headwater_stack.fetch import fetch

    wanted = sorted(set().union(*(groups(job) for job in jobs)) | ({"openlineage-spark"} if official else set()))
    jars = [str(path) for path in fetch(wanted)] if wanted else []
    conf = {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "1g",
        "spark.log.level": "ERROR",
        **({"spark.extraListeners": OFFICIAL} if official else {}),
        **own,
    }
    args = [part for key, value in conf.items() for part in ("--conf", f'"{key}={value}"')]
    if jars:
        args += ["--jars", ",".join(jars)]
    os.environ["PYSPARK_SUBMIT_ARGS"] = " ".join([*args, "pyspark-shell"])
    os.environ["PYSPARK_PYTHON"] = sys.executable


def run(job: Path, work: Path) -> list[dict[str, Any]]:
    """Run a job in this process's driver; return its events in order."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from headwater.spark import program
    from headwater.spark.session import active, instrument
    from headwater.transport import MemoryTransport

    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    os.environ["WORK"] = str(work)
    transport, builder = MemoryTransport(), SparkSession.Builder
    original = builder.getOrCreate
    conf = {**settings(job, str(work)), "spark.sql.warehouse.dir": f"{work}/wh"}
    conf |= {
        "spark.openlineage.transport.type": "file",
        "spark.openlineage.transport.location": f"{work.parent}/{job.stem}{_THEIRS}",
    }

    def with_listener(self: Any) -> Any:
        for key, value in conf.items():
            self.config(key, value)
        session = original(self)
        instrument(session, transport)
        return session

    builder.getOrCreate = with_listener  # type: ignore[method-assign]
    before = list(active())
    error: tuple[str, str | None] | None = None
    here = Path.cwd()
    os.chdir(work)
    try:
        runpy.run_path(str(job), run_name="__main__")
    except SystemExit as exit_:
        error = program._exit_code(exit_)[1]
    except Exception as fault:  # noqa: BLE001 - a job may fail in any way, and the next ones go on
        traceback.print_exc()
        error = (str(fault), None)
    finally:
        os.chdir(here)
        builder.getOrCreate = original  # type: ignore[method-assign]
        for application in active():
            if application not in before:
                application.close(error)
        if SparkContext._active_spark_context is not None:
            SparkSession.builder.getOrCreate().stop()
    return transport.events


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--jobs", type=Path, default=REFERENCE / "jobs")
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--official", action="store_true", help="run the official listener, too, and compare with it")
    parser.add_argument("--record", action="store_true", help="write the facts beside the jobs, as NAME.facts")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    names = options.names or sorted(path.stem for path in options.jobs.glob("*.py"))
    jobs = [options.jobs.resolve() / f"{name}.py" for name in names]
    alone = [job for job in jobs if needs_own_driver(job)]
    if alone and len(jobs) > 1:
        raise SystemExit(f"run these by themselves: {[job.stem for job in alone]}")
    options.out.mkdir(parents=True, exist_ok=True)
    works = options.out / "work"
    start(jobs, settings(jobs[0], f"{works}/{jobs[0].stem}") if alone else {}, options.official)
    for job in jobs:
        events = run(job, works / job.stem)
        (options.out / f"{job.stem}.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
        if options.record:
            lines = sorted(" | ".join(fact) for fact in facts(events, str(works / job.stem)))
            job.with_suffix(".facts").write_text("".join(f"{line}\n" for line in lines))
        if options.compare or options.official:
            theirs = works / f"{job.stem}{_THEIRS}" if options.official else REFERENCE / "expected" / f"{job.stem}.json"
            compare(job.stem, events, str(works / job.stem), theirs)


def compare(name: str, events: list[dict[str, Any]], work: str, theirs: Path) -> None:
    wanted = set()
    if theirs.name.endswith(_THEIRS) and theirs.exists():
        wanted = facts((json.loads(line) for line in theirs.read_text().splitlines()), work)
    elif theirs.exists():
        wanted = expected(json.loads(theirs.read_text()))
    found = difference(facts(events, work), wanted)
    ends = [f"{event['eventType']} {event['job']['name']}" for event in events if event["eventType"] != "START"]
    print(f"===== {name}: {len(found)} differences", ends, *found[:60], sep="\n   ", flush=True)


if __name__ == "__main__":
    main()
