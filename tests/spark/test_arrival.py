"""What is in a real Kafka topic after a Spark program under ``headwater instrument``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ..servers import Servers
from ..transport.events import arrived_since, ends

pytestmark = pytest.mark.end_to_end

PROGRAM = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").appName("arrives").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
spark.range(3).selectExpr("id", "id * 2 as doubled").write.parquet("in")
stream = spark.readStream.schema("id long, doubled long").parquet("in").selectExpr("doubled as d").writeStream
stream = stream.format("json").option("path", "streamed").option("checkpointLocation", "checkpoint")
stream.trigger(availableNow=True).start().awaitTermination()
try:
    spark.read.parquet("in").selectExpr("raise_error('on purpose')").collect()
except Exception:
    sys.exit(3)
"""


@pytest.fixture
def messages(servers: Servers, topic: str, tmp_path: Path) -> list[dict[str, Any]]:
    """The events in the topic at the program's end: nothing waits for later ones."""
    (tmp_path / "job.py").write_text(PROGRAM)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("OPENLINEAGE")} | {
        "HEADWATER_KAFKA_BOOTSTRAP_SERVERS": servers.kafka_bootstrap_servers,
        "HEADWATER_KAFKA_TOPIC": topic,
        "HEADWATER_EMITTER_SPOOL_DIR": str(tmp_path / "spool"),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": "--driver-memory 512m pyspark-shell",
    }
    run = [sys.executable, "-c", "from headwater_cli.main import main; main()", "instrument", "job.py"]
    done = subprocess.run(run, capture_output=True, text=True, cwd=tmp_path, env=environ, timeout=600)
    assert done.returncode == 3, done.stderr[-4000:]
    nothing = dict.fromkeys(ends(servers.kafka_bootstrap_servers, topic), 0)
    values = arrived_since(servers.kafka_bootstrap_servers, topic, nothing)
    return sorted((json.loads(value) for value in values), key=lambda event: str(event["eventTime"]))


def names(datasets: list[dict[str, Any]]) -> list[str]:
    return [Path(dataset["name"]).name for dataset in datasets]


def columns(event: dict[str, Any]) -> dict[str, list[tuple[str, str]]]:
    fields = event["outputs"][0]["facets"]["columnLineage"]["fields"]
    return {
        column: [(Path(source["name"]).name, source["field"]) for source in entry["inputFields"]]
        for column, entry in fields.items()
    }


def test_a_write_a_streaming_query_and_a_failing_action_are_in_the_topic(messages: list[dict[str, Any]]) -> None:
    runs: dict[str, list[dict[str, Any]]] = {}
    for event in messages:
        runs.setdefault(event["run"]["runId"], []).append(event)
    last = {events[-1]["job"]["name"].removeprefix("arrives."): events[-1] for events in runs.values()}
    assert all(events[0]["eventType"] == "START" for events in runs.values())

    (write,) = [event for event in last.values() if names(event["outputs"]) == ["in"]]
    assert write["eventType"] == "COMPLETE"
    assert [field["name"] for field in write["outputs"][0]["facets"]["schema"]["fields"]] == ["id", "doubled"]
    assert write["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] == 3

    (stream,) = [event for event in last.values() if names(event["outputs"]) == ["streamed"]]
    assert (stream["eventType"], names(stream["inputs"])) == ("COMPLETE", ["in"])
    assert stream["job"]["facets"]["jobType"]["processingType"] == "STREAMING"
    assert columns(stream) == {"d": [("in", "doubled")]}

    (failed,) = [event for event in last.values() if event["eventType"] == "FAIL" and event["inputs"]]
    assert names(failed["inputs"]) == ["in"]
    assert "on purpose" in failed["run"]["facets"]["errorMessage"]["message"]

    application = last["arrives"]
    assert application["eventType"] == "FAIL"
    children = [event for event in last.values() if event is not application]
    assert {event["run"]["facets"]["parent"]["run"]["runId"] for event in children} == {application["run"]["runId"]}
    assert len(runs) == 4
