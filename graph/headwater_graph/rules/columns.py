"""Specification 6.5: the column edges that a ``columnLineage`` facet gives for one output.

Each output field has an edge from each of its input fields (valid namespace, name and field), one for each of the
transformations that is an object, or one without properties if there is none. The list ``dataset`` gives edges to ``*``.
An INDIRECT edge that leads to ``*``, or to every field that has any edge (at least two), leads to ``*`` alone. So the
compact and the legacy layout of the facet give one graph.
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
    """A column edge without its target: the field that it comes from, and the transformation."""

    dataset: Key
    field: str
    type: str | None
    subtype: str | None
    masking: bool
    description: str | None


Edges: TypeAlias = dict[str, set[Source]]
"""Output field (or ``*``) -> the edges that lead to it."""


@lru_cache(maxsize=1)
def facet_edges(facet: bytes | None) -> Edges:
    """Return the reduced column edges of a ``columnLineage`` facet, ``{}`` if it gives none (specification 6.5).

    The last result is cached, because many transactions write the edges of one large facet: never change it.
    """
    edges: Edges = {}
    known: dict[Hashable, tuple[Source, ...]] = {}
    for target, references in _inputs_by_field(facet):
        _add(edges, target, references, known)
    return reduced(edges)


def _inputs_by_field(facet: bytes | None) -> Iterator[tuple[str, Json | None]]:
    """Yield (output field or ``*``, the list of its inputs); a large facet is parsed field by field."""
    lineage_members = _raw_members(facet)
    for name, lineage in _raw_members(lineage_members.get("fields")).items():
        if is_name(name):
            yield name, members(bytes(lineage)).get("inputFields")
    if "dataset" in lineage_members:
        yield WHOLE, parsed(bytes(lineage_members["dataset"]))


def _raw_members(text: bytes | msgspec.Raw | None) -> Mapping[str, bytes | msgspec.Raw]:
    """Return the members of a JSON object as texts, ``{}`` for anything else."""
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


def _add(edges: Edges, target: str, references: Json | None, known: dict[Hashable, tuple[Source, ...]]) -> None:
    if not isinstance(references, list):
        return
    found = {source for reference in references for source in _known_sources(reference, known)}
    if found:
        edges.setdefault(target, set()).update(found)


def _known_sources(reference: Json, known: dict[Hashable, tuple[Source, ...]]) -> tuple[Source, ...]:
    """Return the edges of an input field; the facet of a wide table repeats each input for every output field."""
    if not isinstance(reference, dict):
        return ()
    # As texts, because the list of transformations is not hashable.
    name = tuple(map(repr, map(reference.get, _EDGE_MEMBERS)))
    if name not in known:
        known[name] = tuple(sources_of(reference))
    return known[name]


_EDGE_MEMBERS = ("namespace", "name", "field", "transformations")


def sources_of(reference: Json) -> Iterator[Source]:
    """Yield the edges of one input field: one for each transformation, or one without properties if there is none."""
    dataset = key_of(reference)
    if dataset is None or not isinstance(reference, dict):
        return
    field = reference.get("field")
    if not isinstance(field, str) or not is_name(field):
        return
    listed = reference.get("transformations")
    transformations = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    for transformation in transformations or [{}]:
        yield _source(dataset, field, transformation)


def _source(dataset: Key, field: str, transformation: Members) -> Source:
    return Source(
        dataset,
        field,
        text_member(transformation, "type"),
        text_member(transformation, "subtype"),
        transformation.get("masking") is True,
        text_member(transformation, "description"),
    )


def reduced(edges: Edges) -> Edges:
    """Return the edges in which an INDIRECT edge to ``*`` or to every field leads to ``*`` alone."""
    named = [sources for target, sources in edges.items() if target != WHOLE and sources]
    whole = {source for source in edges.get(WHOLE, ()) if source.type == "INDIRECT"}
    if len(named) >= 2:
        # Starting from the smallest set keeps the legacy layout of wide tables, a near cartesian product, cheap.
        least = min(named, key=len)
        whole |= {
            source for source in least if source.type == "INDIRECT" and all(source in sources for sources in named)
        }
    left = {target: sources - whole for target, sources in edges.items() if target != WHOLE}
    left[WHOLE] = edges.get(WHOLE, set()) | whole
    return {target: sources for target, sources in left.items() if sources}
