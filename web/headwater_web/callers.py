"""Who sends a request: the holder of a token, of a session cookie, or a user whom a trusted proxy names."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from starlette.requests import HTTPConnection

from headwater_avro.errors import ConfigError

from .access import Tokens
from .failures import FailureLimit
from .peers import client_address, is_from_proxy, is_secure
from .sessions import Sessions, cookie_name
from .settings import WebSettings
from .tokens import EVERYTHING, OPERATORS, USUAL, AccessScope, HashedToken, Holder, digest_of, read_tokens

SCOPE_KEY = "headwater.caller"
"""The key of the ASGI scope under which the guard stores the Caller of a request, or None."""
MOST_USER_BYTES = 1_000


@dataclass(frozen=True, slots=True)
class Caller:
    """How a caller is signed in; ``local``: the server needs no sign-in. ``expires`` is in seconds since 1970.

    ``scopes`` are those of the token or user, and ``name`` is the name of the token.
    """

    by: Literal["token", "cookie", "header", "local"]
    user: str | None = None
    expires: int | None = None
    scopes: frozenset[AccessScope] = frozenset()
    name: str | None = None

    @property
    def is_operator(self) -> bool:
        """Return whether the caller may also send dead letters back."""
        return self.may("redrive")

    def may(self, scope: AccessScope) -> bool:
        """Return whether the scopes include this one."""
        return Holder("", self.scopes).may(scope)

    @property
    def is_ambient(self) -> bool:
        """Return whether a browser adds the proof by itself, also to requests that a page of another site makes it send."""
        return self.by in ("cookie", "header")

    def value(self) -> dict[str, Any]:
        """Return it as JSON values."""
        expires = None if self.expires is None else datetime.fromtimestamp(self.expires, UTC)
        text = expires and expires.strftime("%Y-%m-%dT%H:%M:%SZ")
        return {"by": self.by, "user": self.user, "expiresAt": text, "operator": self.is_operator}


LOCAL = Caller("local", scopes=EVERYTHING)
"""Whoever can send requests from this machine to a server without sign-in can do everything that the server can."""


class TooManyFailures(Exception):
    """Too many wrong tokens came from the address of a request: none is compared for ``seconds``."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"too many wrong tokens: wait {seconds} s")
        self.seconds = seconds


class Callers:
    """Recognises the callers of a server that has tokens or a trusted proxy."""

    def __init__(self, settings: WebSettings) -> None:
        self._settings = settings
        known = tuple(_known_tokens(settings))
        self.tokens = Tokens((), (token for token, _ in known))
        self._holders = tuple(token.holder for token, _ in known)
        self._materials = {token.digest: material for token, material in known}
        self.sessions = Sessions(tuple(material for _, material in known), settings.session_hours * 3_600)
        self.failures = FailureLimit(settings.failures_per_minute)
        self.needs_sign_in = bool(known) or settings.trusted_header is not None

    def caller_of(self, request: HTTPConnection) -> Caller | None:
        """Return the caller of a request; None if nothing that it sends is valid. Raises TooManyFailures."""
        if not self.needs_sign_in:
            return LOCAL
        authorization = request.headers.get("authorization", "")
        if authorization and self.tokens and (holder := self._compared(request, self.tokens.bearer, authorization)):
            return Caller("token", scopes=holder.scopes, name=holder.name)
        return self._named_by_proxy(request) or self._in_session(request)

    def sign_in(self, request: HTTPConnection, token: str) -> tuple[str, Caller] | None:
        """Return the cookie of a new session of a token and its caller; None for an unknown token. Raises TooManyFailures."""
        holder = self._compared(request, self.tokens.holder, token)
        if holder is None:
            return None
        cookie, expires = self.sessions.started(self._materials[digest_of(token.encode())])
        return cookie, Caller("cookie", expires=expires, scopes=holder.scopes, name=holder.name)

    def _compared(self, request: HTTPConnection, compare: Callable[[str], Holder | None], given: str) -> Holder | None:
        address = client_address(request, self._settings)
        if seconds := self.failures.wait(address):
            raise TooManyFailures(seconds)
        holder = compare(given)
        if holder is None:
            self.failures.count(address)
        return holder

    def _named_by_proxy(self, request: HTTPConnection) -> Caller | None:
        if self._settings.trusted_header is None or not is_from_proxy(request, self._settings):
            return None
        # Twice: the proxy has added its own to one that the client sent, and which is which is unknown.
        users = request.headers.getlist(self._settings.trusted_header)
        if len(users) != 1 or not users[0].strip() or len(users[0]) > MOST_USER_BYTES:
            return None
        user = users[0].strip()
        scopes = OPERATORS if user in self._settings.operator_users else USUAL
        return Caller("header", user, scopes=scopes, name=user)

    def _in_session(self, request: HTTPConnection) -> Caller | None:
        cookie = request.cookies.get(cookie_name(is_secure(request, self._settings)))
        found = None if cookie is None else self.sessions.found(cookie)
        if found is None:
            return None
        index, expires = found
        holder = self._holders[index]
        return Caller("cookie", expires=expires, scopes=holder.scopes, name=holder.name)


def _known_tokens(settings: WebSettings) -> Iterator[tuple[HashedToken, str]]:
    """Yield each token once, with the text from which the keys of its sessions are derived.

    The hash of a token does not sign its sessions by itself: whoever reads the file of hashes could sign in with it.
    """
    seen: set[bytes] = set()
    groups = (("operator token", settings.operator_tokens, OPERATORS), ("token", settings.tokens, USUAL))
    for kind, tokens, scopes in groups:
        for number, secret in enumerate(tokens, 1):
            text = secret.get_secret_value()
            digest = digest_of(text.encode())
            if digest not in seen:
                seen.add(digest)
                yield HashedToken(Holder(f"{kind} {number}", scopes), digest), text
    if settings.tokens_file is None:
        return
    given = settings.session_key
    key = secrets.token_bytes(32) if given is None else given.get_secret_value().encode()
    for token in read_tokens(settings.tokens_file):
        if token.digest in seen:
            raise ConfigError(f"HEADWATER_WEB_TOKENS_FILE: the token of {token.holder.name} is also in another setting")
        yield token, hmac.digest(key, token.digest, "sha256").hex()
