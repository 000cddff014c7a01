"""Datasets of hooks are used if the operator names none; inlets and outlets if hooks do not either."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from openlineage.client.event_v2 import Dataset

from headwater.operators import (
    EmissionPolicy,
    HookLineageCollector,
    InputDataset,
    OutputDataset,
    collect_in_process,
    collecting,
    get_hook_collector,
)
from headwater.operators.contract.annotations import annotated_dataset, dataset_of_uri

from .plain_operators import RUN, OnCompleteOnly, Plain, event_of, listening, names

HOOKED = InputDataset("s3://raw", "hooked.csv")
NO_HOOKS = EmissionPolicy.of([{"scope": {}, "controls": {"hook_lineage": False}}])


class OnlyFacets(Plain):
    inlets = (InputDataset("s3://raw", "inlet.csv"),)

    def get_openlineage_facets_on_complete(self, ti: Any) -> Any:
        return {
            "inputs": [],
            "outputs": [],
            "runFacets": {"etl_batch": {"number": 7}},
            "jobFacets": {"sql": {"query": "q"}},
        }


def test_facets_of_the_operator_stand_beside_datasets_of_hooks() -> None:
    with collecting() as hooks:
        hooks.add_input(HOOKED)
        event = event_of(OnlyFacets(), "success")
    assert names(event, "inputs") == ["hooked.csv"]
    assert event["run"]["facets"]["etl_batch"]["number"] == 7
    assert event["job"]["facets"]["sql"]["query"] == "q"


def test_with_hooks_switched_off_the_inlets_speak() -> None:
    with collecting() as hooks:
        hooks.add_input(HOOKED)
        event = event_of(OnlyFacets(), "success", policy=NO_HOOKS)
    assert names(event, "inputs") == ["inlet.csv"]
    assert event["run"]["facets"]["etl_batch"]["number"] == 7


def test_datasets_of_hooks_are_ignored_if_the_operator_names_a_dataset() -> None:
    with collecting() as hooks:
        hooks.add_input(HOOKED)
        event = event_of(OnCompleteOnly(), "success")
    assert names(event, "inputs") == ["shop.public.read_on_complete"]


def test_hooks_speak_for_an_operator_without_methods() -> None:
    with collecting() as hooks:
        hooks.add_output(HOOKED)
        event = event_of(Plain(), "success")
    assert names(event, "outputs") == ["hooked.csv"]
    assert "unknownSourceAttribute" not in event["run"]["facets"]


def test_where_nobody_speaks_the_event_says_so_and_the_annotations_count() -> None:
    operator = Plain()
    operator.inlets, operator.outlets = [InputDataset("n", "in")], [Dataset("n", "out")]  # type: ignore[attr-defined]
    event = event_of(operator, "success")
    assert event["run"]["facets"]["unknownSourceAttribute"]["unknownItems"] == [{"name": "Plain", "type": "operator"}]
    assert (names(event, "inputs"), names(event, "outputs")) == (["in"], ["out"])


def test_an_outlet_that_is_also_added_at_run_time_counts_once() -> None:
    from dataclasses import replace

    operator = Plain()
    operator.outlets = [OutputDataset("n", "out", {"storage": {"storageLayer": "s3", "fileFormat": "csv"}})]  # type: ignore[attr-defined]
    run = replace(RUN, runtime_outlets=(OutputDataset("n", "out"), OutputDataset("n", "more")))
    event = event_of(operator, "success", run=run)
    assert names(event, "outputs") == ["out", "more"]
    assert event["outputs"][0]["facets"]["storage"]["fileFormat"] == "csv"


def asset(uri: str) -> Any:
    return SimpleNamespace(uri=uri)


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("s3://bucket/a/b.csv", ("s3://bucket", "a/b.csv")),
        ("gs://bucket/a%20b", ("gs://bucket", "a b")),
        ("file:///data/a.csv", ("file", "/data/a.csv")),
        ("file://nas/data/a.csv", ("file://nas", "/data/a.csv")),
        ("postgres://db/shop/public/orders", ("postgres://db:5432", "shop.public.orders")),
        ("mysql://db:3307/shop/orders", ("mysql://db:3307", "shop.orders")),
        ("bigquery://proj/set/orders", ("bigquery", "proj.set.orders")),
        ("kafka://k1:9092/topic", ("kafka://k1:9092", "topic")),
        ("x-team://anything/at/all", None),
        ("postgres://db/shop", None),
        ("just-a-name", None),
        ("s3://bucket", None),
    ],
)
def test_a_uri_names_a_dataset_where_the_naming_page_has_a_rule(uri: str, expected: Any) -> None:
    assert dataset_of_uri(uri) == expected
    dataset: Any = annotated_dataset(asset(uri))
    assert (dataset and (dataset.namespace, dataset.name)) == expected


def test_a_file_and_a_table_are_datasets() -> None:
    file: Any = annotated_dataset(SimpleNamespace(url="s3://bucket/a.csv"))
    assert (file.namespace, file.name) == ("s3://bucket", "a.csv")
    column = SimpleNamespace(name="id", data_type="int", description="key")
    owner = SimpleNamespace(first_name="Ada", last_name=None, email="ada@example.org")
    table = SimpleNamespace(
        cluster="hive://h:1", database="db", name="t", columns=[column], owners=[owner], description="d"
    )
    dataset: Any = annotated_dataset(table)
    assert (dataset.namespace, dataset.name) == ("hive://h:1", "db.t")
    assert dataset.facets == {
        "schema": {"fields": [{"name": "id", "type": "int", "description": "key"}]},
        "ownership": {"owners": [{"name": "user:Ada <ada@example.org>"}]},
        "documentation": {"description": "d"},
    }


def test_what_names_no_dataset_is_none() -> None:
    assert annotated_dataset(SimpleNamespace()) is None
    assert annotated_dataset({"name": "no namespace"}) is None


def test_a_dataset_reported_twice_is_one_dataset_with_two_reports() -> None:
    hooks = HookLineageCollector()
    for _ in range(3):
        hooks.add_input(HOOKED)
    hooks.add_input({"namespace": "s3://raw", "name": "hooked.csv"})
    assert len(hooks.collected.inputs) == 1
    assert hooks.times_reported("s3://raw", "hooked.csv") == 4


def test_above_the_limit_datasets_are_dropped_with_a_single_warning(caplog: pytest.LogCaptureFixture) -> None:
    hooks = HookLineageCollector(limit=2)
    for number in range(5):
        hooks.add_input(InputDataset("n", f"{number}"))
        hooks.add_output(InputDataset("n", f"{number}"))
    hooks.add_input(InputDataset("n", "0"))
    assert [len(hooks.collected.inputs), len(hooks.collected.outputs), hooks.dropped] == [2, 2, 6]
    assert len(caplog.records) == 1


def test_outside_a_task_a_hook_has_no_effect() -> None:
    get_hook_collector().add_input(HOOKED)
    assert not get_hook_collector().collected.has_datasets


def test_tasks_in_two_threads_dont_mix() -> None:
    barrier = threading.Barrier(2)
    seen: dict[str, list[str]] = {}

    def work(name: str) -> None:
        with collecting() as hooks:
            barrier.wait(5)
            get_hook_collector().add_input(InputDataset("n", name))
            barrier.wait(5)
            seen[name] = [dataset.name for dataset in hooks.collected.inputs]  # type: ignore[union-attr]

    threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {"a": ["a"], "b": ["b"]}


def test_hooks_in_an_asyncio_task_belong_to_the_task_that_started_it() -> None:
    async def hook() -> None:
        get_hook_collector().add_input(HOOKED)

    async def work() -> None:
        await asyncio.create_task(hook())

    with collecting() as hooks:
        asyncio.run(work())
    assert hooks.times_reported("s3://raw", "hooked.csv") == 1


def test_a_process_with_a_single_task_collects_from_every_thread() -> None:
    hooks = HookLineageCollector()
    collect_in_process(hooks)
    try:
        thread = threading.Thread(target=lambda: get_hook_collector().add_output(HOOKED))
        thread.start()
        thread.join()
    finally:
        collect_in_process(None)
    assert hooks.times_reported("s3://raw", "hooked.csv") == 1
    assert get_hook_collector() is not hooks


def test_datasets_of_hooks_before_a_deferral_are_emitted_at_once() -> None:
    listener, sink = listening()
    with collecting() as hooks:
        listener.task_deferred(RUN, Plain())
        assert sink.events == []
        hooks.add_input(HOOKED)
        listener.task_deferred(RUN, Plain())
    (event,) = sink.events
    assert (event["eventType"], names(event, "inputs")) == ("RUNNING", ["hooked.csv"])
