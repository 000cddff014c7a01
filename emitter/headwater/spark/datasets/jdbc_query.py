"""The tables and columns of a query that a JDBC read hands to its database.

The text is read by Spark's own parser; names are resolved here, as far as they can be without the database.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..plan.columns import Flow
from ..plan.expressions import lineage
from ..plan.lineage import NOTHING, Lineage, Source, indirect, united
from ..plan.model import Expression, Plan, PlanNode, expression, expressions
from .tables import Catalog

_SUBQUERY = re.compile(r"\s*\((?P<query>.*)\)\s*(as\s+)?[\w\"`]*\s*\Z", re.IGNORECASE | re.DOTALL)
_QUOTED = re.compile(r"'(?:[^']|'')*'|\"([^\"]*)\"")


def query_of(table: str) -> str | None:
    """The query that stands in the place of a table, in Spark's quoting; None when it is a table's name."""
    match = _SUBQUERY.match(table)
    if match is None:
        return None
    return _QUOTED.sub(lambda found: found[0] if found[1] is None else f"`{found[1]}`", match["query"])


def tables_of(catalog: Catalog, table: str) -> list[str] | None:
    """The tables that a query names, each once in order; None when it is no query or can't be read."""
    query = query_of(table)
    plan = None if query is None else catalog.parse(query)
    if plan is None:
        return None
    names = [_table_name(node) for node in plan.nodes if node is not None and node.kind == "UnresolvedRelation"]
    return list(dict.fromkeys(names))


def _table_name(node: PlanNode) -> str:
    return ".".join(map(str, node.fields.get("multipartIdentifier") or ()))


@dataclass(frozen=True, slots=True)
class _Names:
    """The columns that a level of the query sees: by qualifier, or any column of its one table."""

    named: Mapping[str, Lineage] = field(default_factory=dict)
    tables: tuple[tuple[str, str], ...] = ()  # (qualifier, table)
    namespace: str = ""
    prefix: str = ""
    rows: frozenset[Source] = frozenset()
    output: tuple[tuple[str, Lineage], ...] | None = None

    def attribute(self, expr_id: int) -> Lineage:
        return NOTHING

    def subquery(self, expression: Expression) -> Lineage:
        return NOTHING

    def column(self, name: str) -> Lineage:
        qualifier, _, column = name.replace("`", "").rpartition(".")
        known = self.named.get(column.lower()) if not qualifier else self.named.get(f"{qualifier}.{column}".lower())
        if known is not None:
            return known
        fitting = [table for alias, table in self.tables if not qualifier or alias.lower() == qualifier.lower()]
        if len(fitting) != 1:
            return NOTHING
        return Lineage(frozenset({Source(self.namespace, self.prefix + fitting[0], column)}))


def flow(catalog: Catalog, node: PlanNode, namespace: str, prefix: str, table: str) -> Flow | None:
    """What the columns of a JDBC relation over a query are made of; None when the query can't be read."""
    query = query_of(table)
    plan = None if query is None else catalog.parse(query)
    if plan is None or plan.root is None:
        return None
    names = _level(plan, plan.root, _Names(namespace=namespace, prefix=prefix))
    told = names.output or ()
    by_name = {name.lower(): value for name, value in told}
    same = len(told) == len(node.output)
    columns = {
        attribute.id: told[i][1] if same else by_name.get(attribute.name.lower(), names.column(attribute.name))
        for i, attribute in enumerate(node.output)
    }
    return Flow(columns, names.rows)


def _level(plan: Plan, node: PlanNode, empty: _Names) -> _Names:
    below = [_level(plan, child, empty) for index in node.children if (child := plan[index]) is not None]
    here = _joined(below, empty)
    match node.kind:
        case "UnresolvedRelation":
            name = _table_name(node)
            return _Names(tables=((name.rpartition(".")[2], name),), namespace=empty.namespace, prefix=empty.prefix)
        case "SubqueryAlias":
            return _renamed(here, node)
        case "Project":
            return _selected(here, node.fields.get("projectList"), frozenset())
        case "Aggregate":
            grouped = _shape(here, "GROUP_BY", node.fields.get("groupingExpressions"))
            return _selected(here, node.fields.get("aggregateExpressions"), grouped)
        case "Filter" | "UnresolvedHaving":
            condition = node.fields.get("condition", node.fields.get("havingCondition"))
            return _with_rows(here, _shape(here, "FILTER", [condition]))
        case "Join":
            return _with_rows(here, _shape(here, "JOIN", [node.fields.get("condition")]))
        case "Sort":
            return _with_rows(here, _shape(here, "SORT", node.fields.get("order")))
    return here


def _joined(below: list[_Names], empty: _Names) -> _Names:
    if len(below) == 1:
        return below[0]
    return _Names(
        named={name: value for one in below for name, value in one.named.items()},
        tables=tuple(table for one in below for table in one.tables),
        namespace=empty.namespace,
        prefix=empty.prefix,
        rows=frozenset(s for one in below for s in one.rows),
    )


def _renamed(here: _Names, node: PlanNode) -> _Names:
    identifier = node.fields.get("identifier") or {}
    alias = str((identifier.get("of") or {}).get("name", ""))
    tables = tuple((alias, table) for _, table in here.tables) if here.output is None else ()
    named = {f"{alias}.{name}".lower(): value for name, value in here.output or ()}
    named |= {name.lower(): value for name, value in here.output or ()}
    return _Names(named, tables, here.namespace, here.prefix, here.rows)


def _selected(here: _Names, raw: object, grouped: frozenset[Source]) -> _Names:
    output = []
    for one in expressions(raw):
        name = one.name or next((e.name for e in one.walk() if e.name), "")
        output.append((name.replace("`", "").rpartition(".")[2], lineage(one, here)))
    if any(one.kind == "UnresolvedStar" for one in expressions(raw)):
        return _with_rows(here, grouped)
    return _Names(here.named, here.tables, here.namespace, here.prefix, here.rows | grouped, tuple(output))


def _with_rows(here: _Names, more: frozenset[Source]) -> _Names:
    return _Names(here.named, here.tables, here.namespace, here.prefix, here.rows | more, here.output)


def _shape(here: _Names, subtype: str, raw: object) -> frozenset[Source]:
    found = [one for item in (raw if isinstance(raw, list) else []) if (one := expression(item)) is not None]
    return united([NOTHING, *(lineage(one, here) for one in found)]).through(indirect(subtype)).sources
