"""Retention is a CronJob that is there when an age is set, beside those that are named."""

from __future__ import annotations

import pytest

from headwater_cli.graph_retain import retain

from .charts import SERVERS, merged, one, render


def test_without_an_age_nothing_is_ever_removed() -> None:
    assert [item for item in render(SERVERS) if item["kind"] == "CronJob"] == []


@pytest.mark.parametrize("major", [3, 4])
def test_with_an_age_the_command_runs_at_its_time(major: int) -> None:
    check = {"check": {"schedule": "0 4 * * 0", "args": ["graph", "check"]}}
    values = {"retention": {"olderThan": "52w", "schedule": "15 2 * * *"}, "cronJobs": check}
    objects = render(merged(SERVERS, values), major=major)
    job = one(objects, "CronJob", "-retention")
    assert job["spec"]["schedule"] == "15 2 * * *"
    assert job["spec"]["concurrencyPolicy"] == "Forbid"
    (container,) = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    assert container["args"] == ["headwater", "graph", "retain", "--older-than", "52w", "--apply"]
    assert one(objects, "CronJob", "-check")["spec"]["schedule"] == "0 4 * * 0"


def test_its_flags_are_those_of_the_command() -> None:
    told = {word for option in retain.params for word in option.opts}
    assert {"--older-than", "--apply"} <= told
