"""Airflow's task instances, read by attributes: ids, names, parents, documents, owners, resumption."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from headwater.operators import (
    CollectingSink,
    EmissionPolicy,
    InputDataset,
    RunRef,
    TaskLineageListener,
    get_hook_collector,
)
from headwater.operators.airflow import (
    AirflowSettings,
    AirflowTasks,
    lineage_job_name,
    lineage_parent_id,
    lineage_run_id,
    read_settings,
    task_run_of,
)
from headwater.operators.airflow.facts import LONGEST_DOCUMENT, dag_run_of
from headwater.operators.airflow.masking import MaskingSink
from headwater.operators.hooks import collect_in_process

from .plain_operators import NOON, AllMethods, names

ROOT = {
    "rootParentRunId": "019f0000-0000-7000-8000-00000000000a",
    "rootParentJobNamespace": "ops",
    "rootParentJobName": "all",
}
PARENT = {"parentRunId": "019f0000-0000-7000-8000-00000000000b", "parentJobNamespace": "ops", "parentJobName": "some"}


class Task(AllMethods):
    """The lineage attributes of Airflow's operators."""

    def __init__(self, **attributes: Any) -> None:
        self.owner = "airflow"
        self.doc: Any = None
        self.inlets: list[Any] = []
        self.outlets: list[Any] = []
        self.__dict__.update(attributes)


DAG = SimpleNamespace(dag_id="nightly", owner="ada, ben", tags={"b", "a"}, doc_md="All of it.", description=None)


def dag_run(**attributes: Any) -> Any:
    given = {
        "dag_id": "nightly",
        "run_id": "manual__1",
        "logical_date": NOON,
        "run_after": NOON + timedelta(days=1),
        "clear_number": 0,
        "data_interval_start": NOON,
        "data_interval_end": NOON + timedelta(days=1),
        "conf": {},
        "start_date": NOON,
        "end_date": NOON + timedelta(hours=1),
        "dag": DAG,
        "run_type": "manual",
    }
    return SimpleNamespace(**{**given, **attributes})


class Airflow3:
    """A task instance in Airflow 3's task process: what surrounds it is in the template context."""

    dag_id, task_id, try_number, map_index = "nightly", "load", 1, -1
    start_date = NOON

    def __init__(self, task: Any = None, run: Any = None, context: Any = None, **attributes: Any) -> None:
        self.task = task or Task()
        self.context = {"dag_run": run or dag_run(), "dag": DAG, "task": self.task, **(context or {})}
        self._ti_context_from_server = SimpleNamespace(next_method=None)
        self.__dict__.update(attributes)

    def get_template_context(self) -> Any:
        return self.context


class Airflow2(Airflow3):
    """A task instance of Airflow 2: what surrounds it are attributes, and asking for the context costs a query."""

    def __init__(self, task: Any = None, run: Any = None, **attributes: Any) -> None:
        self.task = task or Task()
        vars(self.task)["dag"] = DAG
        self.dag_run = run or dag_run()
        self.__dict__.update(attributes)

    def get_template_context(self) -> Any:
        raise AssertionError("never called")


@pytest.mark.parametrize("shape", [Airflow2, Airflow3])
def test_both_airflows_have_the_same_run(shape: Any) -> None:
    # The ids were made by apache-airflow-providers-openlineage 2.20.3.
    run = task_run_of(shape(), "team")
    assert (run.namespace, run.name) == ("team", "nightly.load")
    assert run.run_id == "019de368-f600-7b79-9910-e6733395d92c"
    assert run.parent == RunRef("019de368-f600-7456-8377-34ee1f0e5543", "team", "nightly")
    assert (run.root, run.started_at, run.nominal_end) == (None, NOON, NOON + timedelta(days=1))
    assert not run.resumed


def test_a_run_without_a_logical_date_is_known_by_when_it_was_due() -> None:
    due = dag_run(logical_date=None, run_after=NOON)
    assert task_run_of(Airflow3(run=due), "team").run_id == task_run_of(Airflow3(), "team").run_id


def test_a_run_without_any_time_has_no_id() -> None:
    with pytest.raises(ValueError, match="manual__1"):
        task_run_of(Airflow3(run=dag_run(logical_date=None, run_after=None)), "team")


