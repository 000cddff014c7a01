"""Column lineage of a plan, node by node.  Pure.

Theory of operation. Lineage follows from the analysed plan: the optimised plan has null checks that the program does not
contain, and no longer has Python functions, sub-queries, views and cached frames. The plan is resolved from the leaves
up, each node once: a rule of the node's class turns the flows of its children into its own flow. A flow has the lineage
of each column, by ExprId, and apart from it the sources that decide *which* rows there are (JOIN, FILTER, GROUP_BY,
SORT), because these apply to the whole dataset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from .expressions import lineage
from .lineage import NOTHING, UNREAD, Lineage, Source, TransformationKind, compose, indirect
from .model import Expression, Plan, PlanNode, plan_index
from .orders import lost_orders

LeafColumns = Callable[[PlanNode], "Flow | None"]
"""A function that returns the flow of a leaf; None for a leaf that reads nothing."""

Rule = Callable[["Columns", PlanNode], "Flow"]
"""A function that returns the flow of a node; the rule named "" is for all nodes without one."""

OPAQUE = TransformationKind(
    "DIRECT", "TRANSFORMATION", False, "opaque step: every input column may feed every output column"
)


@dataclass(frozen=True, slots=True)
class Flow:
    """The lineage of a node's output: each column by ExprId, and the sources that shape its rows."""

    columns: Mapping[int, Lineage]
    rows: frozenset[Source] = frozenset()


def together(flows: Iterable[Flow]) -> Flow:
    """Return the columns of several flows, and the sources that shape the rows of any of them."""
    listed = list(flows)
    columns = {key: value for flow in listed for key, value in flow.columns.items()}
    return Flow(columns, frozenset(source for flow in listed for source in flow.rows))


@dataclass(slots=True)
class Columns:
    """The column lineage of one plan; ``ctes`` maps the id of a common table expression to the index of its plan."""

    plan: Plan
    leaf: LeafColumns
    rules: Mapping[str, Rule]
    attached: Callable[[Columns, PlanNode], Flow | None] | None = None
    ctes: dict[int, int] = field(default_factory=dict)
    _flows: dict[int, Flow] = field(default_factory=dict)
    _outer: list[Mapping[int, Lineage]] = field(default_factory=list)
    _lost_orders: frozenset[int] | None = None

    def flow(self, index: int) -> Flow:
        """Return the flow of the node at ``index``, without recursion, as plans can be deeper than Python's stack."""
        stack = [index]
        while stack:
            node = self.plan[stack[-1]]
            if stack[-1] in self._flows:
                stack.pop()
                continue
            below = [] if node is None else self._below(node)
            if below:
                stack.extend(below)
                continue
            self._flows[stack[-1]] = Flow({})  # a recursive query sees itself as empty
            self._flows[stack[-1]] = Flow({}) if node is None else self._resolved(node)
            stack.pop()
        return self._flows[index]

    def _below(self, node: PlanNode) -> list[int]:
        if node.kind == "UnionLoop":
            return []  # its two sides refer to each other: its rule resolves them
        self._define(node)
        return [child for child in node.children if child not in self._flows]

    def _define(self, node: PlanNode) -> None:
        """Register the definitions of a WITH before other nodes refer to them."""
        definitions = node.fields.get("cteDefs") if node.kind == "WithCTE" else None
        for held in definitions if isinstance(definitions, list) else ():
            index = plan_index(held)
            definition = None if index is None else self.plan[index]
            if definition is not None and isinstance(definition.fields.get("id"), int):
                self.ctes[definition.fields["id"]] = definition.index

    def _resolved(self, node: PlanNode) -> Flow:
        attached = None if self.attached is None else self.attached(self, node)
        return self.rules.get(node.kind, self.rules[""])(self, node) if attached is None else attached

    def child(self, node: PlanNode, which: int = 0) -> Flow:
        return self.flow(node.children[which])

    def lost_orders(self) -> frozenset[int]:
        """Return the indexes of sorts without an effect on the plan's result."""
        if self._lost_orders is None:
            self._lost_orders = lost_orders(self.plan)
        return self._lost_orders

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
        return NOTHING if self.columns.plan.limit is None else UNREAD

    def inner(self, expression: Expression) -> tuple[Flow, PlanNode | None]:
        if expression.plan is None:
            return Flow({}), None
        self.columns._outer.append(self.here)
        try:
            return self.columns.flow(expression.plan), self.columns.plan[expression.plan]
        finally:
            self.columns._outer.pop()

    def column(self, name: str) -> Lineage:
        return NOTHING  # an analysed plan refers to columns by ExprId

    def subquery(self, expression: Expression) -> Lineage:
        flow, node = self.inner(expression)
        if node is None or not node.output:
            return NOTHING
        value = flow.columns.get(node.output[0].id, NOTHING)
        own = frozenset(s for s in flow.rows if s.kind.subtype != "JOIN")
        return Lineage(value.sources | own, value.parts, value.base)

    def correlated(self, found: Iterable[Expression]) -> frozenset[Source]:
        """Return the sources that correlate sub-queries with this node's rows, as in a join."""
        nested = (e for top in found for e in top.descendants())
        queries = (e for e in nested if e.plan is not None and e.kind not in _PREDICATES)
        return frozenset(s for query in queries for s in self.inner(query)[0].rows if s.kind.subtype == "JOIN")


