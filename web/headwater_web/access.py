"""Access control: requests with a bearer token, or, without tokens, requests of this machine."""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Iterable

from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import Scope

from .peers import own_origin
from .problems import problem
from .settings import WebSettings, is_loopback
from .tokens import USUAL, AccessScope, HashedToken, Holder, digest_of

_HOST = re.compile(r"(?:\[(?P<address>[0-9a-f:.]+)\]|(?P<name>[0-9a-z._-]+))(?::[0-9]*)?")
_SENDABLE = re.compile(r"application/(?:json|[a-z0-9.-]+\+json|x-ndjson|gzip|x-gzip|zstd|avro|octet-stream)")
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_LOCAL_ONLY = "without HEADWATER_WEB_TOKENS only this machine may send requests"


class Tokens:
    """Bearer tokens; the comparison time depends neither on their values nor on their number."""

    def __init__(self, tokens: Iterable[str], hashed: Iterable[HashedToken] = ()) -> None:
        # A client that does not know this key cannot choose tokens with the digest prefix of a known one.
        self._key = secrets.token_bytes(32)
        unnamed = (
            HashedToken(Holder(f"token {n}", USUAL), digest_of(text.encode())) for n, text in enumerate(tokens, 1)
        )
        self._holders = {self._digest(token.digest): token.holder for token in (*unnamed, *hashed)}

    def __bool__(self) -> bool:
        return bool(self._holders)

    def accepts(self, authorization: str) -> bool:
        """Return whether an ``Authorization`` header contains one of the tokens."""
        return self.bearer(authorization) is not None

    def bearer(self, authorization: str) -> Holder | None:
        """Return the holder of the token in an ``Authorization`` header, None if it has none of the tokens."""
        scheme, _, token = authorization.partition(" ")
        # A header that is not ASCII has the bytes of Latin-1.
        found = self.holder(token.strip(), "latin-1")
        return found if scheme.lower() == "bearer" else None

    def holder(self, token: str, encoding: str = "utf-8") -> Holder | None:
        """Return the holder of a token, None if it is not one of the tokens."""
        return self._holders.get(self._digest(digest_of(token.encode(encoding, "surrogatepass"))))

    def _digest(self, digest: bytes) -> bytes:
        return hmac.digest(self._key, digest, "sha256")


_SCOPES: dict[tuple[str, str], AccessScope | None] = {
    ("POST", "/api/v1/lineage"): "ingest",
    ("POST", "/api/v1/lineage/batch"): "ingest",
    ("POST", "/api/v1/graph/cypher"): "cypher",
    ("POST", "/mcp"): "read",
    ("POST", "/api/v1/dead-letters/redrive"): "redrive",
    ("GET", "/api/v1/session"): None,
    ("POST", "/api/v1/session"): None,
    ("DELETE", "/api/v1/session"): None,
}
_CHANGED_BY_EVENTS = tuple(f"/api/v1/{resource}/" for resource in ("namespaces", "jobs", "sources", "tags"))
"""Marquez's resources: a change of them sends an event."""


def scope_of(method: str, path: str) -> AccessScope | None:
    """Return the scope that a request needs; None for any caller. What is not known here and may change something: admin."""
    if method in SAFE_METHODS:
        usual: AccessScope = "read"
    else:
        usual = "ingest" if path.startswith(_CHANGED_BY_EVENTS) else "admin"
    return _SCOPES.get((method, path), usual)


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
    if _is_foreign_page(request, settings):
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


def forgery_refusal(request: HTTPConnection, settings: WebSettings, is_ambient: bool) -> Response | None:
    """Return the refusal of a request that changes something and that a page of another origin may have sent, else None.

    ``is_ambient``: the browser adds the proof of who sends it by itself, so the request must state that it comes from a page of
    this server. Otherwise a client that is not a browser may leave that out.
    """
    if request.scope["method"] in SAFE_METHODS:
        return None
    is_own = _is_own_page(request, settings)
    if is_own is False or (is_own is None and is_ambient):
        return problem(403, "with a session, only a page of this server may send this: programs send a token")
    has_body = request.scope["method"] != "DELETE"
    content_type = request.headers.get("content-type")
    if has_body and (content_type is None or not is_sendable(content_type)):
        return problem(415, "send `Content-Type: application/json`")
    return None


def _is_own_page(request: HTTPConnection, settings: WebSettings) -> bool | None:
    """Return whether a page of this server sent a request; None if it states no origin."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        return site == "same-origin"
    return None if origin is None else origin.lower() == own_origin(request, settings)


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


def _is_foreign_page(request: HTTPConnection, settings: WebSettings) -> bool:
    origin, known = request.headers.get("origin"), settings.cors_origins
    if origin is None:
        return request.headers.get("sec-fetch-site") == "cross-site"
    return "*" not in known and origin not in known and origin.lower() != own_origin(request, settings)
