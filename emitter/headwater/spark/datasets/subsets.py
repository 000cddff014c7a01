"""The part of a dataset that a write replaces, as the conditions of the facet ``subset``.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..plan.model import Expression, PlanNode, expression
from . import facets
from .tables import Catalog, Dataset, PlanScope

Condition = dict[str, Any]

_COMPARISONS = {
    "EqualTo": "EQUAL",
    "EqualNullSafe": "EQUAL",
    "GreaterThan": "GREATER_THAN",
    "GreaterThanOrEqual": "GREATER_EQUAL_THAN",
    "LessThan": "LESS_THAN",
    "LessThanOrEqual": "LESS_EQUAL_THAN",
}
_OPERATORS = {"And": "AND", "Or": "OR"}


def replaced_part(dataset: Dataset, condition: Condition | None) -> Dataset:
    """Return an output of which only a part is replaced; the whole dataset without a condition."""
    if condition is None:
        return dataset
    facet = facets.facet("output", "subset", outputCondition=condition)
    return dataset.having_run_facet("subset", facet)


def partitions(values: Iterable[Mapping[str, str]]) -> Condition | None:
    """Return the condition that names partitions by the values of their columns; None without any."""
    found = [{"dimensions": dict(dimensions)} for dimensions in values if dimensions]
    return {"type": "partition", "partitions": found} if found else None


def with_written_partitions(dataset: Dataset, catalog: Catalog, first: int, last: int) -> Dataset:
    """Return an output with the partitions that were written between two times, if it replaces only these."""
    if dataset.dynamic is None or dataset.address is None:
        return dataset
    file_format = str(dataset.facets.get("storage", {}).get("fileFormat"))
    found = catalog.written_partitions(dataset.address, file_format, len(dataset.dynamic), first, last)
    return replaced_part(dataset, partitions(sorted(found, key=lambda values: tuple(values.items()))))


def replaces_partitions(at: PlanScope, options: Mapping[str, str]) -> bool:
    """Return whether an overwrite replaces only the partitions that it has rows for, by its options or the session."""
    mode = options.get("partitionoverwritemode")
    return at.plan.replaces_partitions if mode is None else mode.lower() == "dynamic"


def static_partition(raw: object) -> Condition | None:
    """Return the partition of ``PARTITION (column = value, ...)``; columns without a value are dynamic."""
    held = raw if isinstance(raw, Mapping) else {}
    return partitions([{str(key): str(value) for key, value in held.items() if value is not None}])


def parsed_condition(catalog: Catalog, text: str) -> Expression | None:
    """Return the condition in a text, with unresolved names; None where Spark cannot parse it."""
    plan = catalog.parse(f"SELECT 1 FROM t WHERE {text}")  # noqa: S608 - it is parsed, and never run
    filters = (node for node in plan.nodes if node is not None and node.kind == "Filter") if plan is not None else ()
    return next((expression(node.fields.get("condition")) for node in filters), None)


def _condition(held: Expression | None) -> Condition | None:
    """Return an expression as a condition; None where it is not a comparison (``true`` means the whole dataset)."""
    if held is None:
        return None
    if held.kind in _OPERATORS:
        left, right = (_condition(child) for child in held.children)
        if left is None or right is None:
            return None
        return {"type": "binary", "left": left, "right": right, "operator": _OPERATORS[held.kind]}
    if held.kind == "In" and len(held.children) > 1:
        return _one_of(held)
    if held.kind not in _COMPARISONS:
        return None
    left, right = (_operand(child) for child in held.children)
    if left is None or right is None:
        return None
    return {"type": "compare", "left": left, "right": right, "comparison": _COMPARISONS[held.kind]}


def _one_of(held: Expression) -> Condition | None:
    value, *choices = held.children
    found: Condition | None = None
    for choice in choices:
        equal = _condition(Expression("EqualTo", (value, choice)))
        if equal is None:
            return None
        found = equal if found is None else {"type": "binary", "left": found, "right": equal, "operator": "OR"}
    return found


def _operand(held: Expression | None) -> Condition | None:
    while held is not None and held.kind in {"Cast", "Alias", "AnsiCast"}:
        held = held.children[0]
    if held is None or held.kind not in {"AttributeReference", "UnresolvedAttribute", "Literal"}:
        return None
    if held.kind == "Literal":
        return None if held.value is None else {"type": "literal", "value": held.value}
    return {"type": "field", "field": (held.name or "").replace("`", "")}


def overwritten(catalog: Catalog, node: PlanNode, options: Mapping[str, str]) -> Condition | None:
    """Return the part that a command with a condition or the option ``replaceWhere`` replaces, or None."""
    found = _condition(expression(node.fields.get("deleteExpr")))
    text = options.get("replacewhere")
    return found if found is not None or text is None else _condition(parsed_condition(catalog, text))
