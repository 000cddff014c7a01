"""Which operations made a field: those that the last run of its writer told, and so on upstream (seed 002, specification 6.5).

Of each job that writes the dataset now it is the last versioned run that told operations for it and did not fail; else the
last one that failed. Of a job's last ``WINDOW`` runs, no more than ``RUNS`` that failed and that didn't are opened.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import msgspec

from headwater_avro.names import Key
from headwater_graph.queries.answers import Cut, Node
from headwater_graph.queries.catalog.finding import NotFound, find
from headwater_graph.queries.catalog.node_status import time_text
from headwater_graph.queries.fields.field_operations_facet import (
    FACET,
    NAMESPACE,
    FieldOperation,
    FieldOperations,
    Made,
    made_by,
    operations_in,
)
from headwater_graph.queries.keys import dataset_node_key
from headwater_graph.queries.lineage.columns import WHOLE
from headwater_graph.queries.lineage.traversal import Limits
from headwater_graph.queries.reader import GraphReader, Row
from headwater_graph.queries.runs.run_events import OpenRecord

RUNS = 20
WINDOW = 1_000


@dataclass(frozen=True, slots=True)
class Step:
    """What one run did to make columns of one dataset, ``depth`` jobs away; ``cut`` says what its facet left out."""

    dataset: Key
    columns: tuple[str, ...]
    depth: int
    job: Key
    run: str
    state: str | None
    at: str | None
    fingerprint: str
    operations: tuple[FieldOperation, ...]
    cut: str | None = None

    def value(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "dataset": list(self.dataset),
            "columns": list(self.columns),
            "depth": self.depth,
            "job": list(self.job),
            "run": self.run,
            "state": self.state,
            "at": self.at,
            "fingerprint": self.fingerprint,
            "operations": [msgspec.to_builtins(one) for one in self.operations],
            **({"cut": self.cut} if self.cut else {}),
        }


@dataclass(frozen=True, slots=True)
class OperationsAnswer:
    """The steps, nearest first; ``cuts`` is empty exactly if nothing was left out."""

    start: Key
    columns: tuple[str, ...]
    steps: tuple[Step, ...]
    cuts: tuple[Cut, ...]

    def value(self) -> dict[str, Any]:
        """Return it as JSON values."""
        question = {"direction": "upstream", "start": list(self.start), "columns": list(self.columns)}
        steps = [step.value() for step in self.steps]
        cuts = [{"why": cut.why, "shown": cut.shown, "total": cut.total} for cut in self.cuts]
        complete = not self.cuts and not any(step.cut for step in self.steps)
        return {"question": question, "complete": complete, "steps": steps, "cuts": cuts}


@dataclass(frozen=True, slots=True)
class _Told:
    run: Row
    dataset: Key
    operations: FieldOperations


@dataclass(slots=True)
class _Walk:
    reader: GraphReader
    open_record: OpenRecord
    limits: Limits
    steps: list[Step] = field(default_factory=list)
    cuts: list[Cut] = field(default_factory=list)
    _asked: dict[Key, set[str]] = field(default_factory=dict)

    def go(self, wanted: Mapping[Key, frozenset[str] | None]) -> None:
        depth = 0
        while wanted:
            if depth == self.limits.depth:
                self.cuts.append(Cut(None, "depth", 0, len(wanted)))
                return
            depth += 1
            further: dict[Key, frozenset[str]] = {}
            for dataset, columns in sorted(wanted.items()):
                if len(self.steps) >= self.limits.nodes:
                    self.cuts.append(Cut(None, "size", len(self.steps)))
                    return
                for key, names in self._step(dataset, columns, depth):
                    further[key] = further.get(key, frozenset()) | names
            wanted = {key: fresh for key, names in further.items() if (fresh := self._fresh(key, names))}

    def _step(self, dataset: Key, columns: frozenset[str] | None, depth: int) -> Iterator[tuple[Key, frozenset[str]]]:
        for told in told_of(self.reader, self.open_record, self._names(dataset)):
            written = told.operations.columns(told.dataset)
            asked = written if columns is None or WHOLE in columns else columns & written
            made = made_by(told.operations, told.dataset, asked)
            self._fresh(dataset, asked)
            if made.operations:
                self.steps.append(_step(told, tuple(sorted(asked)), depth, made))
                yield from made.sources.items()

    def _fresh(self, key: Key, names: frozenset[str]) -> frozenset[str]:
        """The columns that were not asked for yet: lineage may run in circles."""
        asked = self._asked.setdefault(key, set())
        fresh = names - asked
        asked |= fresh
        return fresh

    def _names(self, dataset: Key) -> list[Key]:
        """The dataset under all its names (specification 6.7)."""
        known, fresh = [dataset], [dataset]
        while fresh:
            keys = [dataset_node_key(*name) for name in fresh]
            rows = self.reader.rows("aliases", keys=keys, rows=self.limits.rows)
            fresh = sorted({(row["namespace"], row["name"]) for row in rows} - set(known))
            known += fresh
        return known


def _step(told: _Told, columns: tuple[str, ...], depth: int, made: Made) -> Step:
    run = told.run
    return Step(
        dataset=told.dataset,
        columns=columns,
        depth=depth,
        job=(run["namespace"], run["name"]),
        run=run["id"],
        state=run["state"],
        at=time_text(run["lastEventAt"]),
        fingerprint=told.operations.fingerprint,
        operations=made.operations,
        cut=told.operations.cut,
    )


def told_of(reader: GraphReader, open_record: OpenRecord, names: Sequence[Key]) -> list[_Told]:
    """Of each job that writes a dataset (under any of its names), the operations that its last run told for it."""
    found: dict[tuple[Key, Key], _Told] = {}
    for failed in (False, True):
        keys = [dataset_node_key(*name) for name in names]
        rows = reader.rows("last_runs_of_writers", datasets=keys, failed=failed, limit=RUNS, window=WINDOW)
        for job, runs in groupby(rows, key=lambda row: (row["namespace"], row["name"])):
            for dataset, told in _of_runs(reader, open_record, runs, names).items():
                found.setdefault((job, dataset), told)
    return [found[which] for which in sorted(found)]


def _of_runs(
    reader: GraphReader, open_record: OpenRecord, runs: Iterable[Row], names: Sequence[Key]
) -> dict[Key, _Told]:
    """The operations of one job's runs, the latest first, for each name."""
    found: dict[Key, _Told] = {}
    for run in runs:
        if len(found) == len(names):
            break
        outputs = open_record(run["record"]).outputs
        for name in names:
            if name in outputs and name not in found:
                operations = _operations(reader, outputs[name][0])
                if operations is not None:
                    found[name] = _Told(run, name, operations)
    return found


