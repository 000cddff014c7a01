"""``/healthz`` and ``/readyz``, which respond even while all other requests wait."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from fastapi import Request, Response
from starlette.types import Receive, Scope, Send

from headwater_avro.errors import HeadwaterError, ServerUnavailable

from .problems import RETRY_SECONDS, problem

FRESH_SECONDS = 1.0
"""Seconds for which the result of a check is reused."""
CHECK_SECONDS = 2.0
"""Seconds that a request waits for a check: less than the timeout of a Kubernetes probe."""

READY = "ready"


async def health(scope: Scope, receive: Receive, send: Send) -> None:
    """Report that the process is alive; an ASGI application without threads or I/O."""
    await _for_probes(scope, Response("ok\n", media_type="text/plain"))(scope, receive, send)


class Readiness:
    """ASGI application that reports whether a part is ready, ``?for=PART``, or any of them, ``?for=any``.

    ``checks`` has a function for each part that raises HeadwaterError if the part is not ready; a request without
    ``for`` means the first part.
    """

    def __init__(self, checks: Mapping[str, Callable[[], object]]) -> None:
        self._checks = {part: _Check(check) for part, check in checks.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await _for_probes(scope, await self._answer(Request(scope)))(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        wanted = request.query_params.get("for", next(iter(self._checks)))
        if wanted != "any" and wanted not in self._checks:
            return problem(422, f"for is one of {', '.join((*self._checks, 'any'))}")
        parts = list(self._checks) if wanted == "any" else [wanted]
        states = await asyncio.gather(*(self._checks[part].state() for part in parts))
        if READY in states:
            return Response("ready\n", media_type="text/plain")
        states_by_part: dict[str, Any] = dict(zip(parts, states, strict=True))
        detail = "; ".join(f"{part}: {state}" for part, state in states_by_part.items())
        return problem(503, detail, {"Retry-After": str(RETRY_SECONDS)}, parts=states_by_part)


class _Check:
    """Runs one check at a time in its own thread; concurrent requests share its result."""

    def __init__(self, check: Callable[[], object]) -> None:
        self._check = check
        self._thread = ThreadPoolExecutor(1, "readiness")
        self._running: Future[str] | None = None
        self._checked_at = 0.0

    async def state(self) -> str:
        """Return ``ready``, or the reason why the part is not ready."""
        is_stale = self._running is None or (
            self._running.done() and time.monotonic() - self._checked_at > FRESH_SECONDS
        )
        if is_stale:
            self._running = self._thread.submit(self._run)
        assert self._running is not None
        done, _ = await asyncio.wait([asyncio.wrap_future(self._running)], timeout=CHECK_SECONDS)
        return done.pop().result() if done else f"no answer within {CHECK_SECONDS:g} s"

    def _run(self) -> str:
        try:
            self._check()
            return READY
        except ServerUnavailable as fault:
            return f"{fault.server} does not answer"
        except HeadwaterError as fault:
            return str(fault)
        finally:
            self._checked_at = time.monotonic()


def _for_probes(scope: Scope, answer: Response) -> Response:
    if scope["method"] in ("GET", "HEAD"):
        return answer
    return problem(405, "GET or HEAD", {"Allow": "GET, HEAD"})
