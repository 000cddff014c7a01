"""Tables and column origins of SQL statements, by sqlglot, which must be installed.

Column origins are returned only where they are certain: the columns of every table are known, and every output resolves.
Influences (WHERE, ON, GROUP BY, ORDER BY) are not returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from ..model.field_operations import OpKind

# Imported by name: sqlglot is optional, and its absence must not be a type error.
sqlglot: Any = import_module("sqlglot")
exp: Any = sqlglot.exp
SqlglotError: Any = import_module("sqlglot.errors").SqlglotError
lineage: Any = import_module("sqlglot.lineage").lineage
qualify: Any = import_module("sqlglot.optimizer.qualify").qualify
build_scope: Any = import_module("sqlglot.optimizer.scope").build_scope

ColumnsOf = Callable[[str], Sequence[str] | None]


@dataclass(frozen=True, slots=True)
class Table:
    """A table in a statement: its SQL text, and its path if it is a file."""

    text: str
    path: str | None = None
    parts: tuple[str, str | None] = ("", None)
    """Its name and its schema, without quotes."""


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """An output column: its source columns, and the kind of operation."""

    name: str
    sources: tuple[tuple[Table, str], ...]
    kind: OpKind


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement: the tables that it reads, and the table or file, if any, that it writes or appends to.

    ``columns`` is None if they are not certain.
    """

    reads: tuple[Table, ...]
    writes: Table | None
    columns: tuple[OutputColumn, ...] | None
    appends: bool = False


def read_statements(text: str, dialect: str, columns_of: ColumnsOf) -> list[Statement]:
    """Return the statements of a text that read or write tables; empty if sqlglot can't parse the text.

    ``columns_of`` returns the columns of a table, given its SQL text, or None.
    """
    try:
        parsed = sqlglot.parse(text, dialect=dialect)
    except SqlglotError:
        return []
    statements = [_statement(item, dialect, columns_of) for item in parsed if item is not None]
    return [statement for statement in statements if statement.reads or statement.writes]


def _statement(parsed: Any, dialect: str, columns_of: ColumnsOf) -> Statement:
    query, target = _query(parsed), _target(parsed, dialect)
    if query is None:
        return Statement((), target, None)
    leaves = _leaves(query)
    tables = dict.fromkeys(_table(leaf, dialect) for leaf in leaves)
    named = {f"_t{number}": table for number, table in enumerate(tables)}
    columns = {name: columns_of(table.text) for name, table in named.items()}
    made = _columns(query, leaves, named, columns, dialect)
    if isinstance(parsed, exp.Insert) and made is not None:
        made = _inserted(parsed, made, None if target is None else columns_of(target.text))
    return Statement(tuple(named.values()), target, made, isinstance(parsed, exp.Insert))


def _inserted(
    insert: Any, made: tuple[OutputColumn, ...], known: Sequence[str] | None
) -> tuple[OutputColumn, ...] | None:
    """Return the columns with their names in the table: the names listed, else those of the table in order."""
    listed = [item.name for item in insert.this.expressions] if isinstance(insert.this, exp.Schema) else known
    if listed is None or len(listed) < len(made):
        return None
    return tuple(replace(column, name=name) for column, name in zip(made, listed, strict=False))


def _query(parsed: Any) -> Any:
    match parsed:
        case exp.Copy():
            inner = parsed.this
            if isinstance(inner, exp.Table):
                return exp.select("*").from_(inner.copy())
        case exp.Create() | exp.Insert():
            inner = parsed.expression
        case _:
            return parsed if isinstance(parsed, exp.Query) else None
    if isinstance(inner, exp.Subquery):
        return inner.unnest()
    return inner if isinstance(inner, exp.Query) else None


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
    """Return the tables of a query, without its common table expressions."""
    root = build_scope(query)
    if root is None:
        return []
    return [source for scope in root.traverse() for source in scope.sources.values() if isinstance(source, exp.Table)]


def _table(table: Any, dialect: str) -> Table:
    plain = table.copy()
    plain.set("alias", None)
    if isinstance(plain.this, exp.Func):
        first = plain.this.this
        if not isinstance(first, exp.Literal):
            first = next(iter(plain.this.expressions), None)
        return Table(plain.sql(dialect), first.name if isinstance(first, exp.Literal) and first.is_string else None)
    quoted = isinstance(plain.this, exp.Identifier) and plain.this.quoted
    path = plain.name if quoted and ("/" in plain.name or "." in plain.name) else None
    return Table(plain.sql(dialect), path, (plain.name, plain.db or None))


def _columns(
    query: Any,
    leaves: Iterable[Any],
    named: Mapping[str, Table],
    columns: Mapping[str, Sequence[str] | None],
    dialect: str,
) -> tuple[OutputColumn, ...] | None:
    if any(known is None for known in columns.values()):
        return None
    names = {table: name for name, table in named.items()}
    for leaf in leaves:
        alias = leaf.alias or leaf.name
        leaf.replace(exp.alias_(exp.to_table(names[_table(leaf, dialect)]), alias, table=True, quoted=True))
    schema = {name: dict.fromkeys(known or (), "TEXT") for name, known in columns.items()}
    try:
        outputs = qualify(query.copy(), schema=schema, dialect=dialect).named_selects
        found = [
            _output_column(name, lineage(name, query, schema=schema, dialect=dialect), named, columns)
            for name in outputs
        ]
    except SqlglotError:
        return None
    certain = tuple(column for column in found if column is not None)
    return certain if len(certain) == len(found) else None


def _output_column(
    name: str, root: Any, named: Mapping[str, Table], columns: Mapping[str, Sequence[str] | None]
) -> OutputColumn | None:
    nodes = list(root.walk())
    sources: dict[tuple[Table, str], None] = {}
    for node in nodes:
        if not node.downstream and isinstance(node.source, exp.Table):
            table, column = node.source.name, exp.to_column(node.name).name
            spelled = next((known for known in columns.get(table) or () if known.lower() == column.lower()), None)
            if spelled is None:
                return None
            sources[named[table], spelled] = None
    kind = _kind([node.expression for node in nodes if node.downstream])
    # An identity has the name as the table spells it.
    same = [column for _, column in sources if kind is OpKind.IDENTITY and column.lower() == name.lower()]
    return OutputColumn(same[0] if same else name, tuple(sources), kind)


def _kind(steps: Sequence[Any]) -> OpKind:
    if any(step.find(exp.AggFunc) for step in steps):
        return OpKind.AGGREGATE
    if all(isinstance(step.unalias(), exp.Column) for step in steps):
        return OpKind.IDENTITY
    return OpKind.TRANSFORM
