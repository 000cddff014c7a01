"""The runner of operators without a scheduler, in scripts and in tests."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from headwater.operators import (
    CollectingSink,
    InputDataset,
    OperatorRunner,
    OutputDataset,
    TaskDeferred,
    TaskSkipped,
    carry_over,
    current_task,
    emit_dataset_lineage,
    get_hook_collector,
)
from headwater_avro.errors import ConfigError

from .plain_operators import NOON, AllMethods, Plain, names


def runner() -> tuple[OperatorRunner, CollectingSink]:
    sink = CollectingSink()
    return OperatorRunner("etl", sink=sink, clock=lambda: NOON), sink


def types(sink: CollectingSink) -> list[str]:
    return [event["eventType"] for event in sink.events]


class Does(AllMethods):
    """Runs a function as its work."""

    def __init__(self, work: Any) -> None:
        self.work = work

    def execute(self, context: dict[str, Any]) -> Any:
        return self.work(context)


def test_a_successful_task_has_start_and_complete_of_the_same_run() -> None:
    run, sink = runner()
    outcome = run.run(Does(lambda context: context["ti"].try_number))
    assert (outcome.state, outcome.result, outcome.error) == ("success", 1, None)
    assert types(sink) == ["START", "COMPLETE"]
    assert {event["run"]["runId"] for event in sink.events} == set(outcome.run_ids)
    assert sink.events[0]["job"]["name"] == "load"


def test_the_tasks_of_a_workflow_are_its_children() -> None:
    run, sink = runner()
    with run.workflow("nightly") as workflow:
        workflow.run(Plain(), task_id="first")
        workflow.run(Plain(), task_id="second")
    assert types(sink) == ["START", "START", "COMPLETE", "START", "COMPLETE", "COMPLETE"]
    workflow_run = sink.events[0]["run"]["runId"]
    assert sink.events[0]["job"]["name"] == "nightly"
    for event in sink.events[1:-1]:
        assert event["run"]["facets"]["parent"]["run"]["runId"] == workflow_run
    assert [event["job"]["name"] for event in sink.of_type("COMPLETE")] == [
        "nightly.first",
        "nightly.second",
        "nightly",
    ]


def test_a_workflow_that_raises_fails() -> None:
    run, sink = runner()
    with pytest.raises(LookupError), run.workflow("nightly"):
        raise LookupError("gone")
    assert types(sink) == ["START", "FAIL"]
    assert sink.events[1]["run"]["facets"]["errorMessage"]["message"] == "gone"


def test_each_retry_is_a_run_of_its_own_with_a_fresh_operator() -> None:
    class Flaky(AllMethods):
        tried = 0

        def execute(self, context: dict[str, Any]) -> str:
            assert self.tried == 0
            self.tried = 1
            if context["ti"].try_number < 3:
                raise ConnectionError("not yet")
            return "there"

    run, sink = runner()
    outcome = run.run(Flaky(), retries=4)
    assert (outcome.state, outcome.result) == ("success", "there")
    assert types(sink) == ["START", "FAIL", "START", "FAIL", "START", "COMPLETE"]
    assert len(set(outcome.run_ids)) == 3
    assert {event["job"]["name"] for event in sink.events} == {"load"}


def test_a_task_that_keeps_failing_gives_its_error_and_raises_nothing() -> None:
    run, sink = runner()
    outcome = run.run(Does(lambda context: 1 / 0), retries=1)
    assert outcome.state == "failed"
    assert isinstance(outcome.error, ZeroDivisionError)
    assert types(sink) == ["START", "FAIL"] * 2
    assert "ZeroDivisionError" in sink.events[1]["run"]["facets"]["errorMessage"]["stackTrace"]


def test_an_interrupt_is_emitted_and_raised_again() -> None:
    def interrupted(context: Any) -> None:
        raise KeyboardInterrupt

    run, sink = runner()
    with pytest.raises(KeyboardInterrupt):
        run.run(Does(interrupted))
    assert types(sink) == ["START", "FAIL"]


def test_a_skipped_task_completes() -> None:
    def skips(context: Any) -> None:
        raise TaskSkipped("nothing to do")

    run, sink = runner()
    assert run.run(Does(skips)).state == "skipped"
    assert types(sink) == ["START", "COMPLETE"]


def test_mapped_tasks_share_a_job_and_differ_in_their_runs() -> None:
    run, sink = runner()
    ids = {run.run(Plain(), map_index=index).run_ids for index in range(3)}
    assert len(ids) == 3
    assert {event["job"]["name"] for event in sink.events} == {"load"}


class Waits(Plain):
    """An operator that defers; the name of its table is known before, and returned after."""

    table = "unknown"

    def execute(self, context: dict[str, Any]) -> None:
        self.table = "lost"
        carry_over(context["ti"])["table"] = "known"
        raise TaskDeferred(lambda: {"status": "done"}, "resume", {"more": 1})

    def resume(self, context: dict[str, Any], event: Any, more: int) -> Any:
        return (self.table, event["status"], more)

    def get_openlineage_facets_on_complete(self, ti: Any) -> Any:
        return {"outputs": [{"namespace": "n", "name": name} for name in (self.table, carry_over(ti).get("table"))]}


def test_what_is_carried_over_outlasts_a_deferral_and_attributes_dont() -> None:
    run, sink = runner()
    outcome = run.run(Waits())
    assert outcome.result == ("unknown", "done", 1)
    assert types(sink) == ["START", "COMPLETE"]
    assert names(sink.events[1], "outputs") == ["unknown", "known"]


def test_carried_over_values_are_not_visible_to_the_next_attempt() -> None:
    seen: list[list[str]] = []

    def work(context: Any) -> None:
        carried = carry_over(context["ti"])
        seen.append(list(carried))
        carried["table"] = "t"
        raise OSError

    runner()[0].run(Does(work), retries=1)
    assert seen == [[], []]


def test_carried_values_are_those_of_json_and_a_mapping() -> None:
    def work(context: Any) -> Any:
        carried = carry_over(context["ti"])
        carried.update({"when": NOON, "rows": 3, "gone": 1})
        del carried["gone"]
        return dict(carry_over(context["ti"])), len(carried)

    assert runner()[0].run(Does(work)).result == ({"when": "2026-05-01T12:00:00+00:00", "rows": 3}, 2)


class XComs:
    """A task instance as Airflow's, as far as XComs go."""

    task_id, map_index = "load", 2

    def __init__(self) -> None:
        self.stored: dict[tuple[str, str, int], Any] = {}

    def xcom_push(self, key: str, value: Any) -> None:
        self.stored[self.task_id, key, self.map_index] = value

    def xcom_pull(self, task_ids: str, key: str, map_indexes: int) -> Any:
        return self.stored.get((task_ids, key, map_indexes))