def shaped_by(scope: _Scope, subtype: str, found: Iterable[Expression]) -> frozenset[Source]:
    """Return the sources of expressions that shape all rows, as one INDIRECT subtype."""
    kind = indirect(subtype)
    return frozenset(s for expression in found for s in lineage(expression, scope).through(kind).sources)


_PREDICATES = frozenset({"InSubquery", "Exists", "LateralSubquery"})


def condition(scope: _Scope, subtype: str, predicate: Expression | None) -> frozenset[Source]:
    """Return the sources of a condition as FILTER or JOIN; IN and EXISTS are joins in either case."""
    if predicate is None:
        return frozenset()
    if predicate.kind in _PREDICATES:
        return _semijoin(scope, predicate)
    if predicate.kind == "And" or any(e.kind in _PREDICATES for e in predicate.descendants()):
        return frozenset(s for child in predicate.children for s in condition(scope, subtype, child))
    if subtype == "FILTER" and any(e.kind == "OuterReference" for e in predicate.descendants()):
        subtype = "JOIN"
    if subtype == "FILTER" and any(_is_correlated(e) for e in predicate.descendants()):
        return _compared(scope, predicate) | scope.correlated([predicate])
    return shaped_by(scope, subtype, [predicate]) | scope.correlated([predicate])


def _is_correlated(expression: Expression) -> bool:
    return expression.plan is not None and any(child is not None for child in expression.children)


def _compared(scope: _Scope, predicate: Expression) -> frozenset[Source]:
    """Return the sources of a comparison with a correlated sub-query: a join's condition, and filters inside the query."""
    joins, filters = indirect("JOIN"), indirect("FILTER")
    found = lineage(predicate, scope).sources
    return frozenset(s._replace(kind=compose(joins if s.kind.type == "DIRECT" else filters, s.kind)) for s in found)


def conjuncts(predicate: Expression | None) -> list[Expression]:
    """Return the parts of a condition that are connected by AND."""
    if predicate is None:
        return []
    if predicate.kind == "And":
        return [part for child in predicate.children for part in conjuncts(child)]
    return [predicate]


def referred_ids(expression: Expression) -> set[int]:
    """Return the ExprIds of the columns that an expression refers to."""
    return {e.id for e in expression.descendants() if e.kind == "AttributeReference" and e.id is not None}


def _semijoin(scope: _Scope, predicate: Expression) -> frozenset[Source]:
    query = next((e for e in predicate.descendants() if e.plan is not None), None)
    if query is None:
        return frozenset()
    flow, node = scope.inner(query)
    found = set(flow.rows)
    if predicate.kind == "InSubquery":
        found |= shaped_by(scope, "JOIN", [e for e in predicate.children if e is not None and e.plan is None])
        for attribute in node.output if node is not None else ():
            found |= flow.columns.get(attribute.id, NOTHING).through(indirect("JOIN")).sources
    return frozenset(found)