@pytest.mark.parametrize("other", [{"try_number": 2}, {"map_index": 0}, {"task_id": "x"}, {"dag_id": "x"}])
def test_another_attempt_is_another_run(other: dict[str, Any]) -> None:
    assert task_run_of(Airflow3(**other), "team").run_id != task_run_of(Airflow3(), "team").run_id


def test_a_cleared_dag_run_is_another_run_whose_tasks_have_the_same_ids() -> None:
    cleared = task_run_of(Airflow3(run=dag_run(clear_number=1)), "team")
    before = task_run_of(Airflow3(), "team")
    assert cleared.parent != before.parent
    assert cleared.run_id == before.run_id


@pytest.mark.parametrize(
    ("conf", "root"),
    [
        ({"openlineage": ROOT}, RunRef(*ROOT.values())),
        ({"openlineage": PARENT}, RunRef(*PARENT.values())),
        ({"openlineage": {**ROOT, **PARENT}}, RunRef(*ROOT.values())),
        ({"openlineage": {**PARENT, "parentRunId": "no uuid"}}, None),
        ({"openlineage": {**PARENT, "parentJobName": ""}}, None),
        ({"openlineage": "text"}, None),
        ({}, None),
        (None, None),
    ],
)
def test_the_root_is_the_trigger_of_the_dag_run_if_its_reference_is_complete(conf: Any, root: Any) -> None:
    assert task_run_of(Airflow3(run=dag_run(conf=conf)), "team").root == root


def test_a_dag_run_is_the_child_of_what_triggered_it() -> None:
    run = dag_run_of(dag_run(conf={"openlineage": {**ROOT, **PARENT}}), "team")
    assert run.name == "nightly"
    assert (run.parent, run.root) == (RunRef(*PARENT.values()), RunRef(*ROOT.values()))
    assert dag_run_of(dag_run(), "team").parent is None


def test_documents_and_owners_are_the_tasks_or_else_the_dags() -> None:
    facets: Any = task_run_of(Airflow3(), "team").job_facets
    assert facets["documentation"] == {"description": "All of it.", "contentType": "text/markdown"}
    assert facets["ownership"] == {"owners": [{"name": "ada"}, {"name": "ben"}]}
    assert [tag["key"] for tag in facets["tags"]["tags"]] == ["a", "b"]
    facets = task_run_of(Airflow3(Task(owner="zoe", doc_yaml="a: b")), "team").job_facets
    assert facets["documentation"] == {"description": "a: b", "contentType": "application/x-yaml"}
    assert facets["ownership"] == {"owners": [{"name": "zoe"}]}


def test_a_long_document_is_truncated_between_characters() -> None:
    facets: Any = task_run_of(Airflow3(Task(doc="xx" + "€" * LONGEST_DOCUMENT)), "team").job_facets
    text = facets["documentation"]["description"]
    assert LONGEST_DOCUMENT - 3 < len(text.encode()) <= LONGEST_DOCUMENT
    assert set(text) == {"x", "€"}


def test_a_mapped_task_has_its_map_index() -> None:
    facets: Any = task_run_of(Airflow3(map_index=3), "team").run_facets
    assert facets["airflow_mappedTask"]["mapIndex"] == 3
    assert "airflow_mappedTask" not in task_run_of(Airflow3(), "team").run_facets


@pytest.mark.parametrize(
    ("task", "count", "resumed"),
    [
        (Task(reschedule=True), 0, False),
        (Task(reschedule=True), 2, True),
        (Task(reschedule=False), 2, False),
        (Task(), 2, False),
    ],
)
def test_only_a_rescheduled_sensor_is_resumed(task: Any, count: int, resumed: bool) -> None:
    assert task_run_of(Airflow3(task, context={"task_reschedule_count": count}), "team").resumed is resumed


def test_a_deferred_task_is_resumed() -> None:
    server_context = SimpleNamespace(next_method="resume")
    assert task_run_of(Airflow3(_ti_context_from_server=server_context), "team").resumed
    assert task_run_of(Airflow2(next_method="resume"), "team").resumed
    assert not task_run_of(Airflow2(Task(reschedule=True)), "team").resumed


