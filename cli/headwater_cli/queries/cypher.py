"""``headwater cypher``: run Cypher in a transaction that can only read."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from headwater_avro.errors import ConfigError
from headwater_graph.queries.free_cypher.run import FreeCypher
from headwater_graph.queries.presentation.formats import listing

from ..querying import format_options, paint, say, the_graph

WIDEST = 60


@click.command()
@click.argument("query")
@click.option(
    "--param",
    "-p",
    "params",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter, as JSON or text; may be repeated.",
)
@click.option(
    "--timeout", type=click.FloatRange(0.1, 3600), default=30.0, show_default=True, help="The limit in seconds."
)
@click.option("--limit", type=click.IntRange(1), default=1_000, show_default=True, help="The limit on rows.")
@format_options("table", "json", "csv")
def cypher(query: str, params: tuple[str, ...], timeout: float, limit: int, form: str) -> None:
    """Query the graph in Cypher, in a transaction that can only read.

    QUERY is the text, a file whose name ends with .cypher, or - for standard input. `headwater graph schema` describes the graph.
    """
    text = _text(query)
    given = dict(_parameter(param) for param in params)
    with the_graph() as graph:
        found = FreeCypher(graph, timeout, limit, "--timeout").run(text, given)
    rows = [[_cell(value, form) for value in row.values()] for row in found.rows]
    say(listing(form, list(found.rows), found.columns, rows, empty="no rows", paint=paint()))
    if found.more:
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


def _cell(value: Any, form: str) -> str:
    text = value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)
    return text if form == "csv" or len(text) <= WIDEST else text[: WIDEST - 1] + "…"
