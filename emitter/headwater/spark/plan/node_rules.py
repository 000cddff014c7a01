"""The table from a plan node's class to the rule for its columns and rows.  Pure."""

from __future__ import annotations

from .columns import OPAQUE, Columns, Flow, Rule, condition, conjuncts, referred_ids, shaped_by, together
from .expressions import Scope, lineage
from .lineage import NOTHING, TRANSFORMATION, Lineage, Source, indirect, union
from .model import Expression, PlanNode, expression, expressions


def _same(columns: Columns, node: PlanNode) -> Flow:
    return columns.child(node)


def _project(columns: Columns, node: PlanNode) -> Flow:
    below = columns.child(node)
    correlated = columns.scope(below).correlated(expressions(node.fields.get("projectList")))
    made = _named(columns, below, node.fields.get("projectList"))
    return Flow({**below.columns, **made} if node.partial else made, below.rows | correlated)


def _named(columns: Columns, below: Flow, raw: object) -> dict[int, Lineage]:
    scope = columns.scope(below)
    return {e.id: lineage(e, scope) for e in expressions(raw) if e.id is not None}


def _filter(columns: Columns, node: PlanNode) -> Flow:
    below = columns.child(node)
    scope, sides = columns.scope(below), _sides(columns, node)
    rows = set(below.rows)
    for part in conjuncts(expression(node.fields.get("condition"))):
        both = sides is not None and all(not referred_ids(part).isdisjoint(side) for side in sides)
        rows |= condition(scope, "JOIN" if both else "FILTER", part)
    return Flow(below.columns, frozenset(rows))


def _sides(columns: Columns, node: PlanNode) -> tuple[set[int], set[int]] | None:
    """Return the columns of the two sides of an inner join below; a WHERE that compares them is the join's condition."""
    under = columns.plan[node.children[0]]
    while under is not None and under.kind in {"Filter", "SubqueryAlias"}:
        under = columns.plan[under.children[0]]
    if under is None or under.kind != "Join" or under.fields.get("joinType") not in {"Inner", "Cross"}:
        return None
    left, right = (columns.plan[child] for child in under.children)
    return _ids(left), _ids(right)


def _ids(node: PlanNode | None) -> set[int]:
    return set() if node is None else {attribute.id for attribute in node.output}


def _sort(columns: Columns, node: PlanNode) -> Flow:
    below = columns.child(node)
    if node.index in columns.lost_orders():
        return below
    order = expressions(node.fields.get("order"))
    return Flow(below.columns, below.rows | shaped_by(columns.scope(below), "SORT", order))


def _aggregate(columns: Columns, node: PlanNode) -> Flow:
    below = columns.child(node)
    scope = columns.scope(below)
    grouped = shaped_by(scope, "GROUP_BY", expressions(node.fields.get("groupingExpressions")))
    return Flow(_named(columns, below, node.fields.get("aggregateExpressions")), below.rows | grouped)


def _window(columns: Columns, node: PlanNode) -> Flow:
    below = columns.child(node)
    return Flow({**below.columns, **_named(columns, below, node.fields.get("windowExpressions"))}, below.rows)


def _join(columns: Columns, node: PlanNode) -> Flow:
    left, right = columns.child(node), columns.child(node, 1)
    both = together([left, right])
    scope, rows = columns.scope(both), set(both.rows)
    sides = [_ids(columns.plan[child]) for child in node.children]
    filtered = _FILTERED_SIDES.get(str(node.fields.get("joinType")), ())
    for part in conjuncts(expression(node.fields.get("condition"))):
        referred = referred_ids(part)
        filters = any(referred and referred <= sides[which] for which in filtered)
        rows |= condition(scope, "FILTER" if filters else "JOIN", part)
    return Flow(both.columns, frozenset(rows))


# Sides of a join whose own predicates in the join condition only filter that side.
_FILTERED_SIDES: dict[str, tuple[int, ...]] = {
    "Inner": (0, 1),
    "Cross": (0, 1),
    "LeftSemi": (0, 1),
    "LeftOuter": (1,),
    "RightOuter": (0,),
    "LeftAnti": (1,),
}


def _lateral_join(columns: Columns, node: PlanNode) -> Flow:
    left = columns.child(node)
    query = expression(node.fields.get("right"))
    right = Flow({})
    if query is not None:
        right, _ = columns.scope(left).inner(query)
    both = together([left, right])
    shaped = condition(columns.scope(both), "JOIN", expression(node.fields.get("condition")))
    return Flow(both.columns, both.rows | shaped)


