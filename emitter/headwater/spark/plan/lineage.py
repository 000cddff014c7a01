"""The algebra of column lineage: what a value is made of, and how two steps make one.

Pure. The law of composition is the official integration's: an INDIRECT step wins over a DIRECT one, of two the one nearer
to the output, but a WINDOW stays a WINDOW; of two DIRECT steps the first of AGGREGATION, TRANSFORMATION, IDENTITY; masking
is their OR.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class Kind(NamedTuple):
    """How an input shapes an output: the ``transformations`` item of the columnLineage facet (1-2-0)."""

    type: str
    subtype: str
    masking: bool = False
    description: str = ""


IDENTITY = Kind("DIRECT", "IDENTITY")
TRANSFORMATION = Kind("DIRECT", "TRANSFORMATION")
AGGREGATION = Kind("DIRECT", "AGGREGATION")
ACCESS = Kind("DIRECT", "ACCESS")
"""A part of a value taken out of it: told as TRANSFORMATION, but further parts can still be named."""
_STRENGTH = {"IDENTITY": 0, "ACCESS": 1, "TRANSFORMATION": 2, "AGGREGATION": 3}
_WHOLE = frozenset({"IDENTITY", "ACCESS"})


def indirect(subtype: str) -> Kind:
    """An INDIRECT kind: JOIN, FILTER, GROUP_BY, SORT, WINDOW or CONDITIONAL."""
    return Kind("INDIRECT", subtype)


def compose(outer: Kind, inner: Kind) -> Kind:
    """One step after another; ``outer`` is the one nearer to the output."""
    masking = outer.masking or inner.masking
    description = outer.description or inner.description
    if outer.type == "INDIRECT" or inner.type == "INDIRECT":
        stays = inner.subtype == "WINDOW" or outer.type != "INDIRECT"
        winner = inner if stays and inner.type == "INDIRECT" else outer
    else:
        winner = max(outer, inner, key=lambda kind: _STRENGTH.get(kind.subtype, 1))
    return Kind(winner.type, winner.subtype, masking, description)


class Source(NamedTuple):
    """One column of one dataset and how it is used; ``inner`` is the place in a collection that was gone into."""

    namespace: str
    name: str
    field: str
    kind: Kind = IDENTITY
    inner: str = ""


@dataclass(frozen=True, slots=True)
class Lineage:
    """What a value is made of; ``parts`` knows the members of a struct apart, ``base`` the struct they were put into."""

    sources: frozenset[Source] = frozenset()
    parts: Mapping[str, Lineage] = field(default_factory=dict)
    base: Lineage | None = None

    def through(self, kind: Kind) -> Lineage:
        """The same value after one more step; an identity keeps the members apart."""
        if kind == IDENTITY:
            return self
        return Lineage(frozenset(s._replace(kind=compose(kind, s.kind)) for s in self.sources))

    def member(self, name: str) -> Lineage:
        """A member of this struct: as it was put in where that is known, else the nested field of each source."""
        known = self.parts.get(name)
        if known is not None:
            return known
        below = self.base if self.base is not None else self
        if below is not self:
            return below.member(name)
        return Lineage(frozenset(_nested(s, name) for s in self.sources))

    def element(self, place: str) -> Lineage:
        """An element of this collection: ``_element``, ``key`` or ``value``, as the schema facet calls them."""
        return Lineage(frozenset(_inside(s, place) for s in self.sources))


def _nested(source: Source, name: str) -> Source:
    if source.kind.subtype not in _WHOLE:
        return source
    return source._replace(field=f"{source.field}{source.inner}.{name}", kind=compose(ACCESS, source.kind), inner="")


def _inside(source: Source, place: str) -> Source:
    if source.kind.subtype not in _WHOLE:
        return source
    return source._replace(kind=compose(ACCESS, source.kind), inner=f"{source.inner}.{place}")


NOTHING = Lineage()


def united(lineages: Iterable[Lineage]) -> Lineage:
    """Several values that all go into one place."""
    found = list(lineages)
    if len(found) == 1:
        return found[0]
    sources = frozenset(s for one in found for s in one.sources)
    names = {name for one in found for name in one.parts}
    return Lineage(sources, {name: united([one.member(name) for one in found]) for name in names})
