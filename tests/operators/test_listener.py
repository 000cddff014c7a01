"""The listener emits complete events in time, and no failure reaches the task."""

from __future__ import annotations

import os
import signal
import threading
import time
import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

import pytest
from openlineage.client.uuid import generate_static_uuid

from headwater.operators import CollectingSink, InputDataset, RunRef, TaskLineageListener, task_run_id, workflow_run_id
from headwater.operators.bounded import run_bounded
from headwater.operators.events import event_time

from .plain_operators import NOON, RUN, AllMethods, OnCompleteOnly, Plain, event_of, lineage_on, listening, names


class Sleeps(Plain):
    """Returns lineage on start at once, on complete after a while."""

    seconds = 60.0

    def get_openlineage_facets_on_start(self, ti: Any) -> Any:
        return {"inputs": [{"namespace": "n", "name": "on_start"}]}

    def get_openlineage_facets_on_complete(self, ti: Any) -> Any:
        time.sleep(self.seconds)
        return {"inputs": [{"namespace": "n", "name": "on_complete"}]}


def test_an_event_has_all_that_the_specification_asks_for() -> None:
    event = event_of(AllMethods(), "success")
    assert event["eventType"] == "COMPLETE"
    assert event["eventTime"] == "2026-05-01T12:00:00.000000Z"
    assert event["producer"].endswith("/emitter/operators")
    assert event["schemaURL"].endswith("#/$defs/RunEvent")
    assert event["run"]["runId"] == RUN.run_id
    assert (event["job"]["namespace"], event["job"]["name"]) == ("etl", "nightly.load")
    assert event["job"]["facets"]["jobType"]["processingType"] == "BATCH"


def test_a_run_in_a_workflow_names_its_parent_and_root() -> None:
    run = replace(RUN, root=RunRef("019f0000-0000-7000-8000-0000000000ff", "ops", "everything"))
    parent = event_of(Plain(), "running", run=run)["run"]["facets"]["parent"]
    assert parent["run"]["runId"] == RUN.parent.run_id  # type: ignore[union-attr]
    assert parent["job"] == {"namespace": "etl", "name": "nightly"}
    assert parent["root"]["job"] == {"namespace": "ops", "name": "everything"}
    assert event_of(Plain(), "running")["run"]["facets"]["parent"]["root"]["job"]["name"] == "nightly"


def test_start_has_the_time_at_which_the_task_started() -> None:
    started = datetime(2026, 5, 1, 13, 0, tzinfo=timezone(timedelta(hours=2)))
    event = event_of(Plain(), "running", run=replace(RUN, started_at=started))
    assert event["eventTime"] == "2026-05-01T11:00:00.000000Z"


def test_a_time_without_zone_is_utc() -> None:
    assert event_time(datetime(2026, 5, 1, 12)) == "2026-05-01T12:00:00.000000Z"  # noqa: DTZ001


def test_nominal_times_are_a_facet_of_their_own() -> None:
    run = replace(RUN, nominal_start=NOON, nominal_end=NOON + timedelta(days=1))
    nominal = event_of(Plain(), "running", run=run)["run"]["facets"]["nominalTime"]
    assert nominal["nominalEndTime"] == "2026-05-02T12:00:00.000000Z"


class Failing(Plain):
    def get_openlineage_facets_on_failure(self, ti: Any) -> Any:
        return {"runFacets": {"errorMessage": {"message": "the operator's own message"}}}


def failure(error: BaseException | str | None) -> dict[str, Any]:
    listener, sink = listening()
    listener.task_failed(RUN, Failing(), None, error)
    (event,) = sink.events
    assert event["eventType"] == "FAIL"
    message: dict[str, Any] = event["run"]["facets"].get("errorMessage", {})
    return message


