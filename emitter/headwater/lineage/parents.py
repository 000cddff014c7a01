"""The parent of a run and the run that several processes share, read from environment variables.

They are read in this order: Headwater's own variables, ``OPENLINEAGE_PARENT_ID`` and ``OPENLINEAGE_ROOT_PARENT_ID``
(``namespace/name/runId``) of OpenLineage, and the ``AIRFLOW_CTX_*`` variables that Airflow sets for its tasks, from which
the run ids of its OpenLineage provider are derived. This module does not access the environment itself.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from openlineage.client.uuid import generate_static_uuid


@dataclass(frozen=True, slots=True)
class RunReference:
    """A run of a job: the job's namespace and name, and the runId."""

    namespace: str
    name: str
    run_id: str

    def text(self) -> str:
        """Return the reference in the form of ``OPENLINEAGE_PARENT_ID``."""
        return f"{self.namespace}/{self.name}/{self.run_id}"

    def facet_member(self) -> dict[str, Any]:
        """Return the members ``run`` and ``job`` of the facet ``parent``."""
        return {"run": {"runId": self.run_id}, "job": {"namespace": self.namespace, "name": self.name}}


@dataclass(frozen=True, slots=True)
class Parents:
    """The parent of a run and the root of the tree of runs that contains both."""

    parent: RunReference
    root: RunReference

    def facet(self) -> dict[str, Any]:
        """Return the run facet ``parent`` (ParentRunFacet)."""
        return self.parent.facet_member() | {"root": self.root.facet_member()}


@dataclass(frozen=True, slots=True)
class SharedRun:
    """A run that this process is part of; without namespace and name, it is a run of the job that starts first.

    With ``member``, another process ends the run: the success of this process doesn't complete it.
    """

    run_id: str
    namespace: str
    name: str
    member: bool


def parse_reference(text: str) -> RunReference | None:
    """Return the run written ``namespace/name/runId``, where the namespace can contain slashes; None if it is invalid."""
    parts = text.strip().rsplit("/", 2)
    return RunReference(*parts) if len(parts) == 3 and all(parts) else None


def parents_from(environ: Mapping[str, str]) -> Parents | None:
    """Return the parent and root that the environment names, None if it names none."""
    parent = _exact(environ, "HEADWATER_PARENT", "OPENLINEAGE_PARENT_ID")
    if parent is None:
        return _airflow(environ)
    root = _exact(environ, "HEADWATER_ROOT_PARENT", "OPENLINEAGE_ROOT_PARENT_ID")
    return Parents(parent, root or parent)


def _exact(environ: Mapping[str, str], own: str, standard: str) -> RunReference | None:
    fallback = parse_reference(environ.get(standard, ""))
    try:
        exact = RunReference(*json.loads(environ.get(own, "null")))
    except (TypeError, ValueError):
        return fallback
    # The standard form is ambiguous if a name contains slashes, the own form is not. They differ if a process between
    # the parent and this one has set another parent in the standard form only.
    return exact if environ.get(standard, "").strip() in ("", exact.text()) else fallback


def _airflow(environ: Mapping[str, str]) -> Parents | None:
    dag, task = environ.get("AIRFLOW_CTX_DAG_ID"), environ.get("AIRFLOW_CTX_TASK_ID")
    moment = environ.get("AIRFLOW_CTX_LOGICAL_DATE") or environ.get("AIRFLOW_CTX_EXECUTION_DATE")
    if not dag or not task or not moment:
        return None
    try:
        instant = dt.datetime.fromisoformat(moment)
    except ValueError:
        return None
    namespace = environ.get("AIRFLOW__OPENLINEAGE__NAMESPACE") or environ.get("OPENLINEAGE_NAMESPACE") or "default"
    attempt = environ.get("AIRFLOW_CTX_TRY_NUMBER", "1")
    parent = generate_static_uuid(instant, f"{namespace}.{dag}.{task}.{attempt}.-1".encode())
    root = generate_static_uuid(instant, f"{namespace}.{dag}.0".encode())
    return Parents(
        RunReference(namespace, f"{dag}.{task}", str(parent)),
        RunReference(namespace, dag, str(root)),
    )


def shared_run_from(environ: Mapping[str, str]) -> SharedRun | None:
    """Return the run that this process shares with others, None if the environment names none."""
    run_id = environ.get("HEADWATER_RUN_ID", "").strip()
    if not run_id:
        return None
    return SharedRun(
        run_id,
        environ.get("HEADWATER_RUN_NAMESPACE", ""),
        environ.get("HEADWATER_RUN_JOB", ""),
        environ.get("HEADWATER_RUN_MEMBER", "") == "1",
    )


def parent_variables(own: RunReference, root: RunReference) -> dict[str, str]:
    """Return the environment variables of a subprocess whose runs are children of ``own``."""
    return {
        "OPENLINEAGE_PARENT_ID": own.text(),
        "OPENLINEAGE_ROOT_PARENT_ID": root.text(),
        "HEADWATER_PARENT": json.dumps([own.namespace, own.name, own.run_id]),
        "HEADWATER_ROOT_PARENT": json.dumps([root.namespace, root.name, root.run_id]),
    }


def sharing_variables(own: RunReference) -> dict[str, str]:
    """Return the environment variables of a subprocess that is part of the run ``own``, which the caller ends."""
    return {
        "HEADWATER_RUN_ID": own.run_id,
        "HEADWATER_RUN_NAMESPACE": own.namespace,
        "HEADWATER_RUN_JOB": own.name,
        "HEADWATER_RUN_MEMBER": "1",
    }
