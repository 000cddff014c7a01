"""The tables and columns of a query that a JDBC read sends to its database.

Spark's own parser reads the text; names are resolved here, as far as possible without the database.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ..plan.columns import Flow
from ..plan.expressions import lineage
from ..plan.lineage import NOTHING, Lineage, Source, indirect, union
from ..plan.model import Expression, Plan, PlanNode, expression, expressions
from .names import DatasetName
from .subsets import parsed_condition
from .tables import Catalog

_SUBQUERY = re.compile(r"\s*\((?P<query>.*)\)\s*(as\s+)?[\w\"`]*\s*\Z", re.IGNORECASE | re.DOTALL)
Key = Callable[[str], DatasetName | None]
"""A function from the name of a table in a query to its key, or None."""
_QUOTED = re.compile(r"'(?:[^']|'')*'|\"([^\"]*)\"")


def query_of(table: str) -> str | None:
    """Return the query in the place of a table, in Spark's quoting; None for a table's name."""
    match = _SUBQUERY.match(table)
    if match is None:
        return None
    return _in_spark_quotes(match["query"])


def _in_spark_quotes(text: str) -> str:
    return _QUOTED.sub(lambda found: found[0] if found[1] is None else f"`{found[1]}`", text)


def tables_of(catalog: Catalog, table: str) -> list[str] | None:
    """Return the tables that a query names, each once in order; None if it is not a query or cannot be parsed."""
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
    """The columns visible at a level of the query: by qualifier, or any column of its only table."""

    key: Key
    named: Mapping[str, Lineage] = field(default_factory=dict)
    tables: tuple[tuple[str, str], ...] = ()  # (qualifier, table)
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
        tables = [table for alias, table in self.tables if not qualifier or alias.lower() == qualifier.lower()]
        key = self.key(tables[0]) if len(tables) == 1 else None
        return NOTHING if key is None else Lineage(frozenset({Source(*key, column)}))


def flow(catalog: Catalog, node: PlanNode, table: str, key: Key) -> Flow | None:
    """Return the column lineage of a relation over a query to a database; None if the query cannot be parsed."""
    query = query_of(table)
    plan = None if query is None else catalog.parse(query)
    if plan is None or plan.root is None:
        return None
    names = _level(plan, plan.root, _Names(key))
    output = names.output or ()
    by_name = {name.lower(): value for name, value in output}
    same = len(output) == len(node.output)
    columns = {
        attribute.id: output[i][1] if same else by_name.get(attribute.name.lower(), names.column(attribute.name))
        for i, attribute in enumerate(node.output)
    }
    return Flow(columns, names.rows)


def predicates(catalog: Catalog, node: PlanNode, columns: Mapping[int, Lineage]) -> frozenset[Source]:
    """Return the columns in the predicates of a JDBC read, which choose its rows."""
    relation = node.fields.get("relation")
    clauses = relation.get("predicates") if isinstance(relation, dict) else None
    known = {attribute.name.lower(): columns.get(attribute.id, NOTHING) for attribute in node.output}
    found: set[Source] = set()
    for clause in clauses or ():
        condition = parsed_condition(catalog, _in_spark_quotes(str(clause)))
        for part in condition.descendants() if condition is not None else ():
            name = (part.name or "").replace("`", "").rpartition(".")[2].lower()
            found |= known.get(name, NOTHING).through(indirect("FILTER")).sources
    return frozenset(found)


def _level(plan: Plan, node: PlanNode, empty: _Names) -> _Names:
    below = [_level(plan, child, empty) for index in node.children if (child := plan[index]) is not None]
    here = _merged(below, empty)
    match node.kind:
        case "UnresolvedRelation":
            name = _table_name(node)
            return replace(empty, tables=((name.rpartition(".")[2], name),))
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


def _merged(below: list[_Names], empty: _Names) -> _Names:
    if len(below) == 1:
        return below[0]
    return _Names(
        empty.key,
        named={name: value for level in below for name, value in level.named.items()},
        tables=tuple(table for level in below for table in level.tables),
        rows=frozenset(s for level in below for s in level.rows),
    )


def _renamed(here: _Names, node: PlanNode) -> _Names:
    identifier = node.fields.get("identifier") or {}
    alias = str((identifier.get("of") or {}).get("name", ""))
    tables = tuple((alias, table) for _, table in here.tables) if here.output is None else ()
    named = {f"{alias}.{name}".lower(): value for name, value in here.output or ()}
    named |= {name.lower(): value for name, value in here.output or ()}
    return _Names(here.key, named, tables, here.rows)


def _selected(here: _Names, raw: object, grouped: frozenset[Source]) -> _Names:
    output = []
    for column in expressions(raw):
        name = column.name or next((e.name for e in column.descendants() if e.name), "")
        output.append((name.replace("`", "").rpartition(".")[2], lineage(column, here)))
    if any(column.kind == "UnresolvedStar" for column in expressions(raw)):
        return _with_rows(here, grouped)
    return replace(here, rows=here.rows | grouped, output=tuple(output))


def _with_rows(here: _Names, more: frozenset[Source]) -> _Names:
    return replace(here, rows=here.rows | more)


def _shape(here: _Names, subtype: str, raw: object) -> frozenset[Source]:
    found = [e for item in (raw if isinstance(raw, list) else []) if (e := expression(item)) is not None]
    return union([NOTHING, *(lineage(e, here) for e in found)]).through(indirect(subtype)).sources