def test_a_raised_exception_with_its_stack_trace_wins_over_the_operators_errorMessage() -> None:
    try:
        raise LookupError("no such table")
    except LookupError as error:
        facet = failure(error)
    assert facet["message"] == "no such table"
    assert facet["programmingLanguage"] == "python"
    assert "raise LookupError" in facet["stackTrace"]


def test_an_error_that_is_a_text_has_no_stack_trace() -> None:
    facet = failure("killed")
    assert facet["message"] == "killed"
    assert "stackTrace" not in facet


def test_without_an_error_the_operators_errorMessage_stays() -> None:
    assert failure(None)["message"] == "the operator's own message"


def test_a_failure_without_any_error_has_no_error_facet() -> None:
    listener, sink = listening()
    listener.task_failed(RUN, Plain())
    assert "errorMessage" not in sink.events[0]["run"]["facets"]


def test_a_skipped_task_completes_with_its_lineage_on_complete() -> None:
    event = event_of(OnCompleteOnly(), "skipped")
    assert event["eventType"] == "COMPLETE"
    assert names(event, "inputs") == ["shop.public.read_on_complete"]


@pytest.mark.parametrize(("state", "kind"), [("success", "COMPLETE"), ("skipped", "COMPLETE"), ("failed", "FAIL")])
def test_a_state_set_by_hand_is_emitted_without_datasets(state: str, kind: str) -> None:
    listener, sink = listening()
    listener.state_set_by_hand(RUN, state, AllMethods(), "set by ada")
    (event,) = sink.events
    assert (event["eventType"], event["inputs"], event["outputs"]) == (kind, [], [])
    assert ("errorMessage" in event["run"]["facets"]) is (kind == "FAIL")


def test_a_resumed_attempt_is_not_started_again() -> None:
    listener, sink = listening()
    listener.task_started(replace(RUN, resumed=True), AllMethods())
    assert sink.events == []
    listener.task_succeeded(replace(RUN, resumed=True), AllMethods())
    assert len(sink.events) == 1


@pytest.mark.parametrize("isolation", ["thread", "fork"])
def test_lineage_that_comes_in_time_is_sent(isolation: Any) -> None:
    operator = Sleeps()
    operator.seconds = 0.05
    event = event_of(operator, "success", timeout=15.0, isolation=isolation)
    assert names(event, "inputs") == ["on_complete"]


@pytest.mark.parametrize("isolation", ["thread", "fork"])
def test_lineage_that_takes_too_long_is_given_up_and_the_event_says_so(
    isolation: Any, caplog: pytest.LogCaptureFixture
) -> None:
    began = time.monotonic()
    listener, sink = listening(timeout=0.3, isolation=isolation)
    listener.task_started(RUN, Sleeps())
    listener.task_succeeded(RUN, Sleeps())
    assert time.monotonic() - began < 30
    start, complete = sink.events
    assert names(start, "inputs") == ["on_start"]
    assert complete["inputs"] == []
    assert "longer than 0.3 s" in complete["run"]["facets"]["extractionError"]["errors"][0]["errorMessage"]
    assert "longer than 0.3 s" in caplog.text
    assert listener.counts["extraction_failed"] == 1


@pytest.mark.parametrize("isolation", ["thread", "fork"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, RecursionError])
def test_nothing_that_lineage_code_raises_reaches_the_task(isolation: Any, error: type[BaseException]) -> None:
    class Raises(Plain):
        def get_openlineage_facets_on_complete(self, ti: Any) -> Any:
            raise error("raised")

    event = event_of(Raises(), "success", isolation=isolation)
    assert event["eventType"] == "COMPLETE"
    assert error.__name__ in event["run"]["facets"]["extractionError"]["errors"][0]["errorMessage"]


@pytest.mark.parametrize("isolation", ["thread", "fork"])
def test_lineage_methods_cannot_set_attributes_of_the_operator(isolation: Any) -> None:
    class Sets(Plain):
        rows = 1

        def get_openlineage_facets_on_complete(self, ti: Any) -> Any:
            self.rows = 2
            return {"inputs": [{"namespace": "n", "name": f"rows={self.rows}"}]}

    operator = Sets()
    assert names(event_of(operator, "success", isolation=isolation), "inputs") == ["rows=2"]
    assert operator.rows == 1


