"""Errors as ``application/problem+json`` (RFC 9457)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from headwater_avro.errors import ConfigError, EventRejected, HeadwaterError, SchemaMismatch, ServerUnavailable
from headwater_graph.queries.catalog.finding import NotFound

RETRY_SECONDS = 5
MEDIA_TYPE = "application/problem+json"


FAULTS = {
    400: "an invalid parameter, or an ambiguous name",
    401: "no token, or an unknown token",
    403: "a page of another origin, or, without tokens, another host name; or the caller is not an operator",
    404: "not in the graph",
    405: "the method is not allowed",
    408: "the body did not arrive in time",
    413: "the body or batch is too large",
    415: "the content type of the body is not JSON",
    422: "an invalid parameter or event",
    429: "too many concurrent requests: retry after Retry-After seconds",
    501: "a request of Marquez's clients that no event can state",
    503: "Neo4j or Kafka does not answer, or this server is at its limits: retry after Retry-After seconds",
}
"""The meaning of each status, for the OpenAPI description."""


class Problem(HeadwaterError):
    """An error response; ``more`` are members of the response beside the standard ones."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None, **more: Any) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers, self.more = status, detail, dict(headers or {}), more


def problem(status: int, detail: str, headers: Mapping[str, str] | None = None, **more: Any) -> Response:
    """Return a response of ``application/problem+json``."""
    title = HTTPStatus(status).phrase
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, **more}
    return Response(json.dumps(body), status, headers, MEDIA_TYPE)


def described() -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI descriptions of the problems that any path may return."""
    text, number = {"type": "string"}, {"type": "integer"}
    members = {"type": text, "title": text, "status": number, "detail": text, "code": text}
    content = {MEDIA_TYPE: {"schema": {"type": "object", "properties": members}}}
    return {status: {"description": meaning, "content": content} for status, meaning in FAULTS.items()}


def problem_of(fault: HeadwaterError) -> Problem:
    """Return the problem that an error of headwater is to a client."""
    match fault:
        case Problem():
            return fault
        case NotFound():
            return Problem(404, str(fault))
        case EventRejected():
            return Problem(422, fault.detail, code=fault.code)
        case SchemaMismatch():
            return Problem(503, str(fault))
        case ConfigError():
            return Problem(400, str(fault))
        case ServerUnavailable():
            return Problem(503, f"{fault.server} does not answer", {"Retry-After": str(RETRY_SECONDS)})
        case _:
            return Problem(500, "the graph refused the query")


Members = Callable[[Request, Problem], Mapping[str, Any]]
"""Returns the members that the response to a request has beside those of its problem."""


def add_handlers(app: FastAPI, members: Members) -> None:
    """Register handlers that return every error of the application as a problem."""

    def answered(problem_found: Callable[[Any], Problem]) -> Callable[[Request, Exception], Response]:
        def answer(request: Request, fault: Exception) -> Response:
            found = problem_found(fault)
            return problem(found.status, found.detail, found.headers, **{**members(request, found), **found.more})

        return answer

    app.add_exception_handler(HeadwaterError, answered(problem_of))
    app.add_exception_handler(RequestValidationError, answered(_of_request))
    app.add_exception_handler(HTTPException, answered(_of_http))


def _of_request(fault: RequestValidationError) -> Problem:
    return Problem(422, "; ".join(f"{'.'.join(map(str, error['loc']))}: {error['msg']}" for error in fault.errors()))


def _of_http(fault: HTTPException) -> Problem:
    return Problem(fault.status_code, str(fault.detail), fault.headers)
