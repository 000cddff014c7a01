"""The chart rendered by real helm, and ways to look at what came out."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from .binaries import helm

CHART = Path(__file__).parents[2] / "k8s" / "chart"
EXAMPLES = CHART.parent / "examples"
OPERATOR = "sparkoperator.k8s.io/v1beta2"
SERVERS = {"kafka": {"bootstrapServers": "kafka:9092"}, "neo4j": {"uri": "neo4j://neo4j:7687", "secret": "graph"}}
"""The least that one has to say."""

Object: TypeAlias = dict[str, Any]
Values: TypeAlias = Mapping[str, Any]


def merged(*layers: Values) -> dict[str, Any]:
    """Values over values, as helm lays files over each other."""
    out: dict[str, Any] = {}
    for layer in layers:
        for name, value in layer.items():
            both = isinstance(value, Mapping) and isinstance(out.get(name), Mapping)
            out[name] = merged(out[name], value) if both else value
    return out


def run_helm(*words: str, major: int = 4, environ: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run helm with nothing of the user's own: no plugins, no cluster."""
    with tempfile.TemporaryDirectory() as home:
        own = {"HOME": home, "PATH": os.environ["PATH"], "KUBECONFIG": "/dev/null", **(environ or {})}
        return subprocess.run(
            [str(helm(major)), *words], env=own, capture_output=True, text=True, timeout=120, check=False
        )


def render(values: Values, *, major: int = 4, kube: str = "1.34.0", name: str = "lin") -> list[Object]:
    """The objects of a release, hooks included, in the namespace ``data``."""
    return [dict(found) for found in _rendered(json.dumps(values, sort_keys=True), major, kube, name)]


def refusal(values: Values, *, major: int = 4, kube: str = "1.34.0") -> str:
    """What helm says when it refuses values."""
    done = _template(json.dumps(values), major, kube, "lin", ())
    assert done.returncode != 0, "helm took these values"
    return done.stderr


@functools.lru_cache(maxsize=256)
def _rendered(values: str, major: int, kube: str, name: str) -> tuple[Object, ...]:
    done = _template(values, major, kube, name, ("--api-versions", OPERATOR))
    assert done.returncode == 0, done.stderr
    return tuple(found for found in yaml.load_all(done.stdout, yaml.CSafeLoader) if found)


def _template(
    values: str, major: int, kube: str, name: str, words: tuple[str, ...]
) -> subprocess.CompletedProcess[str]:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(values)
        file.flush()
        given = ["--namespace", "data", "--kube-version", kube, "--values", file.name, *words]
        return run_helm("template", name, str(CHART), *given, major=major)


def one(objects: list[Object], kind: str, ending: str = "") -> Object:
    """The one object of a kind whose name has this ending."""
    (found,) = (item for item in objects if item["kind"] == kind and item["metadata"]["name"].endswith(ending))
    return found


def pods(objects: list[Object]) -> Iterator[tuple[str, Object]]:
    """Every pod that can come of these objects, ``metadata`` and ``spec``, and what it comes from."""
    for item in objects:
        where = f"{item['kind']}/{item['metadata']['name']}"
        match item["kind"]:
            case "Pod":
                yield where, item
            case "Deployment" | "StatefulSet" | "Job":
                yield where, item["spec"]["template"]
            case "CronJob":
                yield where, item["spec"]["jobTemplate"]["spec"]["template"]
            case "SparkApplication":
                yield f"{where}:driver", item["spec"]["driver"]["template"]
                yield f"{where}:executor", item["spec"]["executor"]["template"]
            case "ConfigMap" if "pod.yaml" in item["data"]:
                yield where, yaml.safe_load(item["data"]["pod.yaml"])


def containers(pod: Object) -> list[Object]:
    """Init containers and containers."""
    spec = pod["spec"]
    return [*spec.get("initContainers", ()), *spec["containers"]]
