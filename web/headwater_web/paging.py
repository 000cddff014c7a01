"""Cursors: where a list goes on, opaque to clients."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Annotated, Any, TypeAlias

from fastapi import Query

from .problems import Problem

Cursor: TypeAlias = Annotated[str | None, Query(max_length=9_000, description="`next` of the page before")]
MOST = 100_000
"""How far into a list that is ranked anew for each page one may go."""


def cursor_of(*place: str | int) -> str:
    """Return the cursor of a place in a list."""
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode()


def place_of(cursor: str, *kinds: type) -> list[Any]:
    """Return the place that a cursor holds, of values of these types; raises Problem for a cursor from elsewhere."""
    try:
        place = json.loads(base64.b64decode(cursor.encode(), b"-_", validate=True))
    except (binascii.Error, ValueError) as fault:
        raise _stranger() from fault
    if not isinstance(place, list) or [type(value) for value in place] != list(kinds):
        raise _stranger()
    return place


def skipped(cursor: str | None) -> int:
    """Return how many things of a list the pages before have shown; raises Problem as :func:`place_of`."""
    if cursor is None:
        return 0
    (number,) = place_of(cursor, int)
    if not 0 <= number <= MOST:
        raise _stranger()
    return int(number)


def _stranger() -> Problem:
    return Problem(400, "the cursor is not one that this server gave")
