"""The current graph of a job: its edges, what feeds what of them, and its columns (specification 6.1, 6.2, 6.5, 6.6).

What the edges stand on is kept with the job as its fold state: up to where it was folded, which run the explicit entries
come from, which run each output's column facet comes from, and digests of the edges as they were last written. So a run
that tells the same as the one before it writes no edge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import cast

import msgspec
from msgspec import Struct

from headwater_avro.canonical import Json, canonical
from headwater_avro.names import Key, key_hash
from headwater_graph.apply.deferred import ColumnsBody, defer_columns
from headwater_graph.apply.limits import Limits
from headwater_graph.apply.lineage_sources import LineageSource, Precedence, digest_of, highest, stored_lineage_source
from headwater_graph.model.node_keys import dataset_hash, job_hash
from headwater_graph.model.records import DatasetRecord, unpack
from headwater_graph.model.values import EARLIEST, LATEST, FieldPath, JobVersion, Moment, Row, Statement
from headwater_graph.rules import facets as read
from headwater_graph.rules.columns import Edges, Source, facet_edges
from headwater_graph.rules.explicit_lineage import entries_by_output, entry_edges, named_inputs
from headwater_graph.store.port import Transaction


class FoldState(Struct, array_like=True):
    """What a job's current edges stand on.

    ``version``: a digest of the version that the sources were found for; ``explicit_told``: whether any run or event of
    the job ever had explicit entries; ``edges`` and ``written`` hold digests of the edges last written, ``written`` with
    how many column edges an output has.
    """

    folded_to: Moment | None = None
    version: bytes = b""
    explicit_told: bool = False
    explicit: Precedence | None = None
    columns: dict[Key, Precedence] = msgspec.field(default_factory=dict)
    edges: bytes = b""
    written: dict[Key, tuple[bytes, int]] = msgspec.field(default_factory=dict)


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(FoldState).decode


def state_of(packed: bytes | None) -> FoldState:
    """Return the fold state kept with a job."""
    return FoldState() if packed is None else _decode(packed)


@dataclass(slots=True)
class JobNow:
    """A job whose current edges are to be settled: its state, its current version, and who tells something new of it.

    ``packed`` is the state as stored, ``left`` the moments at which nobody tells any more, ``past`` what is told by runs and
    events that are gone (specification 7).
    """

    key: Key
    packed: bytes | None
    state: FoldState
    version: JobVersion | None
    lineage_sources: dict[Moment, LineageSource] = field(default_factory=dict)
    left: set[Moment] = field(default_factory=set)
    past: tuple[LineageSource, ...] = ()


# ---- settling ------------------------------------------------------------------------------------------------------


def apply_current_graph(tx: Transaction, jobs: Iterable[JobNow], limits: Limits) -> None:
    """Write the current edges of jobs where they differ from those last written, and the states they stand on."""
    edges = _EdgeRows()
    for job in jobs:
        _apply_sources(tx, job)
        _apply_edges(tx, job, edges)
        _apply_columns(tx, job, edges, limits)
        job.state.version = _version_digest(job.version) if job.version else b""
        packed = _encode(job.state)
        if packed != job.packed:
            edges.states.append({"job": job_hash(job.key), "fold": packed})
    _apply_fields(tx, edges)
    tx.write(edges.statements())


@dataclass(slots=True)
class _EdgeRows:
    cut: list[Row] = field(default_factory=list)
    feeds: list[Row] = field(default_factory=list)
    produces: list[Row] = field(default_factory=list)
    columns_cut: list[Row] = field(default_factory=list)
    columns: list[Row] = field(default_factory=list)
    fields: list[Row] = field(default_factory=list)
    fields_left: list[Row] = field(default_factory=list)
    deferred: list[Row] = field(default_factory=list)
    states: list[Row] = field(default_factory=list)

    def statements(self) -> Iterator[Statement]:
        for name, rows in (
            ("unlink_current_edges", self.cut),
            ("link_feeds", self.feeds),
            ("link_produces", self.produces),
            ("unlink_columns", self.columns_cut),
            ("upsert_fields", self.fields),
            ("link_columns", self.columns),
            ("delete_unnamed_fields", self.fields_left),
            ("upsert_deferred_work", self.deferred),
            ("set_fold_states", self.states),
        ):
            if rows:
                yield Statement(name, tuple(rows))


def _apply_sources(tx: Transaction, job: JobNow) -> None:
    """Find whose entries and whose facets count now."""
    version, state = job.version, job.state
    same = version is not None and state.version == _version_digest(version)
    state.explicit_told = state.explicit_told or any(
        lineage_source.entries for lineage_source in (*job.lineage_sources.values(), *job.past)
    )
    state.explicit = _apply_explicit(tx, job, same) if version is not None and state.explicit_told else None
    applied: dict[Key, Precedence] = {}
    for output in version.outputs if version else ():
        precedence = _apply_output(tx, job, output, same)
        if precedence is not None:
            applied[output] = precedence
    state.columns = applied


def _apply_explicit(tx: Transaction, job: JobNow, same: bool) -> Precedence | None:
    assert job.version is not None
    since = job.version.since
    new = highest(
        (lineage_source for lineage_source in job.lineage_sources.values() if lineage_source.moment >= since),
        LineageSource.explicitly,
    )
    if same and not _lost(job, job.state.explicit, new):
        return _higher(job.state.explicit, new)
    return _search(tx, job, since, LineageSource.explicitly)


def _apply_output(tx: Transaction, job: JobNow, output: Key, same: bool) -> Precedence | None:
    before = job.state.columns.get(output)
    new = highest(job.lineage_sources.values(), lambda lineage_source: lineage_source.of_columns(output))
    if new is not None and new[0] and new[1] >= (job.state.folded_to or new[1]):
        return new
    if (same or before is not None) and not _lost(job, before, new):
        return _higher(before, new)
    return _search_columns(tx, job, output)


def _higher(before: Precedence | None, new: Precedence | None) -> Precedence | None:
    if before is None or new is None:
        return new if before is None else before
    return before if new[:2] < before[:2] else new


def _lost(job: JobNow, before: Precedence | None, new: Precedence | None) -> bool:
    """Whether the one that stood highest no longer stands as it did, so that another may."""
    if before is None:
        return False
    again = before[1] in job.lineage_sources and (new is None or new[:2] < before[:2])
    return before[1] in job.left or again


def _search_columns(tx: Transaction, job: JobNow, output: Key) -> Precedence | None:
    stored = tx.datasets([output]).get(output)
    if stored is None or stored.record is None:
        return None
    if "columnLineage" not in unpack(stored.record, DatasetRecord).facets:
        return None
    return _search(tx, job, EARLIEST, lambda lineage_source: lineage_source.of_columns(output))


def _search(
    tx: Transaction, job: JobNow, since: Moment, precedence_of: Callable[[LineageSource], Precedence | None]
) -> Precedence | None:
    """Return the last one that tells and did not fail, else the last that tells, of those that are there and those gone."""
    gone = highest((lineage_source for lineage_source in job.past if lineage_source.moment >= since), precedence_of)
    return _higher(gone, _search_items(tx, job.key, since, precedence_of))


def _search_items(
    tx: Transaction, job: Key, since: Moment, precedence_of: Callable[[LineageSource], Precedence | None]
) -> Precedence | None:
    """Walk a job's items back to the last one that tells and did not fail; else to the last that tells."""
    failed: Precedence | None = None
    before, page = LATEST, 4
    while True:
        items = tx.items_before(job, before, page)
        for item in items:
            if item.moment < since:
                return failed
            lineage_source = stored_lineage_source(item)
            precedence = precedence_of(lineage_source) if lineage_source is not None else None
            if precedence is not None and precedence[0]:
                return precedence
            failed = failed or precedence
        if len(items) < page:
            return failed
        before, page = items[-1].moment, min(page * 4, 1000)