def test_an_operator_that_cannot_be_copied_is_called_itself() -> None:
    class Single(OnCompleteOnly):
        def __copy__(self) -> Any:
            raise TypeError("there is one only")

    assert names(event_of(Single(), "success"), "inputs") == ["shop.public.read_on_complete"]


def test_both_isolations_emit_the_same_event() -> None:
    thread, fork = (event_of(AllMethods(), "success", isolation=isolation) for isolation in ("thread", "fork"))
    assert thread == fork


def test_a_transport_that_raises_is_counted_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(CollectingSink):
        def emit(self, event: Any) -> None:
            raise ConnectionError("no broker")

    listener = TaskLineageListener(Broken())
    listener.task_started(RUN, Plain())
    assert listener.counts == {"emit_failed": 1}
    assert "was not sent: ConnectionError: no broker" in caplog.text


def test_an_exception_of_the_listener_itself_is_not_raised(caplog: pytest.LogCaptureFixture) -> None:
    def broken_clock() -> datetime:
        raise OverflowError("out of time")

    listener = TaskLineageListener(CollectingSink(), clock=broken_clock)
    listener.task_succeeded(RUN, Plain())
    assert listener.counts["listener_failed"] == 1
    assert "task is not affected" in caplog.text


def test_custom_facets_are_merged_and_a_failing_function_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    def first(ti: Any, state: str) -> dict[str, Any]:
        return {"etl_team": {"name": "first"}, "etl_state": {"is": state, "try": ti.try_number}}

    def broken(ti: Any, state: str) -> dict[str, Any]:
        raise ValueError("no team")

    def nothing(ti: Any, state: str) -> None:
        return None

    def later(ti: Any, state: str) -> dict[str, Any]:
        return {"etl_team": {"name": "later"}}

    ti = SimpleNamespace(try_number=2)
    event = event_of(Plain(), "success", ti=ti, custom_facets=[first, broken, nothing, later])
    facets = event["run"]["facets"]
    assert facets["etl_team"]["name"] == "later"
    assert facets["etl_state"]["try"] == 2
    assert "broken: ValueError" in caplog.text
    assert "etl_team is defined twice; that of later is used" in caplog.text


def test_facets_with_equal_names_have_a_fixed_precedence() -> None:
    class Bold(Plain):
        def get_openlineage_facets_on_complete(self, ti: Any) -> Any:
            mine = {"by": "operator"}
            parent = {"run": {"runId": str(uuid.uuid4())}, "job": {"namespace": "n", "name": "wrong"}}
            return {
                "runFacets": {"a": mine, "b": mine, "c": mine, "parent": parent},
                "jobFacets": {"team": mine, "k": mine},
            }

    def custom(ti: Any, state: str) -> dict[str, Any]:
        return {"b": {"by": "custom"}, "c": {"by": "custom"}}

    run = replace(RUN, run_facets={"c": {"by": "scheduler"}}, job_facets={"team": {"by": "scheduler"}})
    event = event_of(Bold(), "success", run=run, custom_facets=[custom])
    facets = event["run"]["facets"]
    assert [facets[name]["by"] for name in "abc"] == ["operator", "custom", "scheduler"]
    assert facets["parent"]["job"]["name"] == "nightly"
    assert [event["job"]["facets"][name]["by"] for name in ("team", "k")] == ["scheduler", "operator"]


class Templated(Plain):
    def get_openlineage_facets_on_complete(self, ti: Any) -> Any:
        return {
            "outputs": [
                {"namespace": "s3://{{ bucket }}", "name": "day={{ ds }}/a.csv"},
                {"namespace": "n", "name": "fixed"},
            ]
        }


