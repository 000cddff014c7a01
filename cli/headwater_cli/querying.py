"""What all commands that query the graph share: the connection, the clock, times and limits on the command line, printing."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import click

from headwater_avro.errors import ServerUnavailable
from headwater_avro.times import micros_of
from headwater_consumer.config import NOT_SET
from headwater_graph.queries.presentation.formats import FORMATS, Paint, plain
from headwater_graph.queries.reader import Neo4jReader
from headwater_graph.queries.times import time_of
from headwater_graph.settings import NO_ADDRESS, GraphSettings, graph_settings

from .operations.consume import settings_of
from .options import Command


def graph_location() -> GraphSettings:
    """Return the settings of the graph from environment, file and local stack.

    Raises ServerUnavailable if none of them names a Neo4j.
    """
    found = settings_of({}, needs=frozenset()).settings
    if found.neo4j_uri == NOT_SET:
        raise ServerUnavailable("Neo4j", "any known address", NO_ADDRESS)
    return graph_settings(**found.neo4j())


def the_graph() -> Neo4jReader:
    """Open the graph; the context manager closes it."""
    return Neo4jReader(graph_location())


def now() -> datetime:
    """Return the present time."""
    return datetime.now(UTC)


def read_time(text: str) -> datetime:
    """Return the time in a text (``time_of``)."""
    return time_of(text, now())


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
