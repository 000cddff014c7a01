"""What one SQL statement reads and writes, and of which columns it makes which; by sqlglot, which must be there.

Column origins are told only where they are certain: every table's columns are known, and every output resolves. What
only influences (WHERE, ON, GROUP BY, ORDER BY) is not told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from ..model.field_operations import OpKind

# Loaded by name: sqlglot is nobody's requirement, and its absence no type error.
sqlglot: Any = import_module("sqlglot")
exp: Any = sqlglot.exp
SqlglotError: Any = import_module("sqlglot.errors").SqlglotError
lineage: Any = import_module("sqlglot.lineage").lineage
qualify: Any = import_module("sqlglot.optimizer.qualify").qualify
build_scope: Any = import_module("sqlglot.optimizer.scope").build_scope

ColumnsOf = Callable[[str], Sequence[str] | None]


@dataclass(frozen=True, slots=True)
class Table:
    """A table as a statement names it: its SQL text, and the file's path where it is one."""

    text: str
    path: str | None = None


@dataclass(frozen=True, slots=True)
class MadeColumn:
    """An output column: what it is made of, and how."""

    name: str
    sources: tuple[tuple[Table, str], ...]
    kind: OpKind


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement: tables read, the table or file written or appended to, if any.

    ``columns`` is None where they are not certain.
    """

    reads: tuple[Table, ...]
    writes: Table | None
    columns: tuple[MadeColumn, ...] | None
    appends: bool = False


def read_statements(text: str, dialect: str, columns_of: ColumnsOf) -> list[Statement]:
    """Every statement of a text that reads or writes tables; none for a text that sqlglot can't parse.

    ``columns_of`` tells a table's columns from its SQL text, or None.
    """
    try:
        parsed = sqlglot.parse(text, dialect=dialect)
    except SqlglotError:
        return []
    statements = [_statement(one, dialect, columns_of) for one in parsed if one is not None]
    return [one for one in statements if one.reads or one.writes]


def _statement(parsed: Any, dialect: str, columns_of: ColumnsOf) -> Statement:
    query, target = _query(parsed), _target(parsed, dialect)
    if query is None:
        return Statement((), target, None)
    leaves = _leaves(query)
    named = {f"_t{number}": table for number, table in enumerate(dict.fromkeys(_table(one, dialect) for one in leaves))}
    columns = {name: columns_of(table.text) for name, table in named.items()}
    made = _columns(query, leaves, named, columns, dialect)
    if isinstance(parsed, exp.Insert) and made is not None:
        made = _inserted(parsed, made, None if target is None else columns_of(target.text))
    return Statement(tuple(named.values()), target, made, isinstance(parsed, exp.Insert))


def _inserted(insert: Any, made: tuple[MadeColumn, ...], known: Sequence[str] | None) -> tuple[MadeColumn, ...] | None:
    """The columns under the names that the table has for them: those listed, else its own in order."""
    listed = [one.name for one in insert.this.expressions] if isinstance(insert.this, exp.Schema) else known
    if listed is None or len(listed) < len(made):
        return None
    return tuple(replace(one, name=name) for one, name in zip(made, listed, strict=False))


def _query(parsed: Any) -> Any:
    match parsed:
        case exp.Copy():
            inner = parsed.this
            if isinstance(inner, exp.Table):
                return exp.select("*").from_(inner.copy())
            return (
                inner.unnest() if isinstance(inner, exp.Subquery) else inner if isinstance(inner, exp.Query) else None
            )
        case exp.Create() | exp.Insert():
            inner = parsed.expression
            return (
                inner.unnest() if isinstance(inner, exp.Subquery) else inner if isinstance(inner, exp.Query) else None
            )
        case exp.Query():
            return parsed
    return None


def _target(parsed: Any, dialect: str) -> Table | None:
    match parsed:
        case exp.Copy(args={"files": [exp.Literal() as file, *_]}):
            return Table(file.sql(dialect), file.name)
        case exp.Create() if parsed.kind in ("TABLE", "VIEW"):
            return _table(_named(parsed.this), dialect)
        case exp.Insert():
            return _table(_named(parsed.this), dialect)
    return None


def _named(target: Any) -> Any:
    found = target if isinstance(target, exp.Table) else target.find(exp.Table)
    assert isinstance(found, exp.Table)
    return found


def _leaves(query: Any) -> list[Any]:
    """The tables of a query that are no common table expressions of it."""
    root = build_scope(query)
    if root is None:
        return []
    return [source for scope in root.traverse() for source in scope.sources.values() if isinstance(source, exp.Table)]


def _table(table: Any, dialect: str) -> Table:
    plain = table.copy()
    plain.set("alias", None)
    if isinstance(plain.this, exp.Func):
        first = (
            plain.this.this if isinstance(plain.this.this, exp.Literal) else next(iter(plain.this.expressions), None)
        )
        return Table(plain.sql(dialect), first.name if isinstance(first, exp.Literal) and first.is_string else None)
    quoted = isinstance(plain.this, exp.Identifier) and plain.this.quoted
    path = plain.name if quoted and ("/" in plain.name or "." in plain.name) else None
    return Table(plain.sql(dialect), path)


def _columns(
    query: Any,
    leaves: Iterable[Any],
    named: Mapping[str, Table],
    columns: Mapping[str, Sequence[str] | None],
    dialect: str,
) -> tuple[MadeColumn, ...] | None:
    if any(known is None for known in columns.values()):
        return None
    names = {table: name for name, table in named.items()}
    for leaf in leaves:
        alias = leaf.alias or leaf.name
        leaf.replace(exp.alias_(exp.to_table(names[_table(leaf, dialect)]), alias, table=True, quoted=True))
    schema = {name: dict.fromkeys(known or (), "TEXT") for name, known in columns.items()}
    try:
        outputs = qualify(query.copy(), schema=schema, dialect=dialect).named_selects
        found = [_made(name, lineage(name, query, schema=schema, dialect=dialect), named, columns) for name in outputs]
    except SqlglotError:
        return None
    return None if any(one is None for one in found) else tuple(one for one in found if one is not None)


def _made(
    name: str, root: Any, named: Mapping[str, Table], columns: Mapping[str, Sequence[str] | None]
) -> MadeColumn | None:
    nodes = list(root.walk())
    sources: dict[tuple[Table, str], None] = {}
    for node in nodes:
        if not node.downstream and isinstance(node.source, exp.Table):
            table, column = node.source.name, exp.to_column(node.name).name
            spelled = next((one for one in columns.get(table) or () if one.lower() == column.lower()), None)
            if spelled is None:
                return None
            sources[named[table], spelled] = None
    kind = _kind([node.expression for node in nodes if node.downstream])
    kept = [column for _, column in sources if kind is OpKind.IDENTITY and column.lower() == name.lower()]
    return MadeColumn(kept[0] if kept else name, tuple(sources), kind)


def _kind(steps: Sequence[Any]) -> OpKind:
    if any(step.find(exp.AggFunc) for step in steps):
        return OpKind.AGGREGATE
    if all(isinstance(step.unalias(), exp.Column) for step in steps):
        return OpKind.IDENTITY
    return OpKind.TRANSFORM
