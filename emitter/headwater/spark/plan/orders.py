"""The sorts of a plan without an effect on its result, because a node above them changes or ignores the order.  Pure.

These are the sorts that the optimiser removes (EliminateSorts), so they do not shape the rows.
"""

from __future__ import annotations

from collections.abc import Mapping

from .model import Expression, Plan, PlanNode, expressions

# Nodes that return their rows in the order of their input.
_PRESERVES_ORDER = frozenset({"Project", "Filter", "SubqueryAlias", "View", "ResolvedHint", "Sample"})
_LOSES_ORDER = frozenset({"Join", "RepartitionByExpression", "Distinct", "Intersect", "Except"})
_COMMUTATIVE = frozenset({"Min", "Max", "Count", "Sum", "Average", "BitAndAgg", "BitOrAgg", "BitXorAgg"})
_FLOATING = frozenset({"double", "float"})


def lost_orders(plan: Plan) -> frozenset[int]:
    """Return the indexes of sorts without an effect on the result."""
    found: set[int] = set()
    for node in plan.nodes:
        if node is not None and _ignores_order(plan, node):
            for child in node.children:
                _descend(plan, plan[child], found)
    return frozenset(found)


def _descend(plan: Plan, node: PlanNode | None, found: set[int]) -> None:
    while node is not None and (node.kind in _PRESERVES_ORDER or node.kind == "Sort"):
        if node.kind == "Sort":
            found.add(node.index)
        node = plan[node.children[0]]


def _ignores_order(plan: Plan, node: PlanNode) -> bool:
    if node.kind == "Sort":
        return node.fields.get("global") is True
    if node.kind == "Repartition":
        return node.fields.get("shuffle") is True  # without a shuffle, partitions are concatenated
    return node.kind in _LOSES_ORDER or (node.kind == "Aggregate" and _is_order_independent(plan, node))


def _is_order_independent(plan: Plan, node: PlanNode) -> bool:
    below = plan[node.children[0]]
    types = {a.id: a.type for a in below.output} if below is not None else {}
    listed = expressions(node.fields.get("aggregateExpressions"))
    nested = [e for top in listed for e in top.descendants()]
    functions = [e.children[0] for e in nested if e.kind == "AggregateExpression" and e.children]
    return all(_is_commutative(function, types) for function in functions)


def _is_commutative(function: Expression | None, types: Mapping[int, object]) -> bool:
    if function is None or function.kind not in _COMMUTATIVE:
        return False
    if function.kind not in {"Sum", "Average"}:
        return True
    # A floating-point sum depends on the order of its terms.
    referred = [e.id for e in function.descendants() if e.kind == "AttributeReference"]
    return not any(types.get(expr_id or -1) in _FLOATING for expr_id in referred)
