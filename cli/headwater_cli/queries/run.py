"""``headwater run``: list runs, show one of them, and compare two."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import click

from headwater_avro.errors import ConfigError
from headwater_graph.queries.catalog.finding import Wanted, find, find_run
from headwater_graph.queries.reader import GraphReader
from headwater_graph.queries.runs.run_diff import RunChange, RunDiff, last_complete_run, run_diff
from headwater_graph.queries.runs.run_graph import run_graph
from headwater_graph.queries.runs.runs import Child, RunDetails, RunFilter, RunLine, VersionUse, list_runs, show_run

from ..completion import names_of, runs
from ..formats import STATE_COLOURS, Paint, json_text, listing, render, short_time
from ..options import limit_option
from ..querying import Time, format_options, now, paint, say, the_graph
from .lineage import limit_options, limits_of

STATES = ("NEW", "RUNNING", "COMPLETE", "ABORT", "FAIL")
BAR = 24
WIDTH = 16
MAX_VALUE = 200


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
    head = ("run", "job", "state", "started", "took", "marks")
    value = {"runs": [line.value() for line in lines], "more": more}
    rows, note = [_cells(line) for line in lines], "there are more (--limit N, --until TIME)" if more else ""
    say(listing(form, value, head, rows, empty="no runs", more=note, paint=paint()))


def _key(graph: GraphReader, name: str | None, kind: Wanted) -> str | None:
    return None if name is None else find(graph, name.split(" ", 1), (kind,)).key


def _cells(line: RunLine) -> tuple[str, ...]:
    job = "" if line.job is None else " ".join(line.job)
    started = short_time(line.started or line.last_event)
    return (line.id, job, line.state or "", started, duration(line.seconds), ", ".join(line.status))


def duration(seconds: float | None) -> str:
    """Return a duration in its two greatest units; "" for None.

    >>> duration(3725), duration(0.25), duration(90000)
    ('1h 2m', '0.25s', '1d 1h')
    """
    if seconds is None:
        return ""
    if seconds < 60:
        return f"{seconds:.2f}".rstrip("0").rstrip(".") + "s"
    parts, rest = [], int(seconds)
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        count, rest = divmod(rest, size)
        parts += [f"{count}{unit}"] if count else []
    return " ".join(parts[:2])


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
    say(json_text(details.value()) if form == "json" else "\n".join(_shown(details, facets, paint())))


def _shown(details: RunDetails, facets: bool, colours: Paint) -> Iterator[str]:
    line = details.run
    status = " ".join(colours(f"[{name}]", "red") for name in line.status)
    yield f"run {colours(line.id, 'magenta')}  {_state(line, colours)} {status}".rstrip()
    yield from _facts(details)
    yield from _uses("read", details.reads, colours)
    yield from _uses("wrote", details.writes, colours)
    if details.children:
        yield "children"
        yield from _child_lines(details.children, "  ", _longest(details.children), colours)
        yield from ["  cut: there are more"] if details.more_children else []
    if facets:
        yield json_text(details.view.value())
    else:
        yield from _facet_names(details)


def _facet_names(details: RunDetails) -> Iterator[str]:
    groups = (("run facets", details.view.run), ("job facets", details.view.job))
    yield from (f"  {name:<16} {' '.join(sorted(facets))}" for name, facets in groups if facets)


def _state(line: RunLine, colours: Paint) -> str:
    state = line.state or ("no longer there" if "removed" in line.status else "not heard of")
    return colours(state, STATE_COLOURS.get(state, "white"))


def _facts(details: RunDetails) -> Iterator[str]:
    line = details.run
    made = " (made by this run)" if details.made_version else ""
    facts = (
        ("job", line.job and " ".join(line.job)),
        ("job version", details.version and details.version + made),
        ("code version", details.code_version),
        ("started", short_time(line.started)),
        ("ended", short_time(line.ended)),
        ("last event", "" if line.ended else short_time(line.last_event)),
        ("took", duration(line.seconds)),
        ("parent", details.parent),
        ("error", details.error),
        ("other jobs named", ", ".join(" ".join(key) for key in details.conflicts)),
    )
    return (f"  {name:<{WIDTH}} {_indented(value)}" for name, value in facts if value)


def _indented(text: str) -> str:
    """Return a text of several lines, as some errors are, with the lines indented like the first."""
    return ("\n" + " " * (WIDTH + 3)).join(text.splitlines())


def _uses(verb: str, uses: Iterable[VersionUse], colours: Paint) -> Iterator[str]:
    for use in uses:
        if verb == "wrote":
            origin = ""
        elif use.made_by:
            origin = f"  written {short_time(use.at)} by run {use.made_by}"
        else:
            origin = f"  external version {use.external}" if use.external else "  written by an unknown run"
        yield f"  {verb:<16} {colours(' '.join(use.dataset), 'cyan')}  version {use.version}{origin}"


def _longest(children: Iterable[Child]) -> float:
    return max((max(child.run.seconds or 0.0, _longest(child.children)) for child in children), default=0.0)


def _child_lines(children: Iterable[Child], indent: str, longest: float, colours: Paint) -> Iterator[str]:
    for child in children:
        line = child.run
        bar = "█" * max(1, round(BAR * line.seconds / longest)) if longest and line.seconds else ""
        job = " ".join(line.job) if line.job else ""
        status = "".join(f" [{name}]" for name in line.status)
        took = f"  {bar} {duration(line.seconds)}" if line.seconds is not None else ""
        yield f"{indent}{colours(line.id, 'magenta')}  {job}  {_state(line, colours)}{status}{took}"
        yield from _child_lines(child.children, indent + "  ", longest, colours)


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
    say(json_text(diff.value()) if form == "json" else "\n".join(_diff_lines(diff, paint())))


def _diff_lines(diff: RunDiff, colours: Paint) -> Iterator[str]:
    for side, details in (("from", diff.before), ("to", diff.after)):
        line = details.run
        yield f"{side:<5}run {colours(line.id, 'magenta')}  {_state(line, colours)}  {short_time(line.started)}".rstrip()
    if diff.is_empty:
        yield "no difference"
    yield from (_change_line("", change) for change in diff.facts)
    yield from (f"  {change}" for change in diff.sides)
    yield from (_change_line("read ", change) for change in diff.read_versions)
    yield from (f"  schema of {dataset}: {change}" for dataset, change in diff.schemas)
    for sign, edge in diff.columns:
        colour = "green" if sign == "+" else "red"
        yield colours(f"  {sign} column {'.'.join(edge[:3])} to {'.'.join(edge[3:])}", colour)
    yield from (_change_line("", change) for change in diff.settings)


def _change_line(prefix: str, change: RunChange) -> str:
    what, before, after = change
    return f"  {prefix}{what}: {_value_text(before)} to {_value_text(after)}"


def _value_text(value: Any) -> str:
    if value is None:
        return "none"
    text = " ".join(value) if isinstance(value, tuple) else value if isinstance(value, str) else json.dumps(value)
    line = next(iter(text.splitlines()), "")
    return text if len(line) == len(text) <= MAX_VALUE else line[:MAX_VALUE] + "…"
