"""Column lineage of expressions: a table from an expression's class to the rule for its value.

Pure. A ``Scope`` resolves attributes and sub-query plans.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from .lineage import AGGREGATION, NOTHING, TRANSFORMATION, Lineage, TransformationKind, indirect, union
from .model import Expression


class Scope(Protocol):
    """What an expression can refer to: attributes, columns by name, and sub-queries."""

    def attribute(self, expr_id: int) -> Lineage:
        """Return the lineage of an attribute."""

    def subquery(self, expression: Expression) -> Lineage:
        """Return the lineage of a sub-query's value, with the sources that shape its rows as INDIRECT ones."""

    def column(self, name: str) -> Lineage:
        """Return the lineage of a column that is known by name only, as in an unresolved query."""


# Expressions that the optimiser or the type checker wraps around a value without changing it.
_SAME_VALUE = frozenset(
    {
        "Alias", "OuterReference", "KnownNotNull", "KnownNullable", "KnownFloatingPointNormalized", "AssertNotNull",
        "PromotePrecision", "CheckOverflowInTableInsert", "TempResolvedColumn", "NormalizeNaNAndZero", "SortOrder",
        "PreciseTimestampConversion", "ResolvedStar", "WindowSpecDefinition", "TryEval", "UnresolvedAlias",
    }
)  # fmt: skip
# Functions whose result hides their argument.
_MASKING = frozenset(
    {
        "Crc32", "HiveHash", "Md5", "Murmur3Hash", "Sha1", "Sha2", "XxHash64", "Mask", "AesEncrypt", "TryAesEncrypt",
        "CollationAwareMurmur3Hash", "CollationAwareXxHash64",
    }
)  # fmt: skip
# The rank of a row among others: their arguments repeat the ORDER BY (RankLike, RowNumberLike).
_RANKS = frozenset({"Rank", "DenseRank", "PercentRank", "RowNumber", "CumeDist", "NTile"})
_AGGREGATES = frozenset({"PythonUDAF"})
_AGGREGATE_NAMES = frozenset(
    {"sum", "count", "avg", "min", "max", "stddev", "stddev_pop", "stddev_samp", "variance", "var_pop", "var_samp",
     "string_agg", "array_agg", "group_concat", "listagg", "median", "first", "last", "any_value", "bool_and", "bool_or"}
)  # fmt: skip


def lineage(expression: Expression | None, scope: Scope) -> Lineage:
    """Return the lineage of the value of ``expression``."""
    if expression is None:
        return NOTHING
    rule = _RULES.get(expression.kind)
    if rule is not None:
        return rule(expression, scope)
    if expression.kind in _SAME_VALUE or (expression.replaced and expression.kind not in _MASKING):
        return union(lineage(child, scope) for child in expression.children)
    if expression.plan is not None:
        return scope.subquery(expression)
    return _children(expression, scope, _step(expression))


def _step(expression: Expression) -> TransformationKind:
    if expression.kind in _AGGREGATES:
        return AGGREGATION
    return TRANSFORMATION._replace(masking=expression.kind in _MASKING)


def _children(expression: Expression, scope: Scope, kind: TransformationKind) -> Lineage:
    sources = frozenset(
        s for child in expression.children if child is not None for s in lineage(child, scope).through(kind).sources
    )
    return Lineage(sources)


def _attribute(expression: Expression, scope: Scope) -> Lineage:
    return NOTHING if expression.id is None else scope.attribute(expression.id)


def _name(expression: Expression, scope: Scope) -> Lineage:
    return NOTHING if expression.name is None else scope.column(expression.name)


def _function(expression: Expression, scope: Scope) -> Lineage:
    """Return the lineage of a function that is known by name only."""
    name = (expression.name or "").lower()
    return _children(expression, scope, AGGREGATION if name in _AGGREGATE_NAMES else TRANSFORMATION)


def _cast(expression: Expression, scope: Scope) -> Lineage:
    if expression.same:
        return lineage(expression.children[0], scope)
    return _children(expression, scope, TRANSFORMATION)


def _case(expression: Expression, scope: Scope) -> Lineage:
    children = expression.children
    pairs = len(children) // 2 * 2
    conditions = [lineage(c, scope).through(indirect("CONDITIONAL")) for c in children[0:pairs:2]]
    values = [lineage(v, scope) for v in (*children[1:pairs:2], *children[pairs:])]
    return _any_of(conditions, values)


def _if(expression: Expression, scope: Scope) -> Lineage:
    condition, *values = expression.children
    if len(values) == 2 and values[0] == values[1]:
        return lineage(values[0], scope)  # a column that UPDATE or MERGE leaves unchanged
    return _any_of([lineage(condition, scope).through(indirect("CONDITIONAL"))], [lineage(v, scope) for v in values])


def _coalesce(expression: Expression, scope: Scope) -> Lineage:
    values = [lineage(child, scope) for child in expression.children]
    return _any_of([value.through(indirect("CONDITIONAL")) for value in values], values)


def _any_of(conditions: list[Lineage], values: list[Lineage]) -> Lineage:
    """Return the lineage of a value that is one of several: each is a TRANSFORMATION, as none is always the result."""
    whole = union(values) if values else NOTHING
    sources = _with_conditions(conditions, whole.through(TRANSFORMATION)).sources
    return Lineage(sources, whole.parts, whole.base)


