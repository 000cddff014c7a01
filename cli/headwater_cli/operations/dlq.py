"""``headwater dlq list | show | redrive``: messages that could not be used, and why (specification 8)."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable
from typing import Any

import click

from headwater_avro.errors import REJECTION_CODES, ConfigError
from headwater_consumer.kafka.brokers import Client, client_of
from headwater_consumer.kafka.dead_letter_report import distinct_letters
from headwater_consumer.kafka.dead_letters import DeadLetter, Identity, identity_in
from headwater_consumer.kafka.redrive import redrive_chosen, whole_message

from ..options import json_option
from .consume import settings_of

_CODE = click.option("--code", type=click.Choice(REJECTION_CODES), help="Only letters with this reason.")
_WIDTH = 70
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@click.group()
def dlq() -> None:
    """List, show and send back dead letters: messages that could not be used."""


@dlq.command("list")
@_CODE
@click.option("--limit", type=click.IntRange(min=0), default=50, show_default=True, help="Letters to print; 0: all.")
@json_option
def list_letters(code: str | None, limit: int, as_json: bool) -> None:
    """List dead letters, each once, with where they came from and why they are here."""
    client, topic = where()
    codes: Counter[str] = Counter()
    shown = 0
    for letter in distinct_letters(client, topic, code):
        codes[letter.code] += 1
        if not limit or shown < limit:
            shown += 1
            click.echo(json.dumps(letter_value(letter)) if as_json else _line(letter))
    if as_json:
        return
    total = sum(codes.values())
    counts = ", ".join(f"{count} {name}" for name, count in codes.most_common())
    rest = f"; {total - shown} more are not shown (--limit 0 shows all)" if shown < total else ""
    click.echo(f"{total} dead letters on {topic}" + (f": {counts}" if counts else "") + rest, err=True)


@dlq.command()
@click.argument("letter", metavar="TOPIC/PARTITION/OFFSET")
@click.option("--value", "raw", is_flag=True, help="Print the message's value alone, byte for byte.")
@json_option
def show(letter: str, raw: bool, as_json: bool) -> None:
    """Show one dead letter: the message as it came, and why it could not be used."""
    client, topic = where()
    wanted = identity_of(letter)
    found = next((letter for letter in distinct_letters(client, topic) if letter.identity == wanted), None)
    if found is None:
        raise ConfigError(f"no dead letter on {topic} came from {letter}: `headwater dlq list` lists them")
    if raw:
        message = whole_message(client, found)
        if message is None:
            raise ConfigError(
                f"the letter {letter} is reduced, and Kafka has deleted its message: an archive may have it"
            )
        sys.stdout.buffer.write(message.value or b"")
    elif as_json:
        click.echo(json.dumps(letter_value(found) | _whole(found)))
    else:
        _print(found)


@dlq.command()
@click.argument("letters", metavar="[TOPIC/PARTITION/OFFSET]...", nargs=-1)
@_CODE
@click.option("--all", "everything", is_flag=True, help="Send back every letter.")
@json_option
def redrive(letters: tuple[str, ...], code: str | None, everything: bool, as_json: bool) -> None:
    """Send dead letters back to the topic they came from, as they were.

    Name letters, or a --code, or --all. Sending one back twice changes nothing. They stay on the dead-letter topic.
    """
    if sum((bool(letters), code is not None, everything)) != 1:
        raise click.UsageError("name letters, or give --code or --all")
    client, topic = where()
    wanted = {identity_of(letter) for letter in letters}
    done = redrive_chosen(client, topic, code, wanted)
    click.echo(json.dumps({"redriven": len(done.sent)}) if as_json else f"{len(done.sent)} messages sent back")
    if missing := wanted - done.sent - done.deleted:
        raise ConfigError(f"no dead letter on {topic} came from {_names(missing)}: `headwater dlq list` lists them")
    if done.deleted:
        raise ConfigError(
            f"reduced letters of which Kafka has deleted the messages can't be sent back: {_names(done.deleted)}. "
            "If an archive has them, `headwater replay --archive` sends them again"
        )


def _names(letters: Iterable[Identity]) -> str:
    return ", ".join("/".join(map(str, letter)) for letter in sorted(letters))


def identity_of(text: str) -> Identity:
    """Read ``topic/partition/offset``; raises ConfigError for anything else."""
    found = identity_in(text.encode())
    if found is not None:
        return found
    raise ConfigError(f"{text!r} is no dead letter's place: write TOPIC/PARTITION/OFFSET, as `headwater dlq list` does")


def letter_value(letter: DeadLetter) -> dict[str, Any]:
    """Return what a list says about a letter, as JSON has it."""
    topic, partition, offset = letter.identity
    return {
        "letter": f"{topic}/{partition}/{offset}",
        "code": letter.code,
        "detail": letter.detail,
        "time": letter.time.isoformat(),
        "bytes": letter.size,
        "reduced": letter.reduced is not None,
    }


def where() -> tuple[Client, str]:
    """Return how Kafka is reached, and the topic of dead letters; raises ConfigError where no Kafka is named."""
    settings = settings_of({}, needs=frozenset({"kafka"})).settings
    return client_of(settings), settings.dead_letter_topic


def _line(letter: DeadLetter) -> str:
    shown = letter_value(letter)
    detail = letter.detail if len(letter.detail) <= _WIDTH else letter.detail[: _WIDTH - 1] + "…"
    return _tame(f"{shown['letter']}  {letter.time:%Y-%m-%d %H:%M:%S}  {letter.code}  {shown['bytes']} bytes  {detail}")


def _whole(letter: DeadLetter) -> dict[str, Any]:
    message = letter.message
    return {
        "key": _readable(message.key),
        "timestamp": message.timestamp,
        "headers": [[name, _readable(value)] for name, value in message.headers],
        **({"refused": letter.reduced.reason, "sha256": letter.reduced.sha256} if letter.reduced else {}),
        "value": _readable(message.value),
    }


def _readable(octets: bytes | None) -> str | None:
    return None if octets is None else octets.decode("utf-8", "backslashreplace")


def _tame(text: object) -> str:
    """Return what a terminal may be shown: a dead letter may hold its control sequences."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", str(text))


def _print(letter: DeadLetter) -> None:
    for name, value in (letter_value(letter) | _whole(letter)).items():
        match name:
            case "headers":
                for header, text in value:
                    click.echo(_tame(f"header     {header}: {text}"))
            case "value":
                click.echo(f"value\n{_tame(value)}")
            case _:
                click.echo(_tame(f"{name:10} {value}"))
