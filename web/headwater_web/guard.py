"""Middleware for access control and body limits."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from fastapi import Request, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .access import forgery_refusal, host_refusal, local_refusal, path_of, scope_of
from .callers import SCOPE_KEY, Caller, Callers, TooManyFailures
from .problems import Problem, problem
from .session_api import PATH as SESSION
from .settings import WebSettings


class Guard:
    """ASGI middleware: requires a known caller if tokens or a proxy are set, else a request of this machine; limits bodies.

    ``open_paths`` need no token and no name of this host: an application of its own answers each path here, so that they give
    access to nothing else. ``page`` has the files of the page, which need no token.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: WebSettings,
        callers: Callers,
        open_paths: Mapping[str, ASGIApp],
        page: Mapping[str, ASGIApp],
    ) -> None:
        self.app, self.settings, self.open_paths, self.page = app, settings, open_paths, page
        self.callers = callers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path = path_of(scope)
        answer = self.open_paths.get(path) or self._page_answer(scope, path) or self._refusal(Request(scope))
        if answer is not None:
            await answer(scope, receive, send)
            return
        await self.app(scope, self._counted(receive), send)

    def _page_answer(self, scope: Scope, path: str) -> ASGIApp | None:
        """Return the answer to a request for a file of the page, which a link of any other page may lead to."""
        file = self.page.get(path)
        if file is None or self.callers.needs_sign_in:
            return file
        return host_refusal(Request(scope), self.settings) or file

    def _refusal(self, request: Request) -> Response | None:
        if refusal := self._access_refusal(request):
            return refusal
        length = request.headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self.settings.max_body:
            return problem(413, f"a body has at most {self.settings.max_body} bytes")
        return None

    def _access_refusal(self, request: Request) -> Response | None:
        try:
            caller = request.scope[SCOPE_KEY] = self.callers.caller_of(request)
        except TooManyFailures as fault:
            return problem(429, str(fault), {"Retry-After": str(fault.seconds)})
        if not self.callers.needs_sign_in:
            return local_refusal(request, self.settings)
        if path_of(request.scope) == SESSION:
            # Signing in is what an unknown caller may do; it replaces a session, so it needs no proof of the present one.
            return forgery_refusal(request, self.settings, is_ambient=request.method != "POST" and caller is not None)
        if caller is None:
            return problem(401, "send `Authorization: Bearer TOKEN`, or sign in", {"WWW-Authenticate": "Bearer"})
        if refusal := _scope_refusal(request, caller):
            return refusal
        return forgery_refusal(request, self.settings, is_ambient=True) if caller.is_ambient else None

    def _counted(self, receive: Receive) -> Receive:
        """Limit the bytes and the time of a body: a chunked body has no length in advance, and may never end."""
        received, is_whole = 0, False
        deadline = asyncio.get_running_loop().time() + self.settings.receive_timeout

        async def counted() -> Message:
            nonlocal received, is_whole
            try:
                # After the body only the end of the connection follows, which may take as long as the answer.
                async with asyncio.timeout_at(None if is_whole else deadline):
                    message = await receive()
            except TimeoutError:
                detail = f"the body was not complete within {self.settings.receive_timeout:g} s"
                raise Problem(408, detail, {"Connection": "close"}) from None
            received += len(message.get("body", b""))
            is_whole = is_whole or not message.get("more_body", False)
            if received > self.settings.max_body:
                raise Problem(413, f"a body has at most {self.settings.max_body} bytes")
            return message

        return counted


def _scope_refusal(request: Request, caller: Caller) -> Response | None:
    """Return the refusal of a request that needs a scope which the caller does not have, else None."""
    scope = scope_of(request.method, path_of(request.scope))
    # Sending dead letters back says itself who may, with the settings.
    if scope is None or scope == "redrive" or caller.may(scope):
        return None
    return problem(
        403, f"this needs the scope {scope}: use a token that has it (`headwater tokens new NAME --scope {scope}`)"
    )
