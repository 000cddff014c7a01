"""``headwater lineage``: what feeds a dataset, job or column, and what it feeds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime
from typing import Any

import click

from headwater_avro.errors import ConfigError
from headwater_graph.queries.answers import Answer, Direction, Node
from headwater_graph.queries.catalog.finding import find
from headwater_graph.queries.lineage.columns import column_lineage
from headwater_graph.queries.lineage.component import component
from headwater_graph.queries.lineage.impact import impact
from headwater_graph.queries.lineage.lineage import lineage as lineage_of
from headwater_graph.queries.lineage.path import path
from headwater_graph.queries.lineage.scope import Scope, TraversalLimits
from headwater_graph.queries.presentation.formats import impact_text, render
from headwater_graph.queries.reader import GraphReader

from ..completion import names_of
from ..options import Command, key_argument
from ..querying import Depth, Time, active_since_option, format_options, now, paint, say, the_graph
from .field_operations import with_operations


@click.group()
def lineage() -> None:
    """Show what feeds a dataset, job or column, and what it feeds.

    KEY is `namespace name`, `namespace#name` or any unambiguous tail of a name.
    """


def limit_options(command: Command) -> Command:
    """Add ``--depth``, ``--neighbours`` and ``--nodes``."""
    return _with(
        command,
        click.option(
            "--depth", type=Depth(), default=10, show_default=True, help="The greatest distance, in jobs, or `all`."
        ),
        click.option(
            "--neighbours",
            type=click.IntRange(1),
            default=1_000,
            show_default=True,
            help="The limit for one node.",
        ),
        click.option(
            "--nodes", type=click.IntRange(1), default=5_000, show_default=True, help="The limit for the answer."
        ),
    )


def scope_options(command: Command) -> Command:
    """Add the limits, ``--as-of`` and ``--active-since``; ``scope_of`` takes their values."""
    time = "a time, such as 2026-01-31T12:00:00Z or 2d (ago)"
    return limit_options(
        _with(
            command,
            click.option("--as-of", type=Time(), help=f"Show the graph as it was at {time}."),
            active_since_option,
        )
    )


def _with(command: Command, *options: Callable[[Any], Any]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def limits_of(depth: int, neighbours: int, nodes: int) -> TraversalLimits:
    """Return the limits that the options of ``limit_options`` give."""
    return TraversalLimits(None if depth == sys.maxsize else depth, neighbours, nodes)


def scope_of(
    depth: int,
    neighbours: int,
    nodes: int,
    as_of: datetime | None = None,
    active_since: datetime | None = None,
    past: bool = False,
) -> Scope:
    """Return the scope that the options of ``scope_options`` give."""
    return Scope(limits_of(depth, neighbours, nodes), as_of, past, active_since)


def _directed_command(direction: Direction) -> click.Command:
    @key_argument("dataset", "job")
    @scope_options
    @click.option("--columns", "all_columns", is_flag=True, help="Show the lineage of all columns of KEY.")
    @click.option(
        "--column",
        "columns",
        multiple=True,
        metavar="NAME",
        help="Show the lineage of this column; may be repeated.",
    )
    @format_options()
    def command(key: tuple[str, ...], all_columns: bool, columns: tuple[str, ...], form: str, **options: Any) -> None:
        scope = scope_of(**options)
        with the_graph() as graph:
            answer = _answer(graph, key, direction, scope, columns, all_columns)
        say(render(answer, form, paint()))

    command.__doc__ = {
        "upstream": "Show what feeds KEY: the jobs that write it, what they read, and so on.",
        "downstream": "Show what KEY feeds: the jobs that read it, what they write, and so on.",
    }[direction]
    if direction == "upstream":
        help_text = "Continue through the last writer of datasets that no job writes any more."
        command = with_operations(click.option("--past", is_flag=True, help=help_text)(command))
    return click.command(direction)(command)


def _answer(
    graph: GraphReader,
    key: tuple[str, ...],
    direction: Direction,
    scope: Scope,
    columns: tuple[str, ...],
    all_columns: bool,
) -> Answer:
    if not (all_columns or columns):
        return lineage_of(graph, find(graph, key), direction, now(), scope)
    _refuse_times_of_columns(scope)
    return column_lineage(graph, find(graph, key, ("dataset",)), direction, columns, scope.limits, scope.active_since)


def _refuse_times_of_columns(scope: Scope) -> None:
    if scope.as_of or scope.former_writers:
        raise ConfigError("the graph has current column lineage only: leave out --as-of and --past")


lineage.add_command(_directed_command("upstream"))
lineage.add_command(_directed_command("downstream"))


@lineage.command("component")
@key_argument("dataset", "job")
@click.option("--nodes", type=click.IntRange(1), default=5_000, show_default=True, help="The limit for the answer.")
@click.option("--as-of", type=Time(), help="Show the graph as it was at a time.")
@active_since_option
@format_options()
def component_command(
    key: tuple[str, ...], nodes: int, as_of: datetime | None, active_since: datetime | None, form: str
) -> None:
    """Show all that is connected with KEY in either direction.

    Each node of a connected component gives the same answer.
    """
    scope = Scope(TraversalLimits(None, nodes=nodes), as_of, active_since=active_since)
    with the_graph() as graph:
        answer = component(graph, find(graph, key), now(), scope)
    say(render(answer, form, paint()))


@lineage.command("path")
@click.argument("keys", nargs=-1, required=True, metavar="FROM TO", shell_complete=names_of("dataset", "job"))
@scope_options
@format_options()
def path_command(keys: tuple[str, ...], form: str, **options: Any) -> int:
    """Show a shortest path by which data flows from FROM to TO; exit code 1 if there is none.

    Write FROM and TO as `namespace#name` or a tail of a name each, or as `namespace name namespace name`.
    """
    if len(keys) not in (2, 4):
        raise ConfigError(
            "a path has two ends: write FROM TO, each as namespace#name, or namespace name namespace name"
        )
    half = len(keys) // 2
    with the_graph() as graph:
        source, target = find(graph, keys[:half]), find(graph, keys[half:])
        answer = path(graph, source, target, now(), scope_of(**options))
    say(_no_path(source, target, answer) if form == "tree" and not answer.nodes else render(answer, form, paint()))
    return 0 if answer.nodes else 1


def _no_path(source: Node, target: Node, answer: Answer) -> str:
    within = " within the limits (--depth N or all, --nodes N, --neighbours N)" if answer.truncations else ""
    return f"no way from {' '.join(source.name)} to {' '.join(target.name)}{within}"


@lineage.command("impact")
@key_argument("dataset", "job")
@click.option(
    "--column", "columns", multiple=True, metavar="NAME", help="Show what this column of KEY affects; may be repeated."
)
@scope_options
@format_options("table", "json", "csv")
def impact_command(key: tuple[str, ...], columns: tuple[str, ...], form: str, **options: Any) -> None:
    """Show what a change of KEY affects, nearest first: jobs, datasets and columns, with owners and last runs."""
    scope = scope_of(**options)
    if columns:
        _refuse_times_of_columns(scope)
    with the_graph() as graph:
        start = find(graph, key, ("dataset",) if columns else ("dataset", "job"))
        answer = impact(graph, start, now(), columns=columns, scope=scope)
    say(impact_text(answer, form, paint()))
