"""Column lineage of a plan: a table from a node's class to how its columns and rows come about.

Pure. It is read from the analysed plan: the optimised one has null checks that nobody wrote, has lost Python functions
and sub-queries, and doesn't know views and cached frames any more.  What shapes *which* rows there are (JOIN, FILTER,
GROUP_BY, SORT) is kept apart from the columns: it holds for the whole dataset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from .expressions import lineage
from .lineage import NOTHING, Kind, Lineage, Source, compose, indirect
from .model import Expression, Plan, PlanNode
from .orders import lost_orders

LeafColumns = Callable[[PlanNode], "Flow | None"]
"""What the columns of a leaf are, by ExprId; None for a leaf that reads nothing."""

Rule = Callable[["Columns", PlanNode], "Flow"]
"""How a node's columns and rows come about; the rule named "" is for all nodes that have none."""

OPAQUE = Kind("DIRECT", "TRANSFORMATION", False, "opaque step: every input column may feed every output column")


@dataclass(frozen=True, slots=True)
class Flow:
    """What a node gives: each column by ExprId, and what shapes its rows."""

    columns: Mapping[int, Lineage]
    rows: frozenset[Source] = frozenset()


@dataclass(slots=True)
class Columns:
    """The column lineage of one plan; each node is resolved once."""

    plan: Plan
    leaf: LeafColumns
    rules: Mapping[str, Rule]
    attached: Callable[[Columns, PlanNode], Flow | None] | None = None
    _flows: dict[int, Flow] = field(default_factory=dict)
    _ctes: dict[int, int] = field(default_factory=dict)
    _outer: list[Mapping[int, Lineage]] = field(default_factory=list)
    _lost: frozenset[int] | None = None

    def flow(self, index: int) -> Flow:
        """The flow out of the node at ``index``; what is below comes first, so that a deep plan needs no deep stack."""
        waiting = [index]
        while waiting:
            node = self.plan[waiting[-1]]
            if waiting[-1] in self._flows:
                waiting.pop()
                continue
            below = [] if node is None else self._below(node)
            if below:
                waiting.extend(below)
                continue
            self._flows[waiting[-1]] = Flow({})  # a recursive query sees itself as empty
            self._flows[waiting[-1]] = Flow({}) if node is None else self._resolved(node)
            waiting.pop()
        return self._flows[index]

    def _below(self, node: PlanNode) -> list[int]:
        if node.kind == "UnionLoop":
            return []  # its two sides see each other: its rule goes down by itself
        self._define(node)
        return [child for child in node.children if child not in self._flows]

    def _define(self, node: PlanNode) -> None:
        """Note the definitions of a WITH before anything refers to them."""
        definitions = node.fields.get("cteDefs") if node.kind == "WithCTE" else None
        for held in definitions if isinstance(definitions, list) else ():
            definition = self.plan[held["$plan"]] if isinstance(held, dict) and "$plan" in held else None
            if definition is not None and isinstance(definition.fields.get("id"), int):
                self.define(definition.fields["id"], held["$plan"])

    def _resolved(self, node: PlanNode) -> Flow:
        told = None if self.attached is None else self.attached(self, node)
        return self.rules.get(node.kind, self.rules[""])(self, node) if told is None else told

    def child(self, node: PlanNode, which: int = 0) -> Flow:
        return self.flow(node.children[which])

    def define(self, reference: int, index: int) -> None:
        self._ctes[reference] = index

    def defined(self, reference: int) -> int | None:
        return self._ctes.get(reference)

    def lost_orders(self) -> frozenset[int]:
        """The sorts whose order nothing above can see."""
        if self._lost is None:
            self._lost = lost_orders(self.plan)
        return self._lost

    def scope(self, flow: Flow) -> _Scope:
        return _Scope(self, flow.columns)


