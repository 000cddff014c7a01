"""The columnLineage facet of an output: the columns that fit, in order.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..datasets import facets
from ..datasets.facets import Facet
from ..plan.columns import Flow
from ..plan.lineage import NOTHING, Lineage, Source, known_sources
from ..plan.model import Attribute, JsonType

MOST_COLUMNS = 10_000
"""The most columns in a columnLineage facet; further columns are left out."""
MOST_SOURCES = 100_000
"""The most sources in a columnLineage facet; the columns after that are left out (the official integration's limit)."""


@dataclass(frozen=True, slots=True)
class ColumnFacet:
    """A columnLineage facet, and the numbers of columns that it leaves out: unread ones, and those above the limits."""

    facet: Facet
    unread: int
    above_limits: int


def column_facet(
    flow: Flow, attributes: Iterable[tuple[str, Attribute]], order: frozenset[Source], complete: bool
) -> ColumnFacet:
    """Return the facet of named columns with the lineage of ``flow``; ``order`` are more sources that shape all rows.

    A column that ``flow`` does not have is a constant if the plan was read completely, else it was not read.
    """
    found: dict[str, frozenset[Source]] = {}
    members: list[tuple[str, Lineage]] = []
    sources, unread, above_limits = 0, 0, 0
    for name, attribute in attributes:
        value = flow.columns.get(attribute.id, NOTHING if complete else None)
        known = None if value is None else _known(value)
        sources += len(known or ())
        if known is None:
            unread += 1
        elif len(found) == MOST_COLUMNS or sources > MOST_SOURCES:
            above_limits += 1
        else:
            found[name] = known
            nested = _members(name, attribute.type, value) if value is not None else ()
            members.extend((path, member) for path, member in nested if sources + len(members) < MOST_SOURCES)
    for path, member in members:
        known = _known(member)
        if known is not None:
            found.setdefault(path, known)  # a column may have the name of a member, such as `s.amount`
    return ColumnFacet(facets.column_lineage(found.items(), known_sources(flow.rows | order)), unread, above_limits)


def _members(name: str, type_: JsonType, value: Lineage) -> Iterator[tuple[str, Lineage]]:
    """Yield the members of a struct, as readers of the output name them, and those of structs inside it."""
    fields = type_.get("fields", ()) if isinstance(type_, dict) and type_.get("type") == "struct" else ()
    for field in fields:
        path, member = f"{name}.{field['name']}", value.moved_member(str(field["name"]))
        yield path, member
        yield from _members(path, field.get("type"), member)


def _known(value: Lineage) -> frozenset[Source] | None:
    """Return the known sources of a value; None if it has only unknown ones."""
    known = known_sources(value.sources)
    return known if known or not value.sources else None