def _union(columns: Columns, node: PlanNode) -> Flow:
    flows = [columns.flow(child) for child in node.children]
    outputs = [columns.plan[child] for child in node.children]
    merged: dict[int, Lineage] = {}
    for position, attribute in enumerate(node.output):
        merged[attribute.id] = union(_at(flow, below, position) for flow, below in zip(flows, outputs, strict=True))
    return Flow(merged, frozenset(s for flow in flows for s in flow.rows))


def _at(flow: Flow, node: PlanNode | None, position: int) -> Lineage:
    if node is None or position >= len(node.output):
        return NOTHING
    return flow.columns.get(node.output[position].id, NOTHING)


def _set_operation(columns: Columns, node: PlanNode) -> Flow:
    """Return the flow of INTERSECT or EXCEPT: a semi join of the left with the right, then a DISTINCT."""
    left, right = columns.child(node), columns.child(node, 1)
    outputs = [columns.plan[child] for child in node.children]
    merged, rows = {}, set(left.rows | right.rows)
    for position, attribute in enumerate(node.output):
        value, other = _at(left, outputs[0], position), _at(right, outputs[1], position)
        merged[attribute.id] = value
        rows |= value.through(indirect("JOIN")).sources | other.through(indirect("JOIN")).sources
        if not node.fields.get("isAll"):
            rows |= value.through(indirect("GROUP_BY")).sources
    return Flow(merged, frozenset(rows))


def _distinct(columns: Columns, node: PlanNode) -> Flow:
    below = columns.child(node)
    under = columns.plan[node.children[0]]
    if under is not None and under.kind == "Union":
        return below  # the DISTINCT of a UNION groups by no column that the query names
    return _grouped(below, _ids(node))


def _deduplicate(columns: Columns, node: PlanNode) -> Flow:
    """Return the flow of dropDuplicates(keys): grouped by the keys; the other columns are the first row's, unchanged."""
    below = columns.child(node)
    under = columns.plan[node.children[0]]
    keys = {e.id for e in expressions(node.fields.get("keys")) if e.id is not None}
    if under is not None and under.kind == "Union" and keys == _ids(under):
        return below  # as in SQL, see _distinct
    return _grouped(below, keys)


def _grouped(below: Flow, keys: set[int]) -> Flow:
    rows = {s for key in keys for s in below.columns.get(key, NOTHING).through(indirect("GROUP_BY")).sources}
    return Flow(below.columns, below.rows | rows)


def _generate(columns: Columns, node: PlanNode) -> Flow:
    below = columns.child(node)
    scope = columns.scope(below)
    generator = expression(node.fields.get("generator"))
    output = expressions(node.fields.get("generatorOutput"))
    values = _generated(generator, len(output), scope)
    made = {e.id: value for e, value in zip(output, values, strict=True) if e.id is not None}
    dropping = generator is not None and node.fields.get("outer") is not True and _drops_rows(generator)
    rows = shaped_by(scope, "FILTER", [generator] if dropping and generator is not None else [])
    return Flow({**below.columns, **made}, below.rows | rows)


def _drops_rows(generator: Expression) -> bool:
    """Return whether a generator has no row for some of its inputs, such as an empty collection."""
    first = generator.children[0] if generator.children else None
    literal = first is not None and first.kind in {"CreateArray", "CreateMap"} and bool(first.children)
    return generator.kind not in {"Stack", "JsonTuple"} and not literal


def _generated(generator: Expression | None, width: int, scope: Scope) -> list[Lineage]:
    """Return the lineage of a generator's columns: of stack(n, ...) by position, of any other from all its arguments."""
    if generator is None or generator.kind != "Stack":
        return [lineage(generator, scope)] * width
    cells = [lineage(cell, scope).through(TRANSFORMATION) for cell in generator.children[1:]]
    return [union([NOTHING, *cells[place::width]]) for place in range(width)]


def _expand(columns: Columns, node: PlanNode) -> Flow:
    """Return the flow of CUBE, ROLLUP or UNPIVOT: each column is one of the projections' expressions at its position."""
    below = columns.child(node)
    scope = columns.scope(below)
    raw = node.fields.get("projections")
    rows = [expressions(projection) for projection in raw] if isinstance(raw, list) else []
    made = {
        attribute.id: union(lineage(row[position], scope) for row in rows if position < len(row))
        for position, attribute in enumerate(node.output)
    }
    return Flow(made, below.rows)


def _with_cte(columns: Columns, node: PlanNode) -> Flow:
    return columns.flow(node.children[-1])


def _reference(columns: Columns, node: PlanNode) -> Flow:
    """Return the flow of a CTE reference: that of its definition, by position."""
    reference = node.fields.get("cteId", node.fields.get("loopId"))
    target = columns.ctes.get(reference) if isinstance(reference, int) else None
    if target is None:
        return Flow({})
    flow, definition = columns.flow(target), columns.plan[target]
    return _by_position(node, flow, definition)


