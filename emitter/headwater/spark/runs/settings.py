"""The names of an application and of its parent, from Spark's configuration, else from the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..datasets import facets

Identity = tuple[str, str, str]
"""(run id, job namespace, job name)."""

_PREFIX = "spark.openlineage."


@dataclass(frozen=True, slots=True)
class Settings:
    """The names of the application's run, its parent and its root, and what its events contain."""

    namespace: str
    app_name: str
    spark_version: str
    parent: Identity | None = None
    root: Identity | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    application_id: str = ""
    source: Mapping[str, str] = field(default_factory=dict)
    plans: bool = False

    @classmethod
    def of(cls, conf: Mapping[str, str], environ: Mapping[str, str], app_name: str, spark_version: str) -> Settings:
        """Return the settings of ``spark.openlineage.*`` (the official keys) and ``OPENLINEAGE_*``; the configuration wins."""
        parent = _configured(conf, "parent") or _encoded(environ.get("OPENLINEAGE_PARENT_ID"))
        root = _configured(conf, "rootParent") or _encoded(environ.get("OPENLINEAGE_ROOT_PARENT_ID"))
        return cls(
            namespace=conf.get(f"{_PREFIX}namespace") or environ.get("OPENLINEAGE_NAMESPACE") or "default",
            app_name=conf.get(f"{_PREFIX}appName") or app_name,
            spark_version=spark_version,
            parent=parent,
            root=root or parent,
            properties={key: conf[key] for key in _captured(conf) if key in conf},
            application_id=conf.get("spark.app.id", ""),
            plans=conf.get(f"{_PREFIX}facets.spark.logicalPlan.disabled", "true").lower() == "false",
            source={k: environ[v] for k, v in _SOURCE.items() if environ.get(v)},
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


def _captured(conf: Mapping[str, str]) -> list[str]:
    """Return the allow-list of Spark properties; no other part of the configuration leaves the process."""
    listed = conf.get(f"{_PREFIX}capturedProperties", "spark.master,spark.app.name")
    return [key.strip() for key in listed.split(",") if key.strip()]


def _configured(conf: Mapping[str, str], kind: str) -> Identity | None:
    run = conf.get(f"{_PREFIX}{kind}RunId")
    name = conf.get(f"{_PREFIX}{kind}JobName")
    if not run or not name:
        return None
    return run, conf.get(f"{_PREFIX}{kind}JobNamespace") or "default", name


def _encoded(text: str | None) -> Identity | None:
    """Read ``namespace/name/runId``, the form of openlineage-python and dbt-ol."""
    parts = (text or "").rsplit("/", 2)
    return (parts[2], parts[0], parts[1]) if len(parts) == 3 and all(parts) else None
