"""What differs between two runs: datasets, the versions they read, schemas, code, columns, settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

from headwater_avro.names import Key, key_of
from headwater_avro.times import micros_of
from headwater_graph.queries.answers import Node
from headwater_graph.queries.catalog.finding import NotFound
from headwater_graph.queries.reader import GraphReader
from headwater_graph.queries.runs.history import key_changes, schema_change
from headwater_graph.queries.runs.run_view import RunView
from headwater_graph.queries.runs.runs import RunDetails, VersionUse, show_run
from headwater_graph.queries.values import present
from headwater_graph.rules.columns import sources_of
from headwater_graph.rules.facets import schema_rows

RunChange: TypeAlias = tuple[str, Any, Any]
"""(what, before, after); None where it is absent."""

ColumnEdge: TypeAlias = tuple[str, ...]
NOT_SETTINGS = ("_producer", "_schemaURL")
"""Members of every facet that say who wrote it, and nothing about the run."""

NO_SETTINGS = frozenset(("errorMessage", "nominalTime", "parent", "parentRun"))
"""Facets that are different in every run."""


@dataclass(frozen=True, slots=True)
class RunDiff:
    """Two runs and what differs between them, the older one first."""

    before: RunDetails
    after: RunDetails
    facts: tuple[RunChange, ...]
    sides: tuple[str, ...]
    read_versions: tuple[RunChange, ...]
    schemas: tuple[tuple[str, str], ...]
    columns: tuple[tuple[str, ColumnEdge], ...]
    settings: tuple[RunChange, ...] = field(default=())

    @property
    def is_empty(self) -> bool:
        """Whether nothing differs but times and ids."""
        return not (self.facts or self.sides or self.read_versions or self.schemas or self.columns or self.settings)

    def value(self) -> dict[str, Any]:
        """Return it as JSON values."""
        runs = {"before": self.before.run.value(), "after": self.after.run.value()}
        return runs | {
            "facts": _changes(self.facts),
            "sides": list(self.sides),
            "readVersions": _changes(self.read_versions),
            "schemas": [{"dataset": dataset, "change": change} for dataset, change in self.schemas],
            "columns": [{"change": sign, "edge": list(edge)} for sign, edge in self.columns],
            "settings": _changes(self.settings),
        }


def _changes(changes: Sequence[RunChange]) -> list[dict[str, Any]]:
    return [present({"what": what, "before": before, "after": after}) for what, before, after in changes]


def last_complete_run(reader: GraphReader, run: Node) -> Node:
    """Return the last COMPLETE run of the same job before this one; NotFound if there is none."""
    rows = reader.rows("runs/position", key=run.key)
    position = rows[0] if rows else None
    if position is None or position["job"] is None:
        raise NotFound(f"the graph does not have the job of run {run.name[0]}")
    moment = position["moment"]
    if moment is None:
        moment = micros_of(position["lastEventAt"].to_native())
    found = reader.rows("runs/last_complete", job=position["job"], moment=moment, tie=run.name[0])
    if not found:
        raise NotFound(f"no run of this job was COMPLETE before {run.name[0]}")
    return Node(found[0]["key"], "run", (found[0]["id"],))


def run_diff(reader: GraphReader, before: Node, after: Node, now: datetime) -> RunDiff:
    """Return what differs between two runs; raises NotFound where the graph lacks one of them."""
    return diff_of(show_run(reader, before, now), show_run(reader, after, now))


def diff_of(before: RunDetails, after: RunDetails) -> RunDiff:
    """Return what differs between the details of two runs."""
    return RunDiff(
        before=before,
        after=after,
        facts=tuple(_facts(before, after)),
        sides=tuple(filter(None, (_side_change(before, after, side) for side in ("reads", "writes")))),
        read_versions=tuple(_read_versions(before.reads, after.reads)),
        schemas=tuple(_schemas(before, after)),
        columns=tuple(_columns(before.view, after.view)),
        settings=tuple(_settings(before.view, after.view)),
    )


def _facts(before: RunDetails, after: RunDetails) -> Iterator[RunChange]:
    pairs = (
        ("job", before.run.job, after.run.job),
        ("state", before.run.state, after.run.state),
        ("job version", before.version, after.version),
        ("code version", before.code_version, after.code_version),
        ("parent's job", _parent_job(before), _parent_job(after)),
        ("error", before.error, after.error),
    )
    return ((what, old, new) for what, old, new in pairs if old != new)


def _parent_job(run: RunDetails) -> Key | None:
    parent = run.view.run.get("parent")
    return key_of(parent.get("job")) if isinstance(parent, dict) else None


def _side_change(before: RunDetails, after: RunDetails, side: str) -> str:
    old, new = ([use.dataset for use in getattr(run, side)] for run in (before, after))
    return key_changes("inputs" if side == "reads" else "outputs", old, new)


def _read_versions(before: Sequence[VersionUse], after: Sequence[VersionUse]) -> Iterator[RunChange]:
    """Yield the datasets that both runs read in different versions."""
    old = {use.dataset: use for use in before}
    for use in after:
        earlier = old.get(use.dataset)
        if earlier is not None and earlier.version != use.version:
            yield (" ".join(use.dataset), _version_text(earlier), _version_text(use))


def _version_text(use: VersionUse) -> str:
    if use.external:
        return f"external version {use.external}"
    return f"written {use.at} by run {use.made_by}" if use.made_by else use.at or "written by an unknown run"


def _schemas(before: RunDetails, after: RunDetails) -> Iterator[tuple[str, str]]:
    old, new = _schemas_of(before), _schemas_of(after)
    for dataset in sorted(old.keys() & new.keys()):
        if change := schema_change(old[dataset], new[dataset]):
            yield (" ".join(dataset), change.removeprefix("schema changed: "))


def _schemas_of(run: RunDetails) -> dict[Key, list[list[str]]]:
    """Return the schema of each of a run's datasets; that of the output if it is both input and output."""
    found: dict[Key, list[list[str]]] = {}
    for side in (run.view.inputs, run.view.outputs):
        facets = {key: dataset.get("schema") for key, (dataset, _) in side.items()}
        rows = {key: schema_rows(facet) for key, facet in facets.items() if isinstance(facet, dict)}
        found |= {key: fields for key, fields in rows.items() if fields is not None}
    return found | {use.dataset: use.schema for use in run.writes if use.schema is not None}


