"""``headwater cypher``: any question in Cypher, in a transaction that can only read."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from headwater_avro.errors import ConfigError, StoreRefused
from headwater_graph.questions.marks import time_text
from headwater_graph.questions.reader import Row

from .asking import format_options, paint, say, the_graph
from .formats import Paint, csv_text, json_text, table

WIDEST = 60


@click.command()
@click.argument("query")
@click.option(
    "--param", "-p", "params", multiple=True, metavar="NAME=VALUE", help="JSON, else a text; may be repeated."
)
@click.option("--timeout", type=click.FloatRange(0.1, 3600), default=30.0, show_default=True, help="Seconds.")
@click.option("--limit", type=click.IntRange(1), default=1_000, show_default=True, help="Rows to print.")
@format_options("table", "json", "csv")
def cypher(query: str, params: tuple[str, ...], timeout: float, limit: int, form: str) -> None:
    """Ask the graph in Cypher: QUERY is the text, a file whose name ends with .cypher, or - for standard input.

    Only reading is possible. `headwater graph schema` tells what is in the graph.
    """
    text = _text(query)
    given = dict(_parameter(param) for param in params)
    with the_graph() as graph:
        try:
            rows = graph.run(text, given, timeout, limit + 1)
        except StoreRefused as fault:
            raise ConfigError(_in_words(str(fault))) from fault
    say(_shown(rows[:limit], form, paint()))
    if len(rows) > limit:
        click.echo(f"there are more rows (--limit {limit})", err=True)


def _text(query: str) -> str:
    if query == "-":
        return sys.stdin.read()
    if not query.endswith(".cypher"):
        return query
    try:
        return Path(query).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise ConfigError(f"{query} can't be read: {fault}") from fault


def _parameter(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise ConfigError(f"--param {text}: write NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _in_words(refusal: str) -> str:
    if "AccessMode" in refusal:
        return "this would write: `headwater cypher` only reads"
    return f"Neo4j does not take it: {refusal}"


def _shown(rows: Sequence[Row], form: str, colours: Paint) -> str:
    head = list(rows[0].keys()) if rows else []
    if form == "json":
        return json_text([{name: plain_value(row[name]) for name in head} for row in rows])
    cells = [[_cell(row[name], form) for name in head] for row in rows]
    if form == "csv":
        return csv_text(head, cells)
    return table(head, cells, colours) if rows else "no rows"


def _cell(value: Any, form: str) -> str:
    told = plain_value(value)
    text = told if isinstance(told, str) else "" if told is None else json.dumps(told, ensure_ascii=False)
    return text if form == "csv" or len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def plain_value(value: Any) -> Any:
    """Return a value of Neo4j as JSON values: times as SPEC 9 prints them, nodes and edges as their properties."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case bytes() | bytearray():
            return f"({len(value)} bytes)"
        case list() | tuple():
            return [plain_value(each) for each in value]
        case Mapping():
            return {str(name): plain_value(each) for name, each in value.items()}
        case _:
            return _graph_value(value)


def _graph_value(value: Any) -> Any:
    if hasattr(value, "nodes") and hasattr(value, "relationships"):
        return [plain_value(each) for each in (*value.nodes, *value.relationships)]
    if hasattr(value, "items"):
        return {str(name): plain_value(each) for name, each in value.items()}
    if hasattr(value, "to_native") and hasattr(value, "tzinfo"):
        return time_text(value) if value.tzinfo else value.iso_format()
    return value.iso_format() if hasattr(value, "iso_format") else str(value)
