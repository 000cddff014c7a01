"""Hooks for DuckDB: find the tables and the column origins of the SQL that it runs."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..model.field_operations import Destination, FieldOperation, Input, Source
from ..model.paths import FieldPath
from ..model.schema import Schema
from .hooks import Call, Hook, Name, columns_of, dataset_of, statements_of

if TYPE_CHECKING:
    from .block import Trace

_SCAN = "python_scan_all_frames"


@dataclass(frozen=True, slots=True)
class _Prepared:
    statements: Any
    cursor: Any


# The databases whose setting must be restored (None: it was set before): of calls in progress and of finished calls.
_lock = threading.Lock()
_in_progress: list[Any] = []
_finished: list[Any] = []


def prepare_statements(call: Call) -> _Prepared:
    """Return what a statement reads and writes, before it runs: afterwards, a table may no longer exist.

    DuckDB resolves an unknown table name to a variable of its caller, and by default searches the calling frame only.
    That frame is now the wrapper, so the search is extended to all frames for the duration of the call.
    """
    cursor = _cursor(call)
    text = call.argument(1 if "." in call.hook.path else 0, "query", "sql")
    statements = statements_of(text, "duckdb", _columns_in(cursor)) if isinstance(text, str) else None
    with _lock:
        ((set_before,),) = cursor.execute(f"SELECT current_setting('{_SCAN}')").fetchall()
        cursor.execute(f"SET GLOBAL {_SCAN} = true")
        _in_progress.append(None if set_before else cursor)
    return _Prepared(statements, cursor)


def restore_setting(call: Call) -> None:
    """Restore the setting for the frame search after the last call in progress has ended, even with an error."""
    if not isinstance(call.prepared, _Prepared):
        return
    with _lock:
        _finished.append(_in_progress.pop())
        if not _in_progress:
            for cursor in filter(None, _finished):
                cursor.execute(f"SET GLOBAL {_SCAN} = false")
            _finished.clear()


def record_statements(trace: Trace, call: Call) -> None:
    """Record the tables and columns of the statements that ran."""
    if not isinstance(call.prepared, _Prepared) or call.prepared.statements is None:
        trace.unnamed += 1
        return
    cursor = call.prepared.cursor
    columns_by, database = _columns_in(cursor), _database(cursor)
    for statement in call.prepared.statements:
        sources = _record_reads(trace, statement, columns_by, database)
        if statement.writes is not None:
            target = _name(statement.writes, database)
            columns = columns_by(statement.writes.text) if statement.writes.path is None else None
            _record_write(trace, statement, sources, target, columns)


def can_scan_all_frames() -> bool:
    """Return whether this DuckDB has the setting that ``prepare_statements`` needs."""
    found = _new_connection().execute("SELECT count(*) FROM duckdb_settings() WHERE name = ?", [_SCAN]).fetchall()
    return bool(found[0][0])


def record_relation(trace: Trace, call: Call) -> None:
    """Record a relation that was written to a file, with the column origins of its SQL."""
    relation, name = call.args[0], dataset_of(call.argument(1, "file_name"))
    (statement,) = call.prepared or (None,)
    if name is None or statement is None:
        trace.record_opaque_write(name, columns_of(relation), "duckdb")
        return
    sources = _record_reads(trace, statement, _columns_in(_new_connection()), "duckdb://:memory:")
    _record_write(trace, statement, sources, name, columns_of(relation))


def prepare_relation(call: Call) -> Any:
    """Return what the SQL of a relation reads, before it is written: files only, its database is not accessible here."""
    return statements_of(call.args[0].sql_query(), "duckdb", _columns_in(_new_connection()))


def _record_reads(
    trace: Trace, statement: Any, columns_by: Callable[[str], Sequence[str] | None], database: str
) -> dict[str, Source]:
    sources = {}
    for table in statement.reads:
        columns = columns_by(table.text)
        if columns is None and table.path is None:
            # Neither a file nor a table of the database: a frame of the program, whose origin is already recorded.
            trace.unnamed += 1
            continue
        sources[table.text] = Source.of(*_name(table, database))
        trace.record_read(sources[table.text], columns or ())
    return sources


def _record_write(
    trace: Trace, statement: Any, sources: dict[str, Source], target: Name, columns: Sequence[str] | None
) -> None:
    if statement.columns is None:
        trace.record_opaque_write(target, columns or (), "duckdb")
        return
    appended = statement.appends and Destination.of(*target) in trace.written
    operations = [
        FieldOperation(
            "SQL",
            [
                *(Input(FieldPath((name,)), sources[table.text]) for table, name in column.sources),
                # An INSERT preserves the rows that an earlier statement wrote.
                *([Input(FieldPath((column.name,)))] if appended else ()),
            ],
            [FieldPath((column.name,))],
            kind=column.kind if column.sources else None,
        )
        for column in statement.columns
    ]
    schema = Schema.of(*(column.name for column in statement.columns))
    trace.record_write(Destination.of(*target, schema=schema), operations)


def _name(table: Any, database: str) -> Name:
    named = dataset_of(table.path)
    return (database, table.text.replace('"', "")) if named is None else named


def _cursor(call: Call) -> Any:
    """Return a second connection to the database, so that a result that is still being fetched is not lost."""
    if "." in call.hook.path:
        return call.args[0].cursor()
    return (call.kwargs.get("connection") or _duckdb().default_connection()).cursor()


def _new_connection() -> Any:
    return _duckdb().connect()


def _duckdb() -> Any:
    return importlib.import_module("duckdb")


def _columns_in(cursor: Any) -> Callable[[str], Sequence[str] | None]:
    error = _duckdb().Error

    def columns(table: str) -> Sequence[str] | None:
        try:
            return [str(row[0]) for row in cursor.execute(f"DESCRIBE SELECT * FROM {table}").fetchall()]  # noqa: S608
        except error:
            return None

    return columns


def _database(cursor: Any) -> str:
    files = [row[2] for row in cursor.execute("PRAGMA database_list").fetchall() if row[2]]
    return f"duckdb://{files[0] if files else ':memory:'}"


_STATEMENTS = tuple(
    Hook("duckdb", f"{owner}{name}", record_statements, prepare_statements, restore_setting, can_scan_all_frames)
    for owner in ("", "DuckDBPyConnection.")
    for name in ("sql", "query", "execute")
)
_RELATIONS = tuple(
    Hook("duckdb", f"DuckDBPyRelation.{name}", record_relation, prepare_relation)
    for name in ("write_parquet", "to_parquet", "write_csv", "to_csv")
)
DUCKDB_HOOKS: tuple[Hook, ...] = (*_STATEMENTS, *_RELATIONS)
