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
from headwater_graph.queries.lineage.lineage import Scope
from headwater_graph.queries.lineage.lineage import lineage as lineage_of
from headwater_graph.queries.lineage.path import path
from headwater_graph.queries.lineage.traversal import Limits
from headwater_graph.queries.reader import GraphReader

from .completion import names_of
from .field_operations import with_operations
from .formats import impact_text, render
from .querying import Command, Depth, Time, format_options, now, paint, say, the_graph


@click.group()
def lineage() -> None:
    """What feeds a dataset, job or column, and what it feeds.

    KEY is `namespace name`, `namespace#name` or any unambiguous tail of a name.
    """


def limit_options(command: Command) -> Command:
    """Add ``--depth``, ``--neighbours`` and ``--nodes``."""
    return _with(
        command,
        click.option("--depth", type=Depth(), default=10, show_default=True, help="How many jobs away, or `all`."),
        click.option("--neighbours", type=click.IntRange(1), default=1_000, show_default=True, help="Of one node."),
        click.option("--nodes", type=click.IntRange(1), default=5_000, show_default=True, help="Of the whole answer."),
    )


def scope_options(command: Command) -> Command:
    """Add the limits, ``--as-of`` and ``--active-since``; :func:`scope_of` takes what they give."""
    time = "a time, such as 2026-01-31T12:00:00Z or 2d (ago)"
    return limit_options(
        _with(
            command,
            click.option("--as-of", type=Time(), help=f"As the graph was at {time}."),
            click.option("--active-since", type=Time(), help=f"Without jobs of which no run has ended since {time}."),
        )
    )


def _with(command: Command, *options: Callable[[Any], Any]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def limits_of(depth: int, neighbours: int, nodes: int) -> Limits:
    """Return the limits that the options of :func:`limit_options` give."""
    return Limits(None if depth == sys.maxsize else depth, neighbours, nodes)


def scope_of(
    depth: int,
    neighbours: int,
    nodes: int,
    as_of: datetime | None = None,
    active_since: datetime | None = None,
    past: bool = False,
) -> Scope:
    """Return the scope that the options of :func:`scope_options` give."""
    return Scope(limits_of(depth, neighbours, nodes), as_of, past, active_since)


def _asked(direction: Direction) -> click.Command:
    @click.argument("key", nargs=-1, required=True, shell_complete=names_of("dataset", "job"))
    @scope_options
    @click.option("--columns", "all_columns", is_flag=True, help="From column to column, of all columns of KEY.")
    @click.option("--column", "columns", multiple=True, metavar="NAME", help="Of this column of KEY; may be repeated.")
    @format_options()
    def command(key: tuple[str, ...], all_columns: bool, columns: tuple[str, ...], form: str, **options: Any) -> None:
        scope = scope_of(**options)
        with the_graph() as graph:
            answer = _answer(graph, key, direction, scope, columns, all_columns)
        say(render(answer, form, paint()))

    command.__doc__ = {
        "upstream": "What feeds KEY: jobs that write it, what they read, and so on.",
        "downstream": "What KEY feeds: jobs that read it, what they write, and so on.",
    }[direction]
    if direction == "upstream":
        help_text = "Go on through the last writer of datasets that no job writes any more."
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
    if scope.as_of or scope.past:
        raise ConfigError("columns are known of the current graph alone: leave --as-of and --past out")


lineage.add_command(_asked("upstream"))
lineage.add_command(_asked("downstream"))


@lineage.command("component")
@click.argument("key", nargs=-1, required=True, shell_complete=names_of("dataset", "job"))
@click.option("--nodes", type=click.IntRange(1), default=5_000, show_default=True, help="Of the whole answer.")
@click.option("--as-of", type=Time(), help="As the graph was at a time.")
@click.option("--active-since", type=Time(), help="Without jobs of which no run has ended since a time.")
@format_options()
def component_command(
    key: tuple[str, ...], nodes: int, as_of: datetime | None, active_since: datetime | None, form: str
) -> None:
    """All that is connected with KEY in either direction: the same from whichever node of it one starts."""
    scope = Scope(Limits(None, nodes=nodes), as_of, active_since=active_since)
    with the_graph() as graph:
        answer = component(graph, find(graph, key), now(), scope)
    say(render(answer, form, paint()))


@lineage.command("path")
@click.argument("keys", nargs=-1, required=True, metavar="FROM TO", shell_complete=names_of("dataset", "job"))
@scope_options
@format_options()
def path_command(keys: tuple[str, ...], form: str, **options: Any) -> int:
    """A shortest way by which data gets from FROM to TO; exit code 1 if there is none.

    Each is written `namespace#name` or as a tail of its name, or both as `namespace name namespace name`.
    """
    if len(keys) not in (2, 4):
        raise ConfigError("a path has two ends: write namespace#name twice, or namespace name namespace name")
    half = len(keys) // 2
    with the_graph() as graph:
        source, target = find(graph, keys[:half]), find(graph, keys[half:])
        answer = path(graph, source, target, now(), scope_of(**options))
    say(_no_way(source, target, answer) if form == "tree" and not answer.nodes else render(answer, form, paint()))
    return 0 if answer.nodes else 1


def _no_way(source: Node, target: Node, answer: Answer) -> str:
    within = " within the limits (--depth N or all, --nodes N, --neighbours N)" if answer.cuts else ""
    return f"no way from {' '.join(source.name)} to {' '.join(target.name)}{within}"


@lineage.command("impact")
@click.argument("key", nargs=-1, required=True, shell_complete=names_of("dataset", "job"))
@click.option("--column", "columns", multiple=True, metavar="NAME", help="Of this column of KEY; may be repeated.")
@scope_options
@format_options("table", "json", "csv")
def impact_command(key: tuple[str, ...], columns: tuple[str, ...], form: str, **options: Any) -> None:
    """What a change of KEY reaches, nearest first: jobs, datasets, columns, with owners and last runs."""
    scope = scope_of(**options)
    if columns:
        _refuse_times_of_columns(scope)
    with the_graph() as graph:
        start = find(graph, key, ("dataset",) if columns else ("dataset", "job"))
        answer = impact(graph, start, now(), columns=columns, scope=scope)
    say(impact_text(answer, form, paint()))