def _with_conditions(conditions: list[Lineage], value: Lineage) -> Lineage:
    return Lineage(value.sources | frozenset(s for c in conditions for s in c.sources), value.parts, value.base)


def _aggregate(expression: Expression, scope: Scope) -> Lineage:
    function, *filters = expression.children
    value = lineage(function, scope).through(AGGREGATION)
    chosen = [lineage(f, scope).through(indirect("CONDITIONAL")) for f in filters if f is not None]
    return _with_conditions(chosen, value)


def _window(expression: Expression, scope: Scope) -> Lineage:
    function, *specification = expression.children
    ordered = [lineage(s, scope).through(indirect("WINDOW")) for s in specification]
    if function is None or function.kind in _RANKS:
        return _with_conditions(ordered, NOTHING)
    return _with_conditions(ordered, lineage(function, scope).through(TRANSFORMATION))


def _struct_field(expression: Expression, scope: Scope) -> Lineage:
    return lineage(expression.children[0], scope).member(expression.name or "")


def _array_fields(expression: Expression, scope: Scope) -> Lineage:
    return lineage(expression.children[0], scope).element("_element").member(expression.name or "")


def _element(expression: Expression, scope: Scope) -> Lineage:
    collection, *keys = expression.children
    picked = _picked(collection, keys)
    if picked is not None:
        return lineage(picked, scope)
    chosen = [lineage(k, scope).through(TRANSFORMATION) for k in keys]
    place = "value" if expression.kind == "GetMapValue" else "_element"
    return union([lineage(collection, scope).element(place), *chosen])


def _picked(collection: Expression | None, keys: list[Expression | None]) -> Expression | None:
    """Return the expression that a constant index or key selects from a collection literal, else None."""
    key = keys[0] if keys else None
    if collection is None or key is None or key.kind != "Literal" or key.value is None:
        return None
    if collection.kind == "CreateArray" and key.value.isdecimal() and int(key.value) < len(collection.children):
        return collection.children[int(key.value)]
    if collection.kind == "CreateMap":
        pairs = zip(collection.children[0::2], collection.children[1::2], strict=False)
        found = [value for k, value in pairs if k is not None and k.kind == "Literal" and k.value == key.value]
        return found[0] if found else None
    return None


def _named_struct(expression: Expression, scope: Scope) -> Lineage:
    names = [child.value if child is not None else None for child in expression.children[0::2]]
    values = [lineage(child, scope) for child in expression.children[1::2]]
    sources = frozenset(s for value in values for s in value.through(TRANSFORMATION).sources)
    return Lineage(sources, {name: value for name, value in zip(names, values, strict=False) if name is not None})


def _update_fields(expression: Expression, scope: Scope) -> Lineage:
    base, *changes = expression.children
    struct = lineage(base, scope)
    members = {c.name: lineage(c.children[0], scope) for c in changes if c is not None and c.name is not None}
    sources = frozenset(s for value in (struct, *members.values()) for s in value.through(TRANSFORMATION).sources)
    return Lineage(sources, members, struct)


def _pivot(expression: Expression, scope: Scope) -> Lineage:
    """Return the lineage of PivotFirst: the pivot column only selects the values of each column."""
    chosen, *values = expression.children
    value = union([NOTHING, *(lineage(v, scope) for v in values)])
    return _with_conditions([lineage(chosen, scope).through(indirect("CONDITIONAL"))], value)


@dataclass(frozen=True, slots=True)
class _WithScope:
    """A scope in which common sub-expressions have names."""

    around: Scope
    named: Mapping[str, Lineage]

    def attribute(self, expr_id: int) -> Lineage:
        return self.around.attribute(expr_id)

    def subquery(self, expression: Expression) -> Lineage:
        return self.around.subquery(expression)

    def column(self, name: str) -> Lineage:
        return self.named[name] if name in self.named else self.around.column(name)


def _with(expression: Expression, scope: Scope) -> Lineage:
    """Return the lineage of WITH x AS expression, the analyser's form of BETWEEN, NULLIF and the like."""
    body, *definitions = expression.children
    named = {d.name: lineage(d.children[0], scope) for d in definitions if d is not None and d.name is not None}
    return lineage(body, _WithScope(scope, named))


def _explode(expression: Expression, scope: Scope) -> Lineage:
    return lineage(expression.children[0], scope).element("_element")


def _nothing(_expression: Expression, _scope: Scope) -> Lineage:
    return NOTHING


_RULES: dict[str, Callable[[Expression, Scope], Lineage]] = {
    "AttributeReference": _attribute,
    "UnresolvedAttribute": _name,
    "UnresolvedFunction": _function,
    "Cast": _cast,
    "AnsiCast": _cast,
    "CaseWhen": _case,
    "If": _if,
    "Coalesce": _coalesce,
    "AggregateExpression": _aggregate,
    "WindowExpression": _window,
    "GetStructField": _struct_field,
    "GetArrayStructFields": _array_fields,
    "GetArrayItem": _element,
    "GetMapValue": _element,
    "ElementAt": _element,
    "CreateNamedStruct": _named_struct,
    "UpdateFields": _update_fields,
    "With": _with,
    "CommonExpressionRef": _name,
    "Explode": _explode,
    "PosExplode": _explode,
    "PivotFirst": _pivot,
    "NamedLambdaVariable": _nothing,
    "SpecifiedWindowFrame": _nothing,
    "Literal": _nothing,
    "TypeOf": _nothing,
}
