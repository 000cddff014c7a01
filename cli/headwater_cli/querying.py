"""What all commands that query the graph share: the connection, the clock, times and limits on the command line, printing."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from headwater_avro.errors import ConfigError, ServerUnavailable
from headwater_avro.times import datetime_of, micros_of, parse_time
from headwater_consumer.config import NOT_SET
from headwater_graph.queries.reader import Neo4jReader
from headwater_graph.settings import GraphSettings, graph_settings

from .formats import FORMATS, Paint, plain
from .operations.consume import settings_of
from .options import Command

_AGO = re.compile(r"([0-9]{1,6})(s|m|h|d|w)")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def graph_location() -> GraphSettings:
    """Return the settings of the graph from environment, file and local stack.

    Raises ServerUnavailable if none of them names a Neo4j.
    """
    found = settings_of({}, needs=frozenset()).settings
    if found.neo4j_uri == NOT_SET:
        hint = "HEADWATER_NEO4J_URI is not set and no local stack runs: `headwater up` starts one"
        raise ServerUnavailable("Neo4j", "any known address", hint)
    return graph_settings(**found.neo4j())


def the_graph() -> Neo4jReader:
    """Open the graph; the context manager closes it."""
    return Neo4jReader(graph_location())


def now() -> datetime:
    """Return the present time."""
    return datetime.now(UTC)


def read_time(text: str) -> datetime:
    """Return the time in a text: as in specification 1.3, a date alone (its midnight, UTC), or ``90m``, ``2h``, ``3d`` ago.

    Raises ConfigError for anything else.
    """
    if ago := _AGO.fullmatch(text):
        return now() - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    try:
        return datetime_of(parse_time(text if len(text) > 10 else f"{text}T00:00:00"))
    except (ValueError, OverflowError) as fault:
        raise ConfigError(
            f"{text!r} is not a time: write 2026-01-31, 2026-01-31T12:00:00Z or an age such as 2h"
        ) from fault


def milliseconds(time: datetime) -> int:
    """Return a time in milliseconds since 1970, as Kafka has them."""
    return micros_of(time) // 1_000


class Time(click.ParamType[datetime]):
    """A time on the command line."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        return value if isinstance(value, datetime) else read_time(value)


class Depth(click.ParamType[int]):
    """A depth on the command line: a number of jobs, or ``all``."""

    name = "N|all"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        if value == "all":
            return sys.maxsize
        if value.isdecimal():
            return int(value)
        return self.fail(f"{value!r} is neither a number nor `all`", param, ctx)


def format_options(*formats: str) -> Callable[[Command], Command]:
    """Add ``--format`` and its short form ``--json``; the command gets ``form``."""
    choices = formats or FORMATS

    def add(command: Command) -> Command:
        command = click.option("--json", "form", flag_value="json", help="The same as --format json.")(command)
        choice = click.Choice(choices)
        return click.option("--format", "form", type=choice, default=choices[0], show_default=True)(command)

    return add


def active_since_option(command: Command) -> Command:
    """Add ``--active-since``; the command gets ``active_since``."""
    text = "Leave out jobs of which no run has ended since a time, and datasets that only they read or write."
    return click.option("--active-since", type=Time(), help=text)(command)


def paint() -> Paint:
    """Return a function that colours text on a terminal, and leaves it plain in a pipe or if NO_COLOR is set."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return plain
    return lambda text, colour: text if colour == "reset" else click.style(text, fg=colour)


def say(text: str) -> None:
    """Print an answer."""
    click.echo(text)
