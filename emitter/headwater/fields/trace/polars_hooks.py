"""polars' part of `trace`: a lazy plan tells its columns exactly, as far as every step of it is known here.

The plan is read as polars serialises it. A step, expression or join that is not in the table below makes the whole plan
uncertain, and so does any difference between the columns derived and those that polars says the plan has.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..model.field_operations import Destination, FieldOperation, Input, OpKind, Source
from ..model.paths import FieldPath
from ..model.schema import Schema, SchemaField
from .hooks import Call, Hook, Tracing, columns_of, dataset_of, tell_written

_KINDS = (OpKind.IDENTITY, OpKind.TRANSFORM, OpKind.AGGREGATE)
_CHILDREN = ("input", "input_left", "input_right", "dsl")
# What stands for columns without naming them one by one, or brings in another plan.
_OPAQUE = {"Selector", "Wildcard", "Columns", "Nth", "KeepName", "RenameAlias", "SubPlan", "Field", "AnonymousFunction"}


class NotCertainError(Exception):
    """A plan has a step that is not known here."""


@dataclass(frozen=True, slots=True)
class Made:
    """A column of a plan: the source columns it is made of, and how strongly it was changed (place in `_KINDS`)."""

    sources: frozenset[Input]
    strength: int


@dataclass(slots=True)
class Plan:
    """What a plan's step hands on: its columns in order, and what influences all of them."""

    columns: dict[str, Made]
    influences: list[tuple[OpKind, frozenset[Input]]] = field(default_factory=list)


def note_plan(call: Call) -> Any:
    """Before a sink runs: its plan as JSON, and the columns that it will write."""
    frame = call.args[0]
    with warnings.catch_warnings():
        # polars warns that the form may change; a form that has changed is found uncertain.
        warnings.simplefilter("ignore")
        return json.loads(frame.serialize(format="json")), columns_of(frame)


def tell_plan(tracing: Tracing, call: Call) -> None:
    """After a sink ran: its columns, exactly if the plan is understood."""
    name = dataset_of(call.argument(1, "path", "target"))
    if name is None:
        tracing.unnamed += 1
        return
    plan, names = call.noted if call.noted is not None else (None, columns_of(call.args[0]))
    found = understood(plan, tracing.read) if plan is not None else None
    if found is None or list(found.columns) != names:
        tell_written(tracing, call, name, names)
        return
    schema = Schema(tuple(SchemaField(column) for column in names))
    tracing.writes(Destination.of(*name, schema=schema), list(_operations(found)))


def understood(plan: Any, read: Mapping[Source, Mapping[str, None]]) -> Plan | None:
    """The columns of a serialised plan, None if any step of it is not known."""
    done: dict[int, Plan] = {}
    try:
        for step in _bottom_up(plan):
            ((kind, body),) = step.items()
            if kind not in _STEPS and kind != "Scan":
                return None
            before = [done[id(body[child])] for child in _CHILDREN if child in body]
            done[id(step)] = _scan(body, read) if kind == "Scan" else _STEPS[kind](body, before)
    except (NotCertainError, KeyError, ValueError, TypeError, AttributeError):
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
    return sorted(sources, key=lambda one: (str(one.source and one.source.ref), str(one.field)))


def _scan(body: Mapping[str, Any], read: Mapping[Source, Mapping[str, None]]) -> Plan:
    (path,) = body["sources"]["Paths"]
    name = dataset_of(path["inner"] if isinstance(path, dict) else path)
    if name is None:
        raise NotCertainError
    source = Source.of(*name)
    return Plan({column: Made(frozenset({Input(FieldPath((column,)), source)}), 0) for column in read[source]})


def _filter(body: Mapping[str, Any], before: Sequence[Plan]) -> Plan:
    return _influenced(before[0], before[0].columns, OpKind.FILTER, [body["predicate"]])


def _sort(body: Mapping[str, Any], before: Sequence[Plan]) -> Plan:
    return _influenced(before[0], before[0].columns, OpKind.SORT, body["by_column"])


def _with_columns(body: Mapping[str, Any], before: Sequence[Plan]) -> Plan:
    return Plan(before[0].columns | _evaluated(body["exprs"], before[0]), before[0].influences)


def _select(body: Mapping[str, Any], before: Sequence[Plan]) -> Plan:
    return Plan(_evaluated(body["expr"], before[0]), before[0].influences)


