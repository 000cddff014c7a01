"""``headwater consume``: read events from Kafka and write the graph."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headwater_consumer.config import ConsumerSettings, Loaded, load, read_file

from ..options import bootstrap_option, topic_option

if TYPE_CHECKING:
    from headwater_consumer.service import Spark


@click.command()
@click.option("--available-now", is_flag=True, help="Stop when everything that is there now is in the graph.")
@bootstrap_option
@topic_option
@click.option("--neo4j-uri", metavar="URI", help="Neo4j's address.")
@click.option("--checkpoint", metavar="FOLDER", help="Where Spark keeps the offsets; if lost, the topic is read again.")
@click.option(
    "--topic-was-recreated",
    is_flag=True,
    default=None,
    help="The topic was deleted and created again: read the new one from its beginning.",
)
@click.option("--http-port", type=int, metavar="PORT", help="Where /healthz, /readyz and /metrics listen.")
@click.option("--log-format", type=click.Choice(["auto", "text", "json"]), help="How log lines look.")
def consume(available_now: bool, **flags: Any) -> None:
    """Read events from Kafka and write the graph.

    Runs until SIGTERM or Ctrl-C, and finishes the current batch then. Each setting can also be a HEADWATER_* variable or be
    in headwater.toml; `headwater doctor` lists them all. Without any, the local servers of `headwater up` are used.
    """
    settings = settings_of(flags).settings
    from headwater_consumer import service
    from headwater_consumer.monitoring import log

    log.configure(settings.log_format)
    service.consume(settings, available_now=available_now, spark=spark_of(settings))


def settings_of(flags: dict[str, Any], needs: frozenset[str] = frozenset(("kafka", "neo4j"))) -> Loaded:
    """Return the settings from flags, environment, file and local stack; raises ConfigError with every fault."""
    file = read_file(os.environ, Path.cwd())
    return load(flags=flags, environ=os.environ, file=file, stack=_stack_addresses(), needs=needs)


def spark_of(settings: ConsumerSettings) -> Spark:
    """Return the jars that are set, or fetch them, and a Java for Spark; raises ConfigError, ServerUnavailable."""
    from headwater_consumer.service import Spark
    from headwater_consumer.session import jars_of
    from headwater_stack import fetch, spark_java_home

    jars = jars_of(settings.spark_jars) or tuple(fetch(["spark-kafka"]))
    return Spark(jars, spark_java_home())


def _stack_addresses() -> dict[str, Any]:
    from headwater_stack import addresses, default_home

    found = addresses(default_home())
    if found is None:
        return {}
    return {
        "kafka_bootstrap_servers": found.kafka_bootstrap_servers,
        "neo4j_uri": found.neo4j_uri,
        "neo4j_user": found.neo4j_user,
        "neo4j_password": found.neo4j_password,
    }
