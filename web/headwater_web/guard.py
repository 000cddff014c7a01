"""Who may ask, how much may be sent, and answers that a client has already."""

from __future__ import annotations

import hmac
from hashlib import sha256
from typing import Any

import msgspec
from fastapi import Request, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .problems import Problem, problem
from .settings import WebSettings

OPEN_PATHS = ("/healthz", "/readyz")
"""Paths that need no token."""


class Guard:
    """ASGI middleware: a token where tokens are set, and no more bytes than allowed."""

    def __init__(self, app: ASGIApp, settings: WebSettings) -> None:
        self.app, self.settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        refusal = self._refusal(request)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        await self.app(scope, self._counted(receive), send)

    def _refusal(self, request: Request) -> Response | None:
        if self.settings.tokens and request.url.path not in OPEN_PATHS and not self._is_known(request):
            return problem(401, "send `Authorization: Bearer TOKEN`", {"WWW-Authenticate": "Bearer"})
        length = request.headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self.settings.max_body:
            return problem(413, f"at most {self.settings.max_body} bytes")
        return None

    def _is_known(self, request: Request) -> bool:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        given = token.strip().encode()
        known = [hmac.compare_digest(given, each.get_secret_value().encode()) for each in self.settings.tokens]
        return scheme.lower() == "bearer" and any(known)

    def _counted(self, receive: Receive) -> Receive:
        """Count what is received: a body that comes in chunks tells no length beforehand."""
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self.settings.max_body:
                raise Problem(413, f"at most {self.settings.max_body} bytes")
            return message

        return counted


def answered(request: Request, value: Any) -> Response:
    """Return a value as JSON with its ETag, or 304 where the client has it already."""
    body = msgspec.json.encode(value)
    tag = f'"{sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if tag in [each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")]:
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type="application/json")
