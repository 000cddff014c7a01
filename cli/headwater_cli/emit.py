"""``headwater emit``: send events from a file. ``headwater spool``: list and send spooled events."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import click

from headwater.transport.broker import KafkaBroker, Message
from headwater.transport.counters import TransportCounters
from headwater.transport.preparation import Preparation
from headwater.transport.send_and_wait import Outcome, message_of_line, send_all
from headwater.transport.settings import HeadwaterConfig, read_settings
from headwater.transport.spool import (
    DAMAGED,
    PENDING,
    REFUSED,
    Segment,
    SegmentInfo,
    claim,
    describe_segments,
    segments,
)
from headwater.transport.validation import Fault, Schemas, faults_of_line
from headwater.transport.wire import NotSerialisable
from headwater_avro.errors import ConfigError, EventRejected, ServerUnavailable
from headwater_avro.json_codec import read_event

from .json_documents import Document, Place, documents
from .options import bootstrap_option, json_option, topic_option

MAX_FAULTS = 100
"""The number of faults after which a file is not checked any further."""


@dataclass(slots=True)
class _Reader:
    """Turns documents into messages, and collects the faults of those that are invalid."""

    validate: bool
    schemas: Schemas | None
    preparation: Preparation | None
    faults: list[dict[str, object]] = field(default_factory=list)
    documents: int = 0

    def check(self, file: BinaryIO) -> None:
        """Collect the faults of the documents of a file that are not events, or not valid ones."""
        for document in documents(file):
            self.documents = document.number
            self.faults += _faults(document.place, self._faults_of_event(document))
            if len(self.faults) > MAX_FAULTS:
                break

    def messages(self, file: BinaryIO) -> Iterator[tuple[Place, Message]]:
        """Yield the messages of the documents of a file, with their places."""
        for document in documents(file):
            self.documents = document.number
            if not self.validate or self._is_valid(document):
                yield from ((document.place, message) for message in self._messages_of(document))

    def _is_valid(self, document: Document) -> bool:
        faults = _faults(document.place, self._faults_of_event(document))
        self.faults += faults
        return not faults and not document.continues

    def _faults_of_event(self, document: Document) -> list[Fault]:
        if document.continues:
            return []
        if document.fault:
            return [Fault("", f"not JSON: {document.fault}")]
        faults = faults_of_line(document.text, self.schemas) if self.validate else []
        try:
            read_event(document.text)
        except EventRejected as fault:
            return faults or [Fault("", str(fault))]
        return faults

    def _messages_of(self, document: Document) -> list[Message]:
        if self.preparation is None:
            return [message_of_line(document.text)]
        try:
            return self.preparation.messages(json.loads(document.text), 0.0)
        except (NotSerialisable, ValueError, RecursionError) as fault:
            self.faults += _faults(document.place, [Fault("", str(fault))])
            return []


def _faults(place: Place, faults: list[Fault]) -> list[dict[str, object]]:
    number, line = place
    return [{"document": number, "line": line, "pointer": fault.pointer, "fault": fault.what} for fault in faults]


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@bootstrap_option
@topic_option
@click.option("--force", is_flag=True, help="Send at once, without checking everything first.")
@click.option("--validate", is_flag=True, help="Check each event by OpenLineage's classes, too.")
@click.option(
    "--schemas", type=click.Path(path_type=Path), help="Validate with the OpenLineage JSON schemas in this folder."
)
@click.option("--prepare", is_flag=True, help="Redact secrets and truncate what is too large, as an emitter does.")
@click.option(
    "--format", "form", type=click.Choice(["json", "avro"]), help="With --prepare: the encoding of the messages."
)
@json_option
def emit(
    file: str,
    kafka_bootstrap_servers: str | None,
    kafka_topic: str | None,
    force: bool,
    validate: bool,
    schemas: Path | None,
    prepare: bool,
    form: str | None,
    as_json: bool,
) -> int:
    """Send the events in FILE (- is standard input), and wait until Kafka has acknowledged all.

    FILE has JSON documents: one per line, pretty-printed, one after the other, or in lists. All are checked before the first
    is sent; if one is not an event, nothing is sent. The bytes of each document are sent unchanged, unless --prepare is given.

    With --force each document is sent as soon as it is read, even if it is not an event, and text that is not JSON is sent
    line by line. With --force and --validate the invalid events are reported and not sent, and the others are sent.

    Exit code 1 if a document was not an event or Kafka refused one, 3 if Kafka is unavailable.
    """
    if form and not prepare:
        raise ConfigError("--format needs --prepare: without it the bytes are sent unchanged")
    config = settings(kafka_bootstrap_servers, kafka_topic)
    preparation = (
        Preparation(replace(config, format=form or "json", running_interval=0.0), TransportCounters())
        if prepare
        else None
    )
    reader = _Reader(validate or schemas is not None, _schemas(schemas), preparation)
    with _opened(file) as given, nullcontext(given) if force else _seekable(given) as source:
        if not force and not _all_are_events(reader, source):
            return _report_refusal(reader, as_json)
        outcome = send_all(connected(config), reader.messages(source))
    return _report(reader, outcome, config, as_json)


def _opened(file: str) -> AbstractContextManager[BinaryIO]:
    if file == "-":
        return nullcontext(sys.stdin.buffer)
    try:
        return Path(file).open("rb")
    except OSError as fault:
        raise ConfigError(f"{file}: {fault.strerror}") from fault


@contextmanager
def _seekable(file: BinaryIO) -> Iterator[BinaryIO]:
    """Yield a file that can be read twice: a temporary one if the given one is a pipe."""
    if file.seekable():
        yield file
        return
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(file, copy)
        copy.seek(0)
        yield copy


def _all_are_events(reader: _Reader, file: BinaryIO) -> bool:
    begin = file.tell()
    reader.check(file)
    file.seek(begin)
    return not reader.faults


def _report_refusal(reader: _Reader, as_json: bool) -> int:
    shown = reader.faults[:MAX_FAULTS]
    if as_json:
        click.echo(json.dumps({"documents": reader.documents, "delivered": 0, "faults": shown}))
        return 1
    _print_faults(shown)
    count = len({fault["document"] for fault in shown})
    more = " or more" if len(reader.faults) > MAX_FAULTS else ""
    hint = "nothing was sent (--force sends without this check)"
    click.echo(
        f"{count}{more} of the documents {'is not an event' if count == 1 else 'are not events'}: {hint}", err=True
    )
    return 1


def _print_faults(faults: list[dict[str, object]]) -> None:
    for fault in faults:
        at = " ".join(
            str(part) for part in (f"document {fault['document']} (line {fault['line']})", fault["pointer"]) if part
        )
        click.echo(f"{at}: {fault['fault']}", err=True)


def _schemas(folder: Path | None) -> Schemas | None:
    if folder is None:
        return None
    try:
        return Schemas(folder)
    except ImportError as fault:
        raise ConfigError(f"--schemas needs the package {fault.name}: pip install jsonschema") from fault
    except (ValueError, OSError) as fault:
        raise ConfigError(f"--schemas {folder}: {fault}") from fault


def _report(reader: _Reader, outcome: Outcome[Place], config: HeadwaterConfig, as_json: bool) -> int:
    for place, why in outcome.refused:
        reader.faults += _faults(place, [Fault("", f"refused: {why}")])
    if as_json:
        shown = {"documents": reader.documents, "delivered": outcome.delivered, "faults": reader.faults}
        click.echo(json.dumps(shown))
    else:
        _print_faults(reader.faults)
        click.echo(f"{outcome.delivered} of {reader.documents} events are in {config.topic}")
    if outcome.unavailable:
        (number, line), why = outcome.unavailable[0]
        later = f"{why}; document {number} (line {line}) and later ones were not sent"
        raise ServerUnavailable("Kafka", config.bootstrap_servers, later)
    return 1 if reader.faults else 0


def settings(bootstrap_servers: str | None, topic: str | None) -> HeadwaterConfig:
    """Return the emitter's settings with these addresses; the local Kafka if none are given. Raises ConfigError."""
    config, faults = read_settings({"bootstrap_servers": bootstrap_servers, "topic": topic}, os.environ)
    if faults:
        raise ConfigError("; ".join(faults))
    if config.bootstrap_servers or "bootstrap.servers" in config.kafka:
        return config
    return replace(config, bootstrap_servers=_local_kafka())


