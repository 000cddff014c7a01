"""Any Python value as JSON has it: dictionaries, lists, strings, numbers, booleans; nothing that a serialiser could
refuse."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Any

import attr

_DEEPEST = 50
"""Levels kept: the graph refuses messages nested deeper than 200 (SPEC 2.1), and no facet of the specification goes
below 10."""


def plain(value: object, depth: int = 0) -> Any:
    """The value as JSON has it: absent members are left out, a NaN counts as absent, what JSON doesn't know becomes
    its text."""
    if value is None or (isinstance(value, (bool, str)) and not isinstance(value, Enum)):
        return value
    if depth > _DEEPEST:
        return None
    if isinstance(value, Mapping):
        return _plain_mapping(value, depth)
    if isinstance(value, (list, tuple, set, frozenset)):
        return _plain_items(value, depth)
    names = _field_names(value)
    if names is not None:
        return _plain_mapping({name: getattr(value, name) for name in names}, depth)
    return _plain_scalar(value, depth)


def _field_names(value: object) -> list[str] | None:
    """The fields of an attrs or dataclass instance, None for any other value."""
    cls: Any = type(value)
    if attr.has(cls):
        return [each.name for each in attr.fields(cls)]
    return [each.name for each in dataclasses.fields(cls)] if dataclasses.is_dataclass(cls) else None


def _plain_mapping(members: Mapping[Any, object], depth: int) -> dict[str, Any]:
    kept = ((str(key), plain(value, depth + 1)) for key, value in members.items())
    return {key: value for key, value in kept if value is not None}


def _plain_items(items: Iterable[object], depth: int) -> list[Any]:
    return [each for each in (plain(item, depth + 1) for item in items) if each is not None]


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
    # numpy's and pandas' scalars give the Python number that they hold.
    item = getattr(value, "item", None)
    return plain(item(), depth + 1) if callable(item) else str(value)
