"""One ``columnLineage`` facet, made smaller; pure."""

from __future__ import annotations

from typing import Any

import msgspec

from headwater.transport.wire import Tree, to_json


def thin_columns(facet: Tree, limit: int) -> tuple[Tree, str]:
    """The facet in at most ``limit`` bytes of JSON where that can be reached, and in words what was done.

    First its compact form, which says the same; then without descriptions; then without its last fields.
    """
    thinned = compact(facet)
    if len(to_json(thinned)) <= limit:
        return thinned, "made compact"
    thinned = _without_descriptions(thinned)
    if len(to_json(thinned)) <= limit:
        return thinned, "descriptions removed"
    fields = thinned.get("fields")
    if not isinstance(fields, dict):
        return thinned, "descriptions removed"
    kept = _first_fields(fields, limit - len(to_json(thinned | {"fields": {}})))
    return thinned | {"fields": kept}, f"{len(fields) - len(kept)} of {len(fields)} fields removed"


def compact(facet: Tree) -> Tree:
    """The facet with the INDIRECT edges that all of its fields share in its ``dataset`` list instead (specification 6.5)."""
    fields = facet.get("fields")
    if not isinstance(fields, dict) or len(fields) < 2 or not all(_is_plain(told) for told in fields.values()):
        return facet
    shared = set.intersection(*(_indirect(told) for told in fields.values()))
    if not shared:
        return facet
    listed = facet.get("dataset")
    return facet | {
        "fields": {name: _without(told, shared) for name, told in fields.items()},
        "dataset": [*(listed if isinstance(listed, list) else ()), *map(msgspec.json.decode, sorted(shared))],
    }


def _is_plain(told: Any) -> bool:
    inputs = told.get("inputFields") if isinstance(told, dict) else None
    return isinstance(inputs, list) and all(isinstance(item, dict) for item in inputs)


def _edge(item: Tree, transformation: Any) -> str:
    # Its JSON text names an edge; equal text, equal edge.
    source = {name: item.get(name) for name in ("namespace", "name", "field")}
    return to_json(source | {"transformations": [transformation]}).decode()


def _transformations(item: Tree) -> list[Any]:
    listed = item.get("transformations")
    return listed if isinstance(listed, list) else []


def _indirect(told: Tree) -> set[str]:
    return {
        _edge(item, transformation)
        for item in told["inputFields"]
        for transformation in _transformations(item)
        if isinstance(transformation, dict) and transformation.get("type") == "INDIRECT"
    }


def _without(told: Tree, shared: set[str]) -> Tree:
    kept = []
    for item in told["inputFields"]:
        before = _transformations(item)
        after = [transformation for transformation in before if _edge(item, transformation) not in shared]
        # An input without transformations is a bare edge, so one that has lost all of them must go.
        if after or not before:
            kept.append(item | ({"transformations": after} if before else {}))
    # A field without any edge would no longer count among "every field" (specification 6.5), so one stays where it was.
    return told | {"inputFields": kept or _first_edge(told)}


def _first_edge(told: Tree) -> list[Tree]:
    first = told["inputFields"][0]
    return [first | {"transformations": _transformations(first)[:1]}]


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
    kept: Tree = {}
    for name, told in fields.items():
        limit -= len(to_json({name: told}))
        if limit < 0:
            break
        kept[name] = told
    return kept
