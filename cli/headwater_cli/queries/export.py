"""``headwater export``: OpenLineage events from the graph."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

import click

from headwater_avro.errors import ConfigError
from headwater_graph.audit.export.whole import ExportTotals
from headwater_graph.audit.export.whole import export as exported
from headwater_graph.queries.catalog.finding import find

from ..querying import Time, the_graph


@click.command()
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--job", metavar="KEY", help="Only the runs and JobEvents of this job.")
@click.option(
    "--since",
    type=Time(),
    help="Only runs and events since a time, such as 2026-01-31 or 2d (ago).",
)
def export(file: Path | None, job: str | None, since: datetime | None) -> None:
    """Write the graph as OpenLineage events, one line of JSON each, to FILE or standard output.

    They are not the events that were received, but as many as are needed to state what the graph contains: sent to a topic
    (`headwater emit FILE`) and consumed into an empty graph, they give the same graph.
    """
    totals = ExportTotals()
    with the_graph() as graph, _written(file) as lines:
        key = None if job is None else find(graph, job.split(" ", 1), ("job",)).key
        for line in exported(graph, totals, job=key, since=since):
            lines.write(line + b"\n")
    click.echo(f"{totals.events} events, of {totals.runs} runs" + _inexact(totals), err=True)


def _inexact(totals: ExportTotals) -> str:
    if not totals.inexact:
        return ""
    return f"; {totals.inexact} runs are not exact: they had events with the same time that contradicted one another"


@contextmanager
def _written(file: Path | None) -> Iterator[BinaryIO]:
    """Yield standard output, or a file that gets its name when it is complete."""
    if file is None or str(file) == "-":
        yield sys.stdout.buffer
        return
    unfinished = file.with_name(f".{file.name}.unfinished")
    try:
        with unfinished.open("wb") as lines:
            yield lines
        unfinished.replace(file)
    except OSError as fault:
        raise ConfigError(f"{file} can't be written: {fault.strerror}") from fault
    finally:
        unfinished.unlink(missing_ok=True)
