"""What is emitted for which task."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from headwater.operators import EmissionPolicy, TaskPolicy

from .plain_operators import RUN, AllMethods, OnCompleteOnly, Plain, called_method, event_of, listening


def rule(scope: dict[str, str], *, locked: bool = False, mode: str = "exact", **controls: bool) -> dict[str, Any]:
    return {"scope": scope, "controls": controls, "locked": locked, "match_mode": mode}


@pytest.mark.parametrize("name", ["AllMethods", f"{AllMethods.__module__}.AllMethods"])
def test_a_disabled_operator_has_no_events(name: str) -> None:
    listener, sink = listening(policy=EmissionPolicy.of([], disabled_operators=[name]))
    listener.task_started(RUN, AllMethods())
    listener.task_succeeded(RUN, AllMethods())
    listener.state_set_by_hand(RUN, "success", AllMethods())
    listener.lineage_emitted(RUN, {"inputs": [{"namespace": "n", "name": "a"}]}, AllMethods())
    assert sink.events == []
    listener.task_started(RUN, OnCompleteOnly())
    assert len(sink.events) == 1


def test_an_invalid_policy_has_no_rules(caplog: pytest.LogCaptureFixture) -> None:
    assert called_method(event_of(AllMethods(), "success", policy=EmissionPolicy.of({"emit": False}))) == "complete"
    assert "list of rules" in caplog.text


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("text", "is not an object"),
        ({"controls": {"emit": False}}, "has no scope"),
        ({"scope": {"task_id": "a"}, "controls": {"emit": False}}, "has no scope"),
        ({"scope": {"dgg_id": "a"}, "controls": {"emit": False}}, "has no scope"),
        ({"scope": {}, "controls": {}}, "has no controls"),
        ({"scope": {}, "controls": {"emmit": False}}, "has no controls"),
        ({"scope": {}, "controls": {"emit": "no"}}, "neither true nor false"),
        ({"scope": {}, "controls": {"emit": False}, "also": 1}, "unknown members"),
        ({"scope": {}, "controls": {"emit": False}, "match_mode": "glob"}, "match_mode"),
        ({"scope": {"dag_id": "("}, "controls": {"emit": False}, "match_mode": "regex"}, "pattern"),
    ],
)
def test_a_rule_that_cannot_be_read_is_left_out_with_the_reason(
    given: Any, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert EmissionPolicy.of([given]) == EmissionPolicy()
    assert why in caplog.text


@pytest.mark.parametrize(
    ("rules", "emitted"),
    [
        ([rule({}, emit=False)], False),
        ([rule({}, emit=False), rule({}, emit=True)], True),
        ([rule({"dag_id": "nightly"}, emit=True), rule({}, emit=False)], True),
        ([rule({"dag_id": "nightly", "task_id": "load"}, emit=False), rule({"dag_id": "nightly"}, emit=True)], False),
        ([rule({"operator": "Plain"}, emit=False), rule({"dag_id": "nightly"}, emit=True)], True),
        ([rule({"dag_id": "night.*"}, mode="regex", emit=False)], False),
        ([rule({"dag_id": "night.*"}, emit=False)], True),
        ([rule({"dag_id": "night"}, mode="regex", emit=False)], True),
        ([rule({"dag_id": "nightly", "task_id": "other"}, emit=False)], True),
        ([rule({}, locked=True, emit=False), rule({"dag_id": "nightly"}, emit=True)], True),
        ([rule({}, emit=True, emit_task_events=False)], False),
        ([rule({}, emit=False, emit_task_events=True)], True),
    ],
)
def test_the_narrowest_rule_decides_and_of_equals_the_last(rules: list[Any], emitted: bool) -> None:
    assert EmissionPolicy.of(rules).for_task(Plain(), "nightly", "load").emit is emitted


def test_each_control_is_decided_by_itself() -> None:
    policy = EmissionPolicy.of([rule({}, hook_lineage=False), rule({"dag_id": "d"}, extract_operator_metadata=False)])
    assert policy.for_task(Plain(), "d", "t") == TaskPolicy(extract=False, hook_lineage=False)


def test_without_extraction_the_event_has_no_lineage() -> None:
    event = event_of(AllMethods(), "success", policy=EmissionPolicy.of([rule({}, extract_operator_metadata=False)]))
    assert event["inputs"] == []
    assert "unknownSourceAttribute" not in event["run"]["facets"]


def test_workflow_events_have_a_control_of_their_own() -> None:
    policy = EmissionPolicy.of(
        [rule({"dag_id": "quiet"}, emit_dag_events=False), rule({"operator": "Plain"}, emit=False)]
    )
    assert not policy.for_workflow("quiet")
    assert policy.for_workflow("nightly")
    assert policy.for_task(AllMethods(), "quiet", "t").emit


@pytest.mark.parametrize(("locked", "emitted"), [(False, True), (True, False)])
def test_a_tasks_author_may_change_what_is_not_locked(locked: bool, emitted: bool) -> None:
    policy = EmissionPolicy.of([rule({}, locked=locked, emit=False), rule({}, hook_lineage=False)])
    for flags in ({"emit": True, "hook_lineage": True}, SimpleNamespace(value={"emit": True, "hook_lineage": True})):
        operator = Plain()
        operator.params = {"_openlineage_emission_policy": flags}  # type: ignore[attr-defined]
        task = policy.for_task(operator, "nightly", "load")
        assert (task.emit, task.hook_lineage) == (emitted, True)
