"""The functions that a trace block wraps, and how the datasets and columns of a call are found."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..model.field_operations import Source

if TYPE_CHECKING:
    from .block import Trace
    from .sql import ColumnsOf, Statement

Name = tuple[str, str]
"""An OpenLineage dataset: namespace and name."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a wrapped function: its arguments, what ``Hook.before`` returned, and its result."""

    hook: Hook
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    prepared: Any = None
    result: Any = None

    def argument(self, position: int, *names: str) -> Any:
        """Return the argument at a position, or with one of its names; None if it is absent."""
        if len(self.args) > position:
            return self.args[position]
        return next((self.kwargs[name] for name in names if name in self.kwargs), None)


@dataclass(frozen=True, slots=True)
class Hook:
    """A function to wrap, given by its module and its path in the module.

    ``before`` prepares the recording of a call, ``after`` records it, and ``finally_`` runs even if the call raises.
    A function that is not ``usable`` is not wrapped.
    """

    module: str
    path: str
    after: Callable[[Trace, Call], None]
    before: Callable[[Call], Any] | None = None
    finally_: Callable[[Call], None] | None = None
    usable: Callable[[], bool] | None = None

    @property
    def library(self) -> str:
        """The name of the library."""
        return self.module.partition(".")[0]


def dataset_of(where: object) -> Name | None:
    """Return the dataset of a path or URL: ``("file", absolute path)``, ``("s3://bucket", key)``; None for a buffer."""
    if isinstance(where, PathLike):
        where = fspath(where)
    if not isinstance(where, str) or not where:
        return None
    scheme, separator, rest = where.partition("://")
    if not separator:
        return ("file", str(Path(where).absolute()))
    if scheme == "file":
        return ("file", rest)
    authority, _, key = rest.partition("/")
    return (f"{scheme}://{authority}", key or "/")


def database_of(connection: Any) -> str | None:
    """Return the namespace of the tables of a sqlite3 connection, or of SQLAlchemy's engine, connection or URL."""
    if _is_sqlite(connection):
        (_, _, file), *_ = _rows(connection, "PRAGMA database_list")
        return f"sqlite://{file or ':memory:'}"
    engine = getattr(connection, "engine", connection)
    url = getattr(engine, "url", None)
    if url is None:
        return None
    if url.get_backend_name() == "sqlite":
        # As a connection of sqlite3 to the same file.
        in_memory = url.database in (None, "", ":memory:")
        return f"sqlite://{':memory:' if in_memory else Path(url.database).absolute()}"
    port = f":{url.port}" if url.port else ""
    return f"{url.get_backend_name()}://{url.host or ''}{port}/{url.database or ''}"


def columns_of(frame: Any) -> list[str]:
    """Return the column names of a frame of any of the libraries; empty for anything else (an iterator of chunks)."""
    if hasattr(frame, "collect_schema"):
        return [str(name) for name in frame.collect_schema().names()]
    names = getattr(frame, "column_names", None)
    if names is None:
        names = getattr(frame, "columns", None)
    return [] if names is None else [str(name) for name in names if str(name)]


def record_read(trace: Trace, call: Call) -> None:
    """Record a reader whose first argument is a path or a list of paths."""
    where = call.argument(0, "filepath_or_buffer", "path_or_buf", "path", "io", "source", "input_file", "where")
    for item in where if isinstance(where, list | tuple) else (where,):
        name = dataset_of(item)
        if name is None:
            trace.unnamed += 1
        else:
            trace.record_read(Source.of(*name), columns_of(call.result))


def record_write(trace: Trace, call: Call) -> None:
    """Record a writer whose first argument (or self) is the frame and whose second is the path."""
    where = call.argument(
        1, "path", "path_or_buf", "file", "where", "dest", "output_file", "excel_writer", "target", "file_name"
    )
    trace.record_opaque_write(dataset_of(where), columns_of(call.argument(0, "table", "data", "df")), call.hook.library)


def record_sql_read(trace: Trace, call: Call) -> None:
    """Record a reader of pandas whose first argument is a query or a table name and whose second is a connection."""
    connection = call.argument(1, "con")
    namespace = database_of(connection)
    text = str(call.argument(0, "sql", "table_name")).strip()
    schema = call.argument(2, "schema") if call.hook.path == "read_sql_table" else None
    tables = _tables(text, connection, namespace or "") if " " in text else [table_name(connection, text, schema)]
    if namespace is None or not tables:
        trace.unnamed += 1
        return
    for table in tables:
        # The table of a column is certain only if there is a single table.
        trace.record_read(Source.of(namespace, table), columns_of(call.result) if len(tables) == 1 else ())


