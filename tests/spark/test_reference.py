"""The lineage of reference jobs, compared with that of the official integration.

A few jobs by default, all in one driver; ``HEADWATER_SPARK_REFERENCE=all`` runs every job, with those that need their own
driver, another PySpark, or a broker.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from .comparison import difference, expected, facts
from .deviations import ON_PURPOSE
from .reference import REFERENCE, groups, needs_own_driver
from .surroundings import broker, run_in_process, run_jobs
from .versions import warnings

pytestmark = [
    pytest.mark.end_to_end,
    pytest.mark.skipif(not REFERENCE.is_dir(), reason=f"the reference jobs are not there: {REFERENCE}"),
]

FEW = (
    "05_text_wordcount",
    "10_save_as_table",
    "14_create_view",
    "25_groupby_having",
    "39_cte",
    "46_rdd_text",
    "49_fail_sql_error",
    "54_stream_files",
)


EXITING = "75_no_stop_exit"
"""A job that calls os._exit, and so ends the driver, which other jobs cannot share."""


def names() -> tuple[str, ...]:
    if os.environ.get("HEADWATER_SPARK_REFERENCE") != "all" or not REFERENCE.is_dir():
        return FEW
    return tuple(sorted(job.stem for job in (REFERENCE / "jobs").glob("*.py")))


def needs(name: str) -> str:
    """What a job needs: "" for any driver, else a driver of its own, "kafka", a PySpark's version, or "process"."""
    job = REFERENCE / "jobs" / f"{name}.py"
    only = next((line for line in job.read_text().splitlines() if line.startswith("# only:")), "")
    if name == EXITING:
        return "process"
    if only:
        return ".".join(only.removeprefix("# only:").strip().split(".")[:2])
    if "spark-kafka" in groups(job):
        return "kafka"
    return name if needs_own_driver(job) else ""


@pytest.fixture(scope="session")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with each job's events, from as few drivers as they can share."""
    out = tmp_path_factory.mktemp("reference")
    log = ""
    for need in sorted({needs(name) for name in names()}):
        jobs = [name for name in names() if needs(name) == need]
        if need == "process":
            log += "".join(run_in_process(REFERENCE / "jobs" / f"{name}.py", out) for name in jobs)
        else:
            with broker(out) if need == "kafka" else nullcontext():
                log += run_jobs(jobs, out, need if need[:1].isdigit() and need not in jobs else None)
    assert warnings(log) == []
    return out


def events(output: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (output / f"{name}.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("name", names())
def test_the_lineage_is_the_official_one_except_for_listed_deviations(output: Path, name: str) -> None:
    theirs = expected(json.loads((REFERENCE / "expected" / f"{name}.json").read_text()))
    found = difference(facts(events(output, name), str(output / "work" / name)), theirs)
    patterns = [pattern for pattern, _ in ON_PURPOSE.get(name, [])]
    assert [fact for fact in found if not any(re.fullmatch(p, fact) for p in patterns)] == []
    assert [p for p in patterns if not any(re.fullmatch(p, fact) for fact in found)] == []


@pytest.mark.parametrize("name", names())
def test_every_run_starts_once_ends_once_and_has_the_application_as_parent(output: Path, name: str) -> None:
    application, *others = events(output, name)
    assert application["eventType"] == "START"
    runs: dict[str, list[str]] = {}
    for event in others:
        runs.setdefault(event["run"]["runId"], []).append(event["eventType"])
        if event["run"]["runId"] != application["run"]["runId"]:
            assert event["run"]["facets"]["parent"]["run"]["runId"] == application["run"]["runId"]
    ends = runs.pop(application["run"]["runId"])
    assert len(ends) == 1
    for kinds in runs.values():
        assert kinds[0] == "START"
        assert kinds[-1] in {"COMPLETE", "FAIL"}
        assert sum(kind in {"COMPLETE", "FAIL"} for kind in kinds) == 1


def test_a_table_is_created_once_and_an_append_has_no_lifecycle_change(output: Path) -> None:
    ends = [
        event for event in events(output, "10_save_as_table") if event["eventType"] == "COMPLETE" and event["outputs"]
    ]
    changes = [
        event["outputs"][0]["facets"].get("lifecycleStateChange", {}).get("lifecycleStateChange") for event in ends
    ]
    assert changes == ["CREATE", "OVERWRITE", None]


def test_a_failed_write_fails_once_and_so_does_the_application(output: Path) -> None:
    ends = [event for event in events(output, "49_fail_sql_error") if event["eventType"] in {"COMPLETE", "FAIL"}]
    assert [event["eventType"] for event in ends] == ["COMPLETE", "FAIL", "FAIL"]
    assert "stop" in ends[1]["run"]["facets"]["errorMessage"]["message"]
    assert "3" in ends[2]["run"]["facets"]["errorMessage"]["message"]


@pytest.mark.skipif("43_merge_delta" not in names(), reason="HEADWATER_SPARK_REFERENCE=all runs Delta's job")
def test_a_delta_write_has_the_version_and_the_rows_of_its_commit(output: Path) -> None:
    ends = [event for event in events(output, "43_merge_delta") if event["eventType"] == "COMPLETE"]
    written = [dataset for event in ends for dataset in event["outputs"]]
    made = [dataset["facets"].get("version", {}).get("datasetVersion") for dataset in written]
    # Its DELETE does not delete any row, so it has no commit; the last write is of another table.
    assert made == ["0", "1", "2", None, "0"]
    counted = [dataset.get("outputFacets", {}).get("outputStatistics", {}).get("rowCount") for dataset in written]
    assert counted == [6, 7, 7, None, 4]
