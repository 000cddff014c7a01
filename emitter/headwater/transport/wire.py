"""From an event, in any of its forms, to the key and bytes of a Kafka message; pure.

Forms: openlineage-python's ``event_v2`` and older ``run`` objects (attrs classes), and plain dicts with any of their parts
inside. Nulls, also in lists, are left out (specification 1.1).
"""

from __future__ import annotations

import datetime as dt
import math
import uuid
from collections.abc import Iterator
from enum import Enum
from typing import Any, Literal, TypeAlias

import msgspec

from ..producer import Container

Tree: TypeAlias = dict[str, Any]
"""An event as dicts, lists, strings, numbers and booleans."""

Side: TypeAlias = Literal["input", "output"]
SIDES: tuple[Side, ...] = ("input", "output")
SUBJECTS: tuple[Container, ...] = ("run", "job", "dataset")

NESTING_LIMIT = 200
"""Deeper events are ``not_decodable`` (specification 2.1)."""

_encode = msgspec.json.Encoder().encode


class NotSerialisable(Exception):
    """An event can't be written as JSON; the message says what and where."""


def to_tree(event: Any) -> Tree:
    """Return the event as plain values; raise NotSerialisable if it is not an object or is nested too deeply."""
    tree = _plain(event, 0)
    if not isinstance(tree, dict):
        raise NotSerialisable(f"an event is an object, not {type(event).__name__}")
    return tree


def to_json(tree: Tree) -> bytes:
    """Return compact UTF-8 JSON; a lone surrogate becomes U+FFFD, as readers treat it (specification 2.1)."""
    try:
        return _encode(tree)
    except UnicodeEncodeError:
        return _encode(_replace_surrogates(tree))


def pointer_token(name: str) -> str:
    """Return a member's name as a token of a JSON pointer (RFC 6901)."""
    return name.replace("~", "~0").replace("/", "~1")


def datasets_of(event: Tree) -> Iterator[tuple[Side, str, Tree]]:
    """Yield the datasets of an event, each with its side and its JSON pointer."""
    for side in SIDES:
        listed = event.get(f"{side}s")
        for at, dataset in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(dataset, dict):
                yield side, f"/{side}s/{at}", dataset


def facets_of(event: Tree) -> Iterator[tuple[Container, str, Tree]]:
    """Yield the facets of each part of an event: what they are facets of, their JSON pointer, and the facets by name."""
    places: list[tuple[Container, str, Any, str]] = [(name, f"/{name}", event.get(name), "facets") for name in SUBJECTS]
    for side, path, dataset in datasets_of(event):
        places += [("dataset", path, dataset, "facets"), (side, path, dataset, f"{side}Facets")]
    for container, path, entity, member in places:
        facets = entity.get(member) if isinstance(entity, dict) else None
        if isinstance(facets, dict):
            yield container, f"{path}/{member}", facets


def key_of(tree: Tree) -> bytes | None:
    """Return the message key: the runId, ``job:namespace/name`` or ``dataset:namespace/name``; None without any of them."""
    match tree:
        case {"run": {"runId": str(run_id)}}:
            key = run_id
        case {"job": {"namespace": str(namespace), "name": str(name)}}:
            key = f"job:{namespace}/{name}"
        case {"dataset": {"namespace": str(namespace), "name": str(name)}}:
            key = f"dataset:{namespace}/{name}"
        case _:
            return None
    return key.encode("utf-8", "replace")


def _plain(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind is str or kind is int or kind is bool:
        return value
    if depth > NESTING_LIMIT:
        raise NotSerialisable(f"nested deeper than {NESTING_LIMIT} levels")
    if kind is dict:
        return _plain_dict(value, depth + 1)
    if kind is list or kind is tuple:
        return [_plain(item, depth + 1) for item in value if item is not None]
    names = _attribute_names(kind)
    if names is not None:
        pairs = ((name, getattr(value, name)) for name in names)
        return {name: _plain(item, depth + 1) for name, item in pairs if item is not None}
    return _scalar(value, depth)


def _plain_dict(value: dict[Any, Any], depth: int) -> Tree:
    return {
        key if type(key) is str else _key(key): _plain(item, depth) for key, item in value.items() if item is not None
    }


def _key(key: Any) -> str:
    return str(key.value) if isinstance(key, Enum) else str(key)


_NAMES: dict[type, tuple[str, ...] | None] = {}


def _attribute_names(kind: type) -> tuple[str, ...] | None:
    try:
        return _NAMES[kind]
    except KeyError:
        attributes = getattr(kind, "__attrs_attrs__", None)
        names = None if attributes is None else tuple(attribute.name for attribute in attributes)
        # Classes created at run time (facets with additional properties) would grow this without limit.
        if len(_NAMES) < 1_000:
            _NAMES[kind] = names
        return names


def _scalar(value: Any, depth: int) -> Any:
    match value:
        case Enum():
            return _plain(value.value, depth)
        case float():
            return value if math.isfinite(value) else repr(value)
        case str() | int():
            return str(value) if isinstance(value, str) else int(value)
        case dt.date() | dt.time():
            return value.isoformat()
        case uuid.UUID():
            return str(value)
        case bytes():
            return value.decode("utf-8", "replace")
        case dict():
            return _plain_dict(value, depth + 1)
        case list() | tuple() | set() | frozenset():
            return [_plain(item, depth + 1) for item in value if item is not None]
        case _:
            return _foreign(value, depth)


def _foreign(value: Any, depth: int) -> Any:
    # numpy and pandas scalars have a Python value; of others the type is named, as openlineage-python does.
    item = getattr(value, "item", None)
    if callable(item) and type(value).__module__.partition(".")[0] in ("numpy", "pandas"):
        return _plain(item(), depth + 1)
    return f"<<non-serializable: {type(value).__qualname__}>>"


def _replace_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_replace_surrogates(key): _replace_surrogates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_replace_surrogates(item) for item in value]
    return value
