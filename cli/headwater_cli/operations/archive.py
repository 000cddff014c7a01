"""``headwater archive``: store every message of the topic in files. ``headwater replay``: send messages to a topic again."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime

import click

from headwater_avro.errors import ConfigError
from headwater_consumer.archive.reader import ArchiveCheck, check_archive, messages_in
from headwater_consumer.archive.replay import messages_since
from headwater_consumer.archive.replay import replay as send_again
from headwater_consumer.archive.storage import storage_at
from headwater_consumer.archive.topic import KafkaTopic
from headwater_consumer.archive.writer import GROUP, ArchiveResult, Rolling, archive_topic
from headwater_consumer.config import ConsumerSettings
from headwater_consumer.kafka.brokers import Client, client_of, partitions_of, prepare_topics
from headwater_consumer.monitoring import log

from ..options import json_option
from ..querying import Time, milliseconds
from .consume import settings_of

_KAFKA = frozenset(("kafka",))


@click.command()
@click.argument("place", metavar="FOLDER|URL")
@click.option("--available-now", is_flag=True, help="Stop when all messages that are there now are stored.")
@click.option("--check", is_flag=True, help="Store nothing: read every file, and report what is damaged or missing.")
@click.option("--topic", metavar="TOPIC", help="The topic to archive [default: the topic of events].")
@click.option(
    "--file-minutes",
    type=click.FloatRange(0.01),
    default=10.0,
    show_default=True,
    help="Close a file at this age.",
)
@click.option(
    "--file-megabytes",
    type=click.FloatRange(0.001),
    default=64.0,
    show_default=True,
    help="Close a file at this size.",
)
@click.option("--group", default=GROUP, show_default=True, help="The consumer group, whose lag shows the progress.")
@json_option
def archive(
    place: str,
    available_now: bool,
    check: bool,
    topic: str | None,
    file_minutes: float,
    file_megabytes: float,
    group: str,
    as_json: bool,
) -> int:
    """Store every message of the topic of events, unchanged, in FOLDER or at a URL such as s3://bucket/path.

    Files are compressed JSON lines, by day, each with its checksum in its name. Runs until SIGTERM or Ctrl-C, and continues
    after the last file when it is started again. With --check, exit code 1 if anything is damaged or missing.
    """
    storage = storage_at(place)
    settings = settings_of({}, needs=frozenset() if check else _KAFKA).settings
    name = topic or settings.kafka_topic
    if check:
        return _report_check(check_archive(storage, name), as_json)
    log.configure(settings.log_format)
    rolling = Rolling(int(file_megabytes * 1_000_000), file_minutes * 60)
    with closing(KafkaTopic(client_of(settings), name, group)) as source, _stopped_by_signals() as stop:
        stored = archive_topic(source, name, storage, rolling, stop=stop, follow=not available_now)
    _report_stored(stored, name, as_json)
    return 0


def _report_stored(stored: ArchiveResult, topic: str, as_json: bool) -> None:
    gaps = [{"partition": gap.partition, "from": gap.begin, "to": gap.end - 1} for gap in stored.gaps]
    if as_json:
        click.echo(json.dumps({"topic": topic, "messages": stored.messages, "files": stored.files, "missing": gaps}))
        return
    click.echo(f"{stored.messages} messages of {topic} stored in {stored.files} files")
    for gap in gaps:
        offsets = f"partition {gap['partition']}, offsets {gap['from']} to {gap['to']}"
        click.echo(f"Kafka deleted these messages before they were stored: {offsets}", err=True)


def _report_check(checked: ArchiveCheck, as_json: bool) -> int:
    if as_json:
        value = {"files": checked.files, "messages": checked.messages, "faults": list(checked.faults)}
        click.echo(json.dumps(value))
    else:
        for fault in checked.faults:
            click.echo(fault)
        verdict = "with faults" if checked.faults else "all whole"
        click.echo(f"{checked.messages} messages in {checked.files} files, {verdict}")
    return 1 if checked.faults else 0


@contextmanager
def _stopped_by_signals() -> Iterator[threading.Event]:
    """Yield an event that SIGTERM and SIGINT set; it is only polled, never waited for, so a signal handler may set it."""
    stop = threading.Event()
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in numbers}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@click.command()
@click.option(
    "--archive", "place", metavar="FOLDER|URL", help="Send the messages that `headwater archive` stored there."
)
@click.option(
    "--topic", metavar="TOPIC", help="The source topic, in Kafka or in the archive [default: the topic of events]."
)
@click.option("--to", "target", metavar="TOPIC", help="The target topic [default: the topic of events].")
@click.option(
    "--from-time", type=Time(), help="Only messages since a time: 2026-01-31, 2026-01-31T12:00:00Z or 2d (ago)."
)
@click.option(
    "--keep-times", is_flag=True, help="Send messages with their own times; Kafka may delete old ones at once."
)
@json_option
def replay(
    place: str | None,
    topic: str | None,
    target: str | None,
    from_time: datetime | None,
    keep_times: bool,
    as_json: bool,
) -> None:
    """Send the messages of an archive or topic to the topic of events again, with their keys, values and headers.

    A graph depends only on the set of its events: a replay does not change a graph that has them all, and gives an empty
    one the same content. A replay that was interrupted can be run again.
    """
    settings = settings_of({}, needs=_KAFKA).settings
    source, goal = topic or settings.kafka_topic, target or settings.kafka_topic
    if place is None and topic is None and target is None:
        raise ConfigError("nothing to replay: give --archive FOLDER, --topic TOPIC or --to TOPIC")
    client = client_of(settings)
    _prepare_topic(client, goal, settings)
    since = None if from_time is None else milliseconds(from_time)
    if place is not None:
        sent = send_again(client, messages_in(storage_at(place), source, since), goal, original_timestamps=keep_times)
    else:
        with closing(KafkaTopic(client, source, "headwater-replay")) as reader:
            sent = send_again(client, messages_since(reader, since), goal, original_timestamps=keep_times)
    value = {"topic": goal, "messages": sent}
    click.echo(json.dumps(value) if as_json else f"{sent} messages sent to {goal}")


def _prepare_topic(client: Client, topic: str, settings: ConsumerSettings) -> None:
    """Create the topic of events if it is missing; raise ConfigError if another topic is."""
    if topic == settings.kafka_topic:
        prepare_topics(client, topic, settings.dead_letter_topic)
    elif not partitions_of(client, (topic,))[topic]:
        raise ConfigError(f"Kafka at {settings.kafka_bootstrap_servers} has no topic {topic}")
