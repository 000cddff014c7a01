"""What differs between two runs: datasets, the versions they read, schemas, code, columns, settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

from headwater_avro.names import Key, is_name, key_of
from headwater_avro.times import micros_of
from headwater_graph.queries.answers import Node
from headwater_graph.queries.catalog.finding import NotFound
from headwater_graph.queries.catalog.node_status import told
from headwater_graph.queries.reader import GraphReader
from headwater_graph.queries.runs.history import changed, schema_change
from headwater_graph.queries.runs.run_events import OpenRecord, RunView
from headwater_graph.queries.runs.runs import RunDetails, VersionUse, show_run

RunChange: TypeAlias = tuple[str, Any, Any]
"""(what, before, after); None where it is absent."""

ColumnEdge: TypeAlias = tuple[str, ...]
NOT_SETTINGS = ("_producer", "_schemaURL")
"""Members of every facet that tell who wrote it, and nothing of the run."""

NO_SETTINGS = frozenset(("errorMessage", "nominalTime", "parent", "parentRun"))
"""Facets that differ from run to run by their nature."""


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
        """Whether nothing differs, times and ids aside."""
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
    return [told({"what": what, "before": before, "after": after}) for what, before, after in changes]


def last_that_worked(reader: GraphReader, run: Node) -> Node:
    """Return the last run of the same job that was COMPLETE before this one; NotFound if there is none."""
    rows = reader.rows("run_place", key=run.key)
    place = rows[0] if rows else None
    if place is None or place["job"] is None:
        raise NotFound(f"the graph does not know of which job run {run.name[0]} was")
    moment = place["moment"]
    if moment is None:
        moment = micros_of(place["lastEventAt"].to_native())
    found = reader.rows("last_complete_run", job=place["job"], moment=moment, tie=run.name[0])
    if not found:
        raise NotFound(f"no run of this job was COMPLETE before {run.name[0]}")
    return Node(found[0]["key"], "run", (found[0]["id"],))


def run_diff(reader: GraphReader, before: Node, after: Node, now: datetime, open_record: OpenRecord) -> RunDiff:
    """Return what differs between two runs; raises NotFound where the graph lacks one of them."""
    return diff_of(show_run(reader, before, now, open_record), show_run(reader, after, now, open_record))


def diff_of(before: RunDetails, after: RunDetails) -> RunDiff:
    """Return what differs between two runs as they were shown."""
    return RunDiff(
        before=before,
        after=after,
        facts=tuple(_facts(before, after)),
        sides=tuple(filter(None, (_side_change(before, after, side) for side in ("reads", "writes")))),
        read_versions=tuple(_read_versions(before.reads, after.reads)),
        schemas=tuple(_schemas(before, after)),
        columns=tuple(_columns(before.told, after.told)),
        settings=tuple(_settings(before.told, after.told)),
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
    parent = run.told.run.get("parent")
    return key_of(parent.get("job")) if isinstance(parent, dict) else None


def _side_change(before: RunDetails, after: RunDetails, side: str) -> str:
    old, new = ([use.dataset for use in getattr(run, side)] for run in (before, after))
    return changed("inputs" if side == "reads" else "outputs", old, new)


def _read_versions(before: Sequence[VersionUse], after: Sequence[VersionUse]) -> Iterator[RunChange]:
    """Datasets that both runs read, in different versions; told by time, else by name."""
    old = {use.dataset: use for use in before}
    for use in after:
        earlier = old.get(use.dataset)
        if earlier is not None and earlier.version != use.version:
            yield (" ".join(use.dataset), _version_words(earlier), _version_words(use))


def _version_words(use: VersionUse) -> str:
    if use.external:
        return f"external version {use.external}"
    return f"written {use.at} by run {use.made_by}" if use.made_by else use.at or "nobody told who wrote it"


def _schemas(before: RunDetails, after: RunDetails) -> Iterator[tuple[str, str]]:
    old, new = _told_schemas(before), _told_schemas(after)
    for dataset in sorted(old.keys() & new.keys()):
        if change := schema_change(old[dataset], new[dataset]):
            yield (" ".join(dataset), change.removeprefix("schema changed: "))


def _told_schemas(run: RunDetails) -> dict[Key, list[list[str]]]:
    """The schema that a run told of each of its datasets, of outputs rather than of inputs."""
    found: dict[Key, list[list[str]]] = {}
    for side in (run.told.inputs, run.told.outputs):
        found |= {key: fields for key, (facets, _) in side.items() if (fields := _fields(facets)) is not None}
    return found | {use.dataset: use.schema for use in run.writes if use.schema is not None}


def _fields(facets: Mapping[str, Any]) -> list[list[str]] | None:
    """The names and types of a ``schema`` facet, read as specification 5.1 reads them."""
    schema = facets.get("schema")
    listed = schema.get("fields") if isinstance(schema, dict) else None
    if not isinstance(listed, list):
        return None
    named = [each for each in listed if isinstance(each, dict) and is_name(each.get("name"))]
    typed = ((each["name"], each.get("type")) for each in named)
    return [[name, kind] if isinstance(kind, str) and kind else [name] for name, kind in typed]


def _columns(before: RunView, after: RunView) -> Iterator[tuple[str, ColumnEdge]]:
    """Column edges that came (+) or went (-), of the outputs of which both runs told any."""
    old, new = _column_edges(before), _column_edges(after)
    for dataset in sorted(old.keys() & new.keys()):
        yield from (("+", edge) for edge in sorted(new[dataset] - old[dataset]))
        yield from (("-", edge) for edge in sorted(old[dataset] - new[dataset]))


def _column_edges(run: RunView) -> dict[Key, frozenset[ColumnEdge]]:
    facets = {key: facets.get("columnLineage") for key, (facets, _) in run.outputs.items()}
    told_by = {key: facet for key, facet in facets.items() if isinstance(facet, dict)}
    return {key: frozenset(_edges_of(key, facet)) for key, facet in told_by.items()}


def _edges_of(output: Key, facet: Mapping[str, Any]) -> Iterator[ColumnEdge]:
    """The edges of a ``columnLineage`` facet: namespace, name, field of the input, then of the output."""
    fields = facet.get("fields")
    columns = fields.items() if isinstance(fields, dict) else ()
    for column, told_of in [*columns, ("*", {"inputFields": facet.get("dataset")})]:
        listed = told_of.get("inputFields") if isinstance(told_of, dict) else None
        for each in listed if isinstance(listed, list) else ():
            key = key_of(each)
            if key is not None and is_name(each.get("field")):
                yield (*key, each["field"], *output, column)


def _settings(before: RunView, after: RunView) -> Iterator[RunChange]:
    """Leaves of run and job facets that differ; facets that only one run has count as a whole."""
    old, new = (dict([*_leaves("run", _lasting(run.run)), *_leaves("job", run.job)]) for run in (before, after))
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            yield (name, old.get(name), new.get(name))


def _lasting(facets: Mapping[str, Any]) -> dict[str, Any]:
    return {name: facet for name, facet in facets.items() if name not in NO_SETTINGS}


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Every leaf of nested objects under its path; lists are leaves."""
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            if name not in NOT_SETTINGS:
                yield from _leaves(f"{path}.{name}", inner)
    else:
        yield path, value
