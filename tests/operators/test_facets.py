"""Facets are converted to the spelling of the OpenLineage specification."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attr
import pytest
from openlineage.client.facet_v2 import error_message_run, output_statistics_output_dataset

from headwater.operators import external_query
from headwater.operators.contract.facets import PRODUCER, read_facet, read_facets
from headwater.operators.contract.plain import plain
from headwater.producer import CLASSES, facet_class


def spelled(container: Any, name: str, facet: object) -> dict[str, Any]:
    members, problems = read_facet(container, name, facet)
    assert members is not None, problems
    return {key: value for key, value in members.items() if not key.startswith("_")}


@pytest.mark.parametrize(
    ("container", "name", "given", "expected"),
    [
        ("output", "outputStatistics", {"rowCount": 10, "Size": 1000}, {"rowCount": 10, "size": 1000}),
        ("output", "outputStatistics", {"row_count": 10}, {"rowCount": 10}),
        (
            "run",
            "errorMessage",
            {"Message": "m", "language": "python"},
            {"message": "m", "programmingLanguage": "python"},
        ),
        ("run", "errorMessage", {"message": "m"}, {"message": "m", "programmingLanguage": "python"}),
        ("input", "dataQualityMetrics", {"rowCount": 5}, {"rowCount": 5, "columnMetrics": {}}),
        (
            "run",
            "externalQuery",
            {"queryId": "q1", "source": "bigquery"},
            {"externalQueryId": "q1", "source": "bigquery"},
        ),
        ("job", "sourceCode", {"language": "sql", "source_code": "x"}, {"language": "sql", "sourceCode": "x"}),
        ("dataset", "schema", {"Fields": [{"Name": "a", "Type": "int"}]}, {"fields": [{"name": "a", "type": "int"}]}),
        (
            "dataset",
            "schema",
            {"fields": [{"name": "s", "fields": [{"Name": "in", "Description": "d"}]}]},
            {"fields": [{"name": "s", "fields": [{"name": "in", "description": "d"}]}]},
        ),
        (
            "dataset",
            "columnLineage",
            {"fields": {"Total_Sum": {"input_fields": [{"Namespace": "n", "name": "t", "field": "Price"}]}}},
            {"fields": {"Total_Sum": {"inputFields": [{"namespace": "n", "name": "t", "field": "Price"}]}}},
        ),
        ("run", "etl_batch", {"Number_Of": 7}, {"Number_Of": 7}),
    ],
)
def test_spellings_become_those_of_the_specification(container: Any, name: str, given: Any, expected: Any) -> None:
    assert spelled(container, name, given) == expected


def test_the_specifications_own_spelling_wins_over_any_other() -> None:
    for given in ({"size": 1, "Size": 2}, {"Size": 2, "size": 1}):
        assert spelled("output", "outputStatistics", given) == {"size": 1}


def test_every_facet_is_signed() -> None:
    known, _ = read_facet("job", "sql", {"query": "select 1"})
    custom, _ = read_facet("run", "etl_batch", {"number": 7})
    assert known is not None
    assert custom is not None
    assert known["_producer"] == custom["_producer"] == PRODUCER
    assert known["_schemaURL"].endswith("SQLJobFacet.json#/$defs/SQLJobFacet")
    assert custom["_schemaURL"].endswith("OpenLineage.json#/$defs/RunFacet")


def test_a_signature_that_is_there_stays() -> None:
    members, _ = read_facet("run", "etl_batch", {"_producer": "urn:etl", "_schemaURL": "urn:etl:batch"})
    assert members == {"_producer": "urn:etl", "_schemaURL": "urn:etl:batch"}


def test_reading_what_was_read_changes_nothing() -> None:
    once, _ = read_facet("run", "errorMessage", {"Message": "m"})
    assert read_facet("run", "errorMessage", once) == (once, [])


def test_openlineage_pythons_objects_are_facets() -> None:
    statistics = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(rowCount=3, size=None)
    assert spelled("output", "outputStatistics", statistics) == {"rowCount": 3}
    error = error_message_run.ErrorMessageRunFacet(message="m", programmingLanguage="python")
    assert spelled("run", "errorMessage", error) == {"message": "m", "programmingLanguage": "python"}


def test_a_known_facet_that_lacks_what_it_needs_is_left_out() -> None:
    assert read_facet("job", "sql", {"dialect": "duckdb"}) == (None, ["job facet sql lacks query: left out"])


def test_a_deleted_facet_needs_nothing_more() -> None:
    members, problems = read_facet("job", "sql", {"_deleted": True})
    assert members is not None
    assert members["_deleted"] is True
    assert problems == []


def test_what_is_no_object_is_left_out_and_the_rest_stays() -> None:
    read, problems = read_facets("run", {"a": "text", "b": {"x": 1}, "c": None})
    assert list(read) == ["b"]
    assert problems == ["run facet a is a str, not an object: left out"]


def test_facets_that_are_no_mapping_are_left_out() -> None:
    assert read_facets("run", ["errorMessage"]) == ({}, ["run facets are a list, not an object: left out"])


def test_an_external_query_is_a_run_facet() -> None:
    read, problems = read_facets("run", external_query("01b2-0000", "snowflake"))
    assert problems == []
    assert read["externalQuery"]["externalQueryId"] == "01b2-0000"
    assert read["externalQuery"]["source"] == "snowflake"


def test_every_class_of_the_table_is_in_the_installed_client() -> None:
    missing = [key for key in CLASSES if facet_class(*key) is None]
    assert missing == []


class Colour(Enum):
    RED = "red"


@attr.define
class Column:
    name: str
    _hidden: str = "h"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": None, "b": [None, 1]}, {"b": [1]}),
        (float("nan"), None),
        ({"a": float("inf")}, {}),
        (Decimal("1.50"), "1.50"),
        (date(2026, 5, 1), "2026-05-01"),
        (datetime(2026, 5, 1, 12), "2026-05-01T12:00:00"),  # noqa: DTZ001  a naive time stays naive
        (Colour.RED, "red"),
        ({1: True}, {"1": True}),
        ((1, 2.5), [1, 2.5]),
        (Column("a"), {"name": "a", "_hidden": "h"}),
        (SimpleNamespace(item=lambda: 7), 7),
        (Path("/a/b"), "/a/b"),
    ],
)
def test_any_value_becomes_json(value: object, expected: object) -> None:
    assert plain(value) == expected
    json.dumps(plain(value), allow_nan=False)


def test_a_value_that_holds_itself_ends() -> None:
    endless: list[Any] = []
    endless.append(endless)
    json.dumps(plain(endless))
