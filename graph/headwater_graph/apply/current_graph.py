"""The current graph of a job: its edges, which input feeds which output, and its columns (specification 6.1, 6.2, 6.5, 6.6).

What the edges are based on is stored with the job as its fold state: up to which moment it is folded, which run or
JobEvent the explicit entries come from, which one each output's column facet comes from, and digests of the edges as they
were last written. So a run that states the same as the run before it writes no edge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeAlias, cast

import msgspec
from msgspec import Struct

from headwater_avro.canonical import Json, canonical
from headwater_avro.names import Key, node_key
from headwater_graph.apply.deferred import ColumnsBody, defer
from headwater_graph.apply.limits import TransactionLimits
from headwater_graph.apply.lineage_sources import (
    LineageSource,
    Precedence,
    digest_of,
    highest,
    retained_sources_of,
    stored_lineage_source,
)
from headwater_graph.model.node_keys import dataset_node_key, job_node_key
from headwater_graph.model.records import DatasetRecord, unpack
from headwater_graph.model.values import EARLIEST, LATEST, FieldPath, JobVersion, Moment, Row
from headwater_graph.rules import facets as read
from headwater_graph.rules.columns import Edges, Source, facet_edges
from headwater_graph.rules.explicit_lineage import entries_by_output, entry_edges, named_inputs
from headwater_graph.store.port import Transaction


class FoldState(Struct, array_like=True):
    """What a job's current edges are based on.

    ``version``: a digest of the version for which the sources were determined; ``has_entries``: whether any run or event
    of the job ever had explicit entries; ``edges`` and ``written`` have digests of the edges last written, ``written`` by
    output and with the number of its column edges.
    """

    folded_to: Moment | None = None
    version: bytes = b""
    has_entries: bool = False
    explicit: Precedence | None = None
    columns: dict[Key, Precedence] = msgspec.field(default_factory=dict)
    edges: bytes = b""
    written: dict[Key, tuple[bytes, int]] = msgspec.field(default_factory=dict)


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(FoldState).decode


def state_of(packed: bytes | None) -> FoldState:
    """Return the fold state that is stored with a job."""
    return FoldState() if packed is None else _decode(packed)


@dataclass(slots=True)
class JobNow:
    """A job whose current edges may change: its state, its current version, and its new lineage sources.

    ``packed`` is the state as stored, ``left`` the moments that have no source any more, ``retained`` the sources that
    retention removed (specification 10.8).
    """

    key: Key
    packed: bytes | None
    state: FoldState
    version: JobVersion | None
    sources: dict[Moment, LineageSource] = field(default_factory=dict)
    left: set[Moment] = field(default_factory=set)
    retained: tuple[LineageSource, ...] = ()


def jobs_now(tx: Transaction, keys: Sequence[Key]) -> list[JobNow]:
    """Return jobs as they are stored now, without new lineage sources."""
    stored = tx.jobs(keys)
    return [
        JobNow(key, job.fold, state_of(job.fold), job.current, retained=retained_sources_of(job.retained_sources))
        for key, job in ((key, stored[key]) for key in keys)
    ]


# ---- sources of the current edges ----------------------------------------------------------------------------------


def apply_current_graph(tx: Transaction, jobs: Iterable[JobNow], limits: TransactionLimits) -> None:
    """Write the current edges of jobs that differ from those last written, and the states on which they are based."""
    edges: EdgeRows = {name: [] for name in _ORDER}
    for job in jobs:
        _apply_sources(tx, job)
        _apply_edges(tx, job, edges)
        _apply_columns(tx, job, edges, limits)
        job.state.version = _version_digest(job.version) if job.version else b""
        packed = _encode(job.state)
        if packed != job.packed:
            edges["set_fold_states"].append({"job": job_node_key(job.key), "fold": packed})
    _apply_fields(tx, edges)
    tx.write(edges)


EdgeRows: TypeAlias = dict[str, list[Row]]
"""The rows of each statement, by its name."""

_ORDER = (
    "unlink_current_edges",
    "link_feeds",
    "link_produces",
    "unlink_columns",
    "upsert_fields",
    "link_columns",
    "delete_unnamed_fields",
    "upsert_deferred_work",
    "set_fold_states",
)


def _apply_sources(tx: Transaction, job: JobNow) -> None:
    """Determine whose entries and whose column facets count now."""
    version, state = job.version, job.state
    same = version is not None and state.version == _version_digest(version)
    state.has_entries = state.has_entries or any(source.entries for source in (*job.sources.values(), *job.retained))
    state.explicit = _entries_precedence(tx, job, same) if version is not None and state.has_entries else None
    columns = {output: _columns_precedence(tx, job, output, same) for output in (version.outputs if version else ())}
    state.columns = {output: precedence for output, precedence in columns.items() if precedence is not None}


def _entries_precedence(tx: Transaction, job: JobNow, same: bool) -> Precedence | None:
    assert job.version is not None
    since = job.version.since
    precedence_of = LineageSource.entries_precedence
    new = highest((source for source in job.sources.values() if source.moment >= since), precedence_of)
    if same and not _lost(job, job.state.explicit, new):
        return _higher(job.state.explicit, new)
    return _search(tx, job, since, precedence_of)


def _columns_precedence(tx: Transaction, job: JobNow, output: Key, same: bool) -> Precedence | None:
    before = job.state.columns.get(output)
    new = highest(job.sources.values(), lambda source: source.columns_precedence(output))
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
    """Return whether the source with the highest precedence left or lost it, so that another one may have the highest."""
    if before is None:
        return False
    lowered = before[1] in job.sources and (new is None or new[:2] < before[:2])
    return before[1] in job.left or lowered


def _search_columns(tx: Transaction, job: JobNow, output: Key) -> Precedence | None:
    stored = tx.datasets([output]).get(output)
    if stored is None or stored.record is None:
        return None
    if "columnLineage" not in unpack(stored.record, DatasetRecord).facets:
        return None
    return _search(tx, job, EARLIEST, lambda source: source.columns_precedence(output))


def _search(
    tx: Transaction, job: JobNow, since: Moment, precedence_of: Callable[[LineageSource], Precedence | None]
) -> Precedence | None:
    """Return the highest precedence of all stored and all retained sources from a moment on."""
    retained = highest((source for source in job.retained if source.moment >= since), precedence_of)
    return _higher(retained, _search_items(tx, job.key, since, precedence_of))


def _search_items(
    tx: Transaction, job: Key, since: Moment, precedence_of: Callable[[LineageSource], Precedence | None]
) -> Precedence | None:
    """Return the precedence of the last source that did not fail, else of the last source; items are read backwards."""
    failed: Precedence | None = None
    before, page = LATEST, 4
    while True:
        items = tx.items_before(job, before, page)
        for item in items:
            if item.moment < since:
                return failed
            source = stored_lineage_source(item)
            precedence = precedence_of(source) if source is not None else None
            if precedence is not None and precedence[0]:
                return precedence
            failed = failed or precedence
        if len(items) < page:
            return failed
        before, page = items[-1].moment, min(page * 4, 1000)


def _lineage_source_at(tx: Transaction, job: JobNow, precedence: Precedence) -> LineageSource | None:
    moment = precedence[1]
    known = job.sources.get(moment) or next((source for source in job.retained if source.moment == moment), None)
    if known is not None:
        return known
    (items,) = tx.items_from([(job.key, moment)], 1)
    return stored_lineage_source(items[0]) if items and items[0].moment == moment else None


# ---- table edges ---------------------------------------------------------------------------------------------------


def _explicit_inputs(tx: Transaction, job: JobNow) -> dict[Key, list[read.Members]] | None:
    if job.state.explicit is None:
        return None
    source = _lineage_source_at(tx, job, job.state.explicit)
    return entries_by_output(source.entries) if source else None


def _apply_edges(tx: Transaction, job: JobNow, edges: EdgeRows) -> None:
    version = job.version
    entries = _explicit_inputs(tx, job)
    feeds: list[Row] = []
    produces: list[Row] = []
    if version is not None:
        shared = {"job": job_node_key(job.key), "version": version.id, "since": version.since[0]}
        feeds = [shared | {"dataset": dataset_node_key(key)} for key in version.inputs]
        produces = [
            shared | {"dataset": dataset_node_key(key), "inputs": _inputs_text(entries, key, version)}
            for key in version.outputs
        ]
    digest = digest_of([feeds, produces])
    if digest == (job.state.edges or digest_of([[], []])):
        return
    job.state.edges = digest
    edges["unlink_current_edges"].append({"job": job_node_key(job.key)})
    edges["link_feeds"] += feeds
    edges["link_produces"] += produces


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
    """Return the digest that identifies the column edges of a job's output."""
    return node_key("columns", *job, *output)


