"""Removal of what is before the horizon, and retention of what must stay of it (specification 10; ``rules.horizon``).

Theory of operation. Retention is deferred work: the transaction that sets the horizon stores it, and whoever runs deferred
work next continues it, the command or a consumer. No records are written meanwhile, so each event comes either before or
after the horizon.

The work is a sequence of steps. A step goes through its nodes page by page, in the order of their keys, and the deferred
work states the step and the last key that is done. A page with more to remove than a transaction may do is not counted as
done; it is read again, and what was removed is not there any more. So the removal can be interrupted between any two
transactions, and doing a page twice changes nothing.

The order of the steps ensures that what must stay (10.4 to 10.8) is retained before it can be lost:

1. ``_retain_jobs`` marks the job versions that stay without their makers, and copies the sources on which current edges
   are based, while the runs and events that they come from are there.
2. ``_retain_datasets`` marks the initial or external versions that are current, while their readers are there.
3. ``_remove_runs`` removes runs and counts them in their job versions.
4. ``_remove_from_jobs`` removes JobEvents and the job versions before the base of each job.
5. ``_remove_from_datasets`` removes the dataset versions that no run made or reads any more and that nothing else retains,
   and marks those that stay. They carry the runId of their maker, so this is possible without the run.

6. ``_fold_again`` folds jobs again from the moment of each removed run or JobEvent that gave its code version to a version
   that is not retained: such a version has only what the runs and events that are there give it (10.5).

Steps 4 and 5 also create the placeholders of the removed runs that made something that is retained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeAlias

from headwater_avro.names import Key, initial_version_id
from headwater_graph.apply.current_graph import apply_current_graph, jobs_now, state_of
from headwater_graph.apply.deferred import RetainBody, defer
from headwater_graph.apply.fold_writes import write_folds
from headwater_graph.apply.folds import JobChange, refold
from headwater_graph.apply.limits import TransactionLimits
from headwater_graph.apply.lineage_sources import (
    LineageSource,
    pack_retained_sources,
    retained_sources_of,
    stored_lineage_source,
)
from headwater_graph.model.node_keys import dataset_node_key, job_node_key, run_node_key
from headwater_graph.model.properties import retained_read_text
from headwater_graph.model.records import RunRecord, unpack
from headwater_graph.model.values import (
    LATEST,
    Moment,
    RetainedRead,
    Row,
    StoredDataset,
    StoredItem,
    StoredJob,
)
from headwater_graph.rules.dataset_versions import unwritten_version_id
from headwater_graph.rules.horizon import is_over
from headwater_graph.store.port import Transaction

Find: TypeAlias = Callable[..., Iterable[Row]]
"""Runs a query of the folder ``retain``: in a transaction, or as a scan of a store if nothing is to be changed."""

Step: TypeAlias = Callable[[Transaction, int, str, TransactionLimits], str | None]
"""Does a part of a step for a horizon, after a key; returns the key after which to continue, None when it is done."""


def begin_retention(tx: Transaction, horizon: int) -> None:
    """Set the horizon, and defer the removal of what is before it."""
    deferred = defer(RetainBody(horizon, 0, ""))
    tx.write({"set_horizon": [{"horizon": horizon}], "upsert_deferred_work": [deferred]})


def retain_on(tx: Transaction, body: RetainBody, limits: TransactionLimits) -> None:
    """Continue retention; what is left of it is deferred again."""
    after = STEPS[body.step](tx, body.horizon, body.after, limits)
    if after is not None:
        rest = RetainBody(body.horizon, body.step, after)
    elif body.step + 1 < len(STEPS):
        rest = RetainBody(body.horizon, body.step + 1, "")
    else:
        return
    tx.write({"upsert_deferred_work": [defer(rest)]})


def pages(find: Find, name: str, after: str, limits: TransactionLimits) -> dict[str, Key]:
    """Return a page of jobs or datasets: their keys by their node keys, which are ascending."""
    page = find(name, after=after, limit=max(1, limits.rows // 20))
    return {row["key"]: (row["namespace"], row["name"]) for row in page}


# ---- job versions --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OldVersion:
    """A job version from before the horizon: ``number`` as counted from the first, ``retained`` if it is retained already."""

    id: str
    since: Moment
    made_by: str | None
    number: int
    retained: bool


def old_versions(
    find: Find, keys: Iterable[str], horizon: int
) -> Iterator[tuple[str, list[OldVersion], list[OldVersion]]]:
    """Yield (job, versions to remove, versions from before the horizon that stay) of jobs that have such versions (10.4)."""
    node_keys = list(keys)
    firsts = {
        row["job"]: (row["moment"], row["id"]) for row in find("retain/first_runs", keys=node_keys, horizon=horizon)
    }
    rows = find("retain/job_versions", keys=node_keys, horizon=horizon)
    for job, group in groupby(rows, key=lambda row: row["job"]):
        versions = list(_numbered(group))
        first = firsts.get(job, (horizon, ""))
        base = max(sum(version.since < first for version in versions) - 1, 0)
        yield job, versions[:base], versions[base:]


def _numbered(rows: Iterable[Row]) -> Iterator[OldVersion]:
    number = 0
    for row in rows:
        number = max(number + 1, row["number"] or 0)
        yield OldVersion(row["id"], (row["moment"], row["text"]), row["madeBy"], number, row["number"] is not None)


def _retain_jobs(tx: Transaction, horizon: int, after: str, limits: TransactionLimits) -> str | None:
    """Retain the job versions that stay although their makers are removed, and what current edges are based on."""
    jobs = pages(tx.find, "retain/job_keys", after, limits)
    staying = [version for _, _, versions in old_versions(tx.find, jobs, horizon) for version in versions]
    makers = [run_node_key(version.made_by) for version in staying if version.made_by is not None]
    known = {row["id"] for row in tx.find("retain/makers", keys=makers, horizon=horizon)}
    retained = [version for version in staying if version.made_by not in known]
    rows = [{"id": version.id, "number": version.number, "horizon": horizon} for version in retained]
    tx.write(
        {
            "set_retained_job_versions": rows,
            "set_retained_lineage": list(_retained_source_rows(tx, jobs.values(), horizon)),
        }
    )
    return max(jobs, default=None)


def _retained_source_rows(tx: Transaction, jobs: Iterable[Key], horizon: int) -> Iterator[Row]:
    stored = tx.jobs(jobs)
    bases = {key: list(_bases(job)) for key, job in stored.items()}
    wanted = [(key, moment) for key, pairs in bases.items() for moment in dict.fromkeys(moment for moment, _ in pairs)]
    items = {
        (key, moment): found[0]
        for (key, moment), found in zip(wanted, tx.items_from(wanted, 1), strict=True)
        if found and found[0].moment == moment
    }
    for key, job in stored.items():
        before = retained_sources_of(job.retained_sources)
        sources = _retained_sources(key, bases[key], items, before, horizon)
        if sources != before:
            yield {"job": job_node_key(key), "retainedSources": pack_retained_sources(sources)}


def _bases(job: StoredJob) -> Iterator[tuple[Moment, Key | None]]:
    """Yield (moment of a source, the output whose columns come from it; None: the explicit entries do)."""
    state = state_of(job.fold)
    if state.explicit is not None:
        yield state.explicit[1], None
    for output, precedence in state.columns.items():
        yield precedence[1], output


def _retained_sources(
    job: Key,
    bases: Iterable[tuple[Moment, Key | None]],
    items: dict[tuple[Key, Moment], StoredItem],
    before: Iterable[LineageSource],
    horizon: int,
) -> tuple[LineageSource, ...]:
    """Return the removed sources of a job, each with only the entries and columns that are current."""
    known = {source.moment: source for source in before}
    retained: dict[Moment, LineageSource] = {}
    for moment, output in bases:
        item = items.get((job, moment))
        if item is not None and not _is_item_removed(item, horizon):
            continue
        source = stored_lineage_source(item) if item is not None else known[moment]
        assert source is not None
        part = retained.get(moment, replace(source, entries=frozenset(), columns={}))
        if output is None:
            retained[moment] = replace(part, entries=source.entries)
        else:
            retained[moment] = replace(part, columns=part.columns | {output: source.columns[output]})
    return tuple(retained[moment] for moment in sorted(retained))


def _is_item_removed(item: StoredItem, horizon: int) -> bool:
    if item.run_id is None:
        return item.moment[0] < horizon
    record = unpack(item.body, RunRecord)
    return is_over(record.ended, record.last, horizon)


def _remove_from_jobs(tx: Transaction, horizon: int, after: str, limits: TransactionLimits) -> str | None:
    """Remove JobEvents and job versions, and make the makers of retained versions placeholders."""
    jobs = pages(tx.find, "retain/job_keys", after, limits)
    listed = list(old_versions(tx.find, jobs, horizon))
    old = [version for _, versions, _ in listed for version in versions][: limits.rows]
    events = list(tx.find("retain/job_events", keys=list(jobs), horizon=horizon, limit=limits.rows))
    makers = [
        {"key": run_node_key(version.made_by), "id": version.made_by, "made": True}
        for _, _, staying in listed
        for version in staying
        if version.retained and version.made_by is not None
    ]
    unmarked = [{"key": run_node_key(version.made_by), "job": True} for version in old if version.made_by is not None]
    counted = [(jobs[job], version) for job, _, staying in listed for version in staying if not version.retained]
    tx.write(
        {
            "delete_job_events": [{"key": row["key"]} for row in events],
            "delete_job_versions": [{"id": version.id} for version in old],
            "delete_removed_runs": unmarked,
            "upsert_removed_runs": makers,
            "set_last_runs": list(_last_run_rows(tx, counted)),
        }
    )
    return after if limits.rows in (len(old), len(events)) else max(jobs, default=None)


def _last_run_rows(tx: Transaction, versions: list[tuple[Key, OldVersion]]) -> Iterator[Row]:
    """Yield the last runs of versions that count only the runs that are there."""
    ends = tx.versions_after([(job, version.since) for job, version in versions])
    wanted = [(job, end.since if end else LATEST) for (job, _), end in zip(versions, ends, strict=True)]
    for (_, version), last in zip(versions, tx.last_runs_before(wanted), strict=True):
        run_id, moment = last if last is not None and last[1] >= version.since else (None, None)
        yield {"id": version.id, "lastRun": run_id, "lastRunAt": moment[0] if moment else None}


# ---- runs ----------------------------------------------------------------------------------------------------------


def _remove_runs(tx: Transaction, horizon: int, after: str, limits: TransactionLimits) -> str | None:
    """Remove runs; those that runs which stay name as their parents become placeholders."""
    rows = list(tx.find("retain/runs", horizon=horizon, limit=max(1, limits.rows // 5)))
    parents = tuple({"key": parent} for parent in dict.fromkeys(key for row in rows for key in row["parents"]))
    unwritten = dict.fromkeys(id_ for row in rows for id_ in row["unmade"])
    tx.write(
        {
            "set_removed_run_counts": list(_counts(rows)),
            "set_placeholder_runs": [{"key": row["key"]} for row in rows if row["named"]],
            "delete_runs": [{"key": row["key"]} for row in rows if not row["named"]],
            "delete_unnamed_runs": parents,
            "delete_unnamed_jobs": parents,
            "delete_unread_versions": [{"id": id_} for id_ in unwritten],
        }
    )
    return after if rows else None


def _counts(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield how many runs of each job version are removed, and the last of them."""
    moments: dict[str, list[Moment]] = {}
    for row in rows:
        moments.setdefault(row["version"], []).append((row["moment"], row["id"]))
    for version, listed in sorted(moments.items()):
        last = max(listed)
        yield {"id": version, "runs": len(listed), "lastRun": last[1], "lastMoment": last[0]}


