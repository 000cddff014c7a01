"""Conversion of any Python value to JSON types: dictionaries, lists, strings, numbers, booleans."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Any

import attr

_DEEPEST = 50
"""The most levels; the consumer rejects messages above 200 (specification 2.1)."""


def plain(value: object, depth: int = 0) -> Any:
    """Return the value as JSON types, without members that are None or NaN; other types become text."""
    if value is None or (isinstance(value, (bool, str)) and not isinstance(value, Enum)):
        return value
    if depth > _DEEPEST:
        return None
    if isinstance(value, Mapping):
        return _plain_mapping(value, depth)
    if isinstance(value, (list, tuple, set, frozenset)):
        return [item for given in value if (item := plain(given, depth + 1)) is not None]
    names = _field_names(value)
    if names is not None:
        return _plain_mapping({name: getattr(value, name) for name in names}, depth)
    return _plain_scalar(value, depth)


def _field_names(value: object) -> list[str] | None:
    """Return the field names of an attrs or dataclass instance, None for any other value."""
    cls: Any = type(value)
    if attr.has(cls):
        return [field.name for field in attr.fields(cls)]
    return [field.name for field in dataclasses.fields(cls)] if dataclasses.is_dataclass(cls) else None


def _plain_mapping(members: Mapping[Any, object], depth: int) -> dict[str, Any]:
    converted = ((str(key), plain(value, depth + 1)) for key, value in members.items())
    return {key: value for key, value in converted if value is not None}


def _plain_scalar(value: object, depth: int) -> Any:
    if isinstance(value, Enum):
        return plain(value.value, depth + 1)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    # numpy's and pandas' scalars return their Python number.
    item = getattr(value, "item", None)
    return plain(item(), depth + 1) if callable(item) else str(value)
