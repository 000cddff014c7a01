"""Column lineage of MERGE, UPDATE and DELETE where the plan has them as commands (Delta, Hudi, metadata-only deletes).

Hudi's commands have Spark's own statements, whose fields have other names than those of Delta's commands.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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
    for column, value in _new_values(node, target):
        if value.id != column:
            before = below.columns.get(column, NOTHING).sources
            made[column] = Lineage(lineage(value, scope).sources | before | condition)
    return Flow(made, below.rows)


def _new_values(node: PlanNode, target: PlanNode | None) -> list[tuple[int, Expression]]:
    """Return the new values of an UPDATE by ExprId; Delta's command has one for each column."""
    values = expressions(node.fields.get("updateExpressions"))
    listed = zip(target.output if target is not None else (), values, strict=False)
    pairs = (part.children for part in expressions(node.fields.get("assignments")) if len(part.children) == 2)
    assigned = ((column.id, value) for column, value in pairs if column is not None and value is not None)
    return [*((a.id, value) for a, value in listed), *((key, value) for key, value in assigned if key is not None)]


_CLAUSES = (
    "matchedClauses", "notMatchedClauses", "notMatchedBySourceClauses",
    "matchedActions", "notMatchedActions", "notMatchedBySourceActions",
)  # fmt: skip
_ASSIGNMENTS = frozenset({"DeltaMergeAction", "Assignment"})


def merged(columns: Columns, node: PlanNode) -> Flow:
    """Return the flow of a MERGE: columns come from any clause, the match condition joins, a clause's own one selects."""
    below, target = _target(columns, node)
    index = plan_index(node.fields.get("source"))
    index = node.children[1] if index is None and len(node.children) > 1 else index
    source = Flow({}) if index is None else columns.flow(index)
    both = together([below, source])
    output = target.output if target is not None else ()
    old = {attribute.name.lower(): below.columns.get(attribute.id, NOTHING).sources for attribute in output}
    made: dict[str, set[Source]] = {}
    rows: set[Source] = set()
    for name in _CLAUSES:
        for clause in expressions(node.fields.get(name)):
            rows |= _clause(clause, columns, both, made, old)
    condition = expression(node.fields.get("condition")) or expression(node.fields.get("mergeCondition"))
    matched = lineage(condition, columns.scope(both)).through(indirect("JOIN")).sources
    columns_made = {a.id: Lineage(frozenset(made.get(a.name.lower(), ()))) for a in output}
    return Flow(columns_made, both.rows | matched | rows)


def _clause(
    clause: Expression, columns: Columns, both: Flow, made: dict[str, set[Source]], old: Mapping[str, Iterable[Source]]
) -> frozenset[Source]:
    """Add the lineage of the columns that a clause changes to ``made``; return the filters of a clause that deletes.

    ``old`` is the lineage of the table's columns, which Spark's own UPDATE leaves as they are where it does not name them.
    """
    scope = columns.scope(both)
    parts = [part for part in clause.children if part is not None]
    actions = [part for part in parts if part.kind in _ASSIGNMENTS]
    conditions = [part for part in parts if part.kind not in _ASSIGNMENTS]
    chosen = {s for condition in conditions for s in lineage(condition, scope).through(indirect("CONDITIONAL")).sources}
    changed = {name.lower(): value for name, value in map(_assigned, actions)}
    for name, value in changed.items():
        selected = set() if _is_itself(name, value) else chosen
        made.setdefault(name, set()).update(lineage(value, scope).sources | selected)
    for name in old.keys() - changed.keys() if clause.kind == "UpdateAction" else ():
        made.setdefault(name, set()).update(old[name])
    return frozenset() if actions else shaped_by(scope, "FILTER", conditions)


def _assigned(action: Expression) -> tuple[str, Expression | None]:
    """Return the column that an action changes, and its new value."""
    if action.kind == "DeltaMergeAction":
        return action.name or "", action.children[0]
    column, value = action.children
    return (column.name or "") if column is not None else "", value


def _is_itself(name: str, value: Expression | None) -> bool:
    return value is not None and value.kind == "AttributeReference" and (value.name or "").lower() == name
