"""The operations that made a field, and those that made the fields from which it was derived (docs/fields.md, specification 6.5).

Of each job that writes the dataset now, the operations are those of the last versioned run that reports any for the dataset
and did not fail; else of the last one that failed. Of the last ``WINDOW`` runs of a job, at most ``RUNS`` that failed and as
many that did not are opened.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import msgspec

from headwater_avro.names import Key
from headwater_graph.queries.answers import Node, Truncation
from headwater_graph.queries.catalog.finding import NotFound, find
from headwater_graph.queries.fields.field_operations_facet import (
    FACET,
    NAMESPACE,
    Derivation,
    FieldOperation,
    FieldOperations,
    derivation_of,
    operations_in,
)
from headwater_graph.queries.keys import dataset_node_key
from headwater_graph.queries.lineage.columns import WHOLE
from headwater_graph.queries.lineage.scope import TraversalLimits
from headwater_graph.queries.reader import GraphReader, Row
from headwater_graph.queries.runs.run_view import run_view
from headwater_graph.queries.values import time_text

RUNS = 20
WINDOW = 1_000


@dataclass(frozen=True, slots=True)
class Step:
    """The operations of one run that made columns of a dataset, ``depth`` jobs away; ``truncated`` is what its facet left out."""

    dataset: Key
    columns: tuple[str, ...]
    depth: int
    job: Key
    run: str
    state: str | None
    at: str | None
    fingerprint: str
    operations: tuple[FieldOperation, ...]
    truncated: str | None = None

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
            "operations": msgspec.to_builtins(self.operations),
            **({"cut": self.truncated} if self.truncated else {}),
        }


@dataclass(frozen=True, slots=True)
class OperationsAnswer:
    """The steps, nearest first, and truncations."""

    start: Key
    columns: tuple[str, ...]
    steps: tuple[Step, ...]
    truncations: tuple[Truncation, ...]

    def value(self) -> dict[str, Any]:
        """Return it as JSON values."""
        question = {"direction": "upstream", "start": list(self.start), "columns": list(self.columns)}
        steps = [step.value() for step in self.steps]
        cuts = [{"why": limit.why, "shown": limit.shown, "total": limit.total} for limit in self.truncations]
        complete = not self.truncations and not any(step.truncated for step in self.steps)
        return {"question": question, "complete": complete, "steps": steps, "cuts": cuts}


@dataclass(frozen=True, slots=True)
class _RunOperations:
    run: Row
    dataset: Key
    operations: FieldOperations


@dataclass(slots=True)
class _OperationsTraversal:
    reader: GraphReader
    limits: TraversalLimits
    steps: list[Step] = field(default_factory=list)
    truncations: list[Truncation] = field(default_factory=list)
    _visited: dict[Key, set[str]] = field(default_factory=dict)

    def run(self, wanted: Mapping[Key, frozenset[str] | None]) -> None:
        depth = 0
        while wanted:
            if depth == self.limits.depth:
                self.truncations.append(Truncation(None, "depth", 0, len(wanted)))
                return
            depth += 1
            further: dict[Key, frozenset[str]] = {}
            for dataset, columns in sorted(wanted.items()):
                if len(self.steps) >= self.limits.nodes:
                    self.truncations.append(Truncation(None, "size", len(self.steps)))
                    return
                for key, names in self._expand(dataset, columns, depth):
                    further[key] = further.get(key, frozenset()) | names
            wanted = {key: fresh for key, names in further.items() if (fresh := self._visit(key, names))}

    def _expand(self, dataset: Key, columns: frozenset[str] | None, depth: int) -> Iterator[tuple[Key, frozenset[str]]]:
        """Add the steps that made some columns, and yield their source columns by dataset."""
        for found in operations_of(self.reader, self._names(dataset)):
            written = found.operations.columns(found.dataset)
            chosen = written if columns is None or WHOLE in columns else columns & written
            derivation = derivation_of(found.operations, found.dataset, chosen)
            self._visit(dataset, chosen)
            if derivation.operations:
                self.steps.append(_step(found, tuple(sorted(chosen)), depth, derivation))
                yield from derivation.sources.items()

    def _visit(self, key: Key, names: frozenset[str]) -> frozenset[str]:
        """Return the columns that were not visited before: lineage may have cycles."""
        visited = self._visited.setdefault(key, set())
        fresh = names - visited
        visited |= fresh
        return fresh

    def _names(self, dataset: Key) -> list[Key]:
        """Return all names of a dataset (specification 6.7)."""
        known, fresh = [dataset], [dataset]
        while fresh:
            keys = [dataset_node_key(*name) for name in fresh]
            rows = self.reader.rows("lineage/aliases", keys=keys, rows=self.limits.rows)
            fresh = sorted({(row["namespace"], row["name"]) for row in rows} - set(known))
            known += fresh
        return known


def _step(found: _RunOperations, columns: tuple[str, ...], depth: int, derivation: Derivation) -> Step:
    run = found.run
    return Step(
        dataset=found.dataset,
        columns=columns,
        depth=depth,
        job=(run["namespace"], run["name"]),
        run=run["id"],
        state=run["state"],
        at=time_text(run["lastEventAt"]),
        fingerprint=found.operations.fingerprint,
        operations=derivation.operations,
        truncated=found.operations.truncated,
    )


def operations_of(reader: GraphReader, names: Sequence[Key]) -> list[_RunOperations]:
    """Return, of each job that writes a dataset under any of its names, the operations that its last run reports for it."""
    found: dict[tuple[Key, Key], _RunOperations] = {}
    keys = [dataset_node_key(*name) for name in names]
    for failed in (False, True):
        rows = reader.rows("runs/last_of_writers", datasets=keys, failed=failed, limit=RUNS, window=WINDOW)
        for job, runs in groupby(rows, key=lambda row: (row["namespace"], row["name"])):
            for dataset, operations in _of_runs(reader, runs, names).items():
                found.setdefault((job, dataset), operations)
    return [found[job_and_dataset] for job_and_dataset in sorted(found)]


def _of_runs(reader: GraphReader, runs: Iterable[Row], names: Sequence[Key]) -> dict[Key, _RunOperations]:
    """Return the operations of one job's runs, which come latest first, for each name."""
    found: dict[Key, _RunOperations] = {}
    for run in runs:
        if len(found) == len(names):
            break
        outputs = run_view(run["record"]).outputs
        for name in names:
            if name in outputs and name not in found:
                operations = _operations(reader, outputs[name][0])
                if operations is not None:
                    found[name] = _RunOperations(run, name, operations)
    return found


