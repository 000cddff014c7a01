"""DuckDB's part of `trace`: the SQL that it runs tells its tables, and its columns exactly."""

from __future__ import annotations

import importlib
import importlib.util
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..model.field_operations import Destination, FieldOperation, Input, Source
from ..model.paths import FieldPath
from ..model.schema import Schema, SchemaField
from .hooks import Call, Hook, Name, Tracing, columns_of, dataset_of, tell_written

_SCAN = "python_scan_all_frames"


@dataclass(frozen=True, slots=True)
class _Noted:
    statements: Any
    cursor: Any


# The databases to restore, None for those that had the setting already: of calls under way, and of those that ended.
_looking = threading.Lock()
_under_way: list[Any] = []
_ended: list[Any] = []


def note_statements(call: Call) -> _Noted:
    """Before a statement runs: what it will read and write (afterwards a table may be gone).

    DuckDB takes a name that is no table from the variables of the Python code that calls it, and it looks no further
    than one frame up. There the wrapper stands now, so for the time of the call it has to look further.
    """
    cursor = _cursor(call)
    text = call.argument(1 if "." in call.hook.path else 0, "query", "sql")
    statements = None
    if isinstance(text, str) and importlib.util.find_spec("sqlglot") is not None:
        from .sql import read_statements

        statements = read_statements(text, "duckdb", _columns_by(cursor))
    with _looking:
        ((set_before,),) = cursor.execute(f"SELECT current_setting('{_SCAN}')").fetchall()
        cursor.execute(f"SET GLOBAL {_SCAN} = true")
        _under_way.append(None if set_before else cursor)
    return _Noted(statements, cursor)


def restore_setting(call: Call) -> None:
    """After a call, however it ended: let DuckDB look as far as before, once no other call is under way."""
    if not isinstance(call.noted, _Noted):
        return
    with _looking:
        _ended.append(_under_way.pop())
        if not _under_way:
            for cursor in filter(None, _ended):
                cursor.execute(f"SET GLOBAL {_SCAN} = false")
            _ended.clear()


def tell_statements(tracing: Tracing, call: Call) -> None:
    """After a statement ran: its tables and columns."""
    if not isinstance(call.noted, _Noted) or call.noted.statements is None:
        tracing.unnamed += 1
        return
    cursor = call.noted.cursor
    known, database = _columns_by(cursor), _database(cursor)
    for statement in call.noted.statements:
        sources = _tell_reads(tracing, statement, known, database)
        if statement.writes is not None:
            target = _name(statement.writes, database)
            columns = known(statement.writes.text) if statement.writes.path is None else None
            _tell_write(tracing, call, statement, sources, target, columns)


def can_look_further() -> bool:
    """Whether this DuckDB has the setting that `note_statements` needs."""
    found = _fresh().execute("SELECT count(*) FROM duckdb_settings() WHERE name = ?", [_SCAN]).fetchall()
    return bool(found[0][0])


def tell_relation(tracing: Tracing, call: Call) -> None:
    """A relation written to a file: it knows its own SQL."""
    relation, name = call.args[0], dataset_of(call.argument(1, "file_name"))
    if name is None:
        tracing.unnamed += 1
        return
    (statement,) = call.noted or (None,)
    if statement is None:
        tell_written(tracing, call, name, columns_of(relation))
        return
    sources = _tell_reads(tracing, statement, _columns_by(_fresh()), "duckdb://:memory:")
    _tell_write(tracing, call, statement, sources, name, columns_of(relation))


def note_relation(call: Call) -> Any:
    """Before a relation is written: what its SQL reads; tables of its database are not seen from here, files are."""
    if importlib.util.find_spec("sqlglot") is None:
        return None
    from .sql import read_statements

    return read_statements(call.args[0].sql_query(), "duckdb", _columns_by(_fresh()))


def _tell_reads(
    tracing: Tracing, statement: Any, known: Callable[[str], Sequence[str] | None], database: str
) -> dict[str, Source]:
    sources = {}
    for table in statement.reads:
        columns = known(table.text)
        if columns is None and table.path is None:
            # Neither a file nor a table of the database: a frame of the program, whose origin is already told.
            tracing.unnamed += 1
            continue
        sources[table.text] = Source.of(*_name(table, database))
        tracing.reads(sources[table.text], columns or ())
    return sources


def _tell_write(
    tracing: Tracing,
    call: Call,
    statement: Any,
    sources: dict[str, Source],
    target: Name,
    columns: Sequence[str] | None,
) -> None:
    if statement.columns is None:
        tell_written(tracing, call, target, columns or ())
        return
    before = statement.appends and Destination.of(*target) in tracing.written
    operations = [
        FieldOperation(
            "SQL",
            [
                *(Input(FieldPath((column,)), sources[table.text]) for table, column in one.sources),
                # Rows that are added leave those that an earlier statement wrote.
                *([Input(FieldPath((one.name,)))] if before else ()),
            ],
            [FieldPath((one.name,))],
            kind=one.kind if one.sources else None,
        )
        for one in statement.columns
    ]
    schema = Schema(tuple(SchemaField(one.name) for one in statement.columns))
    tracing.writes(Destination.of(*target, schema=schema), operations)


def _name(table: Any, database: str) -> Name:
    named = dataset_of(table.path)
    return (database, table.text.replace('"', "")) if named is None else named


def _cursor(call: Call) -> Any:
    """A second connection to the same database, so that no result that is still being fetched is lost."""
    if "." in call.hook.path:
        return call.args[0].cursor()
    return (call.kwargs.get("connection") or _duckdb().default_connection()).cursor()


def _fresh() -> Any:
    return _duckdb().connect()


def _duckdb() -> Any:
    return importlib.import_module("duckdb")


def _columns_by(cursor: Any) -> Callable[[str], Sequence[str] | None]:
    refused = _duckdb().Error

    def known(table: str) -> Sequence[str] | None:
        try:
            return [str(row[0]) for row in cursor.execute(f"DESCRIBE SELECT * FROM {table}").fetchall()]  # noqa: S608
        except refused:
            return None

    return known


def _database(cursor: Any) -> str:
    files = [row[2] for row in cursor.execute("PRAGMA database_list").fetchall() if row[2]]
    return f"duckdb://{files[0] if files else ':memory:'}"


_STATEMENTS = tuple(
    Hook("duckdb", f"{owner}{name}", tell_statements, note_statements, restore_setting, can_look_further)
    for owner in ("", "DuckDBPyConnection.")
    for name in ("sql", "query", "execute")
)
_RELATIONS = tuple(
    Hook("duckdb", f"DuckDBPyRelation.{name}", tell_relation, note_relation)
    for name in ("write_parquet", "to_parquet", "write_csv", "to_csv")
)
DUCKDB_HOOKS: tuple[Hook, ...] = (*_STATEMENTS, *_RELATIONS)