@dataclass(frozen=True, slots=True)
class _Scope:
    columns: Columns
    here: Mapping[int, Lineage]

    def attribute(self, expr_id: int) -> Lineage:
        for visible in (self.here, *reversed(self.columns._outer)):
            if expr_id in visible:
                return visible[expr_id]
        return NOTHING

    def inner(self, expression: Expression) -> tuple[Flow, PlanNode | None]:
        if expression.plan is None:
            return Flow({}), None
        self.columns._outer.append(self.here)
        try:
            return self.columns.flow(expression.plan), self.columns.plan[expression.plan]
        finally:
            self.columns._outer.pop()

    def column(self, name: str) -> Lineage:
        return NOTHING  # an analysed plan knows its columns by ExprId

    def subquery(self, expression: Expression) -> Lineage:
        flow, node = self.inner(expression)
        if node is None or not node.output:
            return NOTHING
        value = flow.columns.get(node.output[0].id, NOTHING)
        own = frozenset(s for s in flow.rows if s.kind.subtype != "JOIN")
        return Lineage(value.sources | own, value.parts, value.base)

    def joined(self, found: Iterable[Expression]) -> frozenset[Source]:
        """What ties correlated sub-queries to this node's rows: they are joins in all but name."""
        queries = (e for one in found for e in one.walk() if e.plan is not None and e.kind not in _PREDICATES)
        return frozenset(s for query in queries for s in self.inner(query)[0].rows if s.kind.subtype == "JOIN")


def shaped_by(scope: _Scope, subtype: str, found: Iterable[Expression]) -> frozenset[Source]:
    """What ``found`` brings to all rows, as one INDIRECT subtype."""
    kind = indirect(subtype)
    return frozenset(s for one in found for s in lineage(one, scope).through(kind).sources)


_PREDICATES = frozenset({"InSubquery", "Exists", "LateralSubquery"})


def condition(scope: _Scope, subtype: str, one: Expression | None) -> frozenset[Source]:
    """What a condition brings: FILTER (or JOIN) of its columns; IN and EXISTS are joins, whoever wrote them."""
    if one is None:
        return frozenset()
    if one.kind in _PREDICATES:
        return _semi_join(scope, one)
    if one.kind == "And" or any(e.kind in _PREDICATES for e in one.walk()):
        return frozenset(s for child in one.children for s in condition(scope, subtype, child))
    if subtype == "FILTER" and any(e.kind == "OuterReference" for e in one.walk()):
        subtype = "JOIN"
    if subtype == "FILTER" and any(_is_correlated(e) for e in one.walk()):
        return _compared(scope, one) | scope.joined([one])
    return shaped_by(scope, subtype, [one]) | scope.joined([one])


def _is_correlated(one: Expression) -> bool:
    return one.plan is not None and any(child is not None for child in one.children)


def _compared(scope: _Scope, one: Expression) -> frozenset[Source]:
    """A comparison with a value that a sub-query finds for each row: a join's condition, and what filters in there."""
    joins, filters = indirect("JOIN"), indirect("FILTER")
    found = lineage(one, scope).sources
    return frozenset(s._replace(kind=compose(joins if s.kind.type == "DIRECT" else filters, s.kind)) for s in found)


def conjuncts(one: Expression | None) -> list[Expression]:
    """The parts of a condition that all must hold."""
    if one is None:
        return []
    if one.kind == "And":
        return [part for child in one.children for part in conjuncts(child)]
    return [one]


def referred_ids(one: Expression) -> set[int]:
    """The ExprIds of the columns that an expression names."""
    return {e.id for e in one.walk() if e.kind == "AttributeReference" and e.id is not None}


def _semi_join(scope: _Scope, one: Expression) -> frozenset[Source]:
    query = next((e for e in one.walk() if e.plan is not None), None)
    if query is None:
        return frozenset()
    flow, node = scope.inner(query)
    found = set(flow.rows)
    if one.kind == "InSubquery":
        found |= shaped_by(scope, "JOIN", [e for e in one.children if e is not None and e.plan is None])
        for attribute in node.output if node is not None else ():
            found |= flow.columns.get(attribute.id, NOTHING).through(indirect("JOIN")).sources
    return frozenset(found)
