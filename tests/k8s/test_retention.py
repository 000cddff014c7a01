"""Retention is a CronJob that exists if an age is set."""

from __future__ import annotations

import pytest

from headwater_cli.operations.graph_retain import retain

from .charts import SERVERS, merged, object_of, render


def test_without_an_age_there_is_no_retention_job() -> None:
    assert [item for item in render(SERVERS) if item["kind"] == "CronJob"] == []


@pytest.mark.parametrize("major", [3, 4])
def test_with_an_age_the_command_runs_on_its_schedule(major: int) -> None:
    check = {"check": {"schedule": "0 4 * * 0", "args": ["graph", "check"]}}
    values = {"retention": {"olderThan": "52w", "schedule": "15 2 * * *"}, "cronJobs": check}
    objects = render(merged(SERVERS, values), major=major)
    job = object_of(objects, "CronJob", "-retention")
    assert job["spec"]["schedule"] == "15 2 * * *"
    assert job["spec"]["concurrencyPolicy"] == "Forbid"
    (container,) = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    assert container["args"] == ["headwater", "graph", "retain", "--older-than", "52w", "--apply"]
    assert object_of(objects, "CronJob", "-check")["spec"]["schedule"] == "0 4 * * 0"


def test_the_flags_exist() -> None:
    flags = {flag for option in retain.params for flag in option.opts}
    assert {"--older-than", "--apply"} <= flags
