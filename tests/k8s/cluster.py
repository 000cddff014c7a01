"""A cluster in memory: the objects of its API server, admission, and the status that controllers would set."""

from __future__ import annotations

import copy
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Object: TypeAlias = dict[str, Any]

KINDS: dict[tuple[str, str], dict[str, str]] = {
    ("", "v1"): {
        "pods": "Pod",
        "services": "Service",
        "secrets": "Secret",
        "configmaps": "ConfigMap",
        "serviceaccounts": "ServiceAccount",
        "persistentvolumeclaims": "PersistentVolumeClaim",
        "namespaces": "Namespace",
    },
    ("apps", "v1"): {"statefulsets": "StatefulSet", "deployments": "Deployment", "replicasets": "ReplicaSet"},
    ("batch", "v1"): {"jobs": "Job", "cronjobs": "CronJob"},
    ("rbac.authorization.k8s.io", "v1"): {"roles": "Role", "rolebindings": "RoleBinding"},
    ("policy", "v1"): {"poddisruptionbudgets": "PodDisruptionBudget"},
    ("networking.k8s.io", "v1"): {"networkpolicies": "NetworkPolicy"},
}
"""Group and version -> resources with their kinds."""

_NOW = "2026-01-01T00:00:00Z"
_MERGE_KEYS = {"volumeMounts": "mountPath", "ports": "containerPort", "rules": "verbs"}


@dataclass(frozen=True, slots=True)
class Key:
    """The identity of an object; ``name`` is empty for all objects of a resource."""

    group: str
    version: str
    resource: str
    namespace: str
    name: str = ""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def kind(self) -> str:
        return KINDS[self.group, self.version][self.resource]


@dataclass
class KubernetesError(Exception):
    """An error response: HTTP code, Kubernetes' reason, and message."""

    code: int
    reason: str
    message: str


@dataclass
class Cluster:
    """Objects by key, changes in order, and simulated failures.

    ``admit`` returns the fault of an object, an empty text without a fault; a Job whose name is in ``failing`` fails.
    """

    admit: Callable[[Object], str] = lambda _: ""
    failing: set[str] = field(default_factory=set)
    objects: dict[Key, Object] = field(default_factory=dict)
    changes: list[tuple[int, str, Key, Object]] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def created(self) -> list[str]:
        """Return every object ever created, except helm's release records, in order: ``Kind/name``."""
        made = ((key.kind, key.name) for _, what, key, _ in self.changes if what == "ADDED")
        return [f"{kind}/{name}" for kind, name in made if not name.startswith("sh.helm.")]

    def there(self) -> dict[str, Object]:
        """Return the current objects, except helm's release records."""
        return {
            f"{key.kind}/{key.name}": item for key, item in self.objects.items() if not key.name.startswith("sh.helm.")
        }

    def get(self, key: Key) -> Object:
        if key not in self.objects:
            if key.resource == "namespaces":
                return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": key.name}}
            raise KubernetesError(404, "NotFound", f'{key.resource} "{key.name}" not found')
        return self.objects[key]

    def select(self, key: Key, labels: str, fields: str) -> Iterator[Object]:
        """Yield objects of a resource with these labels (``a=b,c!=d``) and fields (``metadata.name=x``)."""
        for found, item in list(self.objects.items()):
            if matches(found, item, key, labels, fields):
                yield item

    def create(self, key: Key, item: Object) -> Object:
        if key in self.objects:
            raise KubernetesError(409, "AlreadyExists", f'{key.resource} "{key.name}" already exists')
        return self._store("ADDED", key, item, {"uid": str(uuid.uuid4()), "creationTimestamp": _NOW, "generation": 1})

    def replace(self, key: Key, item: Object) -> Object:
        metadata = self.get(key)["metadata"]
        updated = {"uid": metadata["uid"], "creationTimestamp": _NOW, "generation": metadata["generation"] + 1}
        return self._store("MODIFIED", key, item, updated)

    def apply(self, key: Key, item: Object) -> Object:
        """Apply as server-side apply with a single manager: the object is replaced."""
        return self.replace(key, item) if key in self.objects else self.create(key, item)

    def patch(self, key: Key, change: Object) -> Object:
        return self.replace(key, patched(self.get(key), change))

    def delete(self, key: Key) -> Object:
        item = self.get(key)
        with self.changed:
            del self.objects[key]
            self._note("DELETED", key, item)
        return item

    def _store(self, what: str, key: Key, item: Object, metadata: Object) -> Object:
        if fault := self.admit(item):
            raise KubernetesError(422, "Invalid", fault)
        with self.changed:
            stored = copy.deepcopy(item)
            stored["metadata"] |= metadata | ({"namespace": key.namespace} if key.namespace else {})
            stored["metadata"]["resourceVersion"] = str(len(self.changes) + 1)
            if status := self._status(key, stored):
                stored["status"] = status
            self.objects[key] = stored
            self._note(what, key, stored)
        return stored

    def _note(self, what: str, key: Key, item: Object) -> None:
        self.changes.append((len(self.changes) + 1, what, key, copy.deepcopy(item)))
        self.changed.notify_all()

    def _status(self, key: Key, item: Object) -> Object:
        """Return the status that the controllers would set."""
        generation = item["metadata"]["generation"]
        match key.kind:
            case "StatefulSet":
                counts = ("replicas", "readyReplicas", "updatedReplicas", "currentReplicas", "availableReplicas")
                return {"observedGeneration": generation, **dict.fromkeys(counts, item["spec"]["replicas"])}
            case "Job":
                failed = item["metadata"]["name"] in self.failing
                return {
                    "failed" if failed else "succeeded": 1,
                    "conditions": [_true("Failed" if failed else "Complete")],
                }
            case "Pod":
                return {"phase": "Succeeded", "conditions": [_true("Ready")]}
            case "PersistentVolumeClaim":
                return {"phase": "Bound"}
            case _:
                return {}


def _true(name: str) -> Object:
    return {"type": name, "status": "True", "reason": name, "message": "", "lastTransitionTime": _NOW}


def matches(found: Key, item: Object, key: Key, labels: str, fields: str) -> bool:
    if (found.group, found.resource) != (key.group, key.resource) or key.namespace not in ("", found.namespace):
        return False
    own = item["metadata"].get("labels", {})
    for term in filter(None, labels.split(",")):
        name, _, value = term.replace("==", "=").partition("=")
        if (own.get(name.rstrip("!")) == value) is name.endswith("!"):
            return False
    return not fields or fields == f"metadata.name={found.name}"


def patched(before: Any, change: Any, name: str = "") -> Any:
    """Return a strategic merge: mappings by key, lists of objects by Kubernetes' merge key."""
    if isinstance(before, dict) and isinstance(change, dict):
        after = dict(before)
        for key, value in change.items():
            if value is None:
                after.pop(key, None)
            elif not key.startswith("$"):
                after[key] = patched(after.get(key), value, key)
        return after
    if isinstance(before, list) and isinstance(change, list) and all(isinstance(item, dict) for item in change):
        return _patched_list(before, change, _MERGE_KEYS.get(name, "name"))
    return copy.deepcopy(change)


def _patched_list(before: list[Any], change: list[Any], key: str) -> list[Any]:
    if any(key not in item for item in (*before, *change)):
        return copy.deepcopy(change)
    by_key = {item[key]: item for item in before}
    for item in change:
        if item.get("$patch") == "delete":
            by_key.pop(item[key], None)
        else:
            by_key[item[key]] = patched(by_key.get(item[key], {}), item)
    return list(by_key.values())