def _apply_columns(tx: Transaction, job: JobNow, edges: EdgeRows, limits: TransactionLimits) -> None:
    version = job.version
    outputs = version.outputs if version else ()
    for output in [*outputs, *(key for key in job.state.written if key not in outputs)]:
        reported = reported_columns(tx, job, output) if output in outputs else None
        digest = digest_of([reported.digest, version.inputs if version else ()]) if reported else b""
        before, count = job.state.written.pop(output, (b"", 0))
        if digest == before:
            if digest:
                job.state.written[output] = (digest, count)
            continue
        found = reported.edges() if reported else {}
        more = sum(map(len, found.values()))
        if digest:
            job.state.written[output] = (digest, more)
        if count + more > limits.rows:
            edges["upsert_deferred_work"].append(defer(ColumnsBody(job.key, output, count, 0)))
            continue
        if count:
            edges["unlink_columns"].append({"owner": owner_of(job.key, output)})
        edges["link_columns"] += column_rows(job, output, found)


@dataclass(frozen=True, slots=True)
class ReportedColumns:
    """Column edges of an output that are not yet read from their source; they changed if ``digest`` did."""

    digest: bytes
    edges: Callable[[], Edges]


def reported_columns(tx: Transaction, job: JobNow, output: Key) -> ReportedColumns | None:
    """Return the column edges of an output: from the entries if these give any (specification 6.6), else from the facet (6.5)."""
    entries = _explicit_inputs(tx, job)
    if entries and output in entries and (edges := entry_edges(entries[output])):
        texts = sorted(canonical(cast("Json", entry)) for entry in entries[output])
        return ReportedColumns(digest_of(texts), lambda: edges)
    precedence = job.state.columns.get(output)
    if precedence is None:
        return None
    return ReportedColumns(precedence[2], lambda: _source_edges(tx, job, output, precedence))


