"""``headwater lineage upstream FIELD --operations``: the operations that made a field, as programs reported them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from headwater_avro.errors import ConfigError
from headwater_graph.queries.fields.operations import field_operations, find_field
from headwater_graph.queries.lineage.scope import TraversalLimits
from headwater_graph.queries.presentation.formats import json_text
from headwater_graph.queries.presentation.operation_texts import operations_text

from ..querying import paint, say, the_graph

_NOT_WITH_OPERATIONS = ("as_of", "past", "active_since", "all_columns")


def with_operations(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--operations`` to the command ``lineage upstream``, which then shows the operations."""
    text = "Show the operations that made KEY or its column, as its last run reported them; KEY may be `namespace name column`."

    @click.option("--operations", is_flag=True, help=text)
    @functools.wraps(command)
    def with_option(operations: bool, **options: Any) -> None:
        if operations:
            _say_operations(**options)
        else:
            command(**options)

    return with_option


def _say_operations(
    key: tuple[str, ...], columns: tuple[str, ...], form: str, depth: int, nodes: int, **others: Any
) -> None:
    if form not in ("tree", "json"):
        raise ConfigError(f"operations are printed as a tree or as json, not as {form}")
    if any(others.get(name) for name in _NOT_WITH_OPERATIONS):
        raise ConfigError(
            "operations are those of the last runs: leave out --as-of, --past, --active-since and --columns"
        )
    with the_graph() as graph:
        dataset, names = find_field(graph, key, columns)
        answer = field_operations(graph, dataset, names, TraversalLimits(depth, nodes=nodes))
    say(json_text(answer.value()) if form == "json" else operations_text(answer, paint()))
