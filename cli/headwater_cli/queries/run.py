"""``headwater run``: list runs, show one of them, and compare two."""

from __future__ import annotations

from datetime import datetime

import click

from headwater_avro.errors import ConfigError
from headwater_graph.queries.answers import Direction
from headwater_graph.queries.catalog.finding import Wanted, find, find_run
from headwater_graph.queries.presentation.formats import json_text, listing, render
from headwater_graph.queries.presentation.run_texts import RUN_HEAD, diff_lines, run_cells, run_lines
from headwater_graph.queries.reader import GraphReader
from headwater_graph.queries.runs.run_columns import find_version, version_columns
from headwater_graph.queries.runs.run_diff import last_complete_run, run_diff
from headwater_graph.queries.runs.run_graph import run_graph
from headwater_graph.queries.runs.runs import RunFilter, list_runs, show_run

from ..completion import names_of, runs
from ..options import limit_option
from ..querying import Time, format_options, now, paint, say, the_graph
from .lineage import limit_options, limits_of

STATES = ("NEW", "RUNNING", "COMPLETE", "ABORT", "FAIL")

_run_argument = click.argument("run_id", metavar="RUN", shell_complete=runs)


@click.group()
def run() -> None:
    """List, show and compare runs."""


@run.command("list")
@click.option("--job", help="Only runs of this job.", shell_complete=names_of("job"))
@click.option("--dataset", help="Only runs that read or wrote this dataset.", shell_complete=names_of("dataset"))
@click.option("--parent", metavar="RUN", help="Only child runs of this run.", shell_complete=runs)
@click.option("--state", type=click.Choice(STATES, case_sensitive=False))
@click.option("--silent", is_flag=True, help="Only batch runs that have not ended and have sent no event for 24 hours.")
@click.option(
    "--since", type=Time(), help="Only runs with an event at or after a time, such as 2026-01-31 or 2h (ago)."
)
@click.option("--until", type=Time(), help="Only runs with their last event before a time.")
@limit_option(50, 10_000)
@format_options("table", "json", "csv")
def list_command(
    job: str | None,
    dataset: str | None,
    parent: str | None,
    state: str | None,
    silent: bool,
    since: datetime | None,
    until: datetime | None,
    limit: int,
    form: str,
) -> None:
    """List runs, in the order of their last events, the latest first."""
    if silent and (state or until):
        raise ConfigError("--silent implies state and time: leave out --state and --until")
    with the_graph() as graph:
        wanted = RunFilter(
            job=_key(graph, job, "job"),
            dataset=_key(graph, dataset, "dataset"),
            parent=None if parent is None else find_run(graph, parent).key,
            state=state and state.upper(),
            since=since,
            until=until,
            silent=silent,
        )
        found = list_runs(graph, wanted, now(), limit + 1)
    more, lines = len(found) > limit, found[:limit]
    value = {"runs": [line.value() for line in lines], "more": more}
    rows, note = [run_cells(line) for line in lines], "there are more (--limit N, --until TIME)" if more else ""
    say(listing(form, value, RUN_HEAD, rows, empty="no runs", more=note, paint=paint()))


def _key(graph: GraphReader, name: str | None, kind: Wanted) -> str | None:
    return None if name is None else find(graph, name.split(" ", 1), (kind,)).key


@run.command("show")
@_run_argument
@click.option("--facets", is_flag=True, help="Print every facet, as JSON.")
@format_options("text", "json")
def show_command(run_id: str, facets: bool, form: str) -> None:
    """Show one run: what it read and wrote, its children and its facets.

    RUN is the id of the run or the beginning of it.
    """
    with the_graph() as graph:
        details = show_run(graph, find_run(graph, run_id), now())
    say(json_text(details.value()) if form == "json" else "\n".join(run_lines(details, facets, paint())))


@run.command("graph")
@_run_argument
@click.option(
    "--downstream",
    is_flag=True,
    help="Show instead the runs that read what this one wrote.",
)
@limit_options
@format_options()
def graph_command(run_id: str, downstream: bool, depth: int, neighbours: int, nodes: int, form: str) -> None:
    """Show which dataset versions a run read and which runs made them, back to the sources."""
    limits = limits_of(depth, neighbours, nodes)
    with the_graph() as graph:
        start = find_run(graph, run_id)
        answer = run_graph(graph, start, "downstream" if downstream else "upstream", now(), limits)
    say(render(answer, form, paint()))


@run.command("columns")
@click.argument("version")
@click.argument("columns", nargs=-1, required=True, metavar="COLUMN...")
@click.option("--downstream", "direction", flag_value="downstream", help="Show instead what runs made of the columns.")
@limit_options
@format_options()
def columns_command(
    version: str, columns: tuple[str, ...], direction: str | None, depth: int, neighbours: int, nodes: int, form: str
) -> None:
    """Show the columns from which runs made columns of a dataset version, back to the sources.

    VERSION is the id of a version, as `headwater dataset versions` and `headwater run show` print it.
    """
    limits = limits_of(depth, neighbours, nodes)
    with the_graph() as graph:
        start = find_version(graph, version)
        way: Direction = "downstream" if direction else "upstream"
        answer = version_columns(graph, start, way, columns, limits)
    say(render(answer, form, paint()))


@run.command("diff")
@click.argument("run_ids", nargs=-1, required=True, metavar="RUN [OTHER]", shell_complete=runs)
@format_options("text", "json")
def diff_command(run_ids: tuple[str, ...], form: str) -> None:
    """Show what differs from RUN to OTHER, or from the last complete run of the same job to RUN."""
    if len(run_ids) > 2:
        raise ConfigError("a diff compares two runs: write RUN OTHER, or RUN alone for the last complete run before it")
    with the_graph() as graph:
        last = find_run(graph, run_ids[-1])
        first = find_run(graph, run_ids[0]) if len(run_ids) == 2 else last_complete_run(graph, last)
        diff = run_diff(graph, first, last, now())
    say(json_text(diff.value()) if form == "json" else "\n".join(diff_lines(diff, paint())))