def _operations(reader: GraphReader, facets: Mapping[str, Any]) -> FieldOperations | None:
    """Return the operations in the facets of an output, or those to which their fingerprint refers."""
    found = operations_in(facets)
    if found is None or found.operations:
        return found
    rows = reader.rows("catalog/dataset_facets", key=dataset_node_key(NAMESPACE, found.fingerprint))
    return operations_in(json.loads(rows[0]["facets"] or "{}")) if rows else None


def field_operations(
    reader: GraphReader, dataset: Node, columns: Iterable[str] = (), limits: TraversalLimits | None = None
) -> OperationsAnswer:
    """Return the operations that made columns of a dataset (none given: all of them), and those that made their sources.

    Depth counts jobs. Raises NotFound if no run reports operations on them.
    """
    key = (dataset.name[0], dataset.name[1])
    wanted = frozenset(columns)
    traversal = _OperationsTraversal(reader, limits or TraversalLimits())
    traversal.run({key: wanted or None})
    if not traversal.steps:
        what = f"{', '.join(sorted(wanted))} of " if wanted else ""
        raise NotFound(f"no run reports operations ({FACET}) on {what}{' '.join(key)}; --columns shows what is derived")
    return OperationsAnswer(key, tuple(sorted(wanted)), tuple(traversal.steps), tuple(traversal.truncations))


def find_field(reader: GraphReader, terms: Sequence[str], columns: Sequence[str] = ()) -> tuple[Node, tuple[str, ...]]:
    """Return the dataset and columns that ``KEY``, ``KEY column`` or ``KEY#column`` names; raises as ``find``."""
    if not columns and len(terms) == 3:
        return find(reader, terms[:2], ("dataset",)), (terms[2],)
    try:
        return find(reader, terms, ("dataset",)), tuple(columns)
    except NotFound:
        dataset, column = terms if len(terms) == 2 else terms[0].rpartition("#")[::2]
        if columns or not (dataset and column):
            raise
        with suppress(NotFound):
            return find(reader, [dataset], ("dataset",)), (column,)
        raise
