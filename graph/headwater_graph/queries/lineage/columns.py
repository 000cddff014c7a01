"""Lineage of columns (specification 6.5): from field to field, through aliases of a dataset and its field ``*`` at no cost.

The field ``*`` of a dataset stands for all its columns. What ``*`` is derived from influences every column, so a traversal
goes from a column to ``*`` upstream, and from ``*`` to every column from which something is derived downstream. The two
directions therefore agree: a is upstream of b exactly if b is downstream of a.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from headwater_avro.guesses import is_guess
from headwater_graph.queries.answers import Answer, Direction, Edge, Node
from headwater_graph.queries.catalog.activity import active_keys
from headwater_graph.queries.catalog.finding import NotFound
from headwater_graph.queries.keys import dataset_node_key, field_node_key, job_node_key
from headwater_graph.queries.lineage.lineage import in_order
from headwater_graph.queries.lineage.scope import TraversalLimits
from headwater_graph.queries.lineage.traversal import Traversal
from headwater_graph.queries.reader import GraphReader, Row
from headwater_graph.queries.values import present, time_text

WHOLE = "*"


@dataclass(slots=True)
class ColumnTraversal(Traversal):
    """The traversal of fields in one direction."""

    reader: GraphReader
    direction: Direction
    active_since: datetime | None = None
    _aliases: dict[tuple[str, str], frozenset[tuple[str, str]]] = field(default_factory=dict)

    def run_from(self, start: Sequence[Node]) -> None:
        """Traverse from some fields."""
        self.nodes.update((node.key, node) for node in start)
        self.run(self._with_equivalents([node.key for node in start], 0))

    def expand(self, frontier: list[str], depth: int) -> list[str]:
        rows = self._neighbours(frontier)
        new = [row["key"] for row in rows if self._reach(row, depth)]
        for row in rows:
            self._connect(row)
        return self._with_equivalents(new, depth)

    def close(self, frontier: list[str]) -> None:
        beyond: dict[str, set[str]] = {}
        for row in self._neighbours(frontier):
            if row["key"] in self.nodes:
                self._connect(row)
            else:
                beyond.setdefault(row["at"], set()).add(row["key"])
        self.truncate_depth(beyond)

    def _neighbours(self, fields: Sequence[str]) -> list[Row]:
        limits = {"fan": self.limits.neighbours, "rows": self.limits.rows}
        rows = self.reader.rows("columns/derived", direction=self.direction, keys=list(fields), **limits)
        self.truncate_neighbours(Counter(row["at"] for row in rows), {row["at"]: row["total"] for row in rows})
        self.truncate_rows(rows)
        return rows if self.active_since is None else self._of_active(rows, self.active_since)

    def _of_active(self, rows: Sequence[Row], since: datetime) -> list[Row]:
        """Return the edges of active jobs."""
        keys = {row["job"]: job_node_key(*json.loads(row["job"])) for row in rows}
        active = active_keys(self.reader, "job", keys.values(), since)
        return [row for row in rows if keys[row["job"]] in active]

    def _reach(self, row: Row, depth: int) -> bool:
        """Add a field; return whether it is reached for the first time."""
        name = (row["namespace"], row["dataset"], row["name"])
        return row["key"] not in self.nodes and self.add(Node(row["key"], "column", name, depth))

    def _connect(self, row: Row) -> None:
        """Add the edge of a row if both ends are shown."""
        if row["key"] not in self.nodes:
            return
        ends = (row["key"], row["at"]) if self.direction == "upstream" else (row["at"], row["key"])
        names = ("type", "subtype", "masking", "description", "undeclared")
        guess = {"guess": is_guess(row["description"]) or None}
        facts = present({"job": json.loads(row["job"]), **{name: row[name] for name in names}, **guess})
        # Two fields may have several edges: one for each job and transformation.
        self.connect(Edge(*ends, "derives", facts), json.dumps(facts, sort_keys=True))

    def _with_equivalents(self, fields: Sequence[str], depth: int) -> list[str]:
        """Return the fields with those that stand for the same column, at the same depth."""
        level = waiting = list(fields)
        while waiting:
            wanted = self._under_aliases(waiting) + self._whole_of(waiting)
            rows = self.reader.rows("columns/by_key", keys=sorted({key for _, key, _ in wanted})) if wanted else []
            columns = self._columns_of(waiting)
            rows = list({row["key"]: row for row in (*rows, *columns)}.values())
            new = [row["key"] for row in rows if self._reach(row, depth)]
            for at, key, kind in [*wanted, *((row["at"], row["key"], "covers") for row in columns)]:
                if key in self.nodes:
                    self.connect(_equivalence(self.nodes[at], self.nodes[key], kind))
            level, waiting = level + new, new
        return level

    def _under_aliases(self, fields: Sequence[str]) -> list[tuple[str, str, str]]:
        """Return (field, the same field under an alias of its dataset, "alias") for some fields (specification 6.7)."""
        self._read_aliases(sorted({self.nodes[key].name[:2] for key in fields} - self._aliases.keys()))
        found = []
        for key in fields:
            namespace, dataset, column = self.nodes[key].name
            found += [
                (key, field_node_key(*name, column), "alias") for name in sorted(self._aliases[namespace, dataset])
            ]
        return found

    def _read_aliases(self, datasets: Sequence[tuple[str, ...]]) -> None:
        keys = {dataset_node_key(*name): (name[0], name[1]) for name in datasets}
        self._aliases.update(dict.fromkeys(keys.values(), frozenset()))
        for row in self.reader.rows("lineage/aliases", keys=sorted(keys), rows=self.limits.rows) if keys else ():
            self._aliases[keys[row["at"]]] |= {(row["namespace"], row["name"])}

    def _whole_of(self, fields: Sequence[str]) -> list[tuple[str, str, str]]:
        """Return, upstream, (field, the field ``*`` of its dataset, "covers") for some fields."""
        if self.direction == "downstream":
            return []
        names = [(key, self.nodes[key].name) for key in fields]
        return [(key, field_node_key(name[0], name[1], WHOLE), "covers") for key, name in names if name[2] != WHOLE]

    def _columns_of(self, fields: Sequence[str]) -> list[Row]:
        """Return, downstream, the columns from which something is derived, of datasets that are reached as a whole."""
        whole = [key for key in fields if self.nodes[key].name[2] == WHOLE]
        if self.direction == "upstream" or not whole:
            return []
        return self.reader.rows("columns/derived_from_columns", keys=whole, rows=self.limits.rows)


def _equivalence(node: Node, other: Node, kind: str) -> Edge:
    """Return the edge between two equivalent fields: from ``*`` to the column; between aliases in the order of the names."""
    if kind == "covers":
        first, second = (node, other) if node.name[2] == WHOLE else (other, node)
    else:
        first, second = sorted((node, other), key=lambda node: node.name)
    return Edge(first.key, second.key, kind)


def fields_of(reader: GraphReader, dataset: Node, columns: Iterable[str] = ()) -> list[Node]:
    """Return these columns of a dataset, or all that have column lineage if none are given.

    Raises NotFound if a column has no column lineage.
    """
    rows = reader.rows("columns/of_dataset", key=dataset.key)
    known = {row["name"]: Node(row["key"], "column", (*dataset.name, row["name"])) for row in rows}
    wanted = list(columns)
    if missing := [name for name in wanted if name not in known]:
        names = ", ".join(sorted(known)) or "none"
        raise NotFound(
            f"{' '.join(dataset.name)} has no column lineage of {', '.join(missing)}; columns with lineage: {names}"
        )
    return [known[name] for name in (dict.fromkeys(wanted) or sorted(known))]


def column_lineage(
    reader: GraphReader,
    dataset: Node,
    direction: Direction,
    columns: Iterable[str] = (),
    limits: TraversalLimits | None = None,
    active_since: datetime | None = None,
) -> Answer:
    """Return what the columns of a dataset are derived from (upstream) or what is derived from them, now (specification 6.5).

    With ``active_since`` only the edges of jobs count of which a run has ended since.
    """
    start = fields_of(reader, dataset, columns)
    traversal = ColumnTraversal(limits or TraversalLimits(), reader, direction, active_since)
    traversal.run_from(start)
    nodes = tuple(sorted(traversal.nodes.values(), key=lambda node: (node.depth, node.name)))
    question = {"direction": direction, "start": list(dataset.name), "kind": "dataset", "depth": traversal.limits.depth}
    question["columns"] = [node.name[2] for node in start]
    question |= present({"activeSince": time_text(active_since)})
    keys = tuple(node.key for node in start)
    edges = in_order(sorted(traversal.edges.values(), key=lambda edge: str(edge.facts)), nodes)
    return Answer(question, keys, nodes, edges, traversal.truncations)
