"""Options of uvicorn, and a timeout for connections that send no complete request."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from .settings import WebSettings

STOP_KEY = "headwater.stop"
"""The key of the ASGI scope under which a response without an end has a function that ends it."""
KEEP_ALIVE_SECONDS = 5
"""Seconds that a connection may be idle between two requests."""


def log_to_stderr() -> None:
    """Print the lines of the audit log, and the server's own errors, to standard error."""
    own = logging.getLogger("headwater.web")
    own.setLevel(logging.INFO)
    own.propagate = False
    if not own.handlers:
        own.addHandler(logging.StreamHandler())


def uvicorn_options(settings: WebSettings) -> dict[str, Any]:
    """Return the options of uvicorn: HTTP only, with ``receive_timeout`` for the head of each request."""

    class Protocol(TimedProtocol):
        head_timeout = settings.receive_timeout

    address = {"host": settings.host, "port": settings.port}
    options = {"log_level": "warning", "http": Protocol, "ws": "none", "timeout_keep_alive": KEEP_ALIVE_SECONDS}
    # The address of a connection is that of its other end: who may name users depends on it, and X-Forwarded-For on the client.
    return address | options | {"proxy_headers": False}


class TimedProtocol(H11Protocol):
    """uvicorn's protocol with a timeout for the head of a request: uvicorn itself waits indefinitely.

    The timer starts with the connection, and with the first byte of each further request; between two requests uvicorn's own
    timeout applies, and within a body that of the application.
    """

    head_timeout = 30.0

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._await_head()
        else:
            self._stop_timer()

    def shutdown(self) -> None:
        # The server waits for all responses: one that follows a run would keep it from stopping.
        stop: Callable[[], None] | None = dict(self.scope or {}).get(STOP_KEY)  # type: ignore[assignment]
        if stop is not None:
            stop()
        super().shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self.head_timeout, self._give_up)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up(self) -> None:
        self._head_timer = None
        if self.conn.their_state is h11.IDLE:
            self.transport.close()
