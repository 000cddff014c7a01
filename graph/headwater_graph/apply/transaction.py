"""The steps of a transaction: records, dataset versions and reads, job versions, the current graph; or deferred work."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headwater_avro.names import Key
from headwater_graph.apply import deferred as work
from headwater_graph.apply.current_graph import (
    FoldState,
    JobNow,
    apply_current_graph,
    column_rows,
    field_rows,
    fields_of,
    jobs_now,
    owner_of,
    reported_columns,
    state_of,
)
from headwater_graph.apply.entities import Entities, apply_entities
from headwater_graph.apply.fold_writes import write_folds
from headwater_graph.apply.folds import Fold, JobChange, append, continue_folds, event_rows, job_changes, leave, refold
from headwater_graph.apply.limits import TransactionLimits
from headwater_graph.apply.lineage_sources import LineageSource, lineage_sources, retained_sources_of
from headwater_graph.apply.merged import MergedRows
from headwater_graph.apply.run_changes import RunChange
from headwater_graph.apply.version_changes import VersionChanges
from headwater_graph.apply.version_reads import first_reads, resolve
from headwater_graph.apply.version_writes import apply_dataset_versions
from headwater_graph.model.values import DeferredWork, Moment, StoredJob, StoredRead
from headwater_graph.retention.removal import retain_on
from headwater_graph.rules.horizon import HorizonRejection
from headwater_graph.rules.job_events import JobEventReading, read_job_event
from headwater_graph.store.port import Transaction


@dataclass(frozen=True, slots=True)
class ApplyResult:
    """How many runs were written, how many jobs had a late run, how many runs were folded again, and what was rejected."""

    runs: int = 0
    late: int = 0
    refolded: int = 0
    rejected: tuple[HorizonRejection, ...] = ()

    def __add__(self, other: ApplyResult) -> ApplyResult:
        rejected = self.rejected + other.rejected
        return ApplyResult(self.runs + other.runs, self.late + other.late, self.refolded + other.refolded, rejected)


def apply_batch(tx: Transaction, batch: MergedRows, limits: TransactionLimits) -> ApplyResult:
    """Write the content of a portion of a batch and what follows from it; what exceeds the limits is deferred.

    Raises RebuildUnfinished while the graph is being rebuilt, RetentionUnfinished while what is before the horizon is
    being removed.
    """
    work.refuse_while_unfinished(tx)
    rejected = batch.reject_events_before(tx.horizon)
    entities = apply_entities(tx, batch)
    rejected += entities.rejected
    apply_dataset_versions(tx, entities, batch.dataset_events.values(), limits)
    events = [read_job_event(event) for event in batch.job_events.values()]
    tx.write({"upsert_job_events": event_rows(events)})
    changes = job_changes(entities.changes.values(), events)
    stored = entities.stored_jobs | tx.jobs(key for key in changes if key not in entities.stored_jobs)
    states = {key: state_of(job.fold) for key, job in stored.items()}
    leave(tx, changes.values())
    folds = _fold(tx, changes, stored, states, limits)
    write_folds(tx, folds)
    apply_current_graph(tx, _jobs_now(tx, entities.changes.values(), events, folds, stored, states), limits)
    late = [fold for fold in folds if not fold.appended]
    return ApplyResult(len(entities.changes), len(late), sum(fold.refolded for fold in late), tuple(rejected))


def _fold(
    tx: Transaction,
    changes: dict[Key, JobChange],
    stored: dict[Key, StoredJob],
    states: dict[Key, FoldState],
    limits: TransactionLimits,
) -> list[Fold]:
    folds = []
    late: dict[Key, JobChange] = {}
    for job, change in changes.items():
        state = states.setdefault(job, FoldState())
        if state.folded_to is None or change.first > state.folded_to:
            known = stored.get(job)
            folds.append(append(job, known.current if known else None, change))
        else:
            late[job] = change
        if change.added:
            latest = max(change.added)
            state.folded_to = latest if state.folded_to is None else max(state.folded_to, latest)
    return folds + (refold(tx, late, limits) if late else [])


def _jobs_now(
    tx: Transaction,
    changes: Iterable[RunChange],
    events: Iterable[JobEventReading],
    folds: list[Fold],
    stored: dict[Key, StoredJob],
    states: dict[Key, FoldState],
) -> list[JobNow]:
    """Return the jobs whose current edges may have changed: folded, or with changed lineage sources."""
    folded = {fold.job: fold for fold in folds}
    changed: dict[Key, dict[Moment, LineageSource | None]] = {key: {} for key in folded}
    changed |= _changed_sources(changes, events)
    moved = [key for key, fold in folded.items() if not fold.appended]
    unknown = [key for key in changed if key not in folded and key not in stored]
    fresh = tx.jobs([*moved, *unknown])
    jobs = []
    for key, sources in changed.items():
        before = stored.get(key) or fresh.get(key)
        if key in folded and folded[key].appended:
            version = folded[key].current
        else:
            known = fresh.get(key) or before
            version = known.current if known else None
        packed = before.fold if before else None
        now = JobNow(key, packed, states.get(key) or state_of(packed), version)
        now.retained = retained_sources_of(before.retained_sources) if before else ()
        now.sources = {moment: source for moment, source in sources.items() if source is not None}
        now.left = sources.keys() - now.sources.keys()
        jobs.append(now)
    return jobs


def _changed_sources(
    changes: Iterable[RunChange], events: Iterable[JobEventReading]
) -> dict[Key, dict[Moment, LineageSource | None]]:
    """Return the changed lineage sources of jobs by their moments; None where there is none any more."""
    changed: dict[Key, dict[Moment, LineageSource | None]] = {}
    for key, moment, source in lineage_sources(changes, events):
        sources = changed.setdefault(key, {})
        sources[moment] = source or sources.get(moment)
    return changed


# ---- work that earlier transactions deferred -----------------------------------------------------------------------


def run_deferred(tx: Transaction, deferred: Sequence[DeferredWork], limits: TransactionLimits) -> ApplyResult:
    """Do the first piece of deferred work as far as the limits allow; the rest of it is deferred again.

    If it is a fold, the folds that follow it are continued with it: they are of other jobs, and share the limits.

    Raises RebuildUnfinished if the piece is a rebuild, ValueError if a newer headwater stored it.
    """
    first = deferred[0]
    if first.kind == work.REBUILD["kind"]:
        raise work.RebuildUnfinished
    body = work.body_of(first)
    if isinstance(body, work.FoldBody):
        return _resume_folds(tx, [piece for piece in deferred if piece.kind == first.kind], limits)
    tx.write({"delete_deferred_work": [{"key": first.key}]})
    match body:
        case work.ReadsBody():
            _resolve_again(tx, body, tx.readers_between([body], limits.rows + 1), limits)
        case work.ExactBody():
            _resolve_again(tx, body, tx.exact_readers([body], limits.rows + 1), limits)
        case work.ColumnsBody():
            _resume_columns(tx, body, limits)
        case work.RetainBody():
            retain_on(tx, body, limits)
    return ApplyResult()


def _resume_folds(tx: Transaction, deferred: Sequence[DeferredWork], limits: TransactionLimits) -> ApplyResult:
    tx.write({"delete_deferred_work": [{"key": piece.key} for piece in deferred]})
    bodies = [body for body in map(work.body_of, deferred) if isinstance(body, work.FoldBody)]
    folds = continue_folds(tx, bodies, limits)
    write_folds(tx, folds)
    apply_current_graph(tx, jobs_now(tx, [body.job for body in bodies]), limits)
    return ApplyResult(refolded=sum(fold.refolded for fold in folds))


def _resolve_again(
    tx: Transaction, body: work.ReadsBody | work.ExactBody, found: list[list[StoredRead]], limits: TransactionLimits
) -> None:
    (reads,) = found
    pending, rest = first_reads(body, reads, limits)
    tx.write({"upsert_deferred_work": rest})
    # Marked as removed, so that the store resolves each read: the versions around these moments are not loaded.
    resolve(tx, Entities(), pending, [], VersionChanges(removed={body.dataset: set()}))


def _resume_columns(tx: Transaction, body: work.ColumnsBody, limits: TransactionLimits) -> None:
    if body.to_unlink > 0:
        row = {"owner": owner_of(body.job, body.output), "limit": limits.rows}
        tx.write({"unlink_some_columns": [row]})
        rest = work.ColumnsBody(body.job, body.output, max(0, body.to_unlink - limits.rows), 0)
        tx.write({"upsert_deferred_work": [work.defer(rest)]})
        return
    (job,) = jobs_now(tx, [body.job])
    current = job.version is not None and body.output in job.version.outputs
    reported = reported_columns(tx, job, body.output) if current else None
    edges = reported.edges() if reported else {}
    rows = column_rows(job, body.output, edges, body.done, limits.rows)
    tx.write({"upsert_fields": field_rows(fields_of(rows)), "link_columns": rows})
    if sum(map(len, edges.values())) > body.done + limits.rows:
        rest = work.ColumnsBody(body.job, body.output, 0, body.done + limits.rows)
        tx.write({"upsert_deferred_work": [work.defer(rest)]})
