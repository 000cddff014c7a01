"""One transaction's worth of settling: records, then dataset versions and reads, then job versions, then the current graph."""

from __future__ import annotations

from collections.abc import Iterable
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
    owner_of,
    reported_columns,
    state_of,
)
from headwater_graph.apply.dataset_versions import Read, apply_dataset_versions, resolve
from headwater_graph.apply.entities import Entities, apply_entities
from headwater_graph.apply.fold_writes import write_folds
from headwater_graph.apply.folds import Fold, JobChange, append, continue_fold, event_rows, job_changes, leave, refold
from headwater_graph.apply.limits import Limits
from headwater_graph.apply.lineage_sources import LineageSource, lineage_sources, retained_sources_of
from headwater_graph.apply.merged import Told
from headwater_graph.apply.run_changes import RunChange
from headwater_graph.apply.version_changes import VersionChanges
from headwater_graph.model.values import DeferredWork, Moment, Statement, StoredJob
from headwater_graph.retention.removal import retain_on
from headwater_graph.rules.horizon import Beyond
from headwater_graph.store.port import Transaction


@dataclass(frozen=True, slots=True)
class ApplyResult:
    """What settling a batch took: runs written, runs that came late, versions folded again for them; and what was not taken."""

    runs: int = 0
    late: int = 0
    refolded: int = 0
    beyond: tuple[Beyond, ...] = ()

    def __add__(self, other: ApplyResult) -> ApplyResult:
        beyond = self.beyond + other.beyond
        return ApplyResult(self.runs + other.runs, self.late + other.late, self.refolded + other.refolded, beyond)


def apply_batch(tx: Transaction, told: Told, limits: Limits) -> ApplyResult:
    """Write all that a portion of a batch tells and what follows from it; beyond the limits it is owed.

    Raises RebuildUnfinished while the graph is being rebuilt, RetentionUnfinished while what lies before the horizon is
    being removed.
    """
    work.refuse_while_unfinished(tx)
    beyond = told.without_events_before(tx.horizon)
    entities = apply_entities(tx, told)
    apply_dataset_versions(tx, entities, told.dataset_events.values(), limits)
    events = tuple(told.job_events.values())
    if events:
        tx.write((event_rows(events),))
    changes = job_changes(entities.changes.values(), events)
    stored = entities.stored_jobs | tx.jobs(key for key in changes if key not in entities.stored_jobs)
    states = {key: state_of(one.fold) for key, one in stored.items()}
    leave(tx, changes.values())
    folds = _fold(tx, changes, stored, states, limits)
    write_folds(tx, folds)
    apply_current_graph(tx, _jobs_now(tx, entities.changes.values(), told, folds, stored, states), limits)
    late = [fold for fold in folds if not fold.appended]
    beyond += entities.beyond
    return ApplyResult(len(entities.changes), len(late), sum(fold.refolded for fold in late), tuple(beyond))


