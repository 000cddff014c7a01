"""Errors as ``application/problem+json`` (RFC 9457)."""

from __future__ import annotations

import json
from collections.abc import Mapping
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


def answer_to(fault: HeadwaterError) -> Response:
    """Return the response for an error of headwater."""
    match fault:
        case Problem():
            return problem(fault.status, fault.detail, fault.headers, **fault.more)
        case NotFound():
            return problem(404, str(fault))
        case EventRejected():
            return problem(422, fault.detail, code=fault.code)
        case SchemaMismatch():
            return problem(503, str(fault))
        case ConfigError():
            return problem(400, str(fault))
        case ServerUnavailable():
            return problem(503, f"{fault.server} does not answer", {"Retry-After": str(RETRY_SECONDS)})
        case _:
            return problem(500, "the graph refused the query")


def add_handlers(app: FastAPI) -> None:
    """Register handlers that return every error of the application as a problem."""
    app.add_exception_handler(HeadwaterError, _of_headwater)
    app.add_exception_handler(RequestValidationError, _of_request)
    app.add_exception_handler(HTTPException, _of_http)


def _of_headwater(_: Request, fault: Exception) -> Response:
    assert isinstance(fault, HeadwaterError)
    return answer_to(fault)


def _of_request(_: Request, fault: Exception) -> Response:
    assert isinstance(fault, RequestValidationError)
    return problem(422, "; ".join(f"{'.'.join(map(str, error['loc']))}: {error['msg']}" for error in fault.errors()))


def _of_http(_: Request, fault: Exception) -> Response:
    assert isinstance(fault, HTTPException)
    return problem(fault.status_code, str(fault.detail), fault.headers)
