"""``/api/v1/session``: sign in with a token, sign out, and how the caller is signed in."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from .callers import SCOPE_KEY, Caller, Callers, TooManyFailures
from .peers import is_secure
from .problems import Problem
from .sessions import set_cookie

PATH = "/api/v1/session"

routes = APIRouter(tags=["session"])


class SignIn(BaseModel):
    """A token to sign in with."""

    model_config = ConfigDict(extra="forbid")

    token: SecretStr = Field(min_length=1, max_length=10_000)


def known_callers(request: Request) -> Callers:
    """Return the part of the server that recognises callers."""
    found: Callers = request.app.state.callers
    return found


@routes.get(PATH)
def get_session(request: Request, response: Response) -> dict[str, Any]:
    """Return how the caller is signed in: `by` is token, cookie, header or local, or null for a caller that is not signed in.

    `operator`: whether the caller may send dead letters back.
    """
    response.headers["Cache-Control"] = "no-store"
    caller: Caller | None = request.scope.get(SCOPE_KEY)
    nobody = {"by": None, "user": None, "expiresAt": None, "operator": False}
    return nobody if caller is None else caller.value()


@routes.post(PATH)
def post_session(
    request: Request, response: Response, given: SignIn, callers: Annotated[Callers, Depends(known_callers)]
) -> dict[str, Any]:
    """Start a session of a token: the cookie that the response sets takes the place of the token."""
    if not callers.tokens:
        raise Problem(400, "this server has no tokens, so there is nothing to sign in with")
    try:
        found = callers.sign_in(request, given.token.get_secret_value().strip())
    except TooManyFailures as fault:
        raise Problem(429, str(fault), {"Retry-After": str(fault.seconds)}) from None
    if found is None:
        raise Problem(401, "no such token", {"WWW-Authenticate": "Bearer"})
    cookie, caller = found
    request.scope[SCOPE_KEY] = caller  # the audit log says who signed in
    set_cookie(response, cookie, callers.sessions.lifetime, is_secure(request, request.app.state.settings))
    response.headers["Cache-Control"] = "no-store"
    return caller.value()


@routes.delete(PATH, status_code=204)
def delete_session(request: Request) -> Response:
    """End the session: the browser deletes its cookie."""
    response = Response(status_code=204)
    set_cookie(response, "", 0, is_secure(request, request.app.state.settings))
    return response