def _columns(before: RunView, after: RunView) -> Iterator[tuple[str, ColumnEdge]]:
    """Yield column edges that were added (+) or removed (-), of outputs for which both runs have column lineage."""
    old, new = _column_edges(before), _column_edges(after)
    for dataset in sorted(old.keys() & new.keys()):
        yield from (("+", edge) for edge in sorted(new[dataset] - old[dataset]))
        yield from (("-", edge) for edge in sorted(old[dataset] - new[dataset]))


def _column_edges(run: RunView) -> dict[Key, frozenset[ColumnEdge]]:
    facets = {key: facets.get("columnLineage") for key, (facets, _) in run.outputs.items()}
    return {key: frozenset(_edges_of(key, facet)) for key, facet in facets.items() if isinstance(facet, dict)}


def _edges_of(output: Key, facet: Mapping[str, Any]) -> Iterator[ColumnEdge]:
    """Yield the edges of a ``columnLineage`` facet: namespace, name, field of the input, then of the output."""
    fields = facet.get("fields")
    columns = fields.items() if isinstance(fields, dict) else ()
    for column, derivation in [*columns, ("*", {"inputFields": facet.get("dataset")})]:
        listed = derivation.get("inputFields") if isinstance(derivation, dict) else None
        for reference in listed if isinstance(listed, list) else ():
            yield from ((*source.dataset, source.field, *output, column) for source in sources_of(reference))


def _settings(before: RunView, after: RunView) -> Iterator[RunChange]:
    """Yield the leaves of run and job facets that differ."""
    old, new = (dict([*_leaves("run", _lasting(run.run)), *_leaves("job", run.job)]) for run in (before, after))
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            yield (name, old.get(name), new.get(name))


def _lasting(facets: Mapping[str, Any]) -> dict[str, Any]:
    return {name: facet for name, facet in facets.items() if name not in NO_SETTINGS}


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield every leaf of nested objects under its path; lists are leaves."""
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            if name not in NOT_SETTINGS:
                yield from _leaves(f"{path}.{name}", inner)
    else:
        yield path, value
