"""Parents in environment variables: those of OpenLineage, of Airflow and of Headwater."""

from __future__ import annotations

import datetime as dt
import json

import pytest
from openlineage.client.uuid import generate_static_uuid

from headwater.lineage.parents import (
    RunReference,
    SharedRun,
    parent_variables,
    parents_from,
    parse_reference,
    shared_run_from,
    sharing_variables,
)

PARENT = RunReference("s3://a/b", "job", "r1")
ROOT = RunReference("n", "root", "r0")


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("ns/job/id", RunReference("ns", "job", "id")),
        ("s3://b/x/job/id", RunReference("s3://b/x", "job", "id")),
        ("job/id", None),
        ("", None),
        ("/job/id", None),
    ],
)
def test_references_in_text(text: str, reference: RunReference | None) -> None:
    assert parse_reference(text) == reference


def test_openlineages_variables() -> None:
    parents = parents_from({"OPENLINEAGE_PARENT_ID": "ns/job/r1"})
    assert parents is not None
    assert parents.parent == parents.root == RunReference("ns", "job", "r1")
    parents = parents_from({"OPENLINEAGE_PARENT_ID": "ns/job/r1", "OPENLINEAGE_ROOT_PARENT_ID": "n/root/r0"})
    assert parents is not None
    assert parents.root == ROOT
    assert parents.facet() == {
        "run": {"runId": "r1"},
        "job": {"namespace": "ns", "name": "job"},
        "root": {"run": {"runId": "r0"}, "job": {"namespace": "n", "name": "root"}},
    }


@pytest.mark.parametrize("parent", [PARENT, RunReference("n", "a/b/c", "r"), RunReference("é", "\"'", "r")])
def test_parent_variables_round_trip(parent: RunReference) -> None:
    parents = parents_from(parent_variables(parent, ROOT))
    assert parents is not None
    assert (parents.parent, parents.root) == (parent, ROOT)


def test_a_parent_set_by_a_process_in_between_takes_precedence() -> None:
    variables = parent_variables(PARENT, ROOT) | {"OPENLINEAGE_PARENT_ID": "dbt/model/r5"}
    parents = parents_from(variables)
    assert parents is not None
    assert parents.parent == RunReference("dbt", "model", "r5")
    assert parents.root == ROOT


def test_airflows_variables_give_the_run_ids_of_its_provider() -> None:
    environ = {
        "AIRFLOW_CTX_DAG_ID": "dag",
        "AIRFLOW_CTX_TASK_ID": "task",
        "AIRFLOW_CTX_EXECUTION_DATE": "2024-01-01T00:00:00+00:00",
        "AIRFLOW_CTX_TRY_NUMBER": "2",
        "AIRFLOW__OPENLINEAGE__NAMESPACE": "team",
    }
    parents = parents_from(environ)
    instant = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    assert parents is not None
    assert parents.parent == RunReference("team", "dag.task", str(generate_static_uuid(instant, b"team.dag.task.2.-1")))
    assert parents.root == RunReference("team", "dag", str(generate_static_uuid(instant, b"team.dag.0")))
    assert parents_from(environ | {"AIRFLOW_CTX_EXECUTION_DATE": "soon"}) is None
    explicit = parents_from(environ | {"OPENLINEAGE_PARENT_ID": "ns/job/r1"})
    assert explicit is not None
    assert explicit.parent.name == "job"


def test_an_environment_without_a_parent() -> None:
    assert parents_from({}) is None
    assert parents_from({"OPENLINEAGE_PARENT_ID": "nonsense", "HEADWATER_PARENT": "[1"}) is None
    assert shared_run_from({}) is None


def test_shared_runs() -> None:
    assert shared_run_from(sharing_variables(PARENT)) == SharedRun("r1", "s3://a/b", "job", member=True)
    assert shared_run_from({"HEADWATER_RUN_ID": "x"}) == SharedRun("x", "", "", member=False)


def test_variables_are_json_where_they_must_be_exact() -> None:
    assert json.loads(parent_variables(PARENT, ROOT)["HEADWATER_PARENT"]) == ["s3://a/b", "job", "r1"]
