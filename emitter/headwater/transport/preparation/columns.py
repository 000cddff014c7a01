"""Reducing the size of one ``columnLineage`` facet; pure."""

from __future__ import annotations

from typing import Any

import msgspec

from ..wire import Tree, to_json


def reduce_columns(facet: Tree, limit: int) -> tuple[Tree, str]:
    """Return the facet in at most ``limit`` bytes of JSON where that is possible, and a text that says what was done.

    First its compact form, which has the same meaning; then without descriptions; then without its last fields.
    """
    reduced = compact(facet)
    if len(to_json(reduced)) <= limit:
        return reduced, "made compact"
    reduced = _without_descriptions(reduced)
    if len(to_json(reduced)) <= limit:
        return reduced, "descriptions removed"
    fields = reduced.get("fields")
    if not isinstance(fields, dict):
        return reduced, "descriptions removed"
    remaining = _first_fields(fields, limit - len(to_json(reduced | {"fields": {}})))
    return reduced | {"fields": remaining}, f"{len(fields) - len(remaining)} of {len(fields)} fields removed"


def compact(facet: Tree) -> Tree:
    """Return the facet with the INDIRECT edges that all its fields share in its ``dataset`` list (specification 6.5)."""
    fields = facet.get("fields")
    if not isinstance(fields, dict) or len(fields) < 2 or not all(_has_input_dicts(value) for value in fields.values()):
        return facet
    shared = set.intersection(*(_indirect_edges(value) for value in fields.values()))
    if not shared:
        return facet
    listed = facet.get("dataset")
    return facet | {
        "fields": {name: _without_edges(value, shared) for name, value in fields.items()},
        "dataset": [*(listed if isinstance(listed, list) else ()), *map(msgspec.json.decode, sorted(shared))],
    }


def _has_input_dicts(value: Any) -> bool:
    inputs = value.get("inputFields") if isinstance(value, dict) else None
    return isinstance(inputs, list) and all(isinstance(item, dict) for item in inputs)


def _edge(item: Tree, transformation: Any) -> str:
    # Its JSON text identifies an edge: equal text, equal edge.
    source = {name: item.get(name) for name in ("namespace", "name", "field")}
    return to_json(source | {"transformations": [transformation]}).decode()


def _transformations(item: Tree) -> list[Any]:
    listed = item.get("transformations")
    return listed if isinstance(listed, list) else []


def _indirect_edges(value: Tree) -> set[str]:
    return {
        _edge(item, transformation)
        for item in value["inputFields"]
        for transformation in _transformations(item)
        if isinstance(transformation, dict) and transformation.get("type") == "INDIRECT"
    }


def _without_edges(value: Tree, shared: set[str]) -> Tree:
    remaining = []
    for item in value["inputFields"]:
        before = _transformations(item)
        after = [transformation for transformation in before if _edge(item, transformation) not in shared]
        # An input without transformations is an edge too, so an input that has lost all of them is removed.
        if after or not before:
            remaining.append(item | ({"transformations": after} if before else {}))
    if not remaining:
        # A field without any edge would not count as one of "every field" (specification 6.5), so its first edge stays.
        first = value["inputFields"][0]
        remaining = [first | {"transformations": _transformations(first)[:1]}]
    return value | {"inputFields": remaining}


def _without_descriptions(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _without_descriptions(item)
            for key, item in value.items()
            if key not in ("description", "transformationDescription") or not isinstance(item, str)
        }
    if isinstance(value, list):
        return [_without_descriptions(item) for item in value]
    return value


def _first_fields(fields: Tree, limit: int) -> Tree:
    first: Tree = {}
    for name, value in fields.items():
        limit -= len(to_json({name: value}))
        if limit < 0:
            break
        first[name] = value
    return first