def _lineage_source_at(tx: Transaction, job: JobNow, precedence: Precedence) -> LineageSource | None:
    if precedence[1] in job.lineage_sources:
        return job.lineage_sources[precedence[1]]
    gone = next((lineage_source for lineage_source in job.past if lineage_source.moment == precedence[1]), None)
    if gone is not None:
        return gone
    (items,) = tx.items_from([(job.key, precedence[1])], 1)
    return stored_lineage_source(items[0]) if items and items[0].moment == precedence[1] else None


# ---- table edges ---------------------------------------------------------------------------------------------------


def _explicit_inputs(tx: Transaction, job: JobNow) -> dict[Key, list[read.Members]] | None:
    if job.state.explicit is None:
        return None
    lineage_source = _lineage_source_at(tx, job, job.state.explicit)
    return entries_by_output(lineage_source.entries) if lineage_source else None


def _apply_edges(tx: Transaction, job: JobNow, edges: _EdgeRows) -> None:
    version = job.version
    entries = _explicit_inputs(tx, job)
    feeds: list[Row] = []
    produces: list[Row] = []
    if version is not None:
        shared = {"job": job_hash(job.key), "version": version.id, "since": version.since[0]}
        feeds = [shared | {"dataset": dataset_hash(key)} for key in version.inputs]
        produces = [
            shared | {"dataset": dataset_hash(key), "inputs": _inputs_text(entries, key, version)}
            for key in version.outputs
        ]
    digest = digest_of([feeds, produces])
    if digest == (job.state.edges or digest_of([[], []])):
        return
    job.state.edges = digest
    edges.cut.append({"job": job_hash(job.key)})
    edges.feeds += feeds
    edges.produces += produces