def record_sql_write(trace: Trace, call: Call) -> None:
    """Record ``to_sql`` of pandas."""
    connection = call.argument(2, "con")
    namespace = database_of(connection)
    table = table_name(connection, str(call.argument(1, "name")), call.argument(3, "schema"))
    name = None if namespace is None else (namespace, table)
    trace.record_opaque_write(name, columns_of(call.args[0]), call.hook.library)


def _is_sqlite(connection: Any) -> bool:
    return type(connection).__module__ == "sqlite3"


def table_name(connection: Any, table: str, schema: str | None = None) -> str:
    """Return the name of a table of a database; of one of SQLite, as the database spells it, without the schema ``main``."""
    name = f"{schema}.{table}" if schema else table
    if not _is_sqlite(connection):
        return name
    plain = name.removeprefix("main.")
    return _spelled(connection, plain) or plain


def _spelled(connection: Any, name: str) -> str | None:
    """Return a table or view as a connection of sqlite3 spells it; None if there is none of that name."""
    query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND lower(name) = lower(?)"
    return next((str(spelled) for (spelled,) in _rows(connection, query, name)), None)


def _rows(connection: Any, query: str, *parameters: str) -> list[tuple[Any, ...]]:
    cursor = connection.cursor()
    # The program's connection may yield rows of another type.
    cursor.row_factory = None
    rows: list[tuple[Any, ...]] = cursor.execute(query, parameters).fetchall()
    return rows


_DIALECTS = {"postgresql": "postgres", "mariadb": "mysql", "mssql": "tsql"}
"""The names that sqlglot has for dialects that SQLAlchemy calls otherwise."""
_AFTER_FROM = re.compile(r"""(?:\bFROM|\bJOIN|,)\s+("[^"]+"|`[^`]+`|\[[^\]]+\]|[^\s,();]+)""", re.IGNORECASE)


def _tables(text: str, connection: Any, namespace: str) -> list[str]:
    scheme = namespace.partition(":")[0]
    statements = statements_of(text, _DIALECTS.get(scheme, scheme), lambda _: None)
    if statements is not None:
        found = [table_name(connection, *table.parts) for statement in statements for table in statement.reads]
    elif _is_sqlite(connection):
        # Without a parser, a word after FROM is a table if the database has one of that name.
        words = [word.removeprefix("main.").strip('"`[]') for word in _AFTER_FROM.findall(text)]
        found = [name for word in words if (name := _spelled(connection, word)) is not None]
    else:
        found = []
    return list(dict.fromkeys(found))


def statements_of(text: str, dialect: str, columns_of_table: ColumnsOf) -> list[Statement] | None:
    """Return the statements of a SQL text (``sql.read_statements``), None if sqlglot is not installed."""
    if importlib.util.find_spec("sqlglot") is None:
        return None
    from .sql import read_statements

    return read_statements(text, dialect, columns_of_table)


def _methods(module: str, owner: str, names: str, after: Callable[[Trace, Call], None]) -> tuple[Hook, ...]:
    prefix = f"{owner}." if owner else ""
    return tuple(Hook(module, f"{prefix}{name}", after) for name in names.split())


FRAME_HOOKS: tuple[Hook, ...] = (
    *_methods("pandas", "", "read_csv read_table read_parquet read_json read_feather read_orc read_excel", record_read),
    *_methods("pandas", "", "read_sql read_sql_query read_sql_table", record_sql_read),
    *_methods("pandas", "DataFrame", "to_csv to_parquet to_json to_feather to_orc to_excel", record_write),
    *_methods("pandas", "DataFrame", "to_sql", record_sql_write),
    *_methods("polars", "", "read_csv read_parquet read_json read_ndjson read_ipc", record_read),
    *_methods("polars", "", "scan_csv scan_parquet scan_ndjson scan_ipc", record_read),
    *_methods("polars", "DataFrame", "write_csv write_parquet write_json write_ndjson write_ipc", record_write),
    *_methods("pyarrow.parquet", "", "read_table", record_read),
    *_methods("pyarrow.parquet", "", "write_table", record_write),
    *_methods("pyarrow.csv", "", "read_csv", record_read),
    *_methods("pyarrow.csv", "", "write_csv", record_write),
    *_methods("pyarrow.json", "", "read_json", record_read),
    *_methods("pyarrow.feather", "", "read_table", record_read),
    *_methods("pyarrow.feather", "", "write_feather", record_write),
)