def _local_kafka() -> str:
    try:
        from headwater_stack import addresses, default_home
    except ImportError:
        local = None
    else:
        local = addresses(default_home())
    if local is None:
        raise ConfigError(
            "no Kafka to send to: set HEADWATER_KAFKA_BOOTSTRAP_SERVERS, or start one with `headwater up`"
        )
    return local.kafka_bootstrap_servers


def connected(config: HeadwaterConfig) -> KafkaBroker:
    """Return a Kafka that answers; raises ServerUnavailable if it does not, ConfigError if its settings are invalid."""
    try:
        broker = KafkaBroker(config)
    except ValueError as fault:
        raise ConfigError(str(fault)) from fault
    if not broker.reaches():
        raise ServerUnavailable("Kafka", config.bootstrap_servers, "start it, or set HEADWATER_KAFKA_BOOTSTRAP_SERVERS")
    return broker


@click.group()
def spool() -> None:
    """List or send the events that emitters spooled to disk while Kafka was unavailable."""


_DIRECTORY = click.option("--dir", "directory", type=click.Path(path_type=Path), help="The folder of the spool.")


@spool.command("list")
@_DIRECTORY
@json_option
def list_spool(directory: Path | None, as_json: bool) -> None:
    """List the files of the spool, oldest first."""
    folder = directory or Path(read_settings({}, os.environ)[0].spool_dir)
    rows = describe_segments(folder)
    if as_json:
        click.echo(json.dumps([_shown(row) for row in rows]))
        return
    for row in rows:
        at = datetime.fromtimestamp(row.modified, UTC).isoformat(timespec="seconds")
        state = "in use" if row.busy else _STATES.get(row.path.suffix, "waiting")
        click.echo(f"{row.path.name}  {row.records} events  {row.size} bytes  {at}  {row.topic}  {state}")
    click.echo(f"{sum(row.records for row in rows)} events in {len(rows)} files in {folder}")


