"""``headwater archive``: keep every message of the topic in files. ``headwater replay``: send messages to a topic again."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime

import click

from headwater_avro.errors import ConfigError
from headwater_consumer import log
from headwater_consumer.archive.reader import ArchiveCheck, check_archive, messages_in
from headwater_consumer.archive.replay import messages_since
from headwater_consumer.archive.replay import replay as send_again
from headwater_consumer.archive.storage import storage_at
from headwater_consumer.archive.topic import KafkaTopic
from headwater_consumer.archive.writer import GROUP, ArchiveResult, Rolling, archive_topic
from headwater_consumer.config import ConsumerSettings
from headwater_consumer.kafka.brokers import Client, kafka_client, partitions_of, prepare_topics

from .consume import settings_of
from .querying import Time, milliseconds

_KAFKA = frozenset(("kafka",))


@click.command()
@click.argument("place", metavar="FOLDER|URL")
@click.option("--available-now", is_flag=True, help="Stop when everything that is there now is kept.")
@click.option("--check", is_flag=True, help="Keep nothing: read every file, and tell what is damaged or missing.")
@click.option("--topic", metavar="TOPIC", help="The topic to keep, if not that of the events.")
@click.option(
    "--file-minutes", type=click.FloatRange(0.01), default=10.0, show_default=True, help="Longest, in a file."
)
@click.option(
    "--file-megabytes", type=click.FloatRange(0.001), default=64.0, show_default=True, help="Of lines, in a file."
)
@click.option("--group", default=GROUP, show_default=True, help="The consumer group, by whose lag one can watch it.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
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
    """Keep every message of the topic of events in FOLDER, or at a URL such as s3://bucket/path, exactly as it came.

    Compressed JSON lines, by day, each file with its checksum in its name. Runs until SIGTERM or Ctrl-C; started again
    it goes on after the last file, whatever stopped it. With --check, exit code 1 if anything is damaged or missing.
    """
    storage = storage_at(place)
    settings = settings_of({}, needs=frozenset() if check else _KAFKA).settings
    name = topic or settings.kafka_topic
    if check:
        return _told_of_check(check_archive(storage, name), as_json)
    log.configure(settings.log_format)
    rolling = Rolling(int(file_megabytes * 1_000_000), file_minutes * 60)
    with closing(KafkaTopic(_client(settings), name, group)) as source, _stopped_by_signals() as stop:
        kept = archive_topic(source, name, storage, rolling, stop=stop, follow=not available_now)
    _tell_kept(kept, name, as_json)
    return 0


def _tell_kept(kept: ArchiveResult, topic: str, as_json: bool) -> None:
    gaps = [{"partition": gap.partition, "from": gap.begin, "to": gap.end - 1} for gap in kept.gaps]
    if as_json:
        click.echo(json.dumps({"topic": topic, "messages": kept.messages, "files": kept.files, "missing": gaps}))
        return
    click.echo(f"{kept.messages} messages of {topic} kept in {kept.files} files")
    for gap in gaps:
        words = f"partition {gap['partition']}, offsets {gap['from']} to {gap['to']}"
        click.echo(f"Kafka had deleted these before they could be kept: {words}", err=True)


def _told_of_check(checked: ArchiveCheck, as_json: bool) -> int:
    if as_json:
        facts = {"files": checked.files, "messages": checked.messages, "faults": list(checked.faults)}
        click.echo(json.dumps(facts))
    else:
        for fault in checked.faults:
            click.echo(fault)
        verdict = "with faults" if checked.faults else "all whole"
        click.echo(f"{checked.messages} messages in {checked.files} files, {verdict}")
    return 1 if checked.faults else 0


@contextmanager
def _stopped_by_signals() -> Iterator[threading.Event]:
    """An event that SIGTERM and SIGINT set; it is only ever looked at, never waited for, so a handler may set it."""
    stop = threading.Event()
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in numbers}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@click.command()
@click.option("--archive", "place", metavar="FOLDER|URL", help="From what `headwater archive` kept there.")
@click.option(
    "--topic", metavar="TOPIC", help="From this topic, or of this topic in the archive; else that of the events."
)
@click.option("--to", "target", metavar="TOPIC", help="To this topic; else that of the events.")
@click.option("--from-time", type=Time(), help="Only what came since: 2026-01-31, 2026-01-31T12:00:00Z or 2d (ago).")
@click.option("--keep-times", is_flag=True, help="With the messages' own times; Kafka may delete old ones at once.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def replay(
    place: str | None,
    topic: str | None,
    target: str | None,
    from_time: datetime | None,
    keep_times: bool,
    as_json: bool,
) -> None:
    """Send the messages of an archive, or of a topic, to the topic of events again: same keys, values and headers.

    The graph is a function of the set of events: the same graph stays as it is, an empty one becomes what it was. One
    that was broken off may be done again.
    """
    settings = settings_of({}, needs=_KAFKA).settings
    source, goal = topic or settings.kafka_topic, target or settings.kafka_topic
    if place is None and topic is None and target is None:
        raise ConfigError("name what to replay: --archive FOLDER, or --topic TOPIC, or a topic to send to: --to TOPIC")
    client = _client(settings)
    _see_to(client, goal, settings)
    since = None if from_time is None else milliseconds(from_time)
    if place is not None:
        sent = send_again(client, messages_in(storage_at(place), source, since), goal, original_timestamps=keep_times)
    else:
        with closing(KafkaTopic(client, source, "headwater-replay")) as reader:
            sent = send_again(client, messages_since(reader, since), goal, original_timestamps=keep_times)
    told = {"topic": goal, "messages": sent}
    click.echo(json.dumps(told) if as_json else f"{sent} messages sent to {goal}")


def _see_to(client: Client, topic: str, settings: ConsumerSettings) -> None:
    """Make the topic of events if it is missing; any other one is there already."""
    if topic == settings.kafka_topic:
        prepare_topics(client, topic, settings.dead_letter_topic)
    elif not partitions_of(client, (topic,))[topic]:
        raise ConfigError(f"Kafka at {settings.kafka_bootstrap_servers} has no topic {topic}")


def _client(settings: ConsumerSettings) -> Client:
    return kafka_client(settings.kafka_bootstrap_servers, settings.librdkafka())
