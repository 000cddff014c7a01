"""Lineage of columns (specification 6.5): from field to field, through other names of a dataset and the field ``*`` at no cost.

The field ``*`` of a dataset stands for all its columns: what derives ``*`` acts on every column, so one goes from a
column to ``*`` on the way upstream, and from ``*`` to every column that goes on, on the way downstream. The two
directions therefore agree: a is upstream of b exactly if b is downstream of a.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from headwater_graph.queries.answers import Answer, Cut, Direction, Edge, Node
from headwater_graph.queries.catalog.activity import active_keys
from headwater_graph.queries.catalog.finding import NotFound
from headwater_graph.queries.catalog.node_status import time_text, told
from headwater_graph.queries.keys import dataset_node_key, field_node_key, job_node_key
from headwater_graph.queries.lineage.lineage import in_order
from headwater_graph.queries.lineage.traversal import Limits
from headwater_graph.queries.reader import GraphReader, Row

WHOLE = "*"


@dataclass(slots=True)
class ColumnWalk:
    """A walk over fields under way; read ``nodes``, ``edges`` and ``cuts`` afterwards."""

    reader: GraphReader
    direction: Direction
    limits: Limits
    active_since: datetime | None = None
    nodes: dict[str, Node] = field(default_factory=dict)
    edges: dict[tuple[Any, ...], Edge] = field(default_factory=dict)
    cuts: list[Cut] = field(default_factory=list)
    _names: dict[tuple[str, str], frozenset[tuple[str, str]]] = field(default_factory=dict)
    _full: bool = False

    def go(self, start: Sequence[Node]) -> None:
        """Walk from some fields until nothing new is met or a limit says stop."""
        self.nodes.update((node.key, node) for node in start)
        frontier, depth = self._with_kin([node.key for node in start], 0), 0
        while frontier and not self._full:
            rows = self._neighbours(frontier)
            if depth == self.limits.depth:
                self._close(rows)
                return
            depth += 1
            met = [row["key"] for row in rows if self._meet(row, depth)]
            for row in rows:
                self._connect(row)
            frontier = self._with_kin(met, depth)

    def _neighbours(self, fields: Sequence[str]) -> list[Row]:
        limits = {"fan": self.limits.neighbours, "rows": self.limits.rows}
        rows = self.reader.rows(f"{self.direction}_fields", keys=list(fields), **limits)
        shown: dict[str, int] = {}
        for row in rows:
            shown[row["at"]] = shown.get(row["at"], 0) + 1
        for row in rows:
            if row["total"] > shown.get(row["at"], row["total"]):
                self.cuts.append(Cut(row["at"], "neighbours", shown.pop(row["at"]), row["total"]))
        if len(rows) >= self.limits.rows:
            self._cut_size()
        return rows if self.active_since is None else self._of_active(rows, self.active_since)

    def _of_active(self, rows: Sequence[Row], since: datetime) -> list[Row]:
        """The edges that jobs in use tell."""
        keys = {row["job"]: job_node_key(*json.loads(row["job"])) for row in rows}
        alive = active_keys(self.reader, "job", keys.values(), since)
        return [row for row in rows if keys[row["job"]] in alive]

    def _meet(self, row: Row, depth: int) -> bool:
        """Add a field; tell whether it is met for the first time."""
        if row["key"] in self.nodes:
            return False
        if len(self.nodes) >= self.limits.nodes:
            self._cut_size()
            return False
        self.nodes[row["key"]] = Node(row["key"], "column", (row["namespace"], row["dataset"], row["name"]), depth)
        return True

    def _connect(self, row: Row) -> None:
        """Add the edge of a row if both ends are shown."""
        if row["key"] not in self.nodes:
            return
        ends = (row["key"], row["at"]) if self.direction == "upstream" else (row["at"], row["key"])
        names = ("type", "subtype", "masking", "description", "undeclared")
        facts = told({"job": json.loads(row["job"]), **{name: row[name] for name in names}})
        self._add(Edge(*ends, "derives", facts))

    def _close(self, rows: Sequence[Row]) -> None:
        beyond: dict[str, set[str]] = {}
        for row in rows:
            if row["key"] in self.nodes:
                self._connect(row)
            else:
                beyond.setdefault(row["at"], set()).add(row["key"])
        self.cuts += [Cut(at, "depth", 0, len(keys)) for at, keys in sorted(beyond.items())]

    def _with_kin(self, fields: Sequence[str], depth: int) -> list[str]:
        """Return the fields with those that are the same thing by another name, at the same depth."""
        level = fresh = list(fields)
        while fresh:
            wanted = self._other_names(fresh) + self._whole_of(fresh)
            rows = self.reader.rows("fields_by_key", keys=sorted({key for _, key, _ in wanted})) if wanted else []
            there = {row["key"]: row for row in rows} | {row["key"]: row for row in self._columns_of(fresh)}
            met = [key for key, row in there.items() if self._meet(row, depth)]
            for at, key, kind in [
                *wanted,
                *((row["at"], row["key"], "covers") for row in there.values() if row.get("at")),
            ]:
                if key in self.nodes:
                    self._add(_kin_edge(at, key, kind, self.nodes))
            level, fresh = level + met, met
        return level

    def _other_names(self, fields: Sequence[str]) -> list[tuple[str, str, str]]:
        """(field, the same field under another name of its dataset, "alias") (specification 6.7)."""
        datasets = {self.nodes[key].name[:2] for key in fields}
        self._learn_names([name for name in sorted(datasets) if name not in self._names])
        found = []
        for key in fields:
            namespace, dataset, column = self.nodes[key].name
            found += [(key, field_node_key(*name, column), "alias") for name in sorted(self._names[namespace, dataset])]
        return found

    def _learn_names(self, datasets: Sequence[tuple[str, ...]]) -> None:
        for namespace, name in datasets:
            self._names[namespace, name] = frozenset()
        keys = {dataset_node_key(*name): name for name in datasets}
        rows = self.reader.rows("aliases", keys=sorted(keys), rows=self.limits.rows) if keys else []
        for row in rows:
            at = keys[row["at"]]
            self._names[at[0], at[1]] |= {(row["namespace"], row["name"])}

    def _whole_of(self, fields: Sequence[str]) -> list[tuple[str, str, str]]:
        """Upstream: (field, the field ``*`` of its dataset, "covers")."""
        if self.direction == "downstream":
            return []
        names = [(key, self.nodes[key].name) for key in fields]
        return [(key, field_node_key(name[0], name[1], WHOLE), "covers") for key, name in names if name[2] != WHOLE]

    def _columns_of(self, fields: Sequence[str]) -> list[Row]:
        """Downstream: the columns that go on, of datasets that are reached as a whole."""
        whole = [key for key in fields if self.nodes[key].name[2] == WHOLE]
        if self.direction == "upstream" or not whole:
            return []
        return self.reader.rows("columns_that_go_on", keys=whole, rows=self.limits.rows)

    def _add(self, edge: Edge) -> None:
        facts = json.dumps(edge.facts, sort_keys=True)
        self.edges.setdefault((edge.source, edge.target, edge.kind, facts), edge)

    def _cut_size(self) -> None:
        if not self._full:
            self.cuts.append(Cut(None, "size", self.limits.nodes))
        self._full = True


def _kin_edge(at: str, key: str, kind: str, nodes: dict[str, Node]) -> Edge:
    """The edge between two fields that are one thing: from ``*`` to the column; between names in order of the names."""
    first, second = (at, key) if nodes[at].name <= nodes[key].name else (key, at)
    if kind == "covers" and nodes[first].name[2] != WHOLE:
        first, second = second, first
    return Edge(first, second, kind)


def fields_of(reader: GraphReader, dataset: Node, columns: Iterable[str] = ()) -> list[Node]:
    """Return those columns of a dataset that column lineage names; all of them if none are asked for.

    Raises NotFound where a column is asked for of which no lineage is told.
    """
    rows = reader.rows("fields_of_dataset", key=dataset.key)
    known = {row["name"]: Node(row["key"], "column", (*dataset.name, row["name"])) for row in rows}
    wanted = list(columns)
    if missing := [name for name in wanted if name not in known]:
        names = ", ".join(sorted(known)) or "none"
        raise NotFound(f"no column lineage tells of {', '.join(missing)} in {' '.join(dataset.name)}; known: {names}")
    return [known[name] for name in (dict.fromkeys(wanted) or sorted(known))]


def column_lineage(
    reader: GraphReader,
    dataset: Node,
    direction: Direction,
    columns: Iterable[str] = (),
    limits: Limits | None = None,
    active_since: datetime | None = None,
) -> Answer:
    """Return what the columns of a dataset are derived from (upstream) or what is derived from them, now (specification 6.5).

    With ``active_since`` the edges count alone that jobs tell of which a run has ended since.
    """
    start = fields_of(reader, dataset, columns)
    walk = ColumnWalk(reader, direction, limits or Limits(), active_since)
    walk.go(start)
    nodes = tuple(sorted(walk.nodes.values(), key=lambda node: (node.depth, node.name)))
    question = {"direction": direction, "start": list(dataset.name), "kind": "dataset", "depth": walk.limits.depth}
    question["columns"] = [node.name[2] for node in start]
    question |= told({"activeSince": time_text(active_since)})
    keys = tuple(node.key for node in start)
    # Several edges of a kind may be between two columns.
    edges = in_order(sorted(walk.edges.values(), key=lambda edge: str(edge.facts)), nodes)
    return Answer(question, keys, nodes, edges, tuple(walk.cuts))
