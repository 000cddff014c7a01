"""Specification 6.5: the column edges that a ``columnLineage`` facet tells of one output.

An edge goes from each input field (valid namespace, name, field) of each output field to that field, once for each of its
transformations that is an object, bare where there is none. The ``dataset`` list gives edges to ``*``. An INDIRECT edge
that stands for ``*``, or for every field that has any edge (two at least), stands for ``*`` alone: the compact and the
legacy layout of the facet give one graph.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import msgspec

from headwater_avro.canonical import Json, canonical, parsed
from headwater_avro.names import Key, is_name, key_of
from headwater_graph.rules.facets import Members, members, text_member

WHOLE = "*"
"""The field that stands for a whole dataset."""


class Source(NamedTuple):
    """Where a column edge comes from, and how: all of an edge but its target."""

    dataset: Key
    field: str
    type: str | None
    subtype: str | None
    masking: bool
    description: str | None


Edges: TypeAlias = dict[str, set[Source]]
"""Output field (or ``*``) -> the edges that reach it."""


@lru_cache(maxsize=1)
def facet_edges(facet: bytes | None) -> Edges:
    """Return the column edges of a ``columnLineage`` facet, reduced as specification 6.5 says; empty where it tells none.

    The last ones are remembered, as edges of one large facet are written by many transactions: never change them.
    """
    edges: Edges = {}
    known: dict[Hashable, tuple[Source, ...]] = {}
    for target, listed in _told(facet):
        _add(edges, target, listed, known)
    return reduced(edges)


def _told(facet: bytes | None) -> Iterator[tuple[str, Json | None]]:
    """Yield (output field or ``*``, what is listed as its inputs); of a large facet one field is parsed at a time."""
    told = _raw_members(facet)
    fields = _raw_members(told.get("fields"))
    for name, lineage in fields.items():
        if is_name(name):
            yield name, members(bytes(lineage)).get("inputFields")
    if "dataset" in told:
        yield WHOLE, parsed(bytes(told["dataset"]))


def _raw_members(text: bytes | msgspec.Raw | None) -> Mapping[str, bytes | msgspec.Raw]:
    """Return the members of a JSON object as texts, none for anything else."""
    if text is None:
        return {}
    try:
        return _members_of(text)
    except msgspec.ValidationError:
        return {}
    except msgspec.DecodeError:
        # A lone surrogate, which only the slower parser reads (specification 2.1).
        return {name: canonical(value).encode() for name, value in members(bytes(text)).items()}


_members_of = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def _add(edges: Edges, target: str, listed: Json | None, known: dict[Hashable, tuple[Source, ...]]) -> None:
    references = listed if isinstance(listed, list) else []
    found = {source for reference in references for source in _known_sources(reference, known)}
    if found:
        edges.setdefault(target, set()).update(found)


def _known_sources(reference: Json, known: dict[Hashable, tuple[Source, ...]]) -> tuple[Source, ...]:
    """Return the edges of one input field; a wide table's facet names each input once for every output field."""
    if not isinstance(reference, dict):
        return ()
    # As text: how an input is transformed can't be a key itself.
    name = tuple(map(repr, map(reference.get, _TELLING)))
    if name not in known:
        known[name] = tuple(sources_of(reference))
    return known[name]


_TELLING = ("namespace", "name", "field", "transformations")


def sources_of(reference: Json) -> Iterator[Source]:
    """Yield the edges that one input field stands for: one for each transformation, bare where there is none."""
    dataset = key_of(reference)
    if dataset is None or not isinstance(reference, dict):
        return
    field = reference.get("field")
    if not isinstance(field, str) or not is_name(field):
        return
    listed = reference.get("transformations")
    how = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    for transformation in how or [{}]:
        yield _source(dataset, field, transformation)


def _source(dataset: Key, field: str, how: Members) -> Source:
    return Source(
        dataset,
        field,
        text_member(how, "type"),
        text_member(how, "subtype"),
        how.get("masking") is True,
        text_member(how, "description"),
    )


def reduced(edges: Edges) -> Edges:
    """Return the edges with each INDIRECT one that stands for ``*`` or for every field standing for ``*`` alone."""
    named = [sources for target, sources in edges.items() if target != WHOLE and sources]
    whole = {source for source in edges.get(WHOLE, ()) if source.type == "INDIRECT"}
    if len(named) >= 2:
        # Starting from the smallest set keeps the legacy layout of wide tables, a near cartesian product, cheap.
        least = min(named, key=len)
        whole |= {source for source in least if source.type == "INDIRECT" and all(source in one for one in named)}
    left = {target: sources - whole for target, sources in edges.items() if target != WHOLE}
    left[WHOLE] = edges.get(WHOLE, set()) | whole
    return {target: sources for target, sources in left.items() if sources}
