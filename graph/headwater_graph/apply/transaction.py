"""One transaction's worth of settling: records, then dataset versions and reads, then job versions, then the current graph."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headwater_avro.names import Key
from headwater_graph.apply import deferred as work
from headwater_graph.apply.current_graph import (
    FoldState,
    JobNow,
    column_rows,
    field_rows,
    fields_of,
    owner_of,
    settle_current,
    state_of,
    told_columns,
)
from headwater_graph.apply.dataset_versions import Read, resolve, settle_versions
from headwater_graph.apply.entities import Entities, settle_entities
from headwater_graph.apply.fold_writes import write_folds
from headwater_graph.apply.folds import Fold, JobChange, append, continue_fold, event_rows, job_changes, leave, refold
from headwater_graph.apply.limits import Limits
from headwater_graph.apply.lineage_sources import Teller, past_of, tellers
from headwater_graph.apply.merged import Told
from headwater_graph.apply.run_changes import Change
from headwater_graph.apply.version_changes import Touched
from headwater_graph.model.values import Moment, Owed, Statement, StoredJob
from headwater_graph.retention.removal import retain_on
from headwater_graph.rules.horizon import Beyond
from headwater_graph.store.port import Transaction


@dataclass(frozen=True, slots=True)
class Settled:
    """What settling a batch took: runs written, runs that came late, versions folded again for them; and what was not taken."""

    runs: int = 0
    late: int = 0
    refolded: int = 0
    beyond: tuple[Beyond, ...] = ()

    def __add__(self, other: Settled) -> Settled:
        beyond = self.beyond + other.beyond
        return Settled(self.runs + other.runs, self.late + other.late, self.refolded + other.refolded, beyond)


def settle(tx: Transaction, told: Told, limits: Limits) -> Settled:
    """Write all that a portion of a batch tells and what follows from it; beyond the limits it is owed.

    Raises RebuildUnfinished while the graph is being rebuilt, RetentionUnfinished while what lies before the horizon is
    being removed.
    """
    work.refuse_while_owed(tx)
    beyond = told.without_events_before(tx.horizon)
    entities = settle_entities(tx, told)
    settle_versions(tx, entities, told.dataset_events.values(), limits)
    events = tuple(told.job_events.values())
    if events:
        tx.write((event_rows(events),))
    changes = job_changes(entities.changes.values(), events)
    stored = entities.stored_jobs | tx.jobs(key for key in changes if key not in entities.stored_jobs)
    states = {key: state_of(one.fold) for key, one in stored.items()}
    leave(tx, changes.values())
    folds = _fold(tx, changes, stored, states, limits)
    write_folds(tx, folds)
    settle_current(tx, _jobs_now(tx, entities.changes.values(), told, folds, stored, states), limits)
    late = [fold for fold in folds if not fold.appended]
    beyond += entities.beyond
    return Settled(len(entities.changes), len(late), sum(fold.refolded for fold in late), tuple(beyond))


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
    changes: Iterable[Change],
    told: Told,
    folds: list[Fold],
    stored: dict[Key, StoredJob],
    states: dict[Key, FoldState],
) -> list[JobNow]:
    """Return the jobs whose current edges may have changed: folded, or told something new by one of their runs."""
    folded = {fold.job: fold for fold in folds}
    told_now: dict[Key, list[tuple[Moment, Teller | None]]] = {key: [] for key in folded}
    for key, moment, teller in tellers(changes, told.job_events.values()):
        told_now.setdefault(key, []).append((moment, teller))
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
        now.past = past_of(before.past) if before else ()
        now.tellers = {moment: teller for moment, teller in listed if teller is not None}
        now.left = {moment for moment, teller in listed if teller is None and moment not in now.tellers}
        jobs.append(now)
    return jobs


# ---- what earlier transactions left --------------------------------------------------------------------------------


def drain(tx: Transaction, owed: Owed, limits: Limits) -> Settled:
    """Do one piece of owed work as far as the limits let; what is left of it is owed again.

    Raises RebuildUnfinished where that piece is a rebuild.
    """
    if owed.kind == work.REBUILD["kind"]:
        raise work.RebuildUnfinished
    tx.write((Statement("delete_deferred_work", ({"key": owed.key},)),))
    match owed.kind:
        case "fold":
            return _drain_fold(tx, work.fold_body(owed.body), limits)
        case "reads":
            _drain_reads(tx, work.reads_body(owed.body), limits)
        case "exact":
            _drain_exact(tx, work.exact_body(owed.body), limits)
        case "columns":
            _drain_columns(tx, work.columns_body(owed.body), limits)
        case "retain":
            retain_on(tx, work.retain_body(owed.body), limits)
        case unknown:
            raise ValueError(f"owed work of kind {unknown!r}: written by a newer headwater, upgrade this one")
    return Settled()


def _drain_fold(tx: Transaction, body: work.FoldBody, limits: Limits) -> Settled:
    fold = continue_fold(tx, body, limits)
    write_folds(tx, [fold])
    settle_current(tx, [_job_now(tx, body.job)], limits)
    return Settled(refolded=fold.refolded)


def _job_now(tx: Transaction, key: Key) -> JobNow:
    job = tx.jobs([key])[key]
    return JobNow(key, job.fold, state_of(job.fold), job.current, past=past_of(job.past))


def _drain_reads(tx: Transaction, body: work.ReadsBody, limits: Limits) -> None:
    dataset, after, until = body
    (reads,) = tx.readers_between([(dataset, after, until)], limits.rows + 1)
    if len(reads) > limits.rows:
        reads = reads[: limits.rows]
        tx.write((Statement("upsert_deferred_work", (work.owe_reads(dataset, reads[-1].moment, until),)),))
    _resolve_again(tx, [Read(one.run_id, one.moment, dataset, None, one.version, one.version) for one in reads])


def _drain_exact(tx: Transaction, body: work.ExactBody, limits: Limits) -> None:
    dataset, external, after = body
    (reads,) = tx.exact_readers([(dataset, external, after)], limits.rows + 1)
    if len(reads) > limits.rows:
        reads = reads[: limits.rows]
        tx.write((Statement("upsert_deferred_work", (work.owe_exact(dataset, external, reads[-1].moment),)),))
    _resolve_again(tx, [Read(one.run_id, one.moment, dataset, external, one.version, one.version) for one in reads])


def _resolve_again(tx: Transaction, reads: list[Read]) -> None:
    entities = Entities()
    touched = Touched()
    for one in reads:
        # Nothing at hand may settle these: what is stored around their moments is not loaded.
        touched.removed.setdefault(one.dataset, set())
    resolve(tx, entities, reads, [], touched)


def _drain_columns(tx: Transaction, body: work.ColumnsBody, limits: Limits) -> None:

    owner = owner_of(body.job, body.output)
    if body.to_cut > 0:
        tx.write((Statement("unlink_some_columns", ({"owner": owner, "limit": limits.rows},)),))
        left = work.ColumnsBody(body.job, body.output, max(0, body.to_cut - limits.rows), 0)
        tx.write((Statement("upsert_deferred_work", (work.owe_columns(left),)),))
        return
    job = _job_now(tx, body.job)
    current = job.version is not None and body.output in job.version.outputs
    told = told_columns(tx, job, body.output) if current else None
    edges = told.edges() if told else {}
    rows = column_rows(job, body.output, edges, body.done, limits.rows)
    statements = [Statement("upsert_fields", tuple(field_rows(fields_of(rows)))), Statement("link_columns", tuple(rows))]
    if sum(map(len, edges.values())) > body.done + limits.rows:
        left = work.ColumnsBody(body.job, body.output, 0, body.done + limits.rows)
        statements.append(Statement("upsert_deferred_work", (work.owe_columns(left),)))
    tx.write(statements)
