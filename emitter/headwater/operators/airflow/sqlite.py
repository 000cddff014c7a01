"""Lineage of Airflow's SQL operators on SQLite, for which Airflow's hook gives no database to its OpenLineage provider.

``SqliteExtractor`` works in both ways: headwater's listener has it registered, and Airflow's provider uses it where its
setting ``extractors`` names it. What it returns is therefore made of openlineage-python's classes.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from openlineage.client.event_v2 import Dataset
from openlineage.client.facet_v2 import column_lineage_dataset, sql_job

from headwater_avro.errors import ConfigError

from ..contract.extractors import DefaultExtractor


@dataclass(slots=True)
class SqlLineage:
    """The tables and the text of SQL statements, in the form that Airflow's provider and this package accept."""

    inputs: list[Any] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)
    run_facets: dict[str, Any] = field(default_factory=dict)
    job_facets: dict[str, Any] = field(default_factory=dict)


class SqliteExtractor(DefaultExtractor):
    """An extractor that calls the operator, and reads its SQL if it names no dataset and its connection is SQLite's."""

    def __init__(self, operator: Any, *_: Any, **__: Any) -> None:
        # Airflow's provider passes further arguments in some versions.
        super().__init__(operator)

    @classmethod
    def get_operator_classnames(cls) -> Sequence[str]:
        checks = (f"SQL{kind}Operator" for kind in ("Check", "ValueCheck", "IntervalCheck", "ThresholdCheck"))
        return ["SQLExecuteQueryOperator", "SqliteOperator", "BranchSQLOperator", *checks]

    def extract(self, ti: Any = None) -> Any:
        return self._with_tables(super().extract(ti))

    def extract_on_complete(self, ti: Any) -> Any:
        return self._with_tables(super().extract_on_complete(ti))

    def extract_on_failure(self, ti: Any) -> Any:
        return self._with_tables(super().extract_on_failure(ti))

    def _with_tables(self, given: Any) -> Any:
        if getattr(given, "inputs", None) or getattr(given, "outputs", None):
            return given
        statements = _statements(getattr(self.operator, "sql", None))
        file = database_file(self.operator.get_db_hook()) if statements else None
        if file is None:
            return given or SqlLineage()
        read = read_statements(statements, f"sqlite://{file}")
        read.run_facets |= getattr(given, "run_facets", None) or {}
        read.job_facets |= getattr(given, "job_facets", None) or {}
        return read


def database_file(hook: Any) -> Path | None:
    """Return the absolute path of the database of a SQLite hook; None for other hooks, and for a database in memory."""
    if getattr(hook, "conn_type", None) != "sqlite":
        return None
    # The hook removes exactly this prefix to open the file.
    path = str(hook.get_uri()).replace("sqlite:///", "", 1).partition("?")[0]
    return Path(path).absolute() if path and ":memory:" not in path else None


def read_statements(statements: Iterable[str], namespace: str) -> SqlLineage:
    """Return the lineage of SQL statements on the tables of a namespace.

    The parser is the one of Airflow's provider (``openlineage-sql``); raise ``ConfigError`` without it. A statement that it
    cannot parse has no tables.
    """
    try:
        parse: Any = importlib.import_module("openlineage_sql").parse
    except ImportError as fault:
        raise ConfigError("the SQL of an operator is read by the package openlineage-sql: install it") from fault
    inputs: dict[str, Any] = {}
    outputs: dict[str, Any] = {}
    texts = list(statements)
    for text in texts:
        parsed = parse([text], "sqlite")
        inputs |= {
            name: Dataset(namespace, name, facets={}) for name in map(_name, parsed.in_tables) if name not in inputs
        }
        written = {
            name: outputs.get(name) or Dataset(namespace, name, facets={}) for name in map(_name, parsed.out_tables)
        }
        outputs |= written
        # The parser names the columns of the query: those of an INSERT's or UPDATE's table may have other names.
        if text[:6].lower() == "create":
            for dataset in written.values():
                _set_columns(dataset, parsed.column_lineage)
    facets = {"sql": sql_job.SQLJobFacet(query=";\n".join(texts))}
    return SqlLineage(list(inputs.values()), list(outputs.values()), {}, facets)


def _set_columns(dataset: Any, lineage: Iterable[Any]) -> None:
    """Set the facet of the columns that a statement has created."""
    fields = {}
    for column in lineage:
        origins = [
            column_lineage_dataset.InputField(dataset.namespace, _name(origin.origin), origin.name)
            for origin in column.lineage
            if origin.origin
        ]
        # The parser calls columns without a name by their number.
        if origins and not re.fullmatch(r"_\d+", column.descendant.name):
            fields[column.descendant.name] = column_lineage_dataset.Fields(inputFields=origins)
    if fields:
        dataset.facets["columnLineage"] = column_lineage_dataset.ColumnLineageDatasetFacet(fields=fields)


def _name(table: Any) -> str:
    # The file's own tables are in the schema ``main``, which statements rarely name.
    return str(table.name if table.schema in (None, "main") else f"{table.schema}.{table.name}")


def _statements(sql: Any) -> list[str]:
    """Return the statements of an operator's ``sql``: a text, which may have several, or a list of texts."""
    texts = [sql] if isinstance(sql, str) else sql if isinstance(sql, (list, tuple)) else ()
    return [statement for text in texts if isinstance(text, str) for statement in split(text)]


def split(text: str) -> Iterator[str]:
    """Yield the statements of a text, as SQLite itself separates them."""
    from sqlite3 import complete_statement

    statement = ""
    for part in text.split(";"):
        statement += part
        if complete_statement(f"{statement};"):
            if statement.strip():
                yield statement.strip()
            statement = ""
        else:
            statement += ";"
    if statement.strip(" ;\n"):
        yield statement.strip(" ;\n")
