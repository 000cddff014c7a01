"""ETags: whether the client has the current version, and JSON responses with theirs."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response


def is_current(request: Request, tag: str) -> bool:
    """Return whether the client already has the version with this ETag."""
    known = request.headers.get("if-none-match", "").split(",")
    return tag in [each.strip().removeprefix("W/") for each in known]


def answered(request: Request, value: Any) -> Response:
    """Return a value as JSON with its ETag, or 304 if the client has this version."""
    body = msgspec.json.encode(value)
    tag = f'"{sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if is_current(request, tag):
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type="application/json")