def _source_edges(tx: Transaction, job: JobNow, output: Key, precedence: Precedence) -> Edges:
    source = _lineage_source_at(tx, job, precedence)
    return facet_edges(source.columns.get(output)) if source else {}


def column_rows(job: JobNow, output: Key, edges: Edges, first: int = 0, limit: int | None = None) -> list[Row]:
    """Return the rows of an output's column edges in a fixed order: ``limit`` of them, without the ``first`` ones."""
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
            by_parts = sorted(edges[target], key=lambda source: tuple((part is not None, part) for part in source))
            yield from ((target, source) for source in by_parts[skip:])
        skip = max(0, skip - len(edges[target]))


def _apply_fields(tx: Transaction, edges: EdgeRows) -> None:
    """Create the fields that are not there, delete those without edges; a field that loses an edge and gets another stays."""
    before, after = (
        tx.fields_joined([row["owner"] for row in edges["unlink_columns"]]),
        fields_of(edges["link_columns"]),
    )
    edges["upsert_fields"] = field_rows(path for path in after if path not in before)
    edges["delete_unnamed_fields"] = field_rows(sorted(before - after.keys()))


def fields_of(columns: Iterable[Row]) -> dict[FieldPath, None]:
    """Return the fields that column edges connect, each once and in their order."""
    return {tuple(row[end]): None for row in columns for end in ("source", "target")}


def field_rows(paths: Iterable[FieldPath]) -> list[Row]:
    """Return the rows of fields."""
    return [{"path": list(path)} for path in paths]