# ---- dataset versions ----------------------------------------------------------------------------------------------


def _retain_datasets(tx: Transaction, _horizon: int, after: str, limits: TransactionLimits) -> str | None:
    """Retain the initial or external versions that are current, whichever runs read them."""
    datasets = pages(tx.find, "retain/dataset_keys", after, limits)
    rows: list[Row] = []
    replaced: list[Row] = []
    for key, stored in tx.datasets(datasets.values()).items():
        before, read = stored.retained_read, _read_to_retain(tx, key, stored)
        if read == before:
            continue
        if before is not None:
            rows.append(_retained_read_row(key, None, before))
            replaced.append({"id": unwritten_version_id(key, before.external)})
        if read is not None:
            rows.append(_retained_read_row(key, read, read))
    tx.write({"set_retained_reads": rows, "delete_unread_versions": replaced})
    return max(datasets, default=None)


def _retained_read_row(dataset: Key, retained: RetainedRead | None, read: RetainedRead) -> Row:
    return {
        "dataset": dataset_node_key(dataset),
        "retainedRead": retained_read_text(retained) if retained else None,
        "version": unwritten_version_id(dataset, read.external),
        "retained": True if retained else None,
    }


def _read_to_retain(tx: Transaction, dataset: Key, stored: StoredDataset) -> RetainedRead | None:
    if stored.latest is not None or stored.current is None:
        return None
    if stored.current == initial_version_id(dataset):
        return RetainedRead((0, ""), None)
    before, exact = stored.retained_read, tx.last_exact_read(dataset)
    read = RetainedRead(exact.moment, exact.external) if exact is not None else before
    if before is None or before.external is None:
        return read
    return max(before, read or before, key=lambda read: read.moment)


