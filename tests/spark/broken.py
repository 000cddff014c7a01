"""A job that runs repeatedly, each time with a fault in another stage of the emitter, which must not affect it.

``python -m tests.spark.broken FOLDER`` prints, per stage, the job's number of rows, the number of warnings in the log, and
whether the run's events are complete.
"""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Any

from headwater.spark import session
from headwater.spark.extension import builtin
from headwater.spark.jvm import driver
from headwater.spark.plan import columns
from headwater.spark.runs import application, events, extraction, settings
from headwater.transport import MemoryTransport

# stage -> (owner, attribute)
STAGES: dict[str, tuple[Any, str]] = {
    "compiling the tap": (driver, "_compiled"),
    "the tap's queue": (driver.Driver, "poll"),
    "reading a plan": (driver.Driver, "plan_and_nodes"),
    "reading counters": (driver.Driver, "metrics"),
    "the catalog": (driver.SessionCatalog, "of"),
    "the reads of a leaf": (builtin, "reads"),
    "the writes of a command": (builtin, "writes"),
    "column lineage": (columns.Columns, "flow"),
    "extraction": (extraction.Extraction, "lineage"),
    "the application's state": (application.Application, "execution_started"),
    "creating an event": (events.EventFactory, "run"),
    "the transport": (MemoryTransport, "emit"),
    "the settings": (settings.Settings, "of"),
}


class Warnings(logging.Handler):
    """A handler that counts the warnings of the job's log."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.count += 1


def broken(*args: Any, **kwargs: Any) -> Any:
    raise RuntimeError("broken on purpose")


def job(folder: Path) -> tuple[int, list[dict[str, Any]]]:
    """Write three rows and read them; return the number of rows and the events."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").appName("Job").getOrCreate()
    transport = MemoryTransport()
    listening = session.instrument(spark, transport)
    try:
        spark.range(3).selectExpr("id", "id * 2 as x").write.parquet(str(folder))
        rows = spark.read.parquet(str(folder)).count()
    finally:
        spark.stop()
    if listening is not None:
        listening.close(timeout=5)
    return rows, transport.events


def outcome(folder: Path, stage: str, where: tuple[Any, str] | None) -> dict[str, Any]:
    warnings = Warnings()
    logging.getLogger("headwater.spark").addHandler(warnings)
    held = None if where is None else where[0].__dict__[where[1]]
    if where is not None:
        setattr(*where, broken)
    try:
        rows, events = job(folder / stage.replace(" ", "_").replace("'", ""))
    finally:
        if where is not None:
            setattr(*where, held)
        logging.getLogger("headwater.spark").removeHandler(warnings)
    kinds = [event["eventType"] for event in events if event["job"]["name"] != "job" and event["outputs"]]
    return {"rows": rows, "warnings": warnings.count, "complete": kinds == ["START", "COMPLETE"]}


def main() -> None:
    folder = Path(sys.argv[1])
    outcomes = {stage: outcome(folder, stage, where) for stage, where in {"nothing": None, **STAGES}.items()}
    print(json.dumps(outcomes))


if __name__ == "__main__":
    main()
