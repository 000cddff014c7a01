"""SQL operators on SQLite: which database, which statements, and what their lineage is where the provider's parser is."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headwater.operators import CollectingSink, ExtractorRegistry, OperatorRunner
from headwater.operators.airflow.sqlite import SqliteExtractor, SqlLineage, database_file, read_statements, split
from headwater_avro.errors import ConfigError


class SQLExecuteQueryOperator:
    """As Airflow's: it names datasets of other databases only."""

    task_id = "load"

    def __init__(self, sql: Any, hook: Any, given: Any = None) -> None:
        self.sql, self._hook, self._given = sql, hook, given

    def execute(self, context: Any) -> None:
        return

    def get_db_hook(self) -> Any:
        return self._hook

    def get_openlineage_facets_on_start(self) -> Any:
        return self._given


def hook(uri: str, conn_type: str = "sqlite") -> Any:
    return SimpleNamespace(conn_type=conn_type, get_uri=lambda: uri)


@pytest.mark.parametrize(
    ("uri", "file"),
    [
        ("sqlite:////data/shop.db", Path("/data/shop.db")),
        ("sqlite:////data/shop.db?mode=ro", Path("/data/shop.db")),
        ("sqlite:///shop.db", Path("shop.db").absolute()),
        ("sqlite:///", None),
        ("sqlite:///:memory:", None),
    ],
)
def test_the_file_of_a_database(uri: str, file: Path | None) -> None:
    assert database_file(hook(uri)) == file


def test_other_databases_have_no_file() -> None:
    assert database_file(hook("postgresql://db/shop", "postgres")) is None


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("select 1; select 2;", ["select 1", "select 2"]),
        ("insert into a values (';'); select 1", ["insert into a values (';')", "select 1"]),
        (
            "create trigger t after insert on a begin delete from b; delete from c; end; select 1",
            ["create trigger t after insert on a begin delete from b; delete from c; end", "select 1"],
        ),
        ("; ;", []),
        ("select 'open", ["select 'open"]),
    ],
)
def test_statements_are_separated_as_sqlite_does(text: str, statements: list[str]) -> None:
    assert list(split(text)) == statements


def test_an_operator_that_names_datasets_decides_itself() -> None:
    given = SqlLineage(inputs=[{"namespace": "postgres://db:5432", "name": "shop.public.orders"}])
    operator = SQLExecuteQueryOperator("select * from orders", hook("sqlite:////shop.db"), given)
    assert SqliteExtractor(operator).extract_on_complete(None) is given


def test_an_operator_on_another_database_is_unchanged() -> None:
    operator = SQLExecuteQueryOperator("select * from orders", hook("postgresql://db/shop", "postgres"))
    assert SqliteExtractor(operator).extract() == SqlLineage()


def test_an_extraction_without_the_parser_is_a_visible_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openlineage_sql", None)
    with pytest.raises(ConfigError, match="install"):
        read_statements(["select 1"], "sqlite:///shop.db")
    sink = CollectingSink()
    operator = SQLExecuteQueryOperator("select * from orders", hook("sqlite:////shop.db"))
    OperatorRunner("shop", sink=sink, registry=ExtractorRegistry([SqliteExtractor])).run(operator)
    (error,) = sink.events[-1]["run"]["facets"]["extractionError"]["errors"]
    assert "openlineage-sql" in error["errorMessage"]