def _by_position(node: PlanNode, flow: Flow, below: PlanNode | None) -> Flow:
    """Return the flow of a node below as that of a node whose columns have other ids."""
    return Flow({a.id: _at(flow, below, i) for i, a in enumerate(node.output)}, flow.rows)


def _union_loop(columns: Columns, node: PlanNode) -> Flow:
    """Return the flow of a recursive query: the anchor's first, to which the recursive part refers, then both."""
    anchor, start = columns.child(node), columns.plan[node.children[0]]
    columns._flows[node.index] = _by_position(node, anchor, start)
    loop = node.fields.get("id")
    if isinstance(loop, int):
        columns.ctes[loop] = node.index
    return _union(columns, node)


def _opaque(columns: Columns, node: PlanNode) -> Flow:
    """Return the flow of a step with unreadable code: every output column may depend on every input column."""
    visible = together(columns.flow(child) for child in node.children)
    read = [a.id for child in node.children if (below := columns.plan[child]) is not None for a in below.output]
    inputs = [visible.columns[key] for key in read or visible.columns if key in visible.columns]
    all_in = Lineage(frozenset(s for value in inputs for s in value.through(OPAQUE).sources))
    grouped = shaped_by(
        columns.scope(visible),
        "GROUP_BY",
        [e for name in ("groupingAttributes", "leftGroup", "rightGroup") for e in expressions(node.fields.get(name))],
    )
    return Flow({attribute.id: all_in for attribute in node.output}, visible.rows | grouped)


def _merge_rows(columns: Columns, node: PlanNode) -> Flow:
    """Return the flow of MERGE: each column is one of the instructions' values at its position, selected by conditions.

    An instruction without values deletes rows: its condition is a filter.
    """
    below = columns.child(node)
    scope = columns.scope(below)
    made: dict[int, set[Source]] = {attribute.id: set() for attribute in node.output}
    rows = set(below.rows)
    for name in ("matchedInstructions", "notMatchedInstructions", "notMatchedBySourceInstructions"):
        for instruction in expressions(node.fields.get(name)):
            condition, *values = instruction.children or (None,)
            chosen = lineage(condition, scope).through(indirect("CONDITIONAL")).sources
            rows |= frozenset() if values else shaped_by(scope, "FILTER", [condition] if condition is not None else [])
            for i, value in enumerate(values):
                attribute = node.output[i % len(node.output)]
                unchanged = value is not None and value.kind == "AttributeReference" and value.name == attribute.name
                made[attribute.id] |= lineage(value, scope).sources | (frozenset() if unchanged else chosen)
    return Flow({key: Lineage(frozenset(sources)) for key, sources in made.items()}, frozenset(rows))


def _leaf(columns: Columns, node: PlanNode) -> Flow:
    read = columns.leaf(node)
    return Flow({attribute.id: NOTHING for attribute in node.output}) if read is None else read


def _other(columns: Columns, node: PlanNode) -> Flow:
    """Return the flow of a node without a rule: columns that it passes on are unchanged, any other is opaque."""
    if not node.children:
        return _leaf(columns, node)
    passed = together(columns.flow(child) for child in node.children)
    if all(attribute.id in passed.columns for attribute in node.output):
        return passed
    made = _opaque(columns, node)
    return Flow({**made.columns, **passed.columns}, made.rows)


RULES: dict[str, Rule] = {
    "": _other,
    "Project": _project,
    "Filter": _filter,
    "Sort": _sort,
    "Aggregate": _aggregate,
    "Window": _window,
    "Join": _join,
    "AsOfJoin": _join,
    "LateralJoin": _lateral_join,
    "Union": _union,
    "UnionLoop": _union_loop,
    "Intersect": _set_operation,
    "Except": _set_operation,
    "Distinct": _distinct,
    "Deduplicate": _deduplicate,
    "DeduplicateWithinWatermark": _deduplicate,
    "Generate": _generate,
    "Expand": _expand,
    "WithCTE": _with_cte,
    "CTERelationRef": _reference,
    "UnionLoopRef": _reference,
    "CTERelationDef": _same,
    "SubqueryAlias": _same,
    "View": _same,
    "MergeRows": _merge_rows,
    **dict.fromkeys(
        (
            "MapInPandas", "MapInArrow", "PythonMapInArrow", "FlatMapGroupsInPandas", "FlatMapGroupsInArrow",
            "FlatMapCoGroupsInPandas", "FlatMapCoGroupsInArrow", "FlatMapGroupsInPandasWithState",
            "TransformWithStateInPySpark", "TransformWithStateInPandas", "ScriptTransformation", "SerializeFromObject",
        ),
        _opaque,
    ),
}  # fmt: skip