def test_on_airflow_values_are_carried_in_an_xcom_of_the_task() -> None:
    ti = XComs()
    carry_over(ti)["table"] = "t"
    carry_over(ti)["rows"] = 3
    assert dict(carry_over(ti)) == {"table": "t", "rows": 3}
    assert list(ti.stored) == [("load", "headwater_carry_over", 2)]


def test_a_task_instance_that_keeps_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="cannot store values"):
        carry_over(SimpleNamespace())


def test_lineage_methods_know_the_task_that_they_speak_of() -> None:
    class Asks(Plain):
        def get_openlineage_facets_on_complete(self, ti: Any) -> Any:
            task = current_task()
            return {"runFacets": {"etl_method": {"by": task.run.run_id if task else "nobody"}}}

    run, sink = runner()
    outcome = run.run(Asks())
    assert sink.events[-1]["run"]["facets"]["etl_method"]["by"] == outcome.run_ids[0]


def test_datasets_of_hooks_belong_to_the_task_that_runs_them() -> None:
    run, sink = runner()

    class Reads(Plain):
        def execute(self, context: dict[str, Any]) -> None:
            get_hook_collector().add_input(InputDataset("s3://raw", "a.csv"))

    run.run(Reads())
    run.run(Plain())
    assert [names(event, "inputs") for event in sink.of_type("COMPLETE")] == [["a.csv"], []]


def test_datasets_of_hooks_before_a_deferral_are_not_lost() -> None:
    class Reads(Waits):
        def execute(self, context: dict[str, Any]) -> None:
            get_hook_collector().add_input(InputDataset("s3://raw", "before.csv"))
            raise TaskDeferred(dict, "resume", {"more": 1})

        def resume(self, context: dict[str, Any], event: Any, more: int) -> None:
            get_hook_collector().add_output(OutputDataset("s3://raw", "after.csv"))

        get_openlineage_facets_on_complete = None  # type: ignore[assignment]

    run, sink = runner()
    run.run(Reads())
    assert types(sink) == ["START", "RUNNING", "COMPLETE"]
    assert names(sink.events[1], "inputs") == ["before.csv"]
    assert names(sink.events[2], "outputs") == ["after.csv"]


def test_a_running_task_emits_its_own_datasets() -> None:
    def work(context: Any) -> None:
        emit_dataset_lineage(
            [InputDataset("n", "in")], [OutputDataset("n", "out")], additional_run_facets={"etl_batch": {"number": 1}}
        )

    run, sink = runner()
    outcome = run.run(Does(work))
    assert types(sink) == ["START", "RUNNING", "COMPLETE"]
    running = sink.events[1]
    assert running["run"]["runId"] == outcome.run_ids[0]
    assert (names(running, "inputs"), names(running, "outputs")) == (["in"], ["out"])
    assert running["run"]["facets"]["etl_batch"]["number"] == 1


def test_a_task_can_be_named_by_its_instance() -> None:
    seen: list[Any] = []

    def work(context: Any) -> None:
        seen.append((current_task(context["ti"]) is current_task(), current_task(object())))

    runner()[0].run(Does(work))
    assert seen == [(True, None)]
    assert current_task() is None


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({}, ValueError),
        ({"inputs": [7]}, TypeError),
        ({"outputs": [{"namespace": "n"}]}, TypeError),
        ({"inputs": [InputDataset("n", "a")]}, RuntimeError),
    ],
)
def test_invalid_calls_raise_only_with_raise_on_error(
    given: Any, error: type[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    emit_dataset_lineage(**given)
    assert "left out" in caplog.text
    with pytest.raises(error):
        emit_dataset_lineage(**given, raise_on_error=True)


def test_if_lineage_is_disabled_no_event_is_emitted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    monkeypatch.setenv("OPENLINEAGE_DISABLED", "true")
    run, sink = runner()
    run.run(Does(lambda context: emit_dataset_lineage([InputDataset("n", "a")])))
    assert types(sink) == ["START", "COMPLETE"]
    assert "lineage is disabled" in caplog.text


def test_without_a_sink_events_go_to_the_transport_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    import headwater.transport

    sink = CollectingSink()
    monkeypatch.setattr(headwater.transport, "default_transport", lambda: sink)
    listening_runner = OperatorRunner("etl")
    listening_runner.run(Plain())
    assert types(sink) == ["START", "COMPLETE"]
    assert listening_runner.listener.flush()
