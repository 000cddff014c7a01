"""Sessions: signed cookies that take the place of a token in a browser.

A cookie contains the time at which it expires, a random number and a code that only a holder of one of the server's tokens can
compute. So every replica with this token accepts it, also after a restart, and removing the token ends its sessions.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Sequence
from functools import cached_property

from starlette.responses import Response

NAME = "headwater-session"
SECURE_NAME = f"__Host-{NAME}"
"""The name over HTTPS: browsers accept it only with Secure, with the path / and without a domain."""

_SALT = b"headwater session 1"
_ROUNDS = 100_000
"""Rounds of the key derivation: a stolen cookie is not a quick way to guess a short token."""
_MOST_BYTES = 200


class Sessions:
    """Issues and verifies session cookies; the time of a comparison depends on neither tokens nor cookies.

    ``clock`` returns seconds since 1970; a session lasts ``lifetime`` seconds.
    """

    def __init__(self, tokens: Sequence[str], lifetime: float, clock: Callable[[], float] = time.time) -> None:
        self._tokens, self.lifetime, self._clock = tokens, lifetime, clock

    @cached_property
    def _keys(self) -> tuple[bytes, ...]:
        return tuple(_key(token) for token in self._tokens)

    def started(self, token: str) -> tuple[str, int]:
        """Return the cookie of a new session of a token, and when it expires in seconds since 1970."""
        expires = int(self._clock() + self.lifetime)
        content = f"{expires}.{secrets.token_urlsafe(12)}"
        return f"{content}.{_code(_key(token), content)}", expires

    def expiry(self, cookie: str) -> int | None:
        """Return when the session of a cookie expires; None if it has expired, or if this server did not issue the cookie."""
        found = self.found(cookie)
        return None if found is None else found[1]

    def found(self, cookie: str) -> tuple[int, int] | None:
        """Return the index of the token whose session a cookie is, and when it expires; None as ``expiry`` does."""
        content, _, code = cookie.rpartition(".")
        if len(cookie) > _MOST_BYTES or not cookie.isascii():
            return None
        # Every key is compared: the time does not show which token issued the cookie.
        matches = [hmac.compare_digest(_code(key, content), code) for key in self._keys]
        if True not in matches:
            return None
        expires = int(content.partition(".")[0])
        return (matches.index(True), expires) if expires > self._clock() else None


def set_cookie(response: Response, value: str, lifetime: float, secure: bool) -> None:
    """Set the session cookie of a response; an empty value with lifetime 0 removes it."""
    response.set_cookie(
        cookie_name(secure), value, max_age=int(lifetime), path="/", secure=secure, httponly=True, samesite="strict"
    )


def cookie_name(secure: bool) -> str:
    """Return the name of the session cookie over HTTPS, or over plain HTTP."""
    return SECURE_NAME if secure else NAME


def _key(token: str) -> bytes:
    return hashlib.pbkdf2_hmac("sha256", token.encode(), _SALT, _ROUNDS)


def _code(key: bytes, content: str) -> str:
    return hmac.digest(key, content.encode(), "sha256").hex()
