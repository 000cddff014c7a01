"""The audit log: one line for every request that changes something, or tries to: who, what, and the outcome.

It is the logger ``headwater.web.audit``; ``headwater serve`` prints it to standard error as JSON lines.
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .access import SAFE_METHODS, path_of, scope_of
from .callers import SCOPE_KEY, Caller
from .peers import client_address
from .settings import WebSettings

logger = logging.getLogger("headwater.web.audit")

DETAIL_KEY = "headwater.audit"
"""The key of the ASGI scope under which a route stores what it has done, as JSON values."""
MOST_PATH = 500
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
"""Headers of every response that does not set them itself."""


class Audit:
    """ASGI middleware around everything else: it logs changing requests and adds security headers to each response."""

    def __init__(self, app: ASGIApp, settings: WebSettings) -> None:
        self.app, self.settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status = 500

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": _secured(message.get("headers", ()))}
            await send(message)

        try:
            await self.app(scope, receive, sending)
        finally:
            if scope["method"] not in SAFE_METHODS and scope_of(scope["method"], path_of(scope)) != "read":
                logger.info("%s", json.dumps(self._line(Request(scope), status)))

    def _line(self, request: Request, status: int) -> dict[str, Any]:
        caller: Caller | None = request.scope.get(SCOPE_KEY)
        return {
            "time": datetime.now(UTC).isoformat(),
            "audit": f"{request.method} {path_of(request.scope)[:MOST_PATH]}",
            "status": status,
            "by": caller.by if caller else None,
            "who": caller.name if caller else None,
            "address": client_address(request, self.settings),
            **request.scope.get(DETAIL_KEY, {}),
        }


def _secured(headers: Any) -> list[tuple[bytes, bytes]]:
    given = list(headers)
    names = {name.lower() for name, _ in given}
    return given + [header for header in HEADERS if header[0] not in names]
