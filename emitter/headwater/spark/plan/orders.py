"""Which sorts of a plan leave no trace: what is above them puts the rows into another order, or takes no notice.  Pure.

The optimiser drops exactly these (EliminateSorts), so they shape nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from .model import Expression, Plan, PlanNode, expressions

# Nodes that hand on their rows in the order that they get them.
_KEEPS_ORDER = frozenset({"Project", "Filter", "SubqueryAlias", "View", "ResolvedHint", "Sample"})
_LOSES_ORDER = frozenset({"Join", "RepartitionByExpression", "Distinct", "Intersect", "Except"})
_ANY_ORDER = frozenset({"Min", "Max", "Count", "Sum", "Average", "BitAndAgg", "BitOrAgg", "BitXorAgg"})
_FLOATING = frozenset({"double", "float"})


def lost_orders(plan: Plan) -> frozenset[int]:
    """The indexes of sorts whose order nobody can see."""
    found: set[int] = set()
    for node in plan.nodes:
        if node is not None and _is_blind(plan, node):
            for child in node.children:
                _descend(plan, plan[child], found)
    return frozenset(found)


def _descend(plan: Plan, node: PlanNode | None, found: set[int]) -> None:
    while node is not None and (node.kind in _KEEPS_ORDER or node.kind == "Sort"):
        if node.kind == "Sort":
            found.add(node.index)
        node = plan[node.children[0]]


def _is_blind(plan: Plan, node: PlanNode) -> bool:
    if node.kind == "Sort":
        return node.fields.get("global") is True
    if node.kind == "Repartition":
        return node.fields.get("shuffle") is True  # without a shuffle, partitions are put together as they are
    return node.kind in _LOSES_ORDER or (node.kind == "Aggregate" and _takes_any_order(plan, node))


def _takes_any_order(plan: Plan, node: PlanNode) -> bool:
    below = plan[node.children[0]]
    types = {a.id: a.type for a in below.output} if below is not None else {}
    listed = expressions(node.fields.get("aggregateExpressions"))
    functions = [e.children[0] for one in listed for e in one.walk() if e.kind == "AggregateExpression" and e.children]
    return all(_any_order(function, types) for function in functions)


def _any_order(function: Expression | None, types: Mapping[int, object]) -> bool:
    if function is None or function.kind not in _ANY_ORDER:
        return False
    if function.kind not in {"Sum", "Average"}:
        return True
    # Floating-point sums differ with the order of their terms.
    referred = [e.id for e in function.walk() if e.kind == "AttributeReference"]
    return not any(types.get(one or -1) in _FLOATING for one in referred)
