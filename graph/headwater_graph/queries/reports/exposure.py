"""The report ``exposure``: columns that hold tagged data now, along column lineage, without being tagged themselves.

Theory of operation. A tag of a dataset is one of all its columns. From the tagged columns the traversal of columns goes
downstream, level by level, all columns of a level in one statement; edges that do not hand a tag on are left out of each level.
What it reaches at a distance of 1 or more, and is not tagged, is exposed. INDIRECT edges say that a column influences another
one, as a filter does, and not that it holds its data: they are followed in a second traversal, on request, which finds what the
first one does not.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any

import msgspec

from headwater_graph.model.tags import Tag, tags_of
from headwater_graph.queries.answers import Edge, Name, Node
from headwater_graph.queries.keys import dataset_node_key
from headwater_graph.queries.lineage.columns import ColumnTraversal
from headwater_graph.queries.lineage.scope import TraversalLimits
from headwater_graph.queries.reader import GraphReader, Row
from headwater_graph.queries.reports.reports import Report

NAME = "exposure"
TITLE = "columns that hold tagged data and are not tagged"
HEAD = ("namespace", "dataset", "column", "tag", "distance", "through", "way", "owners", "readers")

MOST_TAGGED = 100_000
"""How many datasets with tags are read."""
MOST_TAGS = 100
"""How many tags are followed where none is named."""
LIMITS = TraversalLimits(depth=None, neighbours=10_000, nodes=50_000)
"""How far the data of a tag are followed."""
READERS = 5
"""How many of the jobs that read a dataset are named."""


class _TagsOnly(msgspec.Struct):
    """The facets of a dataset of which only the tags are decoded."""

    tags: Any = None


_FACETS = msgspec.json.Decoder(_TagsOnly)


@dataclass(frozen=True, slots=True)
class ExposureQuery:
    """Which columns the report lists: those that hold data with a ``tag`` (None: with any).

    ``indirect``: also those that INDIRECT edges lead to. Masking ends every tag but those ``through_masking``. With
    ``active_since`` only the edges of jobs count of which a run has ended since.
    """

    tag: str | None = None
    indirect: bool = False
    through_masking: frozenset[str] = frozenset()
    active_since: datetime | None = None


@dataclass(slots=True)
class ExposureTraversal(ColumnTraversal):
    """The traversal of columns along the edges that hand a tag on."""

    indirect: bool = False
    is_through_masking: bool = False

    def _neighbours(self, fields: Sequence[str]) -> list[Row]:
        # A dataclass with slots is another class than the one that super() without arguments means.
        return [row for row in ColumnTraversal._neighbours(self, fields) if self._hands_on(row)]

    def _hands_on(self, row: Row) -> bool:
        if row["masking"] and not self.is_through_masking:
            return False
        return self.indirect or row["type"] != "INDIRECT"


@dataclass(frozen=True, slots=True)
class Exposed:
    """A column with data of a tag, its distance from a tagged column in jobs, and one way there, a tagged column first."""

    tag: str
    column: Name
    distance: int
    through: str
    way: tuple[Name, ...]


@dataclass(slots=True)
class _Tagged:
    """The datasets that have a tag as a whole, by key, and the columns that have it: (key of the dataset, column)."""

    datasets: set[str] = field(default_factory=set)
    columns: set[tuple[str, str]] = field(default_factory=set)


def exposure(reader: GraphReader, query: ExposureQuery, limit: int = 100, skip: int = 0) -> Report:
    """Return the report without its first ``skip`` findings: the nearest columns first."""
    tagged, is_whole = _tagged(reader, query.tag)
    found: list[Exposed] = []
    for tag, starts in islice(tagged.items(), MOST_TAGS):
        exposed, complete = _exposed(reader, tag, starts, query)
        found += exposed
        is_whole = is_whole and complete
    found.sort(key=lambda each: (each.distance, each.through, each.column, each.tag))
    shown = found[skip : skip + limit]
    truncated = len(found) > skip + limit or not is_whole or len(tagged) > MOST_TAGS
    return Report(NAME, TITLE, HEAD, _rows(reader, shown), truncated)


def _tagged(reader: GraphReader, wanted: str | None) -> tuple[dict[str, _Tagged], bool]:
    """Return what has each tag, or the named one, under all its aliases; and whether that is all of it."""
    text = None if wanted is None else _beginning(wanted)
    rows = reader.rows("reports/tagged_datasets", text=text, rows=MOST_TAGGED)
    tags = {row["key"]: [tag for tag in _tags(row) if wanted is None or tag.is_named(wanted)] for row in rows}
    aliases = _aliases(reader, [key for key, listed in tags.items() if listed])
    tagged: dict[str, _Tagged] = {}
    for key, listed in tags.items():
        for tag in listed:
            _add(tagged.setdefault(wanted or tag.name, _Tagged()), {key} | aliases.get(key, set()), tag)
    return dict(sorted(tagged.items())), len(rows) < MOST_TAGGED


def _beginning(tag: str) -> str:
    """Return how a tag's key begins in the JSON text of facets; a name may have the value after a colon."""
    return json.dumps(tag.partition(":")[0], ensure_ascii=False)[:-1]


def _tags(row: Row) -> list[Tag]:
    return tags_of({"tags": _FACETS.decode(row["facets"]).tags})


def _add(into: _Tagged, keys: Iterable[str], tag: Tag) -> None:
    if tag.field is None:
        into.datasets.update(keys)
    else:
        into.columns.update((key, tag.field) for key in keys)


