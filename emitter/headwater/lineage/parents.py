"""Whose child a run is, and which run a process was told to be part of; pure.

Read in this order: headwater's own variables, OpenLineage's ``OPENLINEAGE_PARENT_ID`` and ``OPENLINEAGE_ROOT_PARENT_ID``
(``namespace/name/runId``), and the ``AIRFLOW_CTX_*`` that Airflow gives its tasks, from which the run ids of its
OpenLineage provider follow.
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
        """As in ``OPENLINEAGE_PARENT_ID``."""
        return f"{self.namespace}/{self.name}/{self.run_id}"

    def facet_member(self) -> dict[str, Any]:
        return {"run": {"runId": self.run_id}, "job": {"namespace": self.namespace, "name": self.name}}


@dataclass(frozen=True, slots=True)
class Parents:
    """A run's parent, and the root of the tree that both are in."""

    parent: RunReference
    root: RunReference

    def facet(self) -> dict[str, Any]:
        """The run facet ``parent`` (ParentRunFacet)."""
        return self.parent.facet_member() | {"root": self.root.facet_member()}


@dataclass(frozen=True, slots=True)
class SharedRun:
    """The run that this process was told to be a part of; no namespace and name: of whatever job begins first.

    ``member``: another process ends the run, so this one's success doesn't.
    """

    run_id: str
    namespace: str
    name: str
    member: bool


def parse_reference(text: str) -> RunReference | None:
    """Read ``namespace/name/runId``; the namespace may have slashes in it. None if there are too few parts."""
    parts = text.strip().rsplit("/", 2)
    return RunReference(*parts) if len(parts) == 3 and all(parts) else None


def parents_from(environ: Mapping[str, str]) -> Parents | None:
    """The parent and root that the environment names, if it names any."""
    parent = _exact(environ, "HEADWATER_PARENT", "OPENLINEAGE_PARENT_ID")
    if parent is None:
        return _airflow(environ)
    root = _exact(environ, "HEADWATER_ROOT_PARENT", "OPENLINEAGE_ROOT_PARENT_ID")
    return Parents(parent, root or parent)


def _exact(environ: Mapping[str, str], own: str, stock: str) -> RunReference | None:
    stated = parse_reference(environ.get(stock, ""))
    try:
        exact = RunReference(*json.loads(environ.get(own, "null")))
    except (TypeError, ValueError):
        return stated
    # The stock form can't tell slashes in names apart; ours can, unless a process between has put in another parent.
    return exact if environ.get(stock, "").strip() in ("", exact.text()) else stated


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
    """The run that several processes share on purpose, if the environment names one."""
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
    """What a subprocess needs in its environment to be a child of ``own``."""
    return {
        "OPENLINEAGE_PARENT_ID": own.text(),
        "OPENLINEAGE_ROOT_PARENT_ID": root.text(),
        "HEADWATER_PARENT": json.dumps([own.namespace, own.name, own.run_id]),
        "HEADWATER_ROOT_PARENT": json.dumps([root.namespace, root.name, root.run_id]),
    }


def sharing_variables(own: RunReference) -> dict[str, str]:
    """What a subprocess needs in its environment to be a part of the run ``own``, which the caller ends."""
    return {
        "HEADWATER_RUN_ID": own.run_id,
        "HEADWATER_RUN_NAMESPACE": own.namespace,
        "HEADWATER_RUN_JOB": own.name,
        "HEADWATER_RUN_MEMBER": "1",
    }
