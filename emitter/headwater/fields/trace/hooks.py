"""Which functions of which libraries `trace` wraps, and what each call says about datasets and columns."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Protocol

from ..model.field_operations import Destination, FieldOperation, Source
from ..model.schema import Schema, SchemaField

Name = tuple[str, str]
"""An OpenLineage dataset: namespace and name."""


class Tracing(Protocol):
    """What a hook tells."""

    unnamed: int
    written: dict[Destination, None]
    read: dict[Source, dict[str, None]]

    def reads(self, source: Source, columns: Iterable[str]) -> None: ...

    def writes(self, destination: Destination, operations: Sequence[FieldOperation]) -> None: ...

    def everything_to(self, columns: Sequence[str], library: str) -> FieldOperation: ...


@dataclass(frozen=True, slots=True)
class Call:
    """A call that was wrapped: of which function, with which arguments, what was noted before it, what it returned."""

    hook: Hook
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    noted: Any = None
    result: Any = None

    def argument(self, place: int, *names: str) -> Any:
        """The argument at a place, or under one of its names."""
        if len(self.args) > place:
            return self.args[place]
        return next((self.kwargs[name] for name in names if name in self.kwargs), None)


@dataclass(frozen=True, slots=True)
class Hook:
    """A function to wrap, as its module and path in it; ``before`` notes something about a call, ``after`` tells it.

    ``finally_`` is called even if the call raised; what is not ``usable`` here is not wrapped.
    """

    module: str
    path: str
    after: Callable[[Tracing, Call], None]
    before: Callable[[Call], Any] | None = None
    finally_: Callable[[Call], None] | None = None
    usable: Callable[[], bool] | None = None

    @property
    def library(self) -> str:
        """The library's name."""
        return self.module.partition(".")[0]


def dataset_of(where: object) -> Name | None:
    """The OpenLineage name of a path or URL: ``("file", absolute path)``, ``("s3://bucket", key)``; None for buffers."""
    if isinstance(where, PathLike):
        where = fspath(where)
    if not isinstance(where, str) or not where:
        return None
    scheme, mark, rest = where.partition("://")
    if not mark:
        return ("file", str(Path(where).absolute()))
    if scheme == "file":
        return ("file", rest)
    authority, _, key = rest.partition("/")
    return (f"{scheme}://{authority}", key or "/")


def database_of(connection: Any) -> str | None:
    """The namespace of a database's tables: of a sqlite3 connection, or SQLAlchemy's engine, connection or URL."""
    if type(connection).__module__ == "sqlite3":
        (_, _, file), *_ = connection.execute("PRAGMA database_list").fetchall()
        return f"sqlite://{file or ':memory:'}"
    engine = getattr(connection, "engine", connection)
    url = getattr(engine, "url", None)
    if url is None:
        return None
    port = f":{url.port}" if url.port else ""
    return f"{url.get_backend_name()}://{url.host or ''}{port}/{url.database or ''}"


def columns_of(frame: Any) -> list[str]:
    """The column names of a frame of any of the libraries; none for what is no frame (an iterator of chunks)."""
    if hasattr(frame, "collect_schema"):
        return [str(name) for name in frame.collect_schema().names()]
    names = getattr(frame, "column_names", None)
    if names is None:
        names = getattr(frame, "columns", None)
    return [] if names is None else [str(name) for name in names if str(name)]


def reads_first(tracing: Tracing, call: Call) -> None:
    """A reader whose first argument is the path (or a list of them)."""
    where = call.argument(0, "filepath_or_buffer", "path_or_buf", "path", "io", "source", "input_file", "where")
    for one in where if isinstance(where, list | tuple) else (where,):
        name = dataset_of(one)
        if name is None:
            tracing.unnamed += 1
        else:
            tracing.reads(Source.of(*name), columns_of(call.result))


def writes_second(tracing: Tracing, call: Call) -> None:
    """A writer of the frame that comes first (a method's self) to the path that comes second."""
    where = call.argument(
        1, "path", "path_or_buf", "file", "where", "dest", "output_file", "excel_writer", "target", "file_name"
    )
    name = dataset_of(where)
    if name is None:
        tracing.unnamed += 1
        return
    frame = call.argument(0, "table", "data", "df")
    tell_written(tracing, call, name, columns_of(frame))


def tell_written(tracing: Tracing, call: Call, name: Name, columns: Sequence[str]) -> None:
    """A dataset was written by code that can't be seen into."""
    schema = Schema(tuple(SchemaField(column) for column in columns)) if columns else None
    tracing.writes(Destination.of(*name, schema=schema), [tracing.everything_to(columns, call.hook.library)])


def reads_sql(tracing: Tracing, call: Call) -> None:
    """pandas' readers of a query or a table name, over a connection."""
    namespace = database_of(call.argument(1, "con"))
    text = str(call.argument(0, "sql", "table_name"))
    tables = [text] if " " not in text.strip() else _tables(text)
    if namespace is None or not tables:
        tracing.unnamed += 1
        return
    for table in tables:
        # Which table a column is of is certain only where there is one.
        tracing.reads(Source.of(namespace, table), columns_of(call.result) if len(tables) == 1 else ())


def writes_sql(tracing: Tracing, call: Call) -> None:
    """pandas' ``to_sql``."""
    namespace = database_of(call.argument(2, "con"))
    if namespace is None:
        tracing.unnamed += 1
        return
    schema = call.argument(3, "schema")
    table = str(call.argument(1, "name"))
    tell_written(tracing, call, (namespace, f"{schema}.{table}" if schema else table), columns_of(call.args[0]))


def _tables(text: str) -> list[str]:
    if importlib.util.find_spec("sqlglot") is None:
        return []
    from .sql import read_statements

    return [table.text for one in read_statements(text, "", lambda _: None) for table in one.reads]


def _methods(module: str, owner: str, names: str, after: Callable[[Tracing, Call], None]) -> tuple[Hook, ...]:
    prefix = f"{owner}." if owner else ""
    return tuple(Hook(module, f"{prefix}{name}", after) for name in names.split())


FRAME_HOOKS: tuple[Hook, ...] = (
    *_methods("pandas", "", "read_csv read_table read_parquet read_json read_feather read_orc read_excel", reads_first),
    *_methods("pandas", "", "read_sql read_sql_query read_sql_table", reads_sql),
    *_methods("pandas", "DataFrame", "to_csv to_parquet to_json to_feather to_orc to_excel", writes_second),
    *_methods("pandas", "DataFrame", "to_sql", writes_sql),
    *_methods("polars", "", "read_csv read_parquet read_json read_ndjson read_ipc", reads_first),
    *_methods("polars", "", "scan_csv scan_parquet scan_ndjson scan_ipc", reads_first),
    *_methods("polars", "DataFrame", "write_csv write_parquet write_json write_ndjson write_ipc", writes_second),
    *_methods("pyarrow.parquet", "", "read_table", reads_first),
    *_methods("pyarrow.parquet", "", "write_table", writes_second),
    *_methods("pyarrow.csv", "", "read_csv", reads_first),
    *_methods("pyarrow.csv", "", "write_csv", writes_second),
    *_methods("pyarrow.json", "", "read_json", reads_first),
    *_methods("pyarrow.feather", "", "read_table", reads_first),
    *_methods("pyarrow.feather", "", "write_feather", writes_second),
)
