"""The algebra of column lineage: the sources of a value, and the composition of steps.  Pure.

Theory of operation. A value has a set of sources, each with the kind of influence that it has. Every plan node and every
expression adds a step, so kinds compose along a path, with the official integration's rules: an INDIRECT step wins over a
DIRECT one, of two INDIRECT steps the one nearer to the output, except that a WINDOW stays a WINDOW; of two DIRECT steps
the first of AGGREGATION, TRANSFORMATION, IDENTITY; masking is their OR. A struct also has the lineage of its members, as
long as each step is an identity: so a member that is taken out again has the sources of that member only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class TransformationKind(NamedTuple):
    """The influence of an input on an output: a ``transformations`` item of the columnLineage facet."""

    type: str
    subtype: str
    masking: bool = False
    description: str = ""


IDENTITY = TransformationKind("DIRECT", "IDENTITY")
TRANSFORMATION = TransformationKind("DIRECT", "TRANSFORMATION")
AGGREGATION = TransformationKind("DIRECT", "AGGREGATION")
ACCESS = TransformationKind("DIRECT", "ACCESS")
"""A part taken out of a value: published as TRANSFORMATION, but parts of it can still be named."""
_STRENGTH = {"IDENTITY": 0, "ACCESS": 1, "TRANSFORMATION": 2, "AGGREGATION": 3}
_WHOLE = frozenset({"IDENTITY", "ACCESS"})


def indirect(subtype: str) -> TransformationKind:
    """Return an INDIRECT kind: JOIN, FILTER, GROUP_BY, SORT, WINDOW or CONDITIONAL."""
    return TransformationKind("INDIRECT", subtype)


def compose(outer: TransformationKind, inner: TransformationKind) -> TransformationKind:
    """Return the kind of two steps; ``outer`` is the one nearer to the output."""
    masking = outer.masking or inner.masking
    description = outer.description or inner.description
    if outer.type == "INDIRECT" or inner.type == "INDIRECT":
        inner_wins = inner.subtype == "WINDOW" or outer.type != "INDIRECT"
        winner = inner if inner_wins and inner.type == "INDIRECT" else outer
    else:
        winner = max(outer, inner, key=lambda kind: _STRENGTH.get(kind.subtype, 1))
    return TransformationKind(winner.type, winner.subtype, masking, description)


class Source(NamedTuple):
    """A column of a dataset and how it is used; ``inner`` is the path into a collection, such as ``._element``."""

    namespace: str
    name: str
    field: str
    kind: TransformationKind = IDENTITY
    inner: str = ""


@dataclass(frozen=True, slots=True)
class Lineage:
    """The sources of a value.

    ``parts`` has the lineage of a struct's members, ``base`` that of the struct whose members they replace.
    """

    sources: frozenset[Source] = frozenset()
    parts: Mapping[str, Lineage] = field(default_factory=dict)
    base: Lineage | None = None

    def through(self, kind: TransformationKind) -> Lineage:
        """Return the value after one more step; only an identity retains the members of a struct."""
        if kind == IDENTITY:
            return self
        return Lineage(frozenset(s._replace(kind=compose(kind, s.kind)) for s in self.sources))

    def member(self, name: str) -> Lineage:
        """Return a member of this struct: its own lineage where it is known, else the nested field of each source."""
        known = self.parts.get(name)
        if known is not None:
            return known
        below = self.base if self.base is not None else self
        if below is not self:
            return below.member(name)
        return Lineage(frozenset(_nested(s, name) for s in self.sources))

    def moved_member(self, name: str) -> Lineage:
        """Return a member of this struct where it stays in the struct: a member of a source taken as it is, is so, too."""
        if self.parts or self.base is not None:
            return self.member(name)
        moved = (
            s._replace(field=f"{s.field}{s.inner}.{name}", inner="") if s.kind == IDENTITY else _nested(s, name)
            for s in self.sources
        )
        return Lineage(frozenset(moved))

    def element(self, place: str) -> Lineage:
        """Return an element of this collection: ``_element``, ``key`` or ``value``, as in the schema facet."""
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
UNREAD = Lineage(frozenset({Source("", "", "")}))
"""The lineage of a value whose sources are not known; the key of a dataset is never empty."""


def known_sources(sources: Iterable[Source]) -> frozenset[Source]:
    """Return the sources without those that are not known."""
    return frozenset(source for source in sources if source.namespace)


def union(lineages: Iterable[Lineage]) -> Lineage:
    """Return the lineage of a value that is one of several, or is computed from all of them."""
    values = list(lineages)
    if len(values) == 1:
        return values[0]
    sources = frozenset(s for value in values for s in value.sources)
    names = {name for value in values for name in value.parts}
    return Lineage(sources, {name: union([value.member(name) for value in values]) for name in names})