@pytest.mark.parametrize("isolation", ["thread", "fork"])
def test_unrendered_templates_are_resolved_when_the_event_is_made(isolation: Any) -> None:
    run = replace(RUN, context={"bucket": "raw", "ds": "2026-05-01"})
    event = event_of(Templated(), "success", run=run, isolation=isolation)
    assert [(each["namespace"], each["name"]) for each in event["outputs"]] == [
        ("s3://raw", "day=2026-05-01/a.csv"),
        ("n", "fixed"),
    ]


def test_the_hosts_own_renderer_and_context_are_used_where_it_has_them() -> None:
    class Rendering(Templated):
        def render_template(self, text: str, context: Any) -> str:
            return text.replace("{{ bucket }}", context["b"]).replace("{{ ds }}", "today")

    ti = SimpleNamespace(get_template_context=lambda: {"b": "raw"})
    event = event_of(Rendering(), "success", ti=ti)
    assert [each["name"] for each in event["outputs"]] == ["day=today/a.csv", "fixed"]


def test_a_name_whose_template_cannot_be_resolved_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    event = event_of(Templated(), "success", run=replace(RUN, context={"bucket": "raw"}))
    assert names(event, "outputs") == ["fixed"]
    assert "template that cannot be resolved" in caplog.text


def test_a_name_that_the_hosts_renderer_gives_back_as_it_was_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    class Lazy(Templated):
        def render_template(self, text: str, context: Any) -> str:
            return text

    assert names(event_of(Lazy(), "success"), "outputs") == ["fixed"]
    assert "a template that resolves to another template" in caplog.text


def test_a_name_that_renders_to_nothing_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    class Empty(Plain):
        def get_openlineage_facets_on_complete(self, ti: Any) -> Any:
            return {"outputs": [{"namespace": "n", "name": "{{ table }}"}]}

    assert event_of(Empty(), "success", run=replace(RUN, context={"table": None}))["outputs"] == []
    assert "resolves to nothing" in caplog.text


IDS = {"namespace": "ns", "workflow": "dag", "task": "task", "try_number": 1, "map_index": -1, "instant": NOON}


def test_run_ids_are_those_of_airflows_provider() -> None:
    assert task_run_id(**IDS) == str(generate_static_uuid(NOON, b"ns.dag.task.1.-1"))  # type: ignore[arg-type]
    assert workflow_run_id(namespace="ns", workflow="dag", clear_number=0, instant=NOON) == str(
        generate_static_uuid(NOON, b"ns.dag.0")
    )
    assert task_run_id(**IDS) == "019de368-f600-7162-8ad1-874e70952487"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "other",
    [
        {"namespace": "x"},
        {"workflow": "x"},
        {"task": "x"},
        {"try_number": 2},
        {"map_index": 0},
        {"instant": NOON + timedelta(1)},
    ],
)
def test_another_attempt_is_another_run(other: dict[str, Any]) -> None:
    assert task_run_id(**IDS) == task_run_id(**IDS)  # type: ignore[arg-type]
    changed = task_run_id(**{**IDS, **other})
    assert changed != task_run_id(**IDS)  # type: ignore[arg-type]
    assert uuid.UUID(changed).version == 7


def test_a_cleared_workflow_is_another_run() -> None:
    ids = {workflow_run_id(namespace="n", workflow="w", clear_number=number, instant=NOON) for number in (0, 1, 0)}
    assert len(ids) == 2


def test_the_instant_counts_not_how_it_is_written() -> None:
    elsewhere = NOON.astimezone(timezone(timedelta(hours=9)))
    assert task_run_id(**{**IDS, "instant": elsewhere}) == task_run_id(**IDS)  # type: ignore[arg-type]


