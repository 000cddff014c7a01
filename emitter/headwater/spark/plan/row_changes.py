"""Column lineage of MERGE, UPDATE and DELETE where the plan has them as commands (Delta, metadata-only deletes)."""

from __future__ import annotations

from .columns import Columns, Flow, shaped_by, together
from .expressions import lineage
from .lineage import NOTHING, Lineage, Source, indirect
from .model import Expression, PlanNode, expression, expressions, plan_index


def _target(columns: Columns, node: PlanNode) -> tuple[Flow, PlanNode | None]:
    index = plan_index(node.fields.get("target"))
    index = node.children[0] if index is None else index
    return columns.flow(index), columns.plan[index]


def deleted(columns: Columns, node: PlanNode) -> Flow:
    """Return the flow of a DELETE: columns are unchanged, the condition filters the rows."""
    below, _ = _target(columns, node)
    condition = lineage(expression(node.fields.get("condition")), columns.scope(below))
    return Flow(below.columns, below.rows | condition.through(indirect("FILTER")).sources)


def updated(columns: Columns, node: PlanNode) -> Flow:
    """Return the flow of an UPDATE: a column is its new value where the condition holds, else its old one."""
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


def merged(columns: Columns, node: PlanNode) -> Flow:
    """Return the flow of a MERGE: columns come from any clause, the match condition joins, a clause's own one selects."""
    below, target = _target(columns, node)
    index = plan_index(node.fields.get("source"))
    source = Flow({}) if index is None else columns.flow(index)
    both = together([below, source])
    scope = columns.scope(both)
    made: dict[str, set[Source]] = {}
    rows: set[Source] = set()
    for name in ("matchedClauses", "notMatchedClauses", "notMatchedBySourceClauses"):
        for clause in expressions(node.fields.get(name)):
            rows |= _clause(clause, columns, both, made)
    matched = lineage(expression(node.fields.get("condition")), scope).through(indirect("JOIN")).sources
    output = target.output if target is not None else ()
    columns_made = {a.id: Lineage(frozenset(made.get(a.name.lower(), ()))) for a in output}
    return Flow(columns_made, both.rows | matched | rows)


def _clause(clause: Expression, columns: Columns, both: Flow, made: dict[str, set[Source]]) -> frozenset[Source]:
    """Add the lineage of the columns that a clause changes to ``made``; return the filters of a clause that deletes."""
    scope = columns.scope(both)
    parts = [part for part in clause.children if part is not None]
    actions = [part for part in parts if part.kind == "DeltaMergeAction"]
    conditions = [part for part in parts if part.kind != "DeltaMergeAction"]
    chosen = {s for condition in conditions for s in lineage(condition, scope).through(indirect("CONDITIONAL")).sources}
    for action in actions:
        value = lineage(action.children[0], scope)
        selected = set() if _is_itself(action) else chosen
        made.setdefault((action.name or "").lower(), set()).update(value.sources | selected)
    return frozenset() if actions else shaped_by(scope, "FILTER", conditions)


def _is_itself(action: Expression) -> bool:
    value = action.children[0]
    return value is not None and value.kind == "AttributeReference" and value.name == action.name
