"""``headwater report``: what is missing or unusual in the graph, its producers, and the dead letters."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import click

from headwater_avro.errors import ConfigError
from headwater_consumer.kafka.dead_letter_report import NAME as DEAD_LETTERS
from headwater_consumer.kafka.dead_letter_report import letter_report
from headwater_graph.queries.presentation.formats import csv_text, json_text, table
from headwater_graph.queries.reader import GraphReader
from headwater_graph.queries.reports.coverage import NAME as COVERAGE
from headwater_graph.queries.reports.coverage import coverage
from headwater_graph.queries.reports.exposure import NAME as EXPOSURE
from headwater_graph.queries.reports.reports import MISSING, REPORTS, Report
from headwater_graph.queries.reports.reports import report as report_of

from ..options import limit_option
from ..querying import active_since_option, format_options, now, paint, say, the_graph
from .exposure import ExposureOptions, exposure_options, exposure_report

NAMES = ("missing", "all", *REPORTS, COVERAGE, EXPOSURE, DEAD_LETTERS)


@click.command()
@click.argument("name", type=click.Choice(NAMES), metavar="|".join(NAMES))
@limit_option(100, 100_000, "The limit for one report.")
@active_since_option
@exposure_options
@format_options("table", "json", "csv")
def report(name: str, limit: int, active_since: datetime | None, form: str, **options: Any) -> int:
    """Report what is missing or unusual: silent runs, jobs without lineage, datasets that nothing writes or reads.

    `missing` prints all reports of what is missing, `all` every report about the graph, `coverage` how complete the lineage
    of each producer is, `exposure` which columns hold tagged data without being tagged, `dead-letters` how many messages could
    not be used, and why.
    """
    wanted = ExposureOptions(**options)
    wanted.check(name)
    found = _found(name, limit, active_since, wanted)
    say(_text(found, form))
    return int(wanted.fail_on_new and any(report.rows for report in found))


def _found(name: str, limit: int, active_since: datetime | None, options: ExposureOptions) -> list[Report]:
    if name == DEAD_LETTERS:
        from ..operations.dlq import where

        return [letter_report(*where())]
    if name == COVERAGE and active_since:
        raise ConfigError("coverage counts all jobs: leave out --active-since")
    wanted = {"missing": MISSING, "all": (*REPORTS, COVERAGE, EXPOSURE)}.get(name, (name,))
    with the_graph() as graph:
        return [_report(graph, report, limit, active_since, options) for report in wanted]


def _report(
    graph: GraphReader, name: str, limit: int, active_since: datetime | None, options: ExposureOptions
) -> Report:
    if name == COVERAGE:
        return coverage(graph, limit)
    if name == EXPOSURE:
        return exposure_report(graph, options, limit, active_since)
    return report_of(graph, name, now(), limit, active_since=active_since)


def _text(found: list[Report], form: str) -> str:
    if form == "json":
        return json_text([report.value() for report in found])
    if form == "csv":
        return "\n".join(
            csv_text(("report", *report.head), [(report.name, *map(str, row)) for row in report.rows])
            for report in found
        )
    return "\n\n".join(_section(report) for report in found)


def _section(found: Report) -> str:
    head = f"{found.name}: {found.title}"
    if not found.rows:
        return f"{head}: none"
    lines = [head, table(found.head, [[str(cell) for cell in row] for row in found.rows], paint())]
    return "\n".join([*lines, *(["there are more (--limit N)"] if found.truncated else [])])
