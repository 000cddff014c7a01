"""Access control: requests with a bearer token, or, without tokens, requests of this machine."""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Iterable

from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import Scope

from .problems import problem
from .settings import WebSettings, is_loopback

_HOST = re.compile(r"(?:\[(?P<address>[0-9a-f:.]+)\]|(?P<name>[0-9a-z._-]+))(?::[0-9]*)?")
_SENDABLE = re.compile(r"application/(?:json|[a-z0-9.-]+\+json|x-ndjson|gzip|x-gzip|zstd|avro|octet-stream)")
_LOCAL_ONLY = "without HEADWATER_WEB_TOKENS only this machine may send requests"


class Tokens:
    """Bearer tokens; the comparison time depends neither on their values nor on their number."""

    def __init__(self, tokens: Iterable[str]) -> None:
        # A client that does not know this key cannot choose tokens with the digest prefix of a known one.
        self._key = secrets.token_bytes(32)
        self._digests = frozenset(self._digest(token.encode()) for token in tokens)

    def __bool__(self) -> bool:
        return bool(self._digests)

    def accepts(self, authorization: str) -> bool:
        """Return whether an ``Authorization`` header contains one of the tokens."""
        scheme, _, token = authorization.partition(" ")
        is_valid = self._digest(token.strip().encode("latin-1")) in self._digests
        return is_valid and scheme.lower() == "bearer"

    def _digest(self, token: bytes) -> bytes:
        return hmac.digest(self._key, token, "sha256")


def path_of(scope: Scope) -> str:
    """Return the path that is routed: that of the request line without the prefix of a mounted application.

    The path in ``request.url`` cannot be trusted: it depends on the Host header.
    """
    path, prefix = str(scope["path"]), str(scope.get("root_path", ""))
    below = path.removeprefix(prefix)
    return below if below.startswith("/") else path


def local_refusal(request: HTTPConnection, settings: WebSettings) -> Response | None:
    """Return the refusal of a request to a server without tokens, None if the request is allowed.

    Any page in a browser of this machine can send requests to loopback, under its own name or under a name that it resolves
    to 127.0.0.1. Programs send neither an Origin nor Sec-Fetch-Site.
    """
    if refusal := host_refusal(request, settings):
        return refusal
    if _is_foreign_page(request, request.headers.get("host", ""), settings.cors_origins):
        hint = "add its origin to HEADWATER_WEB_CORS_ORIGINS"
        return problem(403, f"{_LOCAL_ONLY}, and this comes from a page of another origin: {hint}")
    if request.scope["method"] == "POST" and not is_sendable(request.headers.get("content-type")):
        return problem(415, "send `Content-Type: application/json` (curl: -H 'Content-Type: application/json')")
    return None


def host_refusal(request: HTTPConnection, settings: WebSettings) -> Response | None:
    """Return the refusal of a request under a foreign name to a server without tokens, None if the name is its own."""
    host = request.headers.get("host", "")
    if _is_own_host(host, settings):
        return None
    hint = "send Host: localhost, or add the name to HEADWATER_WEB_ALLOWED_HOSTS"
    return problem(403, f"{_LOCAL_ONLY}, and {host[:200]!r} is not its name: {hint}")


def is_sendable(content_type: str | None) -> bool:
    """Return whether a body may have this type: JSON or a compressed form of it, not what an HTML form can send.

    Command-line clients may leave the type out.
    """
    if content_type is None:
        return True
    return _SENDABLE.fullmatch(content_type.partition(";")[0].strip().lower()) is not None


def _is_own_host(host: str, settings: WebSettings) -> bool:
    found = _HOST.fullmatch(host.lower())
    if found is None:
        return False
    name = found["address"] or found["name"]
    return is_loopback(name) or name in (settings.host.lower(), *settings.allowed_hosts)


def _is_foreign_page(request: HTTPConnection, host: str, known: tuple[str, ...]) -> bool:
    origin = request.headers.get("origin")
    if origin is None:
        return request.headers.get("sec-fetch-site") == "cross-site"
    own = f"{request.scope['scheme']}://{host}"
    return "*" not in known and origin not in known and origin.lower() != own.lower()
