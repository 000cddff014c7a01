"""Hooks for polars: find the column origins of a lazy plan.

The plan is read in the form in which polars serialises it. The origins count as unknown if any step, expression or join
is not in the table below, or if the derived columns differ from those that polars reports for the plan.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..model.field_operations import Destination, FieldOperation, Input, OpKind, Source
from ..model.paths import FieldPath
from ..model.schema import Schema
from .hooks import Call, Hook, columns_of, dataset_of

if TYPE_CHECKING:
    from .block import Trace

Body = Mapping[str, Any]
"""The members of a step of a serialised plan."""

_KINDS = (OpKind.IDENTITY, OpKind.TRANSFORM, OpKind.AGGREGATE)
_CHILDREN = ("input", "input_left", "input_right", "dsl")
# Expressions that stand for columns without naming each of them, or that contain another plan.
_OPAQUE = {"Selector", "Wildcard", "Columns", "Nth", "KeepName", "RenameAlias", "SubPlan", "Field", "AnonymousFunction"}


class UnknownStepError(Exception):
    """The plan has a step whose effect on columns is not known."""


@dataclass(frozen=True, slots=True)
class PlanColumn:
    """A column of a plan: its source columns, and the strength of its transformation (an index of ``_KINDS``)."""

    sources: frozenset[Input]
    strength: int


@dataclass(slots=True)
class Plan:
    """The output of a step of a plan: its columns in order, and the influences on all of them."""

    columns: dict[str, PlanColumn]
    influences: list[tuple[OpKind, frozenset[Input]]] = field(default_factory=list)


def prepare_plan(call: Call) -> Any:
    """Return the plan as JSON and its columns, before a sink runs."""
    frame = call.args[0]
    with warnings.catch_warnings():
        # polars warns that the form can change; the origins in a form that has changed count as unknown.
        warnings.simplefilter("ignore")
        return json.loads(frame.serialize(format="json")), columns_of(frame)


def record_plan(trace: Trace, call: Call) -> None:
    """Record the write of a sink, with column origins if every step of the plan is known."""
    name = dataset_of(call.argument(1, "path", "target"))
    plan, names = call.prepared if call.prepared is not None else (None, columns_of(call.args[0]))
    found = derived(plan, trace.columns_read) if plan is not None else None
    if name is None or found is None or list(found.columns) != names:
        trace.record_opaque_write(name, names, call.hook.library)
        return
    trace.record_write(Destination.of(*name, schema=Schema.of(*names)), list(_operations(found)))


def derived(plan: Any, read: Mapping[Source, Mapping[str, None]]) -> Plan | None:
    """Return the columns of a serialised plan, None if any of its steps is not known."""
    done: dict[int, Plan] = {}
    try:
        for step in _bottom_up(plan):
            ((kind, body),) = step.items()
            if kind not in _STEPS and kind != "Scan":
                return None
            before = [done[id(body[child])] for child in _CHILDREN if child in body]
            done[id(step)] = _scan(body, read) if kind == "Scan" else _STEPS[kind](body, before)
    except (UnknownStepError, KeyError, ValueError, TypeError, AttributeError):
        return None
    return done[id(plan)]


def _bottom_up(plan: Any) -> list[dict[str, Any]]:
    steps = [plan]
    for step in steps:
        ((_, body),) = step.items()
        steps.extend(body[child] for child in _CHILDREN if child in body)
    return steps[::-1]


def _operations(plan: Plan) -> Iterator[FieldOperation]:
    for name, made in plan.columns.items():
        kind = _KINDS[made.strength] if made.sources else OpKind.GENERATE
        yield FieldOperation("polars", _ordered(made.sources), [FieldPath((name,))], kind=kind)
    for kind, sources in dict.fromkeys(plan.influences):
        yield FieldOperation(f"polars {kind.value}", _ordered(sources), kind=kind)


def _ordered(sources: frozenset[Input]) -> list[Input]:
    return sorted(sources, key=lambda item: (str(item.source and item.source.ref), str(item.field)))


def _scan(body: Body, read: Mapping[Source, Mapping[str, None]]) -> Plan:
    (path,) = body["sources"]["Paths"]
    name = dataset_of(path["inner"] if isinstance(path, dict) else path)
    if name is None:
        raise UnknownStepError
    source = Source.of(*name)
    return Plan({column: PlanColumn(frozenset({Input(FieldPath((column,)), source)}), 0) for column in read[source]})


def _filter(body: Body, before: Sequence[Plan]) -> Plan:
    return _influenced(before[0], before[0].columns, OpKind.FILTER, [body["predicate"]])


def _sort(body: Body, before: Sequence[Plan]) -> Plan:
    return _influenced(before[0], before[0].columns, OpKind.SORT, body["by_column"])


def _with_columns(body: Body, before: Sequence[Plan]) -> Plan:
    return Plan(before[0].columns | _evaluated(body["exprs"], before[0]), before[0].influences)


def _select(body: Body, before: Sequence[Plan]) -> Plan:
    return Plan(_evaluated(body["expr"], before[0]), before[0].influences)


def _group_by(body: Body, before: Sequence[Plan]) -> Plan:
    if body.get("apply") is not None:
        raise UnknownStepError
    made = _evaluated(body["keys"], before[0]) | _evaluated(body["aggs"], before[0], at_least=2)
    return _influenced(before[0], made, OpKind.GROUP, body["keys"])


def _join(body: Body, before: Sequence[Plan]) -> Plan:
    left, right = before
    on = body["condition"]["Equi"]
    how = body["options"]["args"]["how"]
    if (how if isinstance(how, str) else next(iter(how))) not in ("Inner", "Left"):
        raise UnknownStepError
    keys = {_name(expr) for expr in on["right_on"]}
    suffix = body["options"]["args"].get("suffix") or "_right"
    added = {
        (f"{name}{suffix}" if name in left.columns else name): made
        for name, made in right.columns.items()
        if name not in keys
    }
    joined = [(OpKind.JOIN, _sources(left, on["left_on"])), (OpKind.JOIN, _sources(right, on["right_on"]))]
    return Plan(left.columns | added, [*left.influences, *right.influences, *joined])


def _mapped(body: Body, before: Sequence[Plan]) -> Plan:
    function = body["function"]["Rename"]
    names = dict(zip(function["existing"], function["new"], strict=True))
    return Plan({names.get(name, name): made for name, made in before[0].columns.items()}, before[0].influences)


def _same(_: Body, before: Sequence[Plan]) -> Plan:
    return before[0]


_STEPS: Mapping[str, Callable[[Body, Sequence[Plan]], Plan]] = {
    "Filter": _filter,
    "Sort": _sort,
    "HStack": _with_columns,
    "Select": _select,
    "GroupBy": _group_by,
    "Join": _join,
    "MapFunction": _mapped,
    "Slice": _same,
    "Cache": _same,
    "IR": _same,  # a plan whose schema polars has resolved, with the original plan inside
}


def _influenced(before: Plan, columns: dict[str, PlanColumn], kind: OpKind, exprs: Sequence[Any]) -> Plan:
    return Plan(columns, [*before.influences, (kind, _sources(before, exprs))])


def _sources(before: Plan, exprs: Sequence[Any]) -> frozenset[Input]:
    return frozenset[Input]().union(*(before.columns[root].sources for expr in exprs for root in _roots(expr)))


def _evaluated(exprs: Sequence[Any], before: Plan, at_least: int = 0) -> dict[str, PlanColumn]:
    made = {}
    for expr in exprs:
        inner = (before.columns[root].strength for root in _roots(expr))
        strength = max([at_least, _strength(expr), *inner])
        made[_name(expr)] = PlanColumn(_sources(before, [expr]), strength)
    return made


def _strength(expr: Any) -> int:
    inner = expr["Alias"][0] if "Alias" in expr else expr
    if set(inner) == {"Column"}:
        return 0
    return 2 if any(key == "Agg" for key, _ in _parts(expr)) else 1


def _name(expr: Any) -> str:
    if "Alias" in expr:
        return str(expr["Alias"][1])
    return next(iter(_roots(expr)))


def _roots(expr: Any) -> list[str]:
    return list(dict.fromkeys(str(value) for key, value in _parts(expr) if key == "Column"))


def _parts(expr: Any) -> Iterator[tuple[str, Any]]:
    """Yield every named part of an expression, leftmost first."""
    stack = [expr]
    while stack:
        part = stack.pop()
        if (isinstance(part, str) and part in _OPAQUE) or (isinstance(part, dict) and _OPAQUE & set(part)):
            raise UnknownStepError
        if isinstance(part, dict):
            yield from part.items()
            stack.extend(reversed([value for key, value in part.items() if key != "Literal"]))
        elif isinstance(part, list):
            stack.extend(reversed(part))


POLARS_HOOKS: tuple[Hook, ...] = tuple(
    Hook("polars", f"LazyFrame.{name}", record_plan, prepare_plan)
    for name in ("sink_csv", "sink_parquet", "sink_ndjson", "sink_ipc")
)
