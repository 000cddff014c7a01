"""Every set of values, rendered by Helm 3 and 4, is valid for every Kubernetes from 1.28 to 1.37."""

from __future__ import annotations

import functools
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from .charts import CHART, SERVERS, Object, object_of, render, run_helm
from .values import CASES

KUBERNETES = [f"1.{minor}" for minor in range(28, 38)]
OTHERS = {"PodMonitor", "ServiceMonitor", "PrometheusRule", "SparkApplication", "KafkaTopic", "KafkaUser", "HTTPRoute"}
"""Kinds of operators, whose schemas are not part of Kubernetes."""
RELEASED = Path(__file__).with_name("released")


@functools.cache
def schemas(version: str) -> tuple[Path, Registry[Any]]:
    folder = Path(str(files("kubernetes_validate"))) / "kubernetes-json-schema"
    (strict,) = folder.glob(f"v{version}.*-local-strict")
    definitions = Resource.from_contents(json.loads((strict / "_definitions.json").read_text()))
    registry: Registry[Any] = Registry().with_resource("_definitions.json", definitions)
    return strict, definitions @ registry


@functools.cache
def validator(version: str, kind: str, api: str) -> Draft202012Validator:
    folder, registry = schemas(version)
    group, _, tail = api.rpartition("/")
    prefix = f"{group.split('.')[0]}-" if group else ""
    path = folder / f"{kind.lower()}-{prefix}{tail}.json"
    assert path.exists(), f"Kubernetes {version} has no {kind} of {api}"
    return Draft202012Validator(json.loads(path.read_text()), registry=registry)


def faults(version: str, item: Object) -> list[str]:
    found = validator(version, item["kind"], item["apiVersion"]).iter_errors(item)
    return [f"{item['kind']} {item['metadata']['name']} {error.json_path}: {error.message}" for error in found]


@functools.cache
def objects_of_all_cases() -> tuple[Object, ...]:
    """Return each distinct object once: most are the same in many cases."""
    unique = {json.dumps(item, sort_keys=True): item for values in CASES.values() for item in render(values)}
    return tuple(unique.values())


@pytest.mark.parametrize("version", KUBERNETES)
def test_objects_are_valid(version: str) -> None:
    known = [item for item in objects_of_all_cases() if item["kind"] not in OTHERS]
    assert len(known) > 50
    assert [fault for item in known for fault in faults(version, item)] == []


def test_a_misspelt_field_is_found() -> None:
    item = json.loads(json.dumps(object_of(render(SERVERS), "StatefulSet")))
    item["spec"]["template"]["spec"]["containers"][0]["imagePullPolcy"] = "Always"
    assert any("imagePullPolcy" in fault for fault in faults("1.34", item))


@pytest.mark.parametrize("case", CASES)
def test_helm_3_and_helm_4_render_the_same(case: str) -> None:
    assert render(CASES[case], major=3) == render(CASES[case], major=4)


@pytest.mark.parametrize("major", [3, 4])
def test_lint_finds_nothing(major: int, tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump(CASES["everything"]))
    done = run_helm("lint", "--strict", str(CHART), "--values", str(file), major=major)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("case", CASES)
def test_names_are_unique_and_short_enough(case: str) -> None:
    objects = render(CASES[case], name="a-release-with-a-name-as-long-as-helm-will-take-it")
    names = [(item["kind"], item["metadata"]["name"]) for item in objects]
    assert len(set(names)) == len(names)
    assert all(len(name) <= 63 for _, name in names)


def test_an_older_kubernetes_is_refused() -> None:
    done = run_helm("template", "lin", str(CHART), "--kube-version", "1.27.0", "--set", "neo4j.uri=bolt://n:1")
    assert done.returncode != 0
    assert "1.28.0" in done.stderr


@pytest.mark.parametrize("path", sorted(RELEASED.glob("*.yaml")), ids=lambda path: path.stem)
def test_values_of_released_charts_still_work(path: Path) -> None:
    """Each release adds a file with all its values; values may be added, but never renamed or removed."""
    objects = render(yaml.safe_load(path.read_text()))
    assert object_of(objects, "StatefulSet")["spec"]["template"]["spec"]["containers"]


def test_released_values_exist() -> None:
    assert list(RELEASED.glob("*.yaml"))
