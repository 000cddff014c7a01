"""dbt builds two models on DuckDB, ``dbt-ol`` emits their lineage through ``HeadwaterTransport``, and the graph is correct."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ..airflow.environments import environment, run, spooled, through_kafka
from ..command_line import headwater
from ..feeding import dumped, feed
from ..laws.model import dump
from ..servers import Servers
from ..store.empty import emptied, opened

HERE = Path(__file__).parent
pytestmark = pytest.mark.timeout(600)


@dataclass(frozen=True)
class Built:
    """The messages of a build, and their graph."""

    database: str
    messages: list[bytes]
    graph: list[dict[str, Any]]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in self.graph if line["kind"] == kind]

    def edges(self) -> set[tuple[str, str]]:
        return {(line["from"][-1], line["to"][-1]) for line in self.of("edge")}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("dbt")
    shutil.copytree(HERE / "project", folder / "project")
    program = str(environment(HERE / "requirements.txt") / "dbt-ol")
    environ = {
        "SHOP_DATABASE": str(folder / "shop.duckdb"),
        "OPENLINEAGE_NAMESPACE": "team",
        "OPENLINEAGE__TRANSPORT__TYPE": "headwater.transport.HeadwaterTransport",
        "HEADWATER_EMITTER_SPOOL_DIR": str(folder / "spool"),
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
    }
    command = [program, "build", "--profiles-dir", ".", "--project-dir", "."]
    done = run(command, environ, cwd=folder / "project")
    assert done.returncode == 0, done.stdout + done.stderr
    messages = spooled(folder / "spool")
    graph = [json.loads(line) for line in dump(messages).splitlines()]
    return Built(f"duckdb://{folder}/shop.duckdb", messages, graph)


def test_models_are_jobs_and_their_runs_children_of_the_build(built: Built) -> None:
    (build,) = [line for line in built.of("run") if line["job"] == ["team", "dbt-run-shop"]]
    assert build["state"] == "COMPLETE"
    others = [line for line in built.of("run") if line is not build]
    assert {tuple(line["job"]) for line in others} == {
        ("team", "shop.main.shop.orders.build.run"),
        ("team", "shop.main.shop.spending.build.run"),
        ("team", "shop.main.shop.orders.build.test"),
    }
    assert {(line["parent"], line["state"]) for line in others} == {(build["id"], "COMPLETE")}


def test_a_model_reads_what_it_names_and_writes_its_table(built: Built) -> None:
    orders, spending = "shop.main.shop.orders.build.run", "shop.main.shop.spending.build.run"
    assert built.edges() >= {
        ("shop.main.raw_orders", orders),
        (orders, "shop.main.orders"),
        ("shop.main.orders", spending),
        (spending, "shop.main.spending"),
    }
    assert {line["from"][1] for line in built.of("edge") if line["from"][0] == "dataset"} == {built.database}


def test_columns_are_traced_where_dbt_reports_them(built: Built) -> None:
    columns = {
        (line["from"][-2:][0], line["from"][-1], line["to"][-2:][0], line["to"][-1]) for line in built.of("columnEdge")
    }
    assert {
        ("shop.main.raw_orders", "customer", "shop.main.orders", "customer"),
        ("shop.main.orders", "amount", "shop.main.spending", "total"),
        ("shop.main.orders", "customer", "shop.main.spending", "customer"),
    } <= columns


def test_tests_of_a_model_are_quality_facets_of_what_they_read(built: Built) -> None:
    (side,) = [line for line in built.of("runSide") if "dataQualityAssertions" in line["facets"]]
    assert side["dataset"] == [built.database, "shop.main.orders"]
    assertions = side["facets"]["dataQualityAssertions"]["assertions"]
    assert sorted(check["assertion"] for check in assertions) == ["not_null", "unique"]
    assert all(check["success"] for check in assertions)


def test_what_dbt_knows_of_a_table_is_on_the_dataset(built: Built) -> None:
    (orders,) = [line for line in built.of("dataset") if line["key"] == [built.database, "shop.main.orders"]]
    assert [field["name"] for field in orders["facets"]["schema"]["fields"]] == ["id", "customer", "amount"]
    assert orders["facets"]["documentation"]["description"] == "Orders with tidy names."


def test_through_kafka_and_neo4j_the_products_own_queries_return_the_same(
    built: Built, servers: Servers, topic: str
) -> None:
    with opened(servers) as store:
        feed(emptied(store), through_kafka(built.messages, servers, topic))
        assert [json.loads(line) for line in dumped(store).splitlines()] == built.graph
    answer = headwater(
        servers, "lineage", "upstream", built.database, "shop.main.spending", "--column", "total", "--json"
    )
    assert [(node["depth"], *node["node"][2:]) for node in json.loads(answer.out)["nodes"]][:2] == [
        (0, "shop.main.spending", "total"),
        (1, "shop.main.orders", "amount"),
    ]
    tables = headwater(servers, "lineage", "upstream", built.database, "shop.main.spending", "--json")
    nodes = {(node["depth"], node["node"][2]) for node in json.loads(tables.out)["nodes"]}
    assert nodes >= {(1, "shop.main.orders"), (2, "shop.main.raw_orders")}
