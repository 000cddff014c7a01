"""The Spark session of the consumer."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from headwater_avro.errors import ConfigError
from headwater_consumer.faults import end_of_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headwater_consumer.config import ConsumerSettings

APPLICATION = "headwater-consumer"


def jars_of(setting: str | None) -> tuple[Path, ...]:
    """Return the jars that HEADWATER_SPARK_JARS names: those of a folder, or a comma-separated list of paths.

    Raises ConfigError if one does not exist.
    """
    if not setting:
        return ()
    paths = [Path(part.strip()) for part in setting.split(",") if part.strip()]
    missing = [str(path) for path in paths if not path.exists()]
    if missing:
        raise ConfigError(f"HEADWATER_SPARK_JARS: there is no {', '.join(missing)}")
    return tuple(jar for path in paths for jar in (sorted(path.glob("*.jar")) if path.is_dir() else [path]))


@contextmanager
def spark_session(
    settings: ConsumerSettings, jars: Sequence[Path], java_home: Path | None = None
) -> Iterator[SparkSession]:
    """Yield a Spark session with the Kafka source and little logging; raise ConfigError if Java can't be started."""
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    # Workers would otherwise take whatever `python3` is on the path.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if java_home is not None:
        os.environ["JAVA_HOME"] = str(java_home)
    with as_file(files(__package__) / "log4j2.properties") as quiet:
        builder = SparkSession.builder.appName(APPLICATION).master(settings.spark_master)
        for name, value in spark_conf(settings, jars, quiet).items():
            builder = builder.config(name, value)
        try:
            session = builder.getOrCreate()
        except PySparkRuntimeError as fault:
            raise ConfigError(f"Spark does not start: is there a Java of 17 or newer? ({fault})") from fault
        _silence(session)
        try:
            yield session
        finally:
            if end_of_java() is None:
                session.stop()


def _silence(session: SparkSession) -> None:
    """Keep PySpark from printing a traceback where Java ends: `headwater_consumer.faults` says so in one line."""
    server = getattr(session.sparkContext, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = lambda *_: None


def spark_conf(settings: ConsumerSettings, jars: Sequence[Path], log4j: Path) -> dict[str, str]:
    """Return Spark's settings; those of ``settings.spark_conf`` take precedence."""
    return {
        "spark.jars": ",".join(map(str, jars)),
        "spark.driver.memory": settings.spark_driver_memory,
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={log4j.as_uri()} {' '.join(_JAVA)}",
        # The result of a batch is bounded: merged rows by the bytes read at a time, dead letters by PartitionLimits.
        "spark.driver.maxResultSize": "0",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "2000",
        "spark.sql.execution.arrow.maxBytesPerBatch": str(8 * 1024 * 1024),
        # Without Kafka: the newer reader of batches holds each message fewer times, and it is that of the stream.
        "spark.sql.sources.useV1SourceList": "avro,csv,json,orc,parquet,text",
        # A Kafka client that no task uses holds on to what it fetched last: each partition's largest message, almost twice.
        "spark.kafka.consumer.cache.timeout": "10s",
        "spark.kafka.consumer.cache.evictorThreadRunInterval": "5s",
        "spark.kafka.consumer.fetchedData.cache.timeout": "10s",
        "spark.kafka.consumer.fetchedData.cache.evictorThreadRunInterval": "5s",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.metricsEnabled": "true",
        "spark.sql.streaming.minBatchesToRetain": "20",
        # How often an idle query gives a sign of life, in milliseconds.
        "spark.sql.streaming.noDataProgressEventInterval": "5000",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **(_LOCAL if settings.spark_master.startswith("local") else {}),
        **settings.spark_conf,
    }


_JAVA = (
    "-XX:+UseSerialGC",
    # Spark does little work here: for 300,000 events the optimising compiler used 12 CPU seconds more than it saved.
    "-XX:TieredStopAtLevel=1",
    # A Java without memory answers nobody and ends by no signal; one that ends is noticed, and can be started again.
    "-XX:+ExitOnOutOfMemoryError",
)
_LOCAL = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
