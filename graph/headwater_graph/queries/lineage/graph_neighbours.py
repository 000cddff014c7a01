"""The neighbours of datasets and jobs in Neo4j."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from headwater_avro.times import LATEST, micros_of
from headwater_graph.queries.answers import Direction
from headwater_graph.queries.catalog.activity import active_keys
from headwater_graph.queries.keys import dataset_node_key
from headwater_graph.queries.lineage.neighbours import FormerWriter, Neighbour
from headwater_graph.queries.lineage.scope import CURRENT, Scope
from headwater_graph.queries.reader import GraphReader, Row

CHUNK = 1_000
"""How many nodes one statement reads the neighbours of."""


@dataclass(frozen=True, slots=True)
class GraphNeighbours:
    """The neighbours of datasets and jobs in one direction, within a scope.

    Those of the nodes in ``known``, and the aliases of the nodes in ``without_aliases``, need no statement.
    """

    reader: GraphReader
    direction: Direction
    scope: Scope = CURRENT
    known: Mapping[str, Sequence[Neighbour]] = field(default_factory=dict)
    without_aliases: frozenset[str] = frozenset()
    _active: dict[str, bool] = field(default_factory=dict)
    _read_ahead: dict[str, list[Neighbour]] = field(default_factory=dict)

    def jobs(self, datasets: Sequence[str], rows: int) -> list[Neighbour]:
        found = [near for key in datasets for near in self.known.get(key, ())]
        unknown = [key for key in datasets if key not in self.known]
        if self.scope.as_of is None:
            found += self._jobs_with_far_sides(unknown, rows)
        else:
            found += self._rows("lineage/jobs_of_datasets_at", unknown, rows)
        since = self.scope.active_since
        return found[:rows] if since is None else self._of_active(found[:rows], since)

    def datasets(self, jobs: Sequence[str], rows: int) -> list[Neighbour]:
        found = [far for key in jobs for far in self.known.get(key, self._read_ahead.get(key, ()))]
        unknown = [key for key in jobs if key not in self.known and key not in self._read_ahead]
        return (found + self._rows(self._as_of("lineage/datasets_of_jobs"), unknown, rows))[:rows]

    def aliases(self, datasets: Sequence[str], rows: int) -> list[Neighbour]:
        keys = [key for key in datasets if key not in self.without_aliases]
        found = self.reader.rows("lineage/aliases", keys=keys, rows=rows) if keys else []
        return [Neighbour(row["at"], row["key"], (row["namespace"], row["name"])) for row in found]

    def former_writers(self, datasets: Sequence[str]) -> list[FormerWriter]:
        rows = last_writers(self.reader, datasets, self.scope.limits.neighbours, self.scope.as_of)
        # The job of a run that retention removed may be unknown: then nothing leads further.
        return [former_writer(row) for row in rows if row["key"] is not None]

    def totals(self, nodes: Sequence[str]) -> dict[str, int]:
        rows = self.reader.rows(self._as_of("lineage/degrees"), direction=self.direction, keys=nodes, **self._time())
        return {row["at"]: row["total"] for row in rows}

    def _jobs_with_far_sides(self, datasets: Sequence[str], rows: int) -> list[Neighbour]:
        """Return the jobs of some datasets, and keep their far sides, which come in the same answer, for ``datasets``."""
        found: list[Neighbour] = []
        limits = {"fan": self.scope.limits.neighbours, "farRows": rows}
        for first in range(0, len(datasets), CHUNK):
            if left := max(0, rows - len(found)):
                keys = list(datasets[first : first + CHUNK])
                (row,) = self.reader.rows("lineage/level", direction=self.direction, keys=keys, rows=left, **limits)
                near = [_neighbour(*values) for values in row["near"]]
                # A truncated answer is read again, for the jobs that are still wanted alone.
                if len(row["far"]) < rows:
                    self._read_ahead.update({job.key: [] for job in near})
                    for far in row["far"]:
                        self._read_ahead[far[0]].append(_neighbour(*far))
                found += near
        return found

    def _rows(self, question: str, keys: Sequence[str], rows: int) -> list[Neighbour]:
        found: list[Neighbour] = []
        more = {"fan": self.scope.limits.neighbours, **self._time()}
        for first in range(0, len(keys), CHUNK):
            if left := max(0, rows - len(found)):
                chunk = list(keys[first : first + CHUNK])
                answer = self.reader.rows(question, direction=self.direction, keys=chunk, rows=left, **more)
                found += [_neighbour(*row["neighbour"]) for row in answer]
        return found

    def _as_of(self, question: str) -> str:
        return question if self.scope.as_of is None else f"{question}_at"

    def _time(self) -> dict[str, object]:
        return {} if self.scope.as_of is None else {"time": self.scope.as_of}

    def _of_active(self, jobs: Sequence[Neighbour], since: datetime) -> list[Neighbour]:
        """Return the jobs of which a run has ended since the scope's time."""
        fresh = {job.key for job in jobs} - self._active.keys()
        if fresh:
            active = active_keys(self.reader, "job", fresh, since)
            self._active.update({key: key in active for key in fresh})
        return [job for job in jobs if self._active[job.key]]


def _neighbour(
    at: str, key: str, namespace: str, name: str, version: str | None, inputs: str | None, aliased: bool
) -> Neighbour:
    return Neighbour(at, key, (namespace, name), version, listed_inputs(inputs), aliased)


def listed_inputs(inputs: str | None) -> frozenset[str] | None:
    """Return the keys of the inputs that an edge lists (specification 6.6), None if it lists none."""
    return None if inputs is None else frozenset(dataset_node_key(*key) for key in json.loads(inputs))


def former_writer(row: Row) -> FormerWriter:
    """Return a row of ``last_writers`` as a neighbour of the dataset."""
    inputs = tuple((key, (namespace, name)) for key, namespace, name in row["inputs"])
    return FormerWriter(row["at"], row["key"], (row["namespace"], row["name"]), row["version"], inputs)


def last_writers(reader: GraphReader, datasets: Sequence[str], fan: int, until: datetime | None = None) -> list[Row]:
    """Return who wrote each of some datasets last, until a time, whether or not it still does."""
    if not datasets:
        return []
    micros = LATEST if until is None else micros_of(until)
    return reader.rows("lineage/last_writers", keys=list(datasets), fan=fan, until=micros)
