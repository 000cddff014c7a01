"""Facets of all emitters have the producer and the schema address of one module, which takes them from the client's classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest
from openlineage.client import generated

import headwater
from headwater import fields, lineage
from headwater.operators import (
    CollectingSink,
    InputDataset,
    OperatorRunner,
    OutputDataset,
    TaskInstanceLineage,
    external_query,
)
from headwater.producer import CLASSES, Container, Emitter, facet_schema, own_schema, producer
from headwater.spark.datasets import facets as spark_facets
from headwater.spark.runs.application import Application
from headwater.spark.runs.listener_events import ExecutionEnded, ExecutionStarted
from headwater.spark.runs.settings import Settings
from headwater.transport import MemoryTransport

from ..spark.plans import FakeCatalog, files, insert, node, plan, readers

Event = dict[str, Any]
OWN = {
    "headwater_fieldMetadata": "FieldMetadataDatasetFacet",
}


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENLINEAGE_PARENT_ID", "HEADWATER_PARENT", "AIRFLOW_CTX_DAG_ID", "HEADWATER_RUN_ID"):
        monkeypatch.delenv(name, raising=False)


def spark_events() -> list[Event]:
    """A write that fails and one that does not, a rename, a table of Hive and a child of another run."""
    events: list[Event] = []
    conf = {"spark.openlineage.parentJobName": "dag.task", "spark.openlineage.parentRunId": "r0"}
    settings = Settings.of(conf, {"HEADWATER_SOURCE_URL": "https://git.example.org/a.git"}, "My App", "4.2.0")
    catalog = FakeCatalog(hive=True, metastore="hive://meta:9083")
    app = Application.of(settings, readers(catalog), events.append)
    app.start(1)
    table = {"$": "table", "table": "t", "database": None}
    write = plan(insert(1, "file:/out/t/day=1"), files("file:/in/t", (1, "a")))
    rename = plan(node("AlterTableRenameCommand", oldName=table, newName={**table, "table": "u"}))
    create = plan(node("CreateTableCommand", table={"identifier": table, "location": "/wh/t", "schema": {}}))
    scan = {"leaf": True, "output": [1], "numFiles": 2, "numOutputRows": 7, "filesSize": 70}
    written = {"leaf": False, "numFiles": 1, "numOutputRows": 6, "numOutputBytes": 60}
    for number, made in enumerate((write, write, rename, create)):
        app.execution_started(ExecutionStarted(number, number, 1000, "DataFrameWriter.parquet(x)", "Execute X", made))
        app.execution_ended(ExecutionEnded(number, 2000, ("boom", "at x") if number == 1 else None, [scan, written]))
    app.end(3000, ("exit 3", None))
    return events


def operator_events() -> list[Event]:
    """An operator with facets that OpenLineage defines and one that it does not, which fails."""

    class Fails:
        def execute(self, context: dict[str, Any]) -> None:
            raise ValueError("no")

        def get_openlineage_facets_on_start(self, ti: Any) -> TaskInstanceLineage:
            return TaskInstanceLineage(
                [InputDataset("n", "a", {"schema": {"fields": [{"name": "x"}]}}, {"inputStatistics": {"rowCount": 1}})],
                [OutputDataset("n", "b", {"version": {"datasetVersion": "1"}}, {"outputStatistics": {"rowCount": 1}})],
                {**external_query("q", "postgres"), "acme_batch": {"number": 7}},
                {"sql": {"query": "select 1"}, "acme_team": {"name": "finance"}},
            )

    sink = CollectingSink()
    runner = OperatorRunner("team", sink=sink)
    with runner.workflow("nightly") as workflow:
        workflow.run(Fails())
    return sink.events


def lineage_events() -> list[Event]:
    """A run with datasets, the facets of field operations, and an error."""
    transport = MemoryTransport()
    users = fields.Source.of("crm", "users", schema=[("id", "int")])
    people = fields.Destination.of("people", schema=["id"])
    resolved = fields.resolve([], people, sources=[users], implicit_identity=True)
    with suppress(ValueError), lineage.run("n", "outer", transport=transport):
        with lineage.run("n", "inner", transport=transport) as run:
            run.reads("n", "a", {"schema": {"fields": []}}, {"inputStatistics": {"rowCount": 1}})
            run.writes("n", "b", {"acme_note": {"text": "x"}}, {"outputStatistics": {"rowCount": 1}})
            fields.apply(resolved, run, namespace="app")
        raise ValueError("no")
    return transport.events


def facets_of(event: Event) -> Iterator[tuple[Container, str, dict[str, Any]]]:
    """Yield each facet of an event with its container and name."""
    for side in ("run", "job", "dataset"):
        yield from ((side, name, facet) for name, facet in event.get(side, {}).get("facets", {}).items())
    for side, plural in (("input", "inputs"), ("output", "outputs")):
        for dataset in event.get(plural, ()):
            yield from (("dataset", name, facet) for name, facet in dataset.get("facets", {}).items())
            yield from ((side, name, facet) for name, facet in dataset.get(f"{side}Facets", {}).items())  # type: ignore[misc]


def expected_schema(container: Container, name: str, event: Event) -> str:
    if name == "headwater_fieldOperations":  # the set of operations, and the reference to it
        return own_schema(
            "FieldOperationsDatasetFacet" if "dataset" in event else "FieldOperationsReferenceDatasetFacet"
        )
    return own_schema(OWN[name]) if name in OWN else facet_schema(container, name)


@pytest.mark.parametrize(
    ("emitter", "emitted", "required"),
    [
        (
            "spark",
            spark_events,
            "parent processing_engine errorMessage jobType sourceCodeLocation schema dataSource storage catalog symlinks "
            "columnLineage lifecycleStateChange inputStatistics outputStatistics subset spark_properties",
        ),
        (
            "operators",
            operator_events,
            "parent errorMessage jobType sql externalQuery schema outputStatistics acme_batch",
        ),
        (
            "lineage",
            lineage_events,
            "parent processing_engine errorMessage jobType schema inputStatistics headwater_fieldOperations",
        ),
    ],
)
def test_every_facet_has_the_producer_and_schema_of_the_module(
    emitter: Emitter, emitted: Callable[[], list[Event]], required: str
) -> None:
    events = emitted()
    found = [(container, name, facet, event) for event in events for container, name, facet in facets_of(event)]
    assert set(required.split()) <= {name for _, name, _, _ in found}
    for container, name, facet, event in found:
        assert facet["_schemaURL"] == expected_schema(container, name, event), name
        assert facet["_producer"] == producer(emitter), name
    assert {event["producer"] for event in events} == {producer(emitter)}


@pytest.mark.parametrize(("container", "name"), CLASSES)
def test_the_schema_of_a_facet_is_that_of_the_clients_class(container: Container, name: str) -> None:
    cls = CLASSES[container, name]
    modules = [
        import_module(f"openlineage.client.generated.{found.name}") for found in iter_modules(generated.__path__)
    ]
    (schema,) = {getattr(module, cls)._get_schema() for module in modules if hasattr(module, cls)}
    assert facet_schema(container, name) == schema
    assert facet_schema(container, name).endswith(f"/{cls}")


def test_a_facet_that_openlineage_does_not_define_has_the_schema_of_its_container() -> None:
    assert facet_schema("run", "acme").endswith("/OpenLineage.json#/$defs/RunFacet")
    assert facet_schema("input", "acme").endswith("/OpenLineage.json#/$defs/InputDatasetFacet")


def test_a_class_that_the_installed_client_lacks_falls_back_to_the_container(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CLASSES, ("run", "future"), "FutureRunFacet")
    assert facet_schema("run", "future") == facet_schema("run", "acme")


def test_the_parent_facet_has_a_single_version() -> None:
    facet = spark_facets.parent(("r", "n", "j"), None)["parent"]
    assert "/1-2-0/" in facet["_schemaURL"]
    assert facet["_schemaURL"] == facet_schema("run", "parent")


def test_no_version_of_a_facet_is_written_by_hand() -> None:
    root = Path(headwater.__file__).parent
    named = {
        path.relative_to(root).as_posix() for path in root.rglob("*.py") if "openlineage.io/spec" in path.read_text()
    }
    # The facet of shortened events is made where openlineage-python's classes are not loaded.
    assert named <= {"transport/preparation/size_budget.py"}
    budget = (root / "transport" / "preparation" / "size_budget.py").read_text()
    assert facet_schema("run", "headwater_cut") in budget or "openlineage.io/spec" not in budget
