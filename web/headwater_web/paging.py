"""Cursors: positions in lists, opaque to clients."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Annotated, Any, TypeAlias

from fastapi import Query

from .problems import Problem

Cursor: TypeAlias = Annotated[str | None, Query(max_length=9_000, description="`next` of the previous page")]
MOST = 100_000
"""Maximum position in a list that is ranked again for each page."""


def cursor_of(*position: str | int) -> str:
    """Return the cursor of a position in a list."""
    return base64.urlsafe_b64encode(json.dumps(position).encode()).decode()


def position_of(cursor: str, *kinds: type) -> list[Any]:
    """Return the position in a cursor, values of these types; raises Problem for a cursor that this server did not create."""
    try:
        position = json.loads(base64.b64decode(cursor.encode(), b"-_", validate=True))
    except (binascii.Error, ValueError) as fault:
        raise unknown_cursor() from fault
    if not isinstance(position, list) or [type(value) for value in position] != list(kinds):
        raise unknown_cursor()
    return position


def skipped(cursor: str | None) -> int:
    """Return the number of items on the previous pages; raises Problem as ``position_of``."""
    if cursor is None:
        return 0
    (number,) = position_of(cursor, int)
    if not 0 <= number <= MOST:
        raise unknown_cursor()
    return int(number)


def unknown_cursor() -> Problem:
    """Return the error for a cursor that this server did not create."""
    return Problem(400, "this server did not create the cursor: use `next` of the previous page")
