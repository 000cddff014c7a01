"""The lifecycle of a release: install, upgrade, rollback, test and uninstall by Helm 3 and 4, against an API server.

The server takes only what Kubernetes 1.34 and the restricted Pod Security Standard take.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from .api_server import served
from .charts import CHART, SERVERS, Object, merged, pods, render, run_helm
from .cluster import Cluster
from .test_policy import breaches
from .test_rendering import faults

BIGGER = merged(SERVERS, {"consumer": {"maxOffsetsPerTrigger": 50_000, "extraEnv": [{"name": "A", "value": "1"}]}})
OWN = ("uid", "creationTimestamp", "generation", "resourceVersion", "namespace", "managedFields")


@dataclass
class Release:
    cluster: Cluster
    environ: dict[str, str]
    folder: Path
    major: int

    def helm(self, *arguments: str) -> str:
        done = run_helm(*arguments, "--namespace", "data", major=self.major, environ=self.environ)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def fails(self, *arguments: str) -> str:
        done = run_helm(*arguments, "--namespace", "data", major=self.major, environ=self.environ)
        assert done.returncode != 0, done.stdout
        return done.stderr

    def values(self, values: dict[str, Any]) -> list[str]:
        file = self.folder / "values.json"
        file.write_text(json.dumps(values))
        return ["lin", str(CHART), "--values", str(file), "--timeout", "60s"]


def admit(item: Object) -> str:
    wrong = faults("1.34", item)
    wrong += [f"{where} {breach}" for where, pod in pods([item]) for breach in breaches(pod)]
    return "; ".join(wrong)


@pytest.fixture
def major() -> int:
    return 4


@pytest.fixture
def release(major: int, tmp_path: Path) -> Iterator[Release]:
    cluster = Cluster(admit)
    with served(cluster, tmp_path) as environ:
        yield Release(cluster, environ, tmp_path, major)


both = pytest.mark.parametrize("major", [3, 4], ids=["helm3", "helm4"])


def wanted(values: dict[str, Any]) -> dict[str, Object]:
    """Return the rendered objects except hooks, which are temporary."""
    objects = render(values)
    return {f"{item['kind']}/{item['metadata']['name']}": item for item in objects if not _is_hook(item)}


def _is_hook(item: Object) -> bool:
    return "helm.sh/hook" in item["metadata"].get("annotations", {})


def stored(cluster: Cluster) -> dict[str, Object]:
    """Return the objects in the cluster without the additions of the server and helm."""
    return {name: _plain(item) for name, item in cluster.there().items()}


def _plain(item: Object) -> Object:
    metadata = {name: value for name, value in item["metadata"].items() if name not in OWN}
    notes = {
        name: value for name, value in metadata.pop("annotations", {}).items() if not name.startswith("meta.helm.sh/")
    }
    found = {name: value for name, value in item.items() if name != "status"}
    return found | {"metadata": metadata | ({"annotations": notes} if notes else {})}


@both
def test_the_lifecycle_of_a_release(release: Release) -> None:
    cluster = release.cluster
    release.helm("install", *release.values(SERVERS), "--wait")
    assert stored(cluster) == wanted(SERVERS)
    # The schema is created before the consumer, and its Job needs no object of the release.
    assert cluster.created()[0] == "Job/lin-headwater-graph-schema"

    release.helm("upgrade", *release.values(BIGGER))
    assert stored(cluster) == wanted(BIGGER)
    assert cluster.created().count("Job/lin-headwater-graph-schema") == 2

    release.helm("rollback", "lin", "1", "--timeout", "60s")
    assert stored(cluster) == wanted(SERVERS)

    release.helm("test", "lin", "--timeout", "60s")
    assert cluster.created()[-1] == "Pod/lin-headwater-test"
    release.helm("uninstall", "lin", "--timeout", "60s")
    # The offsets stay, and so does the pod with the log of the test.
    assert set(cluster.there()) - {"Pod/lin-headwater-test"} == {"PersistentVolumeClaim/lin-headwater-checkpoint"}
    # A release of the same name continues from them.
    release.helm("install", *release.values(SERVERS))
    assert cluster.created().count("PersistentVolumeClaim/lin-headwater-checkpoint") == 1
    assert wanted(SERVERS).items() <= stored(cluster).items()


@both
def test_a_failed_schema_job_stops_the_installation_before_the_consumer(release: Release) -> None:
    release.cluster.failing.add("lin-headwater-graph-schema")
    output = release.fails("install", *release.values(SERVERS))
    assert "lin-headwater-graph-schema" in output
    assert "StatefulSet/lin-headwater" not in release.cluster.there()
    release.cluster.failing.clear()
    release.helm("upgrade", "--install", *release.values(SERVERS))
    assert stored(release.cluster) == wanted(SERVERS)


def test_without_hooks_an_upgrade_creates_a_new_job_only_for_a_changed_job(release: Release) -> None:
    plain = merged(SERVERS, {"hooks": {"enabled": False}})
    release.helm("install", *release.values(plain))
    before = {name for name in release.cluster.there() if name.startswith("Job/")}
    release.helm("upgrade", *release.values(merged(plain, {"consumer": {"triggerMilliseconds": 5}})))
    assert {name for name in release.cluster.there() if name.startswith("Job/")} == before
    release.helm("upgrade", *release.values(merged(plain, {"neo4j": {"database": "other"}})))
    after = {name for name in release.cluster.there() if name.startswith("Job/")}
    assert len(after) == len(before) == 1
    assert after != before


def test_a_release_of_helm_3_is_upgraded_by_helm_4(tmp_path: Path) -> None:
    cluster = Cluster(admit)
    with served(cluster, tmp_path) as environ:
        old, new = (Release(cluster, environ, tmp_path, major) for major in (3, 4))
        old.helm("install", *old.values(SERVERS))
        new.helm("upgrade", *new.values(BIGGER))
        assert stored(cluster) == wanted(BIGGER)
        # The claim of a lost checkpoint is created again.
        cluster.delete(next(key for key in cluster.objects if key.kind == "PersistentVolumeClaim"))
        new.helm("upgrade", "lin", str(CHART), "--reuse-values")
        assert stored(cluster) == wanted(BIGGER)


def test_the_server_refuses_objects_as_kubernetes_does(release: Release) -> None:
    extra = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bad"}, "spec": {"containers": [{"name": "c"}]}}
    output = release.fails("install", *release.values(merged(SERVERS, {"extraObjects": [extra]})))
    assert "may gain privileges" in output
