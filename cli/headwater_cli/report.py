"""``headwater report``: what is missing or odd in the graph."""

from __future__ import annotations

import click

from headwater_graph.questions.reports import MISSING, REPORTS, Report
from headwater_graph.questions.reports import report as report_of

from .asking import format_options, now, paint, say, the_graph
from .formats import csv_text, json_text, table

NAMES = ("missing", "all", *REPORTS)


@click.command()
@click.argument("name", type=click.Choice(NAMES), metavar="|".join(NAMES))
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="Findings of each kind.")
@format_options("table", "json", "csv")
def report(name: str, limit: int, form: str) -> None:
    """Tell what is missing or odd: runs that fell silent, jobs and datasets without what belongs to them.

    `missing` tells all that is missing from the graph, `all` every report.
    """
    wanted = {"missing": MISSING, "all": REPORTS}.get(name, (name,))
    with the_graph() as graph:
        found = [report_of(graph, each, now(), limit) for each in wanted]
    say(_text(found, form))


def _text(found: list[Report], form: str) -> str:
    if form == "json":
        return json_text([each.value() for each in found])
    if form == "csv":
        return "\n".join(csv_text(("report", *each.head), [(each.name, *row) for row in each.rows]) for each in found)
    return "\n\n".join(_section(each) for each in found)


def _section(found: Report) -> str:
    head = f"{found.name}: {found.title}"
    if not found.rows:
        return f"{head}: none"
    lines = [head, table(found.head, found.rows, paint())]
    return "\n".join([*lines, *(["there are more (--limit N)"] if found.cut else [])])
