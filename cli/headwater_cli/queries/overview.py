"""``headwater overview``: how much is in the graph, and what may need attention."""

from __future__ import annotations

import click

from headwater_graph.queries.presentation.formats import json_text
from headwater_graph.queries.presentation.overview_texts import overview_lines
from headwater_graph.queries.reports.overview import overview as overview_of

from ..querying import format_options, now, paint, say, the_graph


@click.command()
@format_options("text", "json")
def overview(form: str) -> None:
    """Show how much is in the graph, the latest, failed and silent runs, and the jobs that have changed."""
    with the_graph() as graph:
        found = overview_of(graph, now())
    say(json_text(found.value()) if form == "json" else "\n".join(overview_lines(found, paint())))
