"""What an application is called and who started it: Spark's configuration first, then the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from . import facets

Identity = tuple[str, str, str]
"""(run id, job namespace, job name)"""

_PREFIX = "spark.openlineage."


@dataclass(frozen=True, slots=True)
class Settings:
    """The names of the application's own run and of its parent and root."""

    namespace: str
    app_name: str
    spark_version: str
    parent: Identity | None = None
    root: Identity | None = None

    @classmethod
    def of(cls, conf: Mapping[str, str], environ: Mapping[str, str], app_name: str, spark_version: str) -> Settings:
        """Read from ``spark.openlineage.*`` (the official keys) and ``OPENLINEAGE_*``; the configuration wins."""
        parent = _configured(conf, "parent") or _encoded(environ.get("OPENLINEAGE_PARENT_ID"))
        root = _configured(conf, "rootParent") or _encoded(environ.get("OPENLINEAGE_ROOT_PARENT_ID"))
        return cls(
            namespace=conf.get(f"{_PREFIX}namespace") or environ.get("OPENLINEAGE_NAMESPACE") or "default",
            app_name=conf.get(f"{_PREFIX}appName") or app_name,
            spark_version=spark_version,
            parent=parent,
            root=root or parent,
        )

    def parent_facet(self) -> dict[str, facets.Facet]:
        """The application run's own parent facet, if it has a parent."""
        return {} if self.parent is None else {"parent": facets.parent(*self.parent, self.root)}


def _configured(conf: Mapping[str, str], kind: str) -> Identity | None:
    run = conf.get(f"{_PREFIX}{kind}RunId")
    name = conf.get(f"{_PREFIX}{kind}JobName")
    if not run or not name:
        return None
    return run, conf.get(f"{_PREFIX}{kind}JobNamespace") or "default", name


def _encoded(text: str | None) -> Identity | None:
    """``namespace/name/runId``, the form of openlineage-python and dbt-ol."""
    parts = (text or "").rsplit("/", 2)
    return (parts[2], parts[0], parts[1]) if len(parts) == 3 and all(parts) else None