_STATES = {REFUSED: "refused", DAMAGED: "damaged"}


def _shown(row: SegmentInfo) -> dict[str, object]:
    return dataclasses.asdict(row) | {"path": str(row.path), "refused": row.path.suffix == REFUSED}


@spool.command("replay")
@_DIRECTORY
@bootstrap_option
@topic_option
@click.option(
    "--refused", is_flag=True, help="Also send what Kafka refused before, such as after its limits were raised."
)
@json_option
def replay_spool(
    directory: Path | None,
    kafka_bootstrap_servers: str | None,
    kafka_topic: str | None,
    refused: bool,
    as_json: bool,
) -> int:
    """Send the events in the spool and delete them; files that a running process uses are left to it.

    Each event is sent to its own topic, unless --kafka-topic names another one. Exit code 1 if Kafka refused some, which
    stay in the spool.
    """
    config = settings(kafka_bootstrap_servers, kafka_topic)
    claimed = [
        segment
        for path in segments(directory or Path(config.spool_dir), PENDING, *([REFUSED] if refused else []))
        if (segment := claim(path))
    ]
    sent = failed = 0
    try:
        for segment in claimed:
            target = config.topic if kafka_topic else segment.topic()
            outcome = _replay(segment, replace(config, topic=target))
            sent, failed = sent + outcome.delivered, failed + len(outcome.refused)
    finally:
        for segment in claimed:
            segment.release()
    shown = {"files": len(claimed), "delivered": sent, "refused": failed}
    click.echo(json.dumps(shown) if as_json else f"{sent} events of {len(claimed)} files sent, {failed} refused")
    return 1 if failed else 0


def _replay(segment: Segment, config: HeadwaterConfig) -> Outcome[int]:
    outcome = send_all(connected(config), enumerate(segment.messages(), 1))
    if outcome.unavailable:
        raise ServerUnavailable(
            "Kafka", config.bootstrap_servers, f"{outcome.unavailable[0][1]}; the spool is unchanged"
        )
    if not outcome.refused:
        segment.retire()
    return outcome
