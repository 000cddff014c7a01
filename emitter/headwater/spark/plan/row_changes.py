"""Column lineage of MERGE, UPDATE and DELETE where the plan keeps them as commands (Delta, metadata-only deletes)."""

from __future__ import annotations

from collections.abc import Callable

from .columns import Columns, Flow
from .expressions import lineage
from .lineage import NOTHING, Lineage, Source, indirect
from .model import Expression, PlanNode, expression, expressions


def _target(columns: Columns, node: PlanNode) -> tuple[Flow, PlanNode | None]:
    held = node.fields.get("target")
    index = int(held["$plan"]) if isinstance(held, dict) and "$plan" in held else node.children[0]
    return columns.flow(index), columns.plan[index]


def kept(node: PlanNode) -> Callable[[Columns], Flow]:
    """DELETE: the rows that stay are as they were, the condition filters them."""

    def flow(columns: Columns) -> Flow:
        below, _ = _target(columns, node)
        condition = lineage(expression(node.fields.get("condition")), columns.scope(below))
        return Flow(below.columns, below.rows | condition.through(indirect("FILTER")).sources)

    return flow


def updated(node: PlanNode) -> Callable[[Columns], Flow]:
    """UPDATE: a column is its new value where the condition holds, else what it was."""

    def flow(columns: Columns) -> Flow:
        below, target = _target(columns, node)
        scope = columns.scope(below)
        condition = lineage(expression(node.fields.get("condition")), scope).through(indirect("CONDITIONAL")).sources
        made = dict(below.columns)
        values = expressions(node.fields.get("updateExpressions"))
        for attribute, value in zip(target.output if target is not None else (), values, strict=False):
            if value.id != attribute.id:
                before = below.columns.get(attribute.id, NOTHING).sources
                made[attribute.id] = Lineage(lineage(value, scope).sources | before | condition)
        return Flow(made, below.rows)

    return flow


def merged(node: PlanNode) -> Callable[[Columns], Flow]:
    """MERGE: a column is what any clause puts into it; the match condition joins, a clause's own chooses."""

    def flow(columns: Columns) -> Flow:
        below, target = _target(columns, node)
        held = node.fields.get("source")
        source = columns.flow(int(held["$plan"])) if isinstance(held, dict) else Flow({})
        both = Flow({**below.columns, **source.columns}, below.rows | source.rows)
        scope = columns.scope(both)
        made: dict[str, set[Source]] = {}
        for name in ("matchedClauses", "notMatchedClauses", "notMatchedBySourceClauses"):
            for clause in expressions(node.fields.get(name)):
                _clause(clause, columns, both, made)
        joined = lineage(expression(node.fields.get("condition")), scope).through(indirect("JOIN")).sources
        output = target.output if target is not None else ()
        told = {a.id: Lineage(frozenset(made.get(a.name.lower(), ()))) for a in output}
        return Flow(told, both.rows | joined)

    return flow


def _clause(clause: Expression, columns: Columns, both: Flow, made: dict[str, set[Source]]) -> None:
    scope = columns.scope(both)
    actions = [one for one in clause.children if one is not None and one.kind == "DeltaMergeAction"]
    conditions = [one for one in clause.children if one is not None and one.kind != "DeltaMergeAction"]
    chosen = {s for one in conditions for s in lineage(one, scope).through(indirect("CONDITIONAL")).sources}
    for action in actions:
        value = lineage(action.children[0], scope)
        changes = bool(value.sources) and not _is_itself(action)
        made.setdefault((action.name or "").lower(), set()).update(value.sources | (chosen if changes else set()))


def _is_itself(action: Expression) -> bool:
    value = action.children[0]
    return value is not None and value.kind == "AttributeReference" and value.name == action.name