def _aliases(reader: GraphReader, keys: Sequence[str]) -> dict[str, set[str]]:
    """Return the keys of all aliases of some datasets (specification 6.7), by key."""
    neighbours: dict[str, set[str]] = {}
    waiting = set(keys)
    while waiting:
        rows = reader.rows("lineage/aliases", keys=sorted(waiting), rows=LIMITS.rows)
        for row in rows:
            neighbours.setdefault(row["at"], set()).add(row["key"])
        waiting = {row["key"] for row in rows} - neighbours.keys()
    return {key: _closure(key, neighbours) for key in keys if key in neighbours}


def _closure(key: str, neighbours: Mapping[str, Collection[str]]) -> set[str]:
    found, waiting = {key}, [key]
    while waiting:
        new = set(neighbours.get(waiting.pop(), ())) - found
        found |= new
        waiting += new
    return found - {key}


def _exposed(reader: GraphReader, tag: str, tagged: _Tagged, query: ExposureQuery) -> tuple[list[Exposed], bool]:
    """Return the columns that hold data of a tag, and whether these are all."""
    starts = [row for row in _fields(reader, tagged) if _has(tagged, row["at"], row["name"])]
    nodes = [Node(row["key"], "column", (row["namespace"], row["dataset"], row["name"])) for row in starts]
    direct = _reached(reader, tag, nodes, query, indirect=False)
    traversals = [("DIRECT", direct)]
    if query.indirect:
        traversals.append(("INDIRECT", _reached(reader, tag, nodes, query, indirect=True)))
    found: dict[str, Exposed] = {}
    for through, traversal in traversals:
        ways = _ways(traversal)
        for node in traversal.nodes.values():
            dataset = dataset_node_key(node.name[0], node.name[1])
            if node.depth and node.key not in found and not _has(tagged, dataset, node.name[2]):
                found[node.key] = Exposed(tag, node.name, node.depth, through, _way(node.key, ways, traversal.nodes))
    return list(found.values()), not any(traversal.truncations for _, traversal in traversals)


def _fields(reader: GraphReader, tagged: _Tagged) -> list[Row]:
    keys = sorted(tagged.datasets | {key for key, _ in tagged.columns})
    return reader.rows("columns/of_datasets", keys=keys, rows=LIMITS.rows) if keys else []


def _has(tagged: _Tagged, dataset: str, column: str) -> bool:
    return dataset in tagged.datasets or (dataset, column) in tagged.columns


def _reached(
    reader: GraphReader, tag: str, starts: Sequence[Node], query: ExposureQuery, indirect: bool
) -> ExposureTraversal:
    traversal = ExposureTraversal(
        LIMITS,
        reader,
        "downstream",
        query.active_since,
        indirect=indirect,
        is_through_masking=tag in query.through_masking,
    )
    traversal.run_from(starts)
    return traversal


def _ways(traversal: ExposureTraversal) -> dict[str, str]:
    """Return for each column the one before it on a shortest way from a tagged column; none for those at distance 0."""
    derived: dict[str, list[str]] = {}
    equal: dict[str, list[str]] = {}
    for edge in traversal.edges.values():
        if edge.kind == "derives":
            derived.setdefault(edge.target, []).append(edge.source)
        else:
            for one, other in _equal_ends(edge):
                equal.setdefault(one, []).append(other)
    nodes = traversal.nodes
    before: dict[str, str] = {}
    for node in sorted((node for node in nodes.values() if node.depth), key=lambda node: (node.depth, node.name)):
        sources = [key for key in derived.get(node.key, ()) if nodes[key].depth == node.depth - 1]
        if sources:
            before[node.key] = min(sources, key=lambda key: nodes[key].name)
    waiting = deque(before)
    while waiting:
        at = waiting.popleft()
        for key in equal.get(at, ()):
            if key not in before and nodes[key].depth == nodes[at].depth:
                before[key] = at
                waiting.append(key)
    return before


def _equal_ends(edge: Edge) -> list[tuple[str, str]]:
    """Return from which end of an edge between equal columns the other is reached: of aliases from both."""
    ends = (edge.source, edge.target)
    return [ends, ends[::-1]] if edge.kind == "alias" else [ends]


def _way(key: str, before: Mapping[str, str], nodes: Mapping[str, Node]) -> tuple[Name, ...]:
    way = [key]
    while way[-1] in before:
        way.append(before[way[-1]])
    return tuple(nodes[each].name for each in reversed(way))


def _rows(reader: GraphReader, found: Sequence[Exposed]) -> tuple[tuple[str | int, ...], ...]:
    keys = {dataset_node_key(each.column[0], each.column[1]) for each in found}
    rows = reader.rows("reports/exposed_datasets", keys=sorted(keys), fan=READERS) if keys else []
    known = {row["key"]: row for row in rows}
    return tuple(_row(each, known.get(dataset_node_key(each.column[0], each.column[1]))) for each in found)


def _row(found: Exposed, dataset: Row | None) -> tuple[str | int, ...]:
    owners = ", ".join(dataset["owners"]) if dataset else ""
    way = " -> ".join(column_text(name) for name in found.way)
    return (*found.column, found.tag, found.distance, found.through, way, owners, _readers(dataset) if dataset else "")


def _readers(dataset: Row) -> str:
    names = [" ".join(name) for name in sorted(dataset["readers"])]
    more = dataset["total"] - len(names)
    return ", ".join([*names, *([f"+{more} more"] if more > 0 else [])])


def column_text(name: Name) -> str:
    """Return a column as one text, ``namespace#dataset.column``."""
    return f"{name[0]}#{name[1]}.{name[2]}"
