"""``headwater search``: datasets, jobs, columns and runs by parts of their names."""

from __future__ import annotations

from datetime import datetime

import click

from headwater_graph.queries.answers import Kind, Node
from headwater_graph.queries.catalog.activity import active
from headwater_graph.queries.catalog.search import KINDS
from headwater_graph.queries.catalog.search import search as search_for
from headwater_graph.queries.presentation.formats import COLOURS, csv_text, json_text
from headwater_graph.queries.values import reference

from ..options import limit_option
from ..querying import active_since_option, format_options, paint, say, the_graph


@click.command()
@click.argument("text")
@click.option("--kind", "kinds", type=click.Choice(KINDS), multiple=True, help="Only this kind; may be repeated.")
@limit_option(20, 1_000, "The limit for each kind.")
@active_since_option
@format_options("text", "json", "csv")
def search(text: str, kinds: tuple[Kind, ...], limit: int, active_since: datetime | None, form: str) -> int:
    """Find datasets, jobs and columns whose name contains TEXT, and runs whose id begins with it.

    Exit code 1 if there are none.
    """
    with the_graph() as graph:
        found = active(graph, search_for(graph, text, kinds or KINDS, limit), active_since)
    say(_text(found, text, form))
    return 0 if found else 1


def _text(found: list[Node], text: str, form: str) -> str:
    if form == "json":
        return json_text([reference(node) for node in found])
    if form == "csv":
        return csv_text(("kind", "namespace", "name"), [(n.kind, n.name[0], ".".join(n.name[1:])) for n in found])
    colours = paint()
    lines = [f"{colours(n.kind.ljust(8), 'bright_black')}{colours(' '.join(n.name), COLOURS[n.kind])}" for n in found]
    return "\n".join(lines) or f"no name contains {text!r}"
