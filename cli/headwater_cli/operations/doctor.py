"""``headwater doctor``: every setting with where it came from, and what answers."""

from __future__ import annotations

import dataclasses
import json
import platform
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from typing import Literal, TypeAlias

import click

from headwater.transport.redaction import Redaction
from headwater_avro.errors import ConfigError, HeadwaterError, ServerUnavailable
from headwater_avro.registry import HttpSchemas
from headwater_consumer.config import NOT_SET, ConsumerSettings
from headwater_consumer.kafka.brokers import Client, client_of, cluster_of, partitions_of

from ..options import json_option
from .consume import settings_of
from .doctor_settings import Part, emitter_part, redacted, web_part

State: TypeAlias = Literal["yes", "no", "away"]
_SYMBOLS: dict[State, tuple[str, str]] = {"yes": ("ok", "green"), "no": ("--", "yellow"), "away": ("!!", "red")}

LOSSES_SHOWN = 8
"""How many of the recorded losses are named, the latest."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at: ``away`` is a server that does not answer, ``no`` something else to be put right."""

    name: str
    state: State
    text: str


@click.command()
@json_option
def doctor(as_json: bool) -> int:
    """Show every setting of consumer, emitter and HTTP server with its source, and check Kafka, Neo4j and Spark.

    Exit code 0 if everything is in order, 1 if something must be corrected, 3 if a server does not answer.
    """
    loaded = settings_of({}, needs=frozenset())
    parts = [Part("consumer", tuple(loaded.shown())), emitter_part(), web_part()]
    shown = [dataclasses.replace(part, settings=tuple(redacted(part.settings))) for part in parts if part is not None]
    checks = [*checks_of(loaded.settings), *_checks_of_parts(shown)]
    if as_json:
        settings = [dataclasses.asdict(setting) for part in shown for setting in part.settings]
        click.echo(json.dumps({"settings": settings, "checks": [dataclasses.asdict(check) for check in checks]}))
    else:
        _print(shown, checks)
    states = {check.state for check in checks}
    return 3 if "away" in states else int("no" in states)


def _checks_of_parts(parts: Iterable[Part]) -> Iterator[Check]:
    for part in parts:
        if text := part.faults or part.status:
            yield Check(part.title, "no" if part.faults else "yes", Redaction().text(text))


def checks_of(settings: ConsumerSettings) -> Iterator[Check]:
    """Yield what is found, one server or part after the other."""
    yield Check("versions", "yes", f"headwater {version('headwater')}, Python {platform.python_version()}")
    client = client_of(settings)
    steps: dict[str, Callable[[], str]] = {
        "Kafka": lambda: kafka_status(settings, client),
        **_registry_step(settings),
        "Neo4j": lambda: neo4j_status(settings),
        "Spark": lambda: spark_status(settings),
    }
    for name, step in steps.items():
        check = _checked(name, step)
        yield dataclasses.replace(check, text=Redaction().text(check.text))


def _checked(name: str, step: Callable[[], str]) -> Check:
    try:
        return Check(name, "yes", step())
    except ServerUnavailable as fault:
        return Check(name, "away", str(fault))
    except HeadwaterError as fault:
        return Check(name, "no", str(fault))


def kafka_status(settings: ConsumerSettings, client: Client) -> str:
    """Return the state of the topics; raises ServerUnavailable, and ConfigError if the topic is missing."""
    if settings.kafka_bootstrap_servers == NOT_SET:
        raise _unknown("Kafka", "HEADWATER_KAFKA_BOOTSTRAP_SERVERS")
    topics = (settings.kafka_topic, settings.dead_letter_topic)
    partitions = partitions_of(client, topics)
    cluster = cluster_of(client)
    missing = [topic for topic in topics if not partitions[topic]]
    if missing:
        raise ConfigError(
            f"answers (cluster {cluster}), but has no topic {' and '.join(missing)}: `headwater consume` makes them"
        )
    listed = ", ".join(f"{topic} has {count} partition{'s' * (count > 1)}" for topic, count in partitions.items())
    return f"answers at {settings.kafka_bootstrap_servers} (cluster {cluster}); {listed}"


def _registry_step(settings: ConsumerSettings) -> dict[str, Callable[[], str]]:
    """The look at the schema registry, where one is set."""
    found = settings.registry()
    if found is None:
        return {}
    return {"Registry": lambda: f"answers at {found.url}; subjects: {HttpSchemas(found).subjects()}"}


def neo4j_status(settings: ConsumerSettings) -> str:
    """Return a summary of the graph; raises ServerUnavailable, and ConfigError if it has no schema."""
    from headwater_graph.queries.reader import Neo4jReader
    from headwater_graph.settings import graph_settings

    if settings.neo4j_uri == NOT_SET:
        raise _unknown("Neo4j", "HEADWATER_NEO4J_URI")
    query = (files(__package__) / "doctor.cypher").read_text(encoding="utf-8")
    with Neo4jReader(graph_settings(**settings.neo4j())) as reader:
        found = reader.run(query, {})[0]
    text = f"answers at {settings.neo4j_uri} ({found['server']})"
    if found["schema"] is None:
        raise ConfigError(f"{text}, but the graph has no schema: `headwater graph init` makes it")
    writer = "nothing is written yet"
    if found["batch"] is not None:
        writer = f"batch {found['batch']} was written at {found['at']} by {found['holder']}"
    return f"{text}; schema {found['schema']}; {writer}; {found['deferred_work']} pieces of deferred work{_lost(found['losses'])}"


def _lost(recorded: str | None) -> str:
    """Return which messages Kafka had deleted before they were in the graph; an empty text for none."""
    from headwater_graph.store.writer_node import losses_in

    losses = losses_in(recorded)
    if not losses:
        return ""
    total = sum(loss.end - loss.begin for loss in losses)
    last = [f"{loss.topic}/{loss.partition} from {loss.begin} to {loss.end - 1}" for loss in losses[-LOSSES_SHOWN:]]
    more = f" and {len(losses) - len(last)} earlier ones" if len(losses) > len(last) else ""
    return f"; {total} messages were deleted by Kafka before they were in the graph: offsets {', '.join(last)}{more}"


def spark_status(settings: ConsumerSettings) -> str:
    """Return what `headwater consume` would run on; raises ConfigError if something is missing."""
    if find_spec("pyspark") is None:
        return "not installed; only `headwater consume` needs it: pip install 'headwater[consumer]'"
    from headwater_consumer.session import jars_of
    from headwater_stack import spark_java_home

    jars = jars_of(settings.spark_jars)
    source = f"{len(jars)} jars of HEADWATER_SPARK_JARS" if jars else "jars of headwater's lock, fetched when needed"
    return f"PySpark {version('pyspark')}, Java in {spark_java_home()}, {source}"


def _unknown(server: str, variable: str) -> ServerUnavailable:
    return ServerUnavailable(
        server, "any known address", f"{variable} is not set and no local stack is up: `headwater up`"
    )


def _print(parts: list[Part], checks: list[Check]) -> None:
    width = max(len(setting.variable) for part in parts for setting in part.settings)
    for part in parts:
        click.echo(click.style(part.title, bold=True))
        for setting in part.settings:
            value = "" if setting.value is None else str(setting.value)
            origin = "" if setting.origin == "default" else f"  ({setting.origin})"
            click.echo(f"{setting.variable:{width}}  {value}" + click.style(origin, fg="cyan"))
        click.echo()
    for check in checks:
        symbol, colour = _SYMBOLS[check.state]
        click.echo(f"{click.style(symbol, fg=colour)}  {check.name:11} {check.text}")
