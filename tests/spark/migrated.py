"""Applications with settings of the official integration, one after another in one driver.

``python -m tests.spark.migrated FOLDER HTTP KAFKA TOPIC`` runs each with its own settings; all but those whose transport is
the test's subject write their events to ``FOLDER/<name>.jsonl``.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

import headwater.spark
from headwater.spark import (
    AbstractInputDatasetBuilder,
    FacetRegistry,
    FileScanRDD,
    InputDatasetBuilder,
    OpenLineageEventListenerFactory,
)

Conf = dict[str, str]
_PREFIX = "spark.openlineage."


def applications(folder: str, http: str, kafka: str, topic: str) -> dict[str, Conf]:
    """Return the settings of each application by its name."""
    to_kafka = {
        "type": "kafka",
        "topicName": topic,
        "messageKey": "all",
        "properties.bootstrap.servers": kafka,
        "properties.acks": "all",
        "properties.key.serializer": "org.apache.kafka.common.serialization.StringSerializer",
        "properties.interceptor.classes": "com.acme.Interceptor",
    }
    to_http = {"type": "http", "url": http, "urlParams.team": "shop", "auth.type": "api_key", "auth.apiKey": "hunter2"}
    return {
        "to_kafka": _transport(to_kafka),
        "to_http": _transport({**to_http, "headers.X-Team": "finance", "timeoutInMillis": "7000"}),
        "to_console": _transport({"type": "console"}),
        "composite": _transport(
            {
                "type": "composite",
                "transports.a.type": "file",
                "transports.a.location": f"{folder}/composite_a.jsonl",
                "transports.b.type": "file",
                "transports.b.location": f"{folder}/composite_b.jsonl",
                "transports.c.type": "http",
                "transports.c.url": "http://127.0.0.1:9",
                "continueOnFailure": "true",
            }
        ),
        "names": {
            "namespace": "prod",
            "appName": "Nightly Load",
            "applicationRunId": "0190f5c8-0000-7000-8000-00000000000a",
            "parentJobName": "dag.task",
            "parentJobNamespace": "airflow",
            "parentRunId": "0190f5c8-0000-7000-8000-00000000000b",
            "job.owners.team": "Finance",
            "job.tags": "nightly;tier:gold",
            "run.tags": "set:up:SERVICE",
            "facets.variables": "[TEAM;NOT_THERE]",
            "dataset.namespaceResolvers.lake.type": "pattern",
            "dataset.namespaceResolvers.lake.regex": "^file$",
            "dataset.removePath.pattern": "(.*)(?<remove>/batch-[0-9]+)",
            "filter.rddEventsDisabled": "true",
        },
        "facets": {
            "jobName.appendDatasetName": "false",
            "jobName.replaceDotWithUnderscore": "true",
            "columnLineage.datasetLineageEnabled": "false",
            "facets.schema.disabled": "true",
            "facets.disabled": "[dataSource;processing_engine]",
            "debugFacet": "enabled",
            "circuitBreaker.type": "simpleMemory",
            "timeout.buildDatasetsTimePercentage": "60",
            "dataset.removePath.pattern": "/x",
        },
        "disabled": {"disabled": "true"},
        "one_job": {"spark.headwater.jobPer": "application", "jobName.appendDatasetName": "true"},
        "dated": {
            "appName": "Load 2026-01-31 run-42",
            "spark.headwater.jobName.removePatterns": r"[\d{4}-\d{2}-\d{2};-?(?:run|batch)-\d+]",
        },
        "extended": {},
    }


class Folders(AbstractInputDatasetBuilder[FileScanRDD]):
    """A builder of the folders of the files that an RDD reads."""

    def apply(self, event: FileScanRDD) -> list[InputDatasetBuilder]:
        paths = [file.file_path for part in event.file_partitions for file in part.files]
        return [InputDatasetBuilder("acme", folder) for folder in sorted({path.rpartition("/")[0] for path in paths})]


class Factory(OpenLineageEventListenerFactory):
    """The factory of the application ``extended``."""

    def create_input_dataset_builder(self) -> list[Any]:
        return [Folders()]


def _transport(entries: Conf) -> Conf:
    return {f"transport.{key}": value for key, value in entries.items()}


def run(name: str, conf: Conf, folder: Path) -> None:
    """Run one application: two writes that have nothing in common, one that fails, and an RDD action."""
    builder: Any = SparkSession.builder.appName(name)
    log = {"transport.type": "file", "transport.location": f"{folder}/{name}.jsonl"}
    for key, value in (conf if "transport.type" in conf else {**log, **conf}).items():
        builder = builder.config(key if key.startswith("spark.") else _PREFIX + key, value)
    spark = builder.getOrCreate()
    os.environ["HEADWATER_SPARK_FACTORIES"] = "tests.spark.migrated:Factory" if name == "extended" else ""
    spark.sparkContext.setJobGroup("night", "two words")
    instrumentation = headwater.spark.instrument(spark)
    source, out = f"{folder}/{name}/in/batch-1", f"{folder}/{name}/out"
    spark.range(3).selectExpr("id", "id * 2 as amount").write.parquet(source)
    spark.read.parquet(source).where("amount > 1").select("id").write.parquet(out)
    if name == "extended":
        FacetRegistry.register_run_facet("acme_note", {"about": "other"})
    other = spark.range(1).selectExpr("id + 1 as number")
    other.write.parquet(f"{folder}/{name}/other")
    with contextlib.suppress(Exception):
        spark.read.parquet(source).selectExpr("raise_error('handled')").write.parquet(f"{folder}/{name}/failed")
    spark.read.parquet(source).rdd.map(str).saveAsTextFile(f"{folder}/{name}/text")
    if instrumentation is not None:
        instrumentation.close()
    spark.stop()


def main() -> None:
    options = ("spark.ui.enabled=false", "spark.driver.memory=512m", "spark.log.level=ERROR")
    arguments = [part for option in options for part in ("--conf", option)]
    os.environ["PYSPARK_SUBMIT_ARGS"] = " ".join(["--master", "local[2]", *arguments, "pyspark-shell"])
    os.environ["TEAM"] = "finance"
    SparkContext._ensure_initialized()  # the configuration with which the JVM starts is that of all applications
    every: Callable[..., dict[str, Conf]] = applications
    for name, conf in every(*sys.argv[1:]).items():
        print(f"application {name}", file=sys.stderr, flush=True)
        run(name, conf, Path(sys.argv[1]))


if __name__ == "__main__":
    main()
