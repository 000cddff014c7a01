"""Errors as ``application/problem+json`` (RFC 9457): whose fault it is, and what to do next."""

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
    400: "a parameter that can't be used, or a name that several things have",
    401: "no token, or an unknown one",
    403: "a server without tokens: a page or a name from elsewhere",
    404: "the graph has no such thing",
    405: "not this method",
    408: "a body that did not come in time",
    413: "more than this server takes",
    415: "a body that is not sent as JSON",
    422: "a parameter or an event that is not as it must be",
    429: "too much under way: again after Retry-After seconds",
    503: "Neo4j or Kafka does not answer, or this server takes no more now: again after Retry-After seconds",
}
"""What each status of a problem means here."""


class Problem(HeadwaterError):
    """An error that a request ends with; ``more`` are members of the answer beside the standard ones."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None, **more: Any) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers, self.more = status, detail, dict(headers or {}), more


def problem(status: int, detail: str, headers: Mapping[str, str] | None = None, **more: Any) -> Response:
    """Return an answer of ``application/problem+json``."""
    title = HTTPStatus(status).phrase
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, **more}
    return Response(json.dumps(body), status, headers, MEDIA_TYPE)


def described() -> dict[int | str, dict[str, Any]]:
    """Return the problems that any address may answer with, as OpenAPI describes answers."""
    text, number = {"type": "string"}, {"type": "integer"}
    members = {"type": text, "title": text, "status": number, "detail": text, "code": text}
    content = {MEDIA_TYPE: {"schema": {"type": "object", "properties": members}}}
    return {status: {"description": what, "content": content} for status, what in FAULTS.items()}


def answer_to(fault: HeadwaterError) -> Response:
    """Return the answer to an error of headwater."""
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
            return problem(500, "the graph refused the question")


def add_handlers(app: FastAPI) -> None:
    """Make every error of the application a problem."""
    app.add_exception_handler(HeadwaterError, _of_headwater)
    app.add_exception_handler(RequestValidationError, _of_request)
    app.add_exception_handler(HTTPException, _of_http)


def _of_headwater(_: Request, fault: Exception) -> Response:
    assert isinstance(fault, HeadwaterError)
    return answer_to(fault)


def _of_request(_: Request, fault: Exception) -> Response:
    assert isinstance(fault, RequestValidationError)
    return problem(422, "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in fault.errors()))


def _of_http(_: Request, fault: Exception) -> Response:
    assert isinstance(fault, HTTPException)
    return problem(fault.status_code, str(fault.detail), fault.headers)
