"""``headwater lineage upstream FIELD --operations``: the operations that made a field, as programs reported them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from headwater_avro.errors import ConfigError
from headwater_graph.queries.fields.field_operations_facet import INFLUENCES, FieldOperation
from headwater_graph.queries.fields.operations import OperationsAnswer, Step, field_operations, find_field
from headwater_graph.queries.lineage.scope import TraversalLimits

from ..formats import STATE_COLOURS, Paint, json_text, plain
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


def operations_text(answer: OperationsAnswer, paint: Paint = plain) -> str:
    """Return the steps as text, nearest first: the columns, the run that made them, and its operations in their order."""
    lines = [line for step in answer.steps for line in _step_lines(step, paint)]
    lines += [f"cut: {truncation.why} (--depth N or all, --nodes N)" for truncation in answer.truncations]
    return "\n".join(lines)


def _step_lines(step: Step, paint: Paint) -> list[str]:
    made = f"{paint('dataset', 'cyan')} {' '.join(step.dataset)}  {paint(', '.join(step.columns), 'green')}"
    state = paint(step.state or "", STATE_COLOURS.get(step.state or "", "reset"))
    ran = f"└─ {paint('job', 'yellow')} {' '.join(step.job)}  · run {step.run} {state} {step.at or ''}".rstrip()
    width = max((len(operation.name) for operation in step.operations), default=0)
    lines = [f"      {_operation_line(operation, width)}".rstrip() for operation in step.operations]
    return [made, ran, *lines, *([f"      cut: {step.truncated}"] if step.truncated else [])]


def _operation_line(operation: FieldOperation, width: int) -> str:
    inputs = ", ".join(dict.fromkeys(source.name for source in operation.inputs))
    outputs = ", ".join(operation.outputs) or ("*" if operation.kind in INFLUENCES else "")
    match operation.type, operation.dataset:
        case "read", dataset if dataset:
            inputs = " ".join(dataset.key)
        case "write", dataset if dataset:
            outputs = " ".join(dataset.key)
    notes = [
        note
        for note in (operation.kind, operation.description, operation.masking and "masks", operation.guess and "guess")
        if note
    ]
    line = f"{operation.name.ljust(width)}  {inputs or 'nothing'} → {outputs or 'nothing'}"
    return line + (f"  ({'; '.join(notes)})" if notes else "")
