"""The names of an application and of its parent, from Spark's configuration, else from the environment."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..datasets import facets
from ..official.configuration import OfficialConfiguration, items
from ..official.dataset_names import DatasetNames
from ..official.event_facets import Descriptions, FacetRules
from ..official.job_names import JobNames
from ..official.transport import transport_of

Identity = tuple[str, str, str]
"""(run id, job namespace, job name)."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The names of the application's run, its parent and its root, and what its events contain.

    ``is_one_job`` is whether all that the application does belongs to its own run. ``transport`` is the transport that the
    configuration names, in the form of openlineage-python; ``not_obeyed`` names the entries that have no effect.
    """

    namespace: str
    app_name: str
    spark_version: str
    parent: Identity | None = None
    root: Identity | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    application_id: str = ""
    application_run: str | None = None
    source: Mapping[str, str] = field(default_factory=dict)
    is_disabled: bool = False
    emits_rdd_jobs: bool = True
    denied_nodes: frozenset[str] = frozenset()
    facet_rules: FacetRules = field(default_factory=FacetRules)
    descriptions: Descriptions = field(default_factory=Descriptions)
    dataset_names: DatasetNames = field(default_factory=DatasetNames)
    job_names: JobNames = field(default_factory=JobNames)
    is_one_job: bool = False
    transport: Mapping[str, Any] | None = None
    not_obeyed: tuple[str, ...] = ()

    @classmethod
    def of(cls, conf: Mapping[str, str], environ: Mapping[str, str], app_name: str, spark_version: str) -> Settings:
        """Return the settings of ``spark.openlineage.*`` (the official keys) and ``OPENLINEAGE_*``; the configuration wins."""
        official, own = OfficialConfiguration.of(conf), OfficialConfiguration.own(conf, environ)
        none: tuple[Identity | None, Identity | None] = (None, None)
        parent, root = official.parsed("context", _context, none)
        parent = parent or _configured(official, "parent") or _encoded(environ.get("OPENLINEAGE_PARENT_ID"))
        root = root or _configured(official, "rootParent") or _encoded(environ.get("OPENLINEAGE_ROOT_PARENT_ID"))
        official.text("filter.allowedSparkNodes")  # no node is left out
        return cls(
            namespace=official.text("namespace") or environ.get("OPENLINEAGE_NAMESPACE") or "default",
            app_name=official.text("appName") or app_name,
            spark_version=spark_version,
            parent=parent,
            root=root or parent,
            properties={key: conf[key] for key in _captured(official) if key in conf},
            application_id=conf.get("spark.app.id", ""),
            application_run=official.parsed("applicationRunId", _run_id, None),
            source={k: environ[v] for k, v in _SOURCE.items() if environ.get(v)},
            is_disabled=official.flag("disabled", False),
            emits_rdd_jobs=not official.flag("filter.rddEventsDisabled", False),
            denied_nodes=frozenset(items(official.text("filter.deniedSparkNodes") or "")),
            facet_rules=FacetRules.of(official),
            descriptions=Descriptions.of(official, environ),
            dataset_names=DatasetNames.of(official),
            job_names=JobNames.of(official, own),
            is_one_job=own.parsed("jobPer", _is_application, False),
            transport=transport_of(official),
            not_obeyed=official.not_obeyed() + own.not_obeyed(),
        )

    def application_facets(self) -> dict[str, facets.Facet]:
        """Return the run facet with Spark's id and name of the application."""
        return {"spark_applicationDetails": facets.custom(applicationId=self.application_id, appName=self.app_name)}

    def job_facets(self) -> dict[str, facets.Facet]:
        """Return the job facet with the location of the program's source code, if the environment names one."""
        return {"sourceCodeLocation": facets.source_code_location(self.source)} if "url" in self.source else {}

    def parent_facet(self) -> dict[str, facets.Facet]:
        """Return the parent facet of the application's run, if it has a parent."""
        return {} if self.parent is None else facets.parent(self.parent, self.root)


_SOURCE = {
    "url": "HEADWATER_SOURCE_URL",
    "repoUrl": "HEADWATER_SOURCE_REPO_URL",
    "path": "HEADWATER_SOURCE_PATH",
    "version": "HEADWATER_SOURCE_VERSION",
    "tag": "HEADWATER_SOURCE_TAG",
    "branch": "HEADWATER_SOURCE_BRANCH",
}


def _captured(official: OfficialConfiguration) -> list[str]:
    """Return the allow-list of Spark properties; no other part of the configuration leaves the process."""
    listed = official.text("capturedProperties") or "spark.master,spark.app.name"
    return [key.strip() for key in listed.split(",") if key.strip()]


def _configured(official: OfficialConfiguration, kind: str) -> Identity | None:
    run, name = official.text(f"{kind}RunId"), official.text(f"{kind}JobName")
    namespace = official.text(f"{kind}JobNamespace") or "default"
    return None if not run or not name else (run, namespace, name)


def _context(text: str) -> tuple[Identity | None, Identity | None]:
    """Read ``{"parent": {"run": …, "job": …, "root": …}}``; raise ``ValueError`` for anything else."""
    try:
        parent = json.loads(text)["parent"]
        return _identity(parent), _identity(parent["root"]) if "root" in parent else None
    except (KeyError, TypeError, ValueError):
        raise ValueError("must be JSON with parent.run.runId, parent.job.namespace and parent.job.name") from None


def _identity(held: Mapping[str, Any]) -> Identity:
    return str(held["run"]["runId"]), str(held["job"]["namespace"]), str(held["job"]["name"])


def _is_application(text: str) -> bool:
    if text not in ("application", "execution"):
        raise ValueError("must be application or execution")
    return text == "application"


def _run_id(text: str) -> str:
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise ValueError("must be a UUID") from None


def _encoded(text: str | None) -> Identity | None:
    """Read ``namespace/name/runId``, the form of openlineage-python and dbt-ol."""
    parts = (text or "").rsplit("/", 2)
    return (parts[2], parts[0], parts[1]) if len(parts) == 3 and all(parts) else None
