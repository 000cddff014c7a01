"""An API server for helm in front of a cluster in memory: discovery, objects, watches.

It proves nothing of Kubernetes itself (no scheduling, no rights, no network), only what helm does with the chart.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import yaml

from .cluster import KINDS, Cluster, Key, KubernetesError, Object, matches
from .protobuf import MAGIC, decode

_PATH = re.compile(
    r"/(?:api/(?P<core>v1)|apis/(?P<group>[^/]+)/(?P<version>[^/]+))"
    r"(?:/namespaces/(?P<namespace>[^/]+)(?=/))?/(?P<resource>[a-z]+)(?:/(?P<name>[^/]+))?"
)
_OPENAPI = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]
_INITIAL_EVENTS_END = {"k8s.io/initial-events-end": "true"}


@contextmanager
def served(cluster: Cluster, folder: Path) -> Iterator[dict[str, str]]:
    """Serve a cluster; yield the environment in which helm uses it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(cluster))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    config = folder / "kubeconfig.json"
    address = f"http://127.0.0.1:{server.server_address[1]}"
    config.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "c", "cluster": {"server": address}}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "data"}}],
                "users": [{"name": "u", "user": {}}],
                "current-context": "c",
            }
        )
    )
    try:
        yield {"KUBECONFIG": str(config)}
    finally:
        server.shutdown()
        server.server_close()


def _discovery(path: str) -> Object | None:
    groups = {group: version for group, version in KINDS if group}
    if path == "/version":
        return {"major": "1", "minor": "34", "gitVersion": "v1.34.0"}
    if path == "/api":
        return {"kind": "APIVersions", "versions": ["v1"]}
    if path == "/apis":
        answer = [
            {"name": name, "versions": [entry], "preferredVersion": entry}
            for name, version in groups.items()
            for entry in [{"groupVersion": f"{name}/{version}", "version": version}]
        ]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": answer}
    for group, version in KINDS:
        if path == (f"/apis/{group}/{version}" if group else f"/api/{version}"):
            return _resources(group, version)
    return None


def _resources(group: str, version: str) -> Object:
    answer = [
        {"name": name, "singularName": kind.lower(), "kind": kind, "namespaced": kind != "Namespace", "verbs": _VERBS}
        for name, kind in KINDS[group, version].items()
    ]
    group_version = f"{group}/{version}" if group else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": answer}


def _key(path: str) -> Key:
    found = _PATH.fullmatch(path)
    parts = found.groupdict(default="") if found else {}
    group, version = parts.get("group", ""), parts.get("core") or parts.get("version", "")
    if parts.get("resource") not in KINDS.get((group, version), {}):
        raise KubernetesError(404, "NotFound", f"the server could not find {path}")
    return Key(group, version, parts["resource"], parts["namespace"], parts["name"])


def _handler(cluster: Cluster) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Print nothing."""

        def _respond(self) -> None:
            address = urlsplit(self.path)
            body = self._body()
            if address.path == "/openapi/v2":
                return self._send(200, b"", _OPENAPI)
            try:
                answer = _discovery(address.path)
                if answer is None:
                    answer = self._objects(_key(address.path), dict(parse_qsl(address.query)), body)
            except KubernetesError as fault:
                status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": fault.code}
                return self._json(status | {"reason": fault.reason, "message": fault.message}, fault.code)
            return None if answer is None else self._json(answer, 201 if self.command == "POST" else 200)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _respond

        def _body(self) -> Any:
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.command == "DELETE":
                return None
            if data.startswith(MAGIC):
                return decode(data)
            return yaml.load(data, yaml.CSafeLoader) if data else None

        def _objects(self, key: Key, query: dict[str, str], body: Any) -> Object | None:
            match self.command:
                case "GET" if key.name:
                    return cluster.get(key)
                case "GET" if query.get("watch"):
                    self._watch(key, query)
                    return None
                case "GET":
                    items = list(cluster.select(key, query.get("labelSelector", ""), query.get("fieldSelector", "")))
                    metadata = {"resourceVersion": str(len(cluster.changes))}
                    return {
                        "kind": f"{key.kind}List",
                        "apiVersion": key.api_version,
                        "metadata": metadata,
                        "items": items,
                    }
                case "POST":
                    named = Key(key.group, key.version, key.resource, key.namespace, body["metadata"]["name"])
                    return cluster.create(named, body)
                case "PUT":
                    return cluster.replace(key, body)
                case "PATCH":
                    applied = "apply-patch" in self.headers["Content-Type"]
                    return cluster.apply(key, body) if applied else cluster.patch(key, body)
                case _:
                    return cluster.delete(key)

        def _watch(self, key: Key, query: dict[str, str]) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            try:
                for event in _events(cluster, key, query):
                    line = json.dumps(event).encode() + b"\n"
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
                    self.wfile.flush()
                self.wfile.write(b"0\r\n\r\n")
            except OSError:
                self.close_connection = True  # whoever watched has seen enough

        def _json(self, answer: Object, code: int) -> None:
            self._send(code, json.dumps(answer).encode(), "application/json")

        def _send(self, code: int, data: bytes, kind: str) -> None:
            self.send_response(code)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Handler


def _events(cluster: Cluster, key: Key, query: dict[str, str]) -> Iterator[Object]:
    """Send a watch's existing objects and a bookmark, if requested, then the changes until its timeout."""
    labels, fields = query.get("labelSelector", ""), query.get("fieldSelector", "")
    seen = int(query.get("resourceVersion") or 0)
    if query.get("sendInitialEvents") == "true":
        seen = len(cluster.changes)
        for item in cluster.select(key, labels, fields):
            yield {"type": "ADDED", "object": item}
        metadata = {"resourceVersion": str(seen), "annotations": _INITIAL_EVENTS_END}
        yield {"type": "BOOKMARK", "object": {"kind": key.kind, "apiVersion": key.api_version, "metadata": metadata}}
    end = time.monotonic() + min(float(query.get("timeoutSeconds", 30)), 30)
    while time.monotonic() < end:
        with cluster.changed:
            cluster.changed.wait_for(partial(_has_more, cluster, seen), timeout=0.5)
            news = cluster.changes[seen:]
        for number, what, found, item in news:
            seen = number
            if matches(found, item, key, labels, fields):
                yield {"type": what, "object": item}


def _has_more(cluster: Cluster, seen: int) -> bool:
    return len(cluster.changes) > seen