class TestBounded:
    @pytest.mark.parametrize("isolation", ["thread", "fork"])
    def test_a_value_comes_back(self, isolation: Any) -> None:
        assert run_bounded(lambda: {"a": [1, "two"]}, 5, "work", isolation).value == {"a": [1, "two"]}

    def test_a_big_value_comes_back_from_a_child(self) -> None:
        assert run_bounded(lambda: "x" * 3_000_000, 10, "work", "fork").value == "x" * 3_000_000

    def test_a_child_is_killed_when_its_time_is_up(self) -> None:
        reading, writing = os.pipe()

        def work() -> None:
            os.write(writing, str(os.getpid()).encode())
            time.sleep(60)

        # On a busy machine a large process takes long to fork; without a child that writes, the pipe must have an end.
        outcome = run_bounded(work, 3, "work", "fork")
        os.close(writing)
        child = int(os.read(reading, 20))
        os.close(reading)
        assert "longer than" in outcome.fault
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)

    def test_the_hosts_signal_handlers_are_not_for_the_child(self) -> None:
        reading, writing = os.pipe()
        earlier = signal.signal(signal.SIGTERM, lambda number, frame: os.write(writing, b"the host cleans up"))
        try:
            run_bounded(lambda: time.sleep(60), 0.3, "work", "fork")
        finally:
            signal.signal(signal.SIGTERM, earlier)
        os.close(writing)
        assert os.read(reading, 100) == b""
        os.close(reading)

    def test_a_child_that_ignores_sigterm_is_killed(self) -> None:
        def work() -> None:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(60)

        began = time.monotonic()
        assert "longer than" in run_bounded(work, 0.2, "work", "fork").fault
        assert time.monotonic() - began < 30

    def test_a_child_that_dies_returns_no_lineage(self) -> None:
        assert "without a result" in run_bounded(lambda: os._exit(9), 5, "work", "fork").fault

    def test_a_child_changes_nothing_here(self) -> None:
        seen: list[int] = []
        run_bounded(lambda: seen.append(1), 5, "work", "fork")
        assert seen == []

    def test_a_child_that_raises_leaves_no_second_program_behind(self) -> None:
        parent = os.getpid()

        def work() -> None:
            raise KeyboardInterrupt

        assert "KeyboardInterrupt" in run_bounded(work, 5, "work", "fork").fault
        assert os.getpid() == parent

    def test_an_abandoned_thread_holds_up_nothing(self) -> None:
        release = threading.Event()
        began = time.monotonic()
        assert "longer than" in run_bounded(lambda: release.wait(60), 0.1, "work").fault
        assert time.monotonic() - began < 30
        release.set()

    def test_the_warning_names_the_task(self, caplog: pytest.LogCaptureFixture) -> None:
        run_bounded(lambda: 1 / 0, 5, "nightly.load")
        assert len(caplog.records) == 1
        assert "nightly.load is not available: ZeroDivisionError" in caplog.text


def test_lineage_emitted_by_a_running_task_is_a_running_event() -> None:
    listener, sink = listening()
    listener.lineage_emitted(RUN, lineage_on("now"))
    (event,) = sink.events
    assert (event["eventType"], names(event, "inputs")) == ("RUNNING", ["shop.public.read_on_now"])


def test_events_are_made_of_json_alone() -> None:
    import json

    class Odd(Plain):
        def get_openlineage_facets_on_complete(self, ti: Any) -> Any:
            facet = {"at": NOON, "nan": float("nan"), "set": {1}, "object": object()}
            return {"inputs": [InputDataset("n", "a", {"etl_odd": facet})], "runFacets": {"etl_odd": facet}}

    json.dumps(event_of(Odd(), "success"), allow_nan=False)


def test_the_clock_is_utc_by_default() -> None:
    sink = CollectingSink()
    TaskLineageListener(sink).task_succeeded(RUN, Plain())
    emitted_at = datetime.fromisoformat(sink.events[0]["eventTime"])
    assert abs((datetime.now(UTC) - emitted_at).total_seconds()) < 5
