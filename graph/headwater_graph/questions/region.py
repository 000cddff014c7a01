"""All that lies within reach of a dataset or job now, told by one statement: who is next to whom, and what marks each.

The law. A region holds no more nodes than an answer may, the nearest ones: the database goes breadth-first and looks at
no node twice, so neither the number of paths nor a hub costs anything. Of a node that a region *knows* it has every
neighbour that a question of the walk would be answered with; of all others the walk asks, as if there were no region.
SPEC 6.6 is not looked at here: a region may hold more than what is reached, never less of what it knows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from .answers import Direction, Node
from .keys import dataset_key
from .marks import MAX_SILENT, RUN_TIMEOUT, Marked, marked_datasets, marked_jobs
from .reader import GraphReader, Row
from .walk import Hop, Limits

MAX_NODES = 20_000
"""How many nodes one statement tells of: what one transaction holds in memory without asking for much."""


@dataclass(frozen=True, slots=True)
class Region:
    """The hops of known nodes by their key, datasets that have no other names, and how much work is owed (None: not asked).

    ``more`` are the records with the marks, which may still be under way; :meth:`marks` waits for them, once.
    """

    hops: dict[str, list[Hop]] = field(default_factory=dict)
    nameless: frozenset[str] = frozenset()
    owed: int | None = None
    silent: frozenset[str] = frozenset()
    more: Iterable[Row] = ()

    def marks(self) -> dict[str, Marked]:
        """Return the marks and facts of all nodes of the region, by key."""
        marks: dict[str, Marked] = {}
        for row in self.more:
            marks.update(marked_datasets(row["datasetMarks"]))
            marks.update(marked_jobs(row["jobMarks"], self.silent))
        return marks


NOWHERE = Region()
"""Nothing is known: everything is asked for."""


@contextmanager
def region(reader: GraphReader, start: Node, direction: Direction, limits: Limits, now: datetime) -> Iterator[Region]:
    """Give what is within the limits of a dataset or job in the current graph."""
    records = reader.stream(
        f"{direction}_region",
        key=start.key,
        # The jobs beyond the last datasets are counted where the walk is cut: SPEC 6.3.
        hops=None if limits.depth is None else 2 * limits.depth + 1,
        nodes=min(limits.nodes, MAX_NODES),
        fan=limits.neighbours,
        before=now - RUN_TIMEOUT,
        silent=MAX_SILENT,
    )
    with closing(records):
        first = next(records, None)
        yield NOWHERE if first is None else _of(first, records)


def _of(row: Row, more: Iterable[Row]) -> Region:
    nameless = frozenset(key for _, key, _, _, aliased in row["datasets"] if not aliased)
    return Region(_hops(row), nameless, row["owed"], frozenset(row["silent"]), more)


def _hops(row: Row) -> dict[str, list[Hop]]:
    """The hops of all nodes whose neighbours are all told of."""
    nodes = {at: (key, (space, name), None, aliased) for at, key, space, name, aliased in row["datasets"]}
    nodes |= {at: (key, (space, name), version, False) for at, key, space, name, version in row["jobs"]}
    inputs = {(at, to): listed(text) for at, to, text in row["listed"]}
    hops: dict[str, list[Hop]] = {node[0]: [] for node in nodes.values()}
    beyond = set()
    for at, to in zip(row["near"], row["far"], strict=True):
        key, _, version, _ = nodes[at]
        if (far := nodes.get(to)) is None:
            beyond.add(key)
        else:
            hops[key].append(Hop(key, far[0], far[1], version or far[2], inputs.get((at, to)), far[3]))
    for key in beyond:
        del hops[key]
    return hops


def listed(inputs: str | None) -> frozenset[str] | None:
    """Return the keys of the inputs that an edge lists (SPEC 6.6), None if it lists none."""
    return None if inputs is None else frozenset(dataset_key(*each) for each in json.loads(inputs))
