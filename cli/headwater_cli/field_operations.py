"""``headwater lineage upstream FIELD --operations``: the operations that made a field, as programs told them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import click

from headwater_avro.errors import ConfigError
from headwater_graph.queries.fields.field_operations_facet import INFLUENCES, FieldOperation
from headwater_graph.queries.fields.operations import OperationsAnswer, Step, field_operations, find_field
from headwater_graph.queries.lineage.traversal import Limits
from headwater_graph.queries.runs.run_view import run_view

from .formats import STATE_COLOURS, Paint, json_text, plain
from .querying import paint, say, the_graph

_ONLY_NOW = ("as_of", "past", "active_since", "all_columns")


def with_operations(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--operations`` to the command ``lineage upstream``: with it, the operations are what is asked for."""
    text = "The operations that made KEY or its column (KEY may be `namespace name column`), as the last run told them."

    @click.option("--operations", is_flag=True, help=text)
    @functools.wraps(command)
    def asked(operations: bool, **options: Any) -> None:
        if operations:
            _say_operations(**options)
        else:
            command(**options)

    return asked


def _say_operations(
    key: tuple[str, ...], columns: tuple[str, ...], form: str, depth: int, nodes: int, **others: Any
) -> None:
    if form not in ("tree", "json"):
        raise ConfigError(f"operations are printed as a tree or as json, not as {form}")
    if any(others.get(name) for name in _ONLY_NOW):
        raise ConfigError("operations are those of the last runs: leave --as-of, --past, --active-since, --columns out")
    with the_graph() as graph:
        dataset, asked = find_field(graph, key, columns)
        answer = field_operations(graph, run_view, dataset, asked, Limits(depth, nodes=nodes))
    say(json_text(answer.value()) if form == "json" else operations_text(answer, paint()))


def operations_text(answer: OperationsAnswer, paint: Paint = plain) -> str:
    """Return the steps as text, nearest first: what was made, by which run, and its operations in their order."""
    lines = [line for step in answer.steps for line in _step_lines(step, paint)]
    cuts = [f"cut: {cut.why} (--depth N or all, --nodes N)" for cut in answer.cuts]
    return "\n".join([*lines, *cuts])


def _step_lines(step: Step, paint: Paint) -> list[str]:
    made = f"{paint('dataset', 'cyan')} {' '.join(step.dataset)}  {paint(', '.join(step.columns), 'green')}"
    state = paint(step.state or "", STATE_COLOURS.get(step.state or "", "reset"))
    ran = f"└─ {paint('job', 'yellow')} {' '.join(step.job)}  · run {step.run} {state} {step.at or ''}".rstrip()
    width = max((len(one.name) for one in step.operations), default=0)
    cut = [f"      cut: {step.cut}"] if step.cut else []
    return [made, ran, *(f"      {_operation(one, width)}".rstrip() for one in step.operations), *cut]


def _operation(one: FieldOperation, width: int) -> str:
    taken = ", ".join(dict.fromkeys(link.name for link in one.inputs))
    made = ", ".join(one.outputs) or ("*" if one.kind in INFLUENCES else "")
    match one.type, one.dataset:
        case "read", dataset if dataset:
            taken = " ".join(dataset.key)
        case "write", dataset if dataset:
            made = " ".join(dataset.key)
    words: Sequence[str] = [one.name.ljust(width), f" {taken or 'nothing'} → {made or 'nothing'}"]
    notes = [note for note in (one.kind, one.description, one.masking and "masks") if note]
    return " ".join(words) + (f"  ({'; '.join(notes)})" if notes else "")