def _remove_from_datasets(tx: Transaction, horizon: int, after: str, limits: TransactionLimits) -> str | None:
    """Remove dataset versions, and retain those that stay although their makers are removed."""
    datasets = pages(tx.find, "retain/dataset_keys", after, limits)
    keys = list(datasets)
    old = list(tx.find("retain/dataset_versions", keys=keys, horizon=horizon, limit=limits.rows))
    unmarked = [{"key": run_node_key(row["madeBy"])} for row in old if row["madeBy"] is not None]
    tx.write(
        {
            "delete_dataset_versions": [{"id": row["id"]} for row in old],
            "delete_removed_runs": unmarked,
        }
    )
    if len(old) == limits.rows:
        return after
    orphans = [(row["id"], row["madeBy"]) for row in tx.find("retain/orphans", keys=keys, horizon=horizon)]
    makers = [{"key": run_node_key(made_by), "id": made_by, "version": id_} for id_, made_by in orphans]
    tx.write(
        {
            "set_retained_dataset_versions": [{"id": id_} for id_, _ in orphans],
            "upsert_removed_runs": makers,
        }
    )
    return max(datasets, default=None)


# ---- code versions of removed runs ---------------------------------------------------------------------------------


def _fold_again(tx: Transaction, horizon: int, after: str, limits: TransactionLimits) -> str | None:
    """Fold jobs again whose derived versions have the code version of a removed run or JobEvent."""
    jobs = pages(tx.find, "retain/job_keys", after, limits)
    versions = tx.find("retain/job_versions", keys=list(jobs), horizon=horizon)
    given = [
        (jobs[row["job"]], (row["codeMoment"], row["codeTie"]))
        for row in versions
        if row["number"] is None and row["codeMoment"] is not None and row["codeMoment"] < horizon
    ]
    changes: dict[Key, JobChange] = {}
    for (job, moment), found in zip(given, tx.items_from(given, 1), strict=True):
        if not found or found[0].moment != moment:
            changes.setdefault(job, JobChange()).left[moment] = (moment[1], None)
    if changes:
        write_folds(tx, refold(tx, changes, limits))
        apply_current_graph(tx, jobs_now(tx, list(changes)), limits)
    return max(jobs, default=None)


STEPS: tuple[Step, ...] = (
    _retain_jobs,
    _retain_datasets,
    _remove_runs,
    _remove_from_jobs,
    _remove_from_datasets,
    _fold_again,
)
"""What depends on runs is retained before they are removed; what depends on their absence is removed after that."""
