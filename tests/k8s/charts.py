"""The chart rendered by real helm, and access to the rendered objects."""

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
"""The minimal values."""

Object: TypeAlias = dict[str, Any]
Values: TypeAlias = Mapping[str, Any]


def merged(*layers: Values) -> dict[str, Any]:
    """Return merged values, as helm merges several files."""
    out: dict[str, Any] = {}
    for layer in layers:
        for name, value in layer.items():
            both = isinstance(value, Mapping) and isinstance(out.get(name), Mapping)
            out[name] = merged(out[name], value) if both else value
    return out


def run_helm(
    *arguments: str, major: int = 4, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run helm without the user's configuration: no plugins, no cluster."""
    with tempfile.TemporaryDirectory() as home:
        own = {"HOME": home, "PATH": os.environ["PATH"], "KUBECONFIG": "/dev/null", **(environ or {})}
        return subprocess.run(
            [str(helm(major)), *arguments], env=own, capture_output=True, text=True, timeout=120, check=False
        )


def render(values: Values, *, major: int = 4, kube: str = "1.34.0", name: str = "lin") -> list[Object]:
    """Return the objects of a release, hooks included, in the namespace ``data``."""
    return [dict(found) for found in _rendered(json.dumps(values, sort_keys=True), major, kube, name)]


def refusal(values: Values, *, major: int = 4, kube: str = "1.34.0") -> str:
    """Return helm's error for values that it refuses."""
    done = _template(json.dumps(values), major, kube, "lin", ())
    assert done.returncode != 0, "helm accepted these values"
    return done.stderr


@functools.lru_cache(maxsize=256)
def _rendered(values: str, major: int, kube: str, name: str) -> tuple[Object, ...]:
    done = _template(values, major, kube, name, ("--api-versions", OPERATOR))
    assert done.returncode == 0, done.stderr
    return tuple(found for found in yaml.load_all(done.stdout, yaml.CSafeLoader) if found)


def _template(
    values: str, major: int, kube: str, name: str, arguments: tuple[str, ...]
) -> subprocess.CompletedProcess[str]:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(values)
        file.flush()
        given = ["--namespace", "data", "--kube-version", kube, "--values", file.name, *arguments]
        return run_helm("template", name, str(CHART), *given, major=major)


def object_of(objects: list[Object], kind: str, ending: str = "") -> Object:
    """Return the only object of a kind whose name ends with ``ending``."""
    (found,) = (item for item in objects if item["kind"] == kind and item["metadata"]["name"].endswith(ending))
    return found


def pods(objects: list[Object]) -> Iterator[tuple[str, Object]]:
    """Yield every pod (``metadata`` and ``spec``) that these objects create, with the name of the object."""
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
    """Return init containers and containers."""
    spec = pod["spec"]
    return [*spec.get("initContainers", ()), *spec["containers"]]