@pytest.mark.parametrize(("rows", "resumed"), [([], False), (["once"], True)])
def test_airflow_2_keeps_reschedules_in_its_database(
    rows: list[str], resumed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = SimpleNamespace(scalars=lambda statement: SimpleNamespace(all=lambda: rows))
    model = SimpleNamespace(stmt_for_task_instance=lambda ti, descending: "select")
    fakes = {
        "airflow.models.taskreschedule": SimpleNamespace(TaskReschedule=model),
        "airflow.utils.session": SimpleNamespace(create_session=lambda: nullcontext(session)),
    }
    for name, fake in fakes.items():
        monkeypatch.setitem(sys.modules, name, fake)
    assert task_run_of(Airflow2(Task(reschedule=True)), "team").resumed is resumed


def test_assets_attached_at_run_time_are_outlets() -> None:
    static, untouched, alias = Asset("s3://bucket/static"), Asset("s3://bucket/untouched"), Alias()
    attached = SimpleNamespace(dest_asset_key=Asset("s3://bucket/by-alias"))
    events = {
        static: SimpleNamespace(extra={"rows": 1}),
        untouched: SimpleNamespace(extra={}),
        alias: SimpleNamespace(extra={}, asset_alias_events=[attached]),
    }
    run = task_run_of(Airflow3(context={"outlet_events": events}), "team")
    assert run.runtime_outlets == (static, Asset("s3://bucket/by-alias"))


@dataclass(frozen=True)
class Asset:
    uri: str


@dataclass(frozen=True)
class Alias:
    name: str = "alias"


def test_macros_return_the_providers_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    import headwater.operators.airflow.settings as settings

    monkeypatch.setattr(settings, "from_airflow", lambda: AirflowSettings(namespace="team"))
    ti = Airflow3()
    assert lineage_job_name(ti) == "nightly.load"
    assert lineage_run_id(ti) == task_run_of(ti, "team").run_id
    assert lineage_parent_id(ti) == f"team/nightly.load/{lineage_run_id(ti)}"


class TestTasks:
    @pytest.fixture(autouse=True)
    def _one_process(self) -> Any:
        yield
        collect_in_process(None)

    def tasks(self, **more: Any) -> tuple[AirflowTasks, CollectingSink]:
        sink = CollectingSink()
        settings = AirflowSettings(namespace="team", policy=more.pop("policy", EmissionPolicy()))
        listener = TaskLineageListener(sink, policy=settings.policy, clock=lambda: NOON)
        return AirflowTasks(settings, listener, **more), sink

    def test_the_hooks_become_events(self) -> None:
        tasks, sink = self.tasks()
        ti = Airflow3()
        tasks.dag_run_changed(dag_run(), "START")
        tasks.running(ti)
        tasks.succeeded(ti)
        tasks.failed(ti, RuntimeError("no"))
        tasks.skipped(ti)
        tasks.dag_run_changed(dag_run(), "COMPLETE")
        tasks.dag_run_changed(dag_run(), "FAIL", "task load failed")
        tasks.stopping()
        assert [event["eventType"] for event in sink.events] == [
            "START",
            "START",
            "COMPLETE",
            "FAIL",
            "COMPLETE",
            "COMPLETE",
            "FAIL",
        ]
        assert [event["job"]["name"] for event in sink.events][:2] == ["nightly", "nightly.load"]
        assert names(sink.events[2], "inputs") == ["shop.public.read_on_complete"]
        assert sink.events[2]["job"]["facets"]["jobType"]["integration"] == "AIRFLOW"
        assert sink.events[5]["eventTime"] == "2026-05-01T13:00:00.000000Z"
        assert sink.events[6]["run"]["facets"]["errorMessage"]["message"] == "task load failed"

    def test_a_state_set_by_hand_asks_nothing_of_the_operator(self) -> None:
        tasks, sink = self.tasks(on_worker=lambda ti: False)
        row = Airflow2()
        tasks.succeeded(row)
        tasks.failed(row, "set by ada")
        assert [(event["eventType"], event["inputs"]) for event in sink.events] == [("COMPLETE", []), ("FAIL", [])]

    def test_a_disabled_operator_or_dag_is_silent(self) -> None:
        tasks, sink = self.tasks(
            policy=EmissionPolicy.of([{"scope": {"dag_id": "nightly"}, "controls": {"emit": False}}])
        )
        tasks.running(Airflow3())
        tasks.dag_run_changed(dag_run(), "START")
        assert sink.events == []

    def test_hooks_of_any_thread_and_airflows_assets_since_the_start_belong_to_the_task(self) -> None:
        before = SimpleNamespace(uri="s3://bucket/of-an-earlier-task")
        assets: tuple[list[Any], list[Any]] = ([before], [])
        tasks, sink = self.tasks(hook_assets=lambda: assets)
        ti = Airflow3(Task(get_openlineage_facets_on_complete=lambda ti: None))
        tasks.running(ti)
        get_hook_collector().add_output(InputDataset("n", "ours"))
        assets[0].append(SimpleNamespace(uri="s3://bucket/read"))
        tasks.succeeded(ti)
        complete = sink.of_type("COMPLETE")[0]
        assert (names(complete, "inputs"), names(complete, "outputs")) == (["read"], ["ours"])

    def test_datasets_of_hooks_are_emitted_when_a_deferred_task_ends_its_process(self) -> None:
        tasks, sink = self.tasks()
        ti = Airflow3()
        tasks.running(ti)
        tasks.stopping()
        get_hook_collector().add_input(InputDataset("n", "later"))
        tasks.stopping()
        assert [event["eventType"] for event in sink.events] == ["START"]
        tasks.running(ti)
        get_hook_collector().add_input(InputDataset("n", "hooked"))
        tasks.stopping()
        assert (sink.events[-1]["eventType"], names(sink.events[-1], "inputs")) == ("RUNNING", ["hooked"])
        tasks.running(ti)
        get_hook_collector().add_input(InputDataset("n", "hooked"))
        tasks.succeeded(ti)
        tasks.stopping()
        assert [event["eventType"] for event in sink.events][-2:] == ["START", "COMPLETE"]

    def test_a_process_without_a_task_stops_without_events_or_logs(self, caplog: pytest.LogCaptureFixture) -> None:
        tasks, sink = self.tasks()
        tasks.stopping()
        assert (sink.events, caplog.records) == ([], [])

    def test_a_task_instance_of_an_unknown_shape_stays_in_the_listener(self, caplog: pytest.LogCaptureFixture) -> None:
        tasks, sink = self.tasks()
        tasks.running(object())
        tasks.succeeded(object())
        tasks.failed(object(), None)
        assert sink.events == []
        assert caplog.text.count("task is not affected") == 3

    def test_events_that_are_not_delivered_in_time_are_spooled(self) -> None:
        closed: list[float] = []

        class Slow(CollectingSink):
            def flush(self, timeout: float = 0.0) -> bool:
                return False

            def close(self, timeout: float = 0.0) -> bool:
                closed.append(timeout)
                return False

        AirflowTasks(AirflowSettings(), TaskLineageListener(Slow())).succeeded(Airflow3())
        assert len(closed) == 1

    def test_the_task_at_work_is_found_by_its_instance(self) -> None:
        tasks, _ = self.tasks()
        found = tasks.find_current(Airflow3())
        assert found is not None
        assert found.run.name == "nightly.load"
        assert tasks.find_current(object()) is None
        assert tasks.find_current(None) is None


class TestSettings:
    def test_the_section_is_read(self) -> None:
        section = {
            "namespace": "team",
            "execution_timeout": "3",
            "extractors": "a.B;c.D",
            "custom_run_facets": " a.f ; a.g",
            "disabled_for_operators": "x.Y",
            "emission_policy": '[{"scope": {}, "controls": {"hook_lineage": false}}]',
        }
        settings = read_settings(section.get, {"HEADWATER_AIRFLOW_LISTENER": "on", "OPENLINEAGE_NAMESPACE": "other"})
        assert (settings.namespace, settings.disabled, settings.timeout, settings.isolation) == (
            "team",
            False,
            3.0,
            "thread",
        )
        assert (settings.extractors, settings.custom_facets) == ("a.B;c.D", ("a.f", "a.g"))
        assert [rule.scope for rule in settings.policy.rules] == [{"operator": "x.Y"}, {}]

    @pytest.mark.parametrize(
        ("environ", "listens"),
        [
            ({}, False),
            ({"HEADWATER_KAFKA_BOOTSTRAP_SERVERS": "k:9092"}, True),
            ({"HEADWATER_AIRFLOW_LISTENER": "on"}, True),
            ({"HEADWATER_AIRFLOW_LISTENER": "off", "HEADWATER_KAFKA_BOOTSTRAP_SERVERS": "k:9092"}, False),
            ({"HEADWATER_AIRFLOW_LISTENER": "on", "OPENLINEAGE_DISABLED": "true"}, False),
        ],
    )
    def test_the_listener_is_enabled_by_its_setting_or_by_kafka(self, environ: dict[str, str], listens: bool) -> None:
        assert read_settings(lambda key: None, environ).disabled is not listens

    def test_invalid_values_are_replaced_by_their_defaults(self, caplog: pytest.LogCaptureFixture) -> None:
        section = {"execution_timeout": "soon", "emission_policy": "{"}
        settings = read_settings(section.get, {"HEADWATER_AIRFLOW_ISOLATION": "fork"})
        assert (settings.timeout, settings.policy, settings.isolation) == (10.0, EmissionPolicy(), "fork")
        assert "'soon' is not a positive number" in caplog.text
        assert "not JSON" in caplog.text

    def test_custom_facets_that_cannot_be_imported_are_left_out(self, caplog: pytest.LogCaptureFixture) -> None:
        sink = CollectingSink()
        settings = AirflowSettings(custom_facets=("no.such.function", f"{__name__}.team_facet"))
        settings.listener(sink=sink).task_started(task_run_of(Airflow3(), "team"), Task())
        assert sink.events[0]["run"]["facets"]["etl_team"]["name"] == "a"
        assert "no.such.function cannot be used" in caplog.text

    def test_without_airflow_no_provider_listens(self) -> None:
        from headwater.operators.airflow import provider_listens

        assert not provider_listens()


def team_facet(ti: Any, state: str) -> dict[str, Any]:
    return {"etl_team": {"name": "a"}}


SECRET = {
    "namespace": "n",
    "name": "s3cret",
    "facets": {"dataSource": {"name": "s3cret"}},
    "inputFacets": {"etl_secret": {"at": "s3cret"}},
}


class TestMasking:
    def emitted(self, mask: Any) -> dict[str, Any]:
        sink = CollectingSink()
        listener = TaskLineageListener(MaskingSink(lambda: sink, mask))
        run = replace(
            task_run_of(Airflow3(), "team"), run_facets={"etl_secret": {"at": "s3cret"}}, started_at=datetime.now(UTC)
        )
        listener.task_succeeded(run, Task(get_openlineage_facets_on_complete=lambda ti: {"inputs": [SECRET]}))
        (event,) = sink.events
        return event

    def test_secrets_are_taken_out_of_facets_and_keys_stay(self) -> None:
        event = self.emitted(lambda facet: {key: "***" if value == "s3cret" else value for key, value in facet.items()})
        assert event["run"]["facets"]["etl_secret"]["at"] == "***"
        assert event["run"]["facets"]["parent"]["job"]["name"] == "nightly"
        (dataset,) = event["inputs"]
        assert dataset["name"] == "s3cret"
        assert dataset["facets"]["dataSource"]["name"] == "***"
        assert dataset["inputFacets"]["etl_secret"]["at"] == "***"
        assert dataset["facets"]["dataSource"]["_schemaURL"].endswith("DatasourceDatasetFacet")

    def test_a_facet_that_cannot_be_masked_is_left_out(self, caplog: pytest.LogCaptureFixture) -> None:
        def broken(facet: Any) -> Any:
            raise RecursionError

        event = self.emitted(broken)
        assert list(event["run"]["facets"]) == ["parent"]
        assert event["inputs"] == [{"namespace": "n", "name": "s3cret", "facets": {}, "inputFacets": {}}]
        assert "cannot be masked" in caplog.text