def _inputs_text(entries: dict[Key, list[read.Members]] | None, output: Key, version: JobVersion) -> str | None:
    if entries is None:
        return None
    named = named_inputs(entries.get(output, ()))
    listed: list[Json] = [list(key) for key in version.inputs if key in named]
    return canonical(listed)


def _version_digest(version: JobVersion) -> bytes:
    return digest_of([version.id, version.since, version.outputs])


# ---- columns -------------------------------------------------------------------------------------------------------


def owner_of(job: Key, output: Key) -> str:
    """Return what marks the column edges of one output of one job."""
    return key_hash("columns", *job, *output)


def _apply_columns(tx: Transaction, job: JobNow, edges: _EdgeRows, limits: Limits) -> None:
    version = job.version
    outputs = version.outputs if version else ()
    for output in [*outputs, *(key for key in job.state.written if key not in outputs)]:
        told = reported_columns(tx, job, output) if output in outputs else None
        digest = digest_of([told.digest, version.inputs if version else ()]) if told else b""
        before, count = job.state.written.pop(output, (b"", 0))
        if digest == before:
            if digest:
                job.state.written[output] = (digest, count)
            continue
        found = told.edges() if told else {}
        more = sum(map(len, found.values()))
        if digest:
            job.state.written[output] = (digest, more)
        if count + more > limits.rows:
            edges.deferred.append(defer_columns(ColumnsBody(job.key, output, count, 0)))
            continue
        if count:
            edges.columns_cut.append({"owner": owner_of(job.key, output)})
        edges.columns += column_rows(job, output, found)


@dataclass(frozen=True, slots=True)
class ReportedColumns:
    """Column edges of one output, not yet read from where they are told; ``digest`` tells whether they changed."""

    digest: bytes
    edges: Callable[[], Edges]


def reported_columns(tx: Transaction, job: JobNow, output: Key) -> ReportedColumns | None:
    """Return the column edges of an output: from the entries if they give any (specification 6.6), else from the facet (6.5)."""
    entries = _explicit_inputs(tx, job)
    if entries and output in entries and (told := entry_edges(entries[output])):
        return ReportedColumns(digest_of(sorted(canonical(cast("Json", one)) for one in entries[output])), lambda: told)
    precedence = job.state.columns.get(output)
    return (
        None if precedence is None else ReportedColumns(precedence[2], lambda: _edges_told(tx, job, output, precedence))
    )


def _edges_told(tx: Transaction, job: JobNow, output: Key, precedence: Precedence) -> Edges:
    lineage_source = _lineage_source_at(tx, job, precedence)
    return facet_edges(lineage_source.columns.get(output)) if lineage_source else {}


def column_rows(job: JobNow, output: Key, edges: Edges, first: int = 0, limit: int | None = None) -> list[Row]:
    """Return the rows of an output's column edges in a fixed order: ``limit`` of them, after so many first ones."""
    declared = set(job.version.inputs) if job.version else set()
    owner, job_key = owner_of(job.key, output), canonical(list(job.key))
    return [
        {
            "owner": owner,
            "job": job_key,
            "source": [*source.dataset, source.field],
            "target": [*output, target],
            "type": source.type,
            "subtype": source.subtype,
            "masking": source.masking or None,
            "description": source.description,
            "undeclared": None if source.dataset in declared else True,
        }
        for target, source in islice(_in_order(edges, first), limit)
    ]


def _in_order(edges: Edges, skip: int) -> Iterator[tuple[str, Source]]:
    for target in sorted(edges):
        if skip < len(edges[target]):
            by_parts = sorted(edges[target], key=lambda one: tuple((part is not None, part) for part in one))
            yield from ((target, source) for source in by_parts[skip:])
        skip = max(0, skip - len(edges[target]))


def _apply_fields(tx: Transaction, edges: _EdgeRows) -> None:
    """A field that loses an edge and gets another stays as it is: put are those not there, dropped those without edges."""
    before, after = tx.fields_joined([row["owner"] for row in edges.columns_cut]), fields_of(edges.columns)
    edges.fields = field_rows(path for path in after if path not in before)
    edges.fields_left = field_rows(sorted(before - after.keys()))


def fields_of(columns: Iterable[Row]) -> dict[FieldPath, None]:
    """Return the fields that column edges join, each once and in their order."""
    return {tuple(row[end]): None for row in columns for end in ("source", "target")}


def field_rows(paths: Iterable[FieldPath]) -> list[Row]:
    """Return the rows of fields."""
    return [{"path": list(path)} for path in paths]
