"""Who sends a request: the holder of a token, of a session cookie, or a user whom a trusted proxy names."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from starlette.requests import HTTPConnection

from .access import Tokens
from .peers import is_from_proxy, is_secure
from .sessions import Sessions, cookie_name
from .settings import WebSettings

SCOPE_KEY = "headwater.caller"
"""The key of the ASGI scope under which the guard stores the Caller of a request, or None."""
MOST_USER_BYTES = 1_000


@dataclass(frozen=True, slots=True)
class Caller:
    """How a caller is signed in; ``local``: the server needs no sign-in. ``expires`` is in seconds since 1970.

    ``is_operator``: the caller may also send dead letters back.
    """

    by: Literal["token", "cookie", "header", "local"]
    user: str | None = None
    expires: int | None = None
    is_operator: bool = False

    @property
    def is_ambient(self) -> bool:
        """Return whether a browser adds the proof by itself, also to requests that a page of another site makes it send."""
        return self.by in ("cookie", "header")

    def value(self) -> dict[str, Any]:
        """Return it as JSON values."""
        expires = None if self.expires is None else datetime.fromtimestamp(self.expires, UTC)
        text = expires and expires.strftime("%Y-%m-%dT%H:%M:%SZ")
        return {"by": self.by, "user": self.user, "expiresAt": text, "operator": self.is_operator}


LOCAL = Caller("local", is_operator=True)
"""Whoever can send requests from this machine to a server without sign-in can do everything that the server can."""


class Callers:
    """Recognises the callers of a server that has tokens or a trusted proxy."""

    def __init__(self, settings: WebSettings) -> None:
        operators = [token.get_secret_value() for token in settings.operator_tokens]
        tokens = [*operators, *(token.get_secret_value() for token in settings.tokens)]
        lifetime = settings.session_hours * 3_600
        self._settings = settings
        self.tokens, self.operators = Tokens(tokens), Tokens(operators)
        self.sessions, self._operator_sessions = Sessions(tokens, lifetime), Sessions(operators, lifetime)
        self.needs_sign_in = bool(tokens) or settings.trusted_header is not None

    def caller_of(self, request: HTTPConnection) -> Caller | None:
        """Return the caller of a request; None if nothing that it sends is valid."""
        if not self.needs_sign_in:
            return LOCAL
        authorization = request.headers.get("authorization", "")
        if self.tokens.accepts(authorization):
            return Caller("token", is_operator=self.operators.accepts(authorization))
        return self._named_by_proxy(request) or self._in_session(request)

    def _named_by_proxy(self, request: HTTPConnection) -> Caller | None:
        if self._settings.trusted_header is None or not is_from_proxy(request, self._settings):
            return None
        # Twice: the proxy has added its own to one that the client sent, and which is which is unknown.
        users = request.headers.getlist(self._settings.trusted_header)
        if len(users) != 1 or not users[0].strip() or len(users[0]) > MOST_USER_BYTES:
            return None
        user = users[0].strip()
        return Caller("header", user, is_operator=user in self._settings.operator_users)

    def _in_session(self, request: HTTPConnection) -> Caller | None:
        cookie = request.cookies.get(cookie_name(is_secure(request, self._settings)))
        expires = None if cookie is None else self.sessions.expiry(cookie)
        if cookie is None or expires is None:
            return None
        return Caller("cookie", expires=expires, is_operator=self._operator_sessions.expiry(cookie) is not None)