def _group_by(body: Mapping[str, Any], before: Sequence[Plan]) -> Plan:
    if body.get("apply") is not None:
        raise NotCertainError
    made = _evaluated(body["keys"], before[0]) | _evaluated(body["aggs"], before[0], at_least=2)
    return _influenced(before[0], made, OpKind.GROUP, body["keys"])


def _join(body: Mapping[str, Any], before: Sequence[Plan]) -> Plan:
    left, right = before
    on = body["condition"]["Equi"]
    how = body["options"]["args"]["how"]
    if (how if isinstance(how, str) else next(iter(how))) not in ("Inner", "Left"):
        raise NotCertainError
    keys = {_name(one) for one in on["right_on"]}
    suffix = body["options"]["args"].get("suffix") or "_right"
    taken = {
        (f"{name}{suffix}" if name in left.columns else name): made
        for name, made in right.columns.items()
        if name not in keys
    }
    plan = Plan(left.columns | taken, [*left.influences, *right.influences])
    for side, exprs in ((left, on["left_on"]), (right, on["right_on"])):
        plan = Plan(plan.columns, _influenced(side, {}, OpKind.JOIN, exprs, plan.influences).influences)
    return plan


def _mapped(body: Mapping[str, Any], before: Sequence[Plan]) -> Plan:
    function = body["function"]["Rename"]
    names = dict(zip(function["existing"], function["new"], strict=True))
    return Plan({names.get(name, name): made for name, made in before[0].columns.items()}, before[0].influences)


def _same(_: Mapping[str, Any], before: Sequence[Plan]) -> Plan:
    return before[0]


_STEPS: Mapping[str, Callable[[Mapping[str, Any], Sequence[Plan]], Plan]] = {
    "Filter": _filter,
    "Sort": _sort,
    "HStack": _with_columns,
    "Select": _select,
    "GroupBy": _group_by,
    "Join": _join,
    "MapFunction": _mapped,
    "Slice": _same,
    "Cache": _same,
    "IR": _same,  # a plan whose schema was asked for keeps what it was made of
}


def _influenced(
    before: Plan,
    columns: dict[str, Made],
    kind: OpKind,
    exprs: Sequence[Any],
    so_far: Sequence[tuple[OpKind, frozenset[Input]]] | None = None,
) -> Plan:
    sources = frozenset[Input]().union(*(before.columns[root].sources for expr in exprs for root in _roots(expr)))
    return Plan(columns, [*(before.influences if so_far is None else so_far), (kind, sources)])


def _evaluated(exprs: Sequence[Any], before: Plan, at_least: int = 0) -> dict[str, Made]:
    made = {}
    for expr in exprs:
        inner = [before.columns[root] for root in _roots(expr)]
        strength = max([at_least, _strength(expr), *(one.strength for one in inner)])
        made[_name(expr)] = Made(frozenset[Input]().union(*(one.sources for one in inner)), strength)
    return made


def _strength(expr: Any) -> int:
    bare = expr["Alias"][0] if "Alias" in expr else expr
    if set(bare) == {"Column"}:
        return 0
    return 2 if any(key == "Agg" for key, _ in _parts(expr)) else 1


def _name(expr: Any) -> str:
    if "Alias" in expr:
        return str(expr["Alias"][1])
    return next(iter(_roots(expr)))


def _roots(expr: Any) -> list[str]:
    return list(dict.fromkeys(str(value) for key, value in _parts(expr) if key == "Column"))


def _parts(expr: Any) -> Iterator[tuple[str, Any]]:
    """Every named part of an expression, leftmost first."""
    stack = [expr]
    while stack:
        one = stack.pop()
        if isinstance(one, str) and one in _OPAQUE:
            raise NotCertainError
        if isinstance(one, dict):
            if _OPAQUE & set(one):
                raise NotCertainError
            yield from one.items()
            stack.extend(reversed([value for key, value in one.items() if key != "Literal"]))
        elif isinstance(one, list):
            stack.extend(reversed(one))


POLARS_HOOKS: tuple[Hook, ...] = tuple(
    Hook("polars", f"LazyFrame.{name}", tell_plan, note_plan)
    for name in ("sink_csv", "sink_parquet", "sink_ndjson", "sink_ipc")
)