def _operations(reader: GraphReader, facets: Mapping[str, Any]) -> FieldOperations | None:
    """The operations that an output's facets tell: by themselves, or by their fingerprint."""
    told = operations_in(facets)
    if told is None or told.operations:
        return told
    rows = reader.rows("dataset_facets", key=dataset_node_key(NAMESPACE, told.fingerprint))
    return operations_in(json.loads(rows[0]["facets"] or "{}")) if rows else None


def field_operations(
    reader: GraphReader,
    open_record: OpenRecord,
    dataset: Node,
    columns: Iterable[str] = (),
    limits: Limits | None = None,
) -> OperationsAnswer:
    """Return the operations that made columns of a dataset (none given: all of them), and those that made their sources.

    Depth counts jobs. Raises NotFound where no run told operations on them.
    """
    key = (dataset.name[0], dataset.name[1])
    wanted = frozenset(columns)
    walk = _Walk(reader, open_record, limits or Limits())
    walk.go({key: wanted or None})
    if not walk.steps:
        what = f"{', '.join(sorted(wanted))} of " if wanted else ""
        raise NotFound(f"no run told operations ({FACET}) on {what}{' '.join(key)}; --columns shows what is derived")
    return OperationsAnswer(key, tuple(sorted(wanted)), tuple(walk.steps), tuple(walk.cuts))


def find_field(reader: GraphReader, words: Sequence[str], columns: Sequence[str] = ()) -> tuple[Node, tuple[str, ...]]:
    """Return a dataset and the columns asked for, as ``KEY``, ``KEY column`` or ``KEY#column``; errors as `find`."""
    if not columns and len(words) == 3:
        return find(reader, words[:2], ("dataset",)), (words[2],)
    try:
        return find(reader, words, ("dataset",)), tuple(columns)
    except NotFound:
        dataset, column = words[:1], words[1:]
        if len(words) == 1:
            head, _, tail = words[0].rpartition("#")
            dataset, column = [head], [tail]
        if columns or not (dataset[0] and column and column[0]):
            raise
        try:
            return find(reader, dataset, ("dataset",)), tuple(column)
        except NotFound:
            pass
        raise
