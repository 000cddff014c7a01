"""Addresses of Marquez's resources: which they are, and names in them that contain slashes.

A client sends a slash in a name as ``%2F``. Servers decode the path before it is routed, so that a dataset ``a/versions`` would
be routed to the versions of a dataset ``a``. ``EncodedNames`` therefore leaves slashes in names encoded, and ``decoded_name``
decodes the parts of the path that a route has found.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any
from urllib.parse import unquote

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from .access import path_of
from .problems import Problem

API = "/api/v1/"
WITH_NAMES = ("namespaces", "jobs", "sources", "tags")
"""The resources with names in their addresses."""

RESOURCES = (*WITH_NAMES, "search", "column-lineage", "runlineage", "events", "stats")
LINEAGE = f"{API}lineage"
"""Marquez's lineage resource if it is read; OpenLineage's address if an event is sent to it."""


class EncodedNames:
    """ASGI middleware that gives the routes of Marquez's resources a path in which slashes within names stay encoded."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(with_encoded_names(scope), receive, send)


def with_encoded_names(scope: Scope) -> Scope:
    """Return the scope of a request with ``path`` as its routes expect it; other requests as they are."""
    if scope["type"] != "http" or not _is_below(scope, WITH_NAMES) or not scope.get("raw_path"):
        return scope
    raw = bytes(scope["raw_path"]).decode("latin-1").partition("?")[0]
    return {**scope, "path": "/".join(encoded_name(unquote(part)) for part in raw.split("/"))}


def encoded_name(name: str) -> str:
    """Return a name as it is in a path that is routed: without slashes.

    >>> encoded_name("s3://50%/a"), decoded_name(encoded_name("s3://50%2F/a"))
    ('s3:%2F%2F50%25%2Fa', 's3://50%2F/a')
    """
    return name.replace("%", "%25").replace("/", "%2F")


def decoded_name(name: Any) -> Any:
    """Return the name that a part of a routed path means."""
    return name.replace("%2F", "/").replace("%25", "%") if isinstance(name, str) else name


def is_marquez(scope: MutableMapping[str, Any]) -> bool:
    """Return whether a request is for one of Marquez's resources, whose clients expect errors in Marquez's form."""
    if path_of(scope).rstrip("/") == LINEAGE:
        return str(scope["method"]) in ("GET", "HEAD")
    return _is_below(scope, RESOURCES)


def error_members(request: Request, fault: Problem) -> dict[str, Any]:
    """Return the members in which clients of Marquez read an error, ``{}`` for other requests."""
    return {"code": fault.status, "message": fault.detail} if is_marquez(request.scope) else {}


def _is_below(scope: MutableMapping[str, Any], resources: tuple[str, ...]) -> bool:
    path = path_of(scope)
    return path.startswith(API) and path.removeprefix(API).partition("/")[0] in resources
