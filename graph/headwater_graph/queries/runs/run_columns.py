"""Column lineage of runs (specification 5.6): from column to column through the dataset versions that runs read and wrote.

The edges are read from the records of the runs between the versions of a level, a bounded number of records at a time.
A traversal goes from a column to ``*`` of its version upstream, and from ``*`` to the columns of its version downstream, as
that of the current graph does (``queries/lineage/columns.py``).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from headwater_avro.guesses import is_guess
from headwater_avro.names import Key
from headwater_graph.model.records import RunRecord, unpack
from headwater_graph.queries.answers import Answer, Direction, Edge, Kind, Node, nearest_first
from headwater_graph.queries.catalog.finding import NotFound
from headwater_graph.queries.lineage.lineage import in_order
from headwater_graph.queries.lineage.scope import TraversalLimits
from headwater_graph.queries.lineage.traversal import Traversal
from headwater_graph.queries.reader import GraphReader, Row
from headwater_graph.queries.runs.runs import VersionUse, version_use
from headwater_graph.queries.values import present
from headwater_graph.rules.columns import WHOLE, Source
from headwater_graph.rules.run_columns import run_columns
from headwater_graph.rules.runs import RunReading, read_run

RECORDS_AT_ONCE = 50
"""How many records of runs are in memory at one time."""


class VersionColumn(NamedTuple):
    """A column of a dataset version; ``version`` is None for a dataset of which the run read no version."""

    dataset: Key
    version: str | None
    column: str

    def node(self, depth: int) -> Node:
        """Return the node of an answer."""
        kind: Kind = "column" if self.version is None else "versionColumn"
        name = (*self.dataset, *([] if self.version is None else [self.version]), self.column)
        return Node(json.dumps([kind, *name]), kind, name, depth)


BothSides: TypeAlias = tuple[Mapping[Key, str], Mapping[Key, str]]
"""The versions on the side of a run that is nearer to the start, and on the other side, by dataset."""


class Step(NamedTuple):
    """One edge, and the run that states it."""

    source: VersionColumn
    target: VersionColumn
    facts: Mapping[str, Any]


@dataclass(slots=True)
class RunColumnTraversal(Traversal):
    """The traversal of the columns of dataset versions in one direction."""

    reader: GraphReader
    direction: Direction

    def expand(self, frontier: list[str], depth: int) -> list[str]:
        return [key for at, step in self._steps(frontier) for key in self._reach(at, step, depth)]

    def close(self, frontier: list[str]) -> None:
        beyond: dict[str, set[VersionColumn]] = {}
        for at, step in self._steps(frontier):
            near, far = self._ends(step)
            if far.node(0).key in self.nodes and near.node(0).key in self.nodes:
                self._connect(step)
            else:
                beyond.setdefault(at.key, set()).add(far)
        self.truncate_depth(beyond)

    def _ends(self, step: Step) -> tuple[VersionColumn, VersionColumn]:
        """Return the end of a step that is nearer to the start, and the other one."""
        return (step.target, step.source) if self.direction == "upstream" else (step.source, step.target)

    def _steps(self, frontier: Sequence[str]) -> Iterator[tuple[Node, Step]]:
        """Yield (node of the level, a step from it or from what stands for the same column)."""
        level: dict[str, list[Node]] = {}
        for key in frontier:
            level.setdefault(self.nodes[key].name[2], []).append(self.nodes[key])
        for reading, versions in self._readings(sorted(level)):
            for step in run_steps(reading, versions, self.direction):
                near, _ = self._ends(step)
                yield from ((at, step) for at in level.get(near.version or "", ()) if self._stands_for(at, near))

    def _stands_for(self, at: Node, near: VersionColumn) -> bool:
        """Return whether a step at a column is one of a node: of the same column, or through ``*``."""
        whole = near.column if self.direction == "upstream" else at.name[3]
        return at.name[:2] == near.dataset and (near.column == at.name[3] or whole == WHOLE)

    def _readings(self, versions: Sequence[str]) -> Iterator[tuple[RunReading, BothSides]]:
        """Yield each run beyond some versions, with the versions on both of its sides."""
        limits = {"fan": self.limits.neighbours, "rows": self.limits.rows}
        rows = self.reader.rows("runs/of_versions", direction=self.direction, keys=list(versions), **limits)
        self._truncate_runs(rows)
        near: dict[str, dict[Key, str]] = {}
        names = {
            node.name[2]: (node.name[0], node.name[1]) for node in self.nodes.values() if node.kind == "versionColumn"
        }
        for row in rows:
            near.setdefault(row["key"], {})[names[row["at"]]] = row["at"]
        keys = sorted(near)
        for at in range(0, len(keys), RECORDS_AT_ONCE):
            for row in self.reader.rows("runs/records", direction=self.direction, keys=keys[at : at + RECORDS_AT_ONCE]):
                if row["record"] is not None:
                    far: dict[Key, str] = {(namespace, name): version for namespace, name, version in row["versions"]}
                    yield read_run(row["id"], unpack(row["record"], RunRecord)), (near[row["key"]], far)

    def _truncate_runs(self, rows: Sequence[Row]) -> None:
        """Record the versions of which not all runs are read, at each of their columns in the answer."""
        shown, totals = Counter(row["at"] for row in rows), {row["at"]: row["total"] for row in rows}
        wide = {at for at, total in totals.items() if total > shown[at]}
        columns = [node for node in self.nodes.values() if node.kind == "versionColumn" and node.name[2] in wide]
        self.truncate_neighbours(
            {node.key: shown[node.name[2]] for node in columns}, {node.key: totals[node.name[2]] for node in columns}
        )
        self.truncate_rows(rows)

    def _reach(self, at: Node, step: Step, depth: int) -> list[str]:
        """Add a step; return the key of its other end if it is reached for the first time and has a version."""
        near, far = (end.node(place) for end, place in zip(self._ends(step), (at.depth, depth), strict=True))
        if not self.add(near):
            return []
        if near.key != at.key:
            ends = (near, at) if near.name[3] == WHOLE else (at, near)
            self.connect(Edge(ends[0].key, ends[1].key, "covers"))
        is_new = far.key not in self.nodes
        if not self.add(far):
            return []
        self._connect(step)
        return [far.key] if is_new and far.kind == "versionColumn" else []

    def _connect(self, step: Step) -> None:
        edge = Edge(step.source.node(0).key, step.target.node(0).key, "derives", step.facts)
        self.connect(edge, json.dumps(step.facts, sort_keys=True))


def run_steps(reading: RunReading, versions: BothSides, direction: Direction) -> Iterator[Step]:
    """Yield the column edges of a run."""
    written, read = versions if direction == "upstream" else versions[::-1]
    for output, edges in run_columns(reading).items():
        if output not in written:
            continue
        for column, sources in edges.items():
            target = VersionColumn(output, written[output], column)
            for source in sorted(sources, key=repr):
                version = read.get(source.dataset)
                facts = _facts(reading, source, is_undeclared=source.dataset not in reading.inputs)
                yield Step(VersionColumn(source.dataset, version, source.field), target, facts)


def _facts(reading: RunReading, source: Source, is_undeclared: bool) -> dict[str, Any]:
    return present(
        {
            "run": reading.id,
            "state": reading.state,
            "job": list(reading.job),
            "type": source.type,
            "subtype": source.subtype,
            "masking": source.masking or None,
            "description": source.description,
            "undeclared": is_undeclared or None,
            "guess": is_guess(source.description) or None,
        }
    )


def find_version(reader: GraphReader, version: str) -> VersionUse:
    """Return a dataset version by its id; raises NotFound if the graph has none."""
    rows = reader.rows("versions/by_id", id=version)
    if not rows:
        raise NotFound(f"the graph has no dataset version {version!r}")
    return version_use(rows[0])


def version_columns(
    reader: GraphReader,
    version: VersionUse,
    direction: Direction,
    columns: Sequence[str],
    limits: TraversalLimits | None = None,
) -> Answer:
    """Return what columns of a dataset version were made from (upstream), or what runs made of them (downstream).

    A column of which no run states anything has no edges.
    """
    traversal = RunColumnTraversal(limits or TraversalLimits(), reader, direction)
    start = [VersionColumn(version.dataset, version.version, column).node(0) for column in dict.fromkeys(columns)]
    for node in start:
        traversal.add(node)
    traversal.run([node.key for node in start])
    nodes = nearest_first(traversal.nodes.values())
    question: dict[str, Any] = {"direction": direction, "start": [*version.dataset, version.version], "kind": "version"}
    question |= {"depth": traversal.limits.depth, "columns": [node.name[3] for node in start]}
    edges = in_order(sorted(traversal.edges.values(), key=lambda edge: str(edge.facts)), nodes)
    return Answer(question, tuple(node.key for node in start), nodes, edges, traversal.truncations)