def _fold(
    tx: Transaction,
    changes: dict[Key, JobChange],
    stored: dict[Key, StoredJob],
    states: dict[Key, FoldState],
    limits: Limits,
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
        if change.put:
            latest = max(change.put)
            state.folded_to = latest if state.folded_to is None else max(state.folded_to, latest)
    return folds + (refold(tx, late, limits) if late else [])


def _jobs_now(
    tx: Transaction,
    changes: Iterable[RunChange],
    told: Told,
    folds: list[Fold],
    stored: dict[Key, StoredJob],
    states: dict[Key, FoldState],
) -> list[JobNow]:
    """Return the jobs whose current edges may have changed: folded, or told something new by one of their runs."""
    folded = {fold.job: fold for fold in folds}
    told_now: dict[Key, list[tuple[Moment, LineageSource | None]]] = {key: [] for key in folded}
    for key, moment, lineage_source in lineage_sources(changes, told.job_events.values()):
        told_now.setdefault(key, []).append((moment, lineage_source))
    moved = [key for key, fold in folded.items() if not fold.appended]
    unknown = [key for key in told_now if key not in folded and key not in stored]
    fresh = tx.jobs([*moved, *unknown])
    jobs = []
    for key, listed in told_now.items():
        if key in folded and folded[key].appended:
            version = folded[key].current
        else:
            known = fresh.get(key) or stored.get(key)
            version = known.current if known else None
        before = stored.get(key) or fresh.get(key)
        packed = before.fold if before else None
        now = JobNow(key, packed, states.get(key) or state_of(packed), version)
        now.past = retained_sources_of(before.past) if before else ()
        now.lineage_sources = {
            moment: lineage_source for moment, lineage_source in listed if lineage_source is not None
        }
        now.left = {
            moment for moment, lineage_source in listed if lineage_source is None and moment not in now.lineage_sources
        }
        jobs.append(now)
    return jobs


# ---- what earlier transactions left --------------------------------------------------------------------------------


def run_deferred(tx: Transaction, deferred: DeferredWork, limits: Limits) -> ApplyResult:
    """Do one piece of owed work as far as the limits let; what is left of it is owed again.

    Raises RebuildUnfinished where that piece is a rebuild.
    """
    if deferred.kind == work.REBUILD["kind"]:
        raise work.RebuildUnfinished
    tx.write((Statement("delete_deferred_work", ({"key": deferred.key},)),))
    match deferred.kind:
        case "fold":
            return _resume_fold(tx, work.fold_body(deferred.body), limits)
        case "reads":
            _resume_reads(tx, work.reads_body(deferred.body), limits)
        case "exact":
            _resume_exact(tx, work.exact_body(deferred.body), limits)
        case "columns":
            _resume_columns(tx, work.columns_body(deferred.body), limits)
        case "retain":
            retain_on(tx, work.retain_body(deferred.body), limits)
        case unknown:
            raise ValueError(f"owed work of kind {unknown!r}: written by a newer headwater, upgrade this one")
    return ApplyResult()


def _resume_fold(tx: Transaction, body: work.FoldBody, limits: Limits) -> ApplyResult:
    fold = continue_fold(tx, body, limits)
    write_folds(tx, [fold])
    apply_current_graph(tx, [_job_now(tx, body.job)], limits)
    return ApplyResult(refolded=fold.refolded)


def _job_now(tx: Transaction, key: Key) -> JobNow:
    job = tx.jobs([key])[key]
    return JobNow(key, job.fold, state_of(job.fold), job.current, past=retained_sources_of(job.past))


def _resume_reads(tx: Transaction, body: work.ReadsBody, limits: Limits) -> None:
    dataset, after, until = body
    (reads,) = tx.readers_between([(dataset, after, until)], limits.rows + 1)
    if len(reads) > limits.rows:
        reads = reads[: limits.rows]
        tx.write((Statement("upsert_deferred_work", (work.defer_reads(dataset, reads[-1].moment, until),)),))
    _resolve_again(tx, [Read(one.run_id, one.moment, dataset, None, one.version, one.version) for one in reads])


def _resume_exact(tx: Transaction, body: work.ExactBody, limits: Limits) -> None:
    dataset, external, after = body
    (reads,) = tx.exact_readers([(dataset, external, after)], limits.rows + 1)
    if len(reads) > limits.rows:
        reads = reads[: limits.rows]
        tx.write((Statement("upsert_deferred_work", (work.defer_exact(dataset, external, reads[-1].moment),)),))
    _resolve_again(tx, [Read(one.run_id, one.moment, dataset, external, one.version, one.version) for one in reads])


def _resolve_again(tx: Transaction, reads: list[Read]) -> None:
    entities = Entities()
    version_changes = VersionChanges()
    for one in reads:
        # Nothing at hand may settle these: what is stored around their moments is not loaded.
        version_changes.removed.setdefault(one.dataset, set())
    resolve(tx, entities, reads, [], version_changes)


def _resume_columns(tx: Transaction, body: work.ColumnsBody, limits: Limits) -> None:

    owner = owner_of(body.job, body.output)
    if body.to_cut > 0:
        tx.write((Statement("unlink_some_columns", ({"owner": owner, "limit": limits.rows},)),))
        left = work.ColumnsBody(body.job, body.output, max(0, body.to_cut - limits.rows), 0)
        tx.write((Statement("upsert_deferred_work", (work.defer_columns(left),)),))
        return
    job = _job_now(tx, body.job)
    current = job.version is not None and body.output in job.version.outputs
    told = reported_columns(tx, job, body.output) if current else None
    edges = told.edges() if told else {}
    rows = column_rows(job, body.output, edges, body.done, limits.rows)
    statements = [
        Statement("upsert_fields", tuple(field_rows(fields_of(rows)))),
        Statement("link_columns", tuple(rows)),
    ]
    if sum(map(len, edges.values())) > body.done + limits.rows:
        left = work.ColumnsBody(body.job, body.output, 0, body.done + limits.rows)
        statements.append(Statement("upsert_deferred_work", (work.defer_columns(left),)))
    tx.write(statements)
