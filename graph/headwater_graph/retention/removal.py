"""What lies before the horizon is removed, and what must stay of it is kept (``rules.horizon`` says what that is).

Retention is owed work: the transaction that sets the horizon owes it, and whoever drains next goes on with it, the command
or a consumer. Nothing else is settled meanwhile, so all events come either before or after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeAlias

from headwater_avro.names import Key, initial_version_id
from headwater_graph.apply.current_graph import state_of
from headwater_graph.apply.deferred import RetainBody, defer_retention
from headwater_graph.apply.limits import Limits
from headwater_graph.apply.lineage_sources import (
    LineageSource,
    pack_retained_sources,
    retained_sources_of,
    stored_lineage_source,
)
from headwater_graph.model.node_keys import dataset_hash, job_hash, run_hash
from headwater_graph.model.properties import retained_read_text
from headwater_graph.model.records import RunRecord, unpack
from headwater_graph.model.values import (
    LATEST,
    Moment,
    RetainedRead,
    Row,
    Statement,
    StoredDataset,
    StoredItem,
    StoredJob,
)
from headwater_graph.rules.dataset_versions import unmade_id
from headwater_graph.rules.horizon import goes
from headwater_graph.rules.runs import read_run
from headwater_graph.store.port import Transaction

Find: TypeAlias = Callable[..., Iterable[Row]]
"""Asks one of retention's questions: of a transaction, or of a store, where nothing is to be changed."""

Step: TypeAlias = Callable[[Transaction, int, str, Limits], str | None]
"""Does some of one step for a horizon, after a key; returns the key to go on after, None where it is done."""


def begin_retention(tx: Transaction, horizon: int) -> None:
    """Set the horizon; what lies before it is owed from now on."""
    deferred = defer_retention(RetainBody(horizon, 0, ""))
    tx.write((Statement("set_horizon", ({"horizon": horizon},)), Statement("upsert_deferred_work", (deferred,))))


def retain_on(tx: Transaction, body: RetainBody, limits: Limits) -> None:
    """Go on with retention; what is left of it is owed again."""
    after = STEPS[body.step](tx, body.horizon, body.after, limits)
    if after is not None:
        left = RetainBody(body.horizon, body.step, after)
    elif body.step + 1 < len(STEPS):
        left = RetainBody(body.horizon, body.step + 1, "")
    else:
        return
    tx.write((Statement("upsert_deferred_work", (defer_retention(left),)),))


def pages(find: Find, name: str, after: str, limits: Limits) -> dict[str, Key]:
    """Return a page of jobs or datasets: their keys by the store's, which are ascending."""
    page = find(name, after=after, limit=max(1, limits.rows // 20))
    return {row["key"]: (row["namespace"], row["name"]) for row in page}


# ---- job versions --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Old:
    """A job version from before the horizon: ``number`` as counted from the first, ``kept`` as it is kept already."""

    id: str
    since: Moment
    made_by: str | None
    number: int
    kept: bool


def old_versions(find: Find, keys: Iterable[str], horizon: int) -> Iterator[tuple[str, list[Old], list[Old]]]:
    """Yield (job, versions that go, versions from before the horizon that stay) of jobs that have any such versions."""
    hashes = list(keys)
    firsts = {row["job"]: (row["moment"], row["id"]) for row in find("retain/first_runs", keys=hashes, horizon=horizon)}
    rows = find("retain/job_versions", keys=hashes, horizon=horizon)
    for job, group in groupby(rows, key=lambda row: row["job"]):
        versions = list(_numbered(group))
        cut = firsts.get(job, (horizon, ""))
        base = max(sum(one.since < cut for one in versions) - 1, 0)
        yield job, versions[:base], versions[base:]


def _numbered(rows: Iterable[Row]) -> Iterator[Old]:
    number = 0
    for row in rows:
        number = max(number + 1, row["number"] or 0)
        yield Old(row["id"], (row["moment"], row["text"]), row["madeBy"], number, row["number"] is not None)


def _keep_jobs(tx: Transaction, horizon: int, after: str, limits: Limits) -> str | None:
    """Keep the versions whose makers go but which stay, and what current edges stand on."""
    jobs = pages(tx.find, "retain/job_keys", after, limits)
    stay = [one for _, _, listed in old_versions(tx.find, jobs, horizon) for one in listed]
    makers = [run_hash(one.made_by) for one in stay if one.made_by is not None]
    known = {row["id"] for row in tx.find("retain/makers", keys=makers, horizon=horizon)}
    kept = [one for one in stay if one.made_by not in known]
    rows = [{"id": one.id, "number": one.number, "horizon": horizon} for one in kept]
    tx.write(
        (
            Statement("set_retained_job_versions", tuple(rows)),
            Statement("set_retained_lineage", tuple(_past_rows(tx, jobs.values(), horizon))),
        )
    )
    return max(jobs, default=None)


def _past_rows(tx: Transaction, jobs: Iterable[Key], horizon: int) -> Iterator[Row]:
    stored = tx.jobs(jobs)
    stood_on = {key: list(_stood_on(one)) for key, one in stored.items()}
    asked = [(key, moment) for key, listed in stood_on.items() for moment in dict.fromkeys(at for at, _ in listed)]
    items = {
        (key, moment): found[0]
        for (key, moment), found in zip(asked, tx.items_from(asked, 1), strict=True)
        if found and found[0].moment == moment
    }
    for key, one in stored.items():
        before = retained_sources_of(one.past)
        past = _past(key, stood_on[key], items, before, horizon)
        if past != before:
            yield {"job": job_hash(key), "retainedSources": pack_retained_sources(past)}


def _stood_on(job: StoredJob) -> Iterator[tuple[Moment, Key | None]]:
    """Yield (moment of who tells, the output whose columns it tells; None: the explicit entries)."""
    state = state_of(job.fold)
    if state.explicit is not None:
        yield state.explicit[1], None
    for output, precedence in state.columns.items():
        yield precedence[1], output


def _past(
    job: Key,
    stood_on: Iterable[tuple[Moment, Key | None]],
    items: dict[tuple[Key, Moment], StoredItem],
    before: Iterable[LineageSource],
    horizon: int,
) -> tuple[LineageSource, ...]:
    known = {lineage_source.moment: lineage_source for lineage_source in before}
    past: dict[Moment, LineageSource] = {}
    for moment, output in stood_on:
        item = items.get((job, moment))
        if item is None or _item_goes(item, horizon):
            lineage_source = stored_lineage_source(item) if item is not None else known[moment]
            assert lineage_source is not None
            told = past.get(moment, replace(lineage_source, entries=frozenset(), columns={}))
            past[moment] = _telling(told, lineage_source, output)
    return tuple(past[moment] for moment in sorted(past))


def _telling(told: LineageSource, lineage_source: LineageSource, output: Key | None) -> LineageSource:
    if output is None:
        return replace(told, entries=lineage_source.entries)
    return replace(told, columns=told.columns | {output: lineage_source.columns[output]})


def _item_goes(item: StoredItem, horizon: int) -> bool:
    if item.run_id is None:
        return item.moment[0] < horizon
    run = read_run(item.run_id, unpack(item.body, RunRecord))
    return goes(run.ended, run.last, horizon)


def _cut_jobs(tx: Transaction, horizon: int, after: str, limits: Limits) -> str | None:
    """Remove JobEvents and versions, and let the makers of kept ones be placeholders."""
    jobs = pages(tx.find, "retain/job_keys", after, limits)
    listed = list(old_versions(tx.find, jobs, horizon))
    gone = [one for _, old, _ in listed for one in old][: limits.rows]
    events = list(tx.find("retain/job_events", keys=list(jobs), horizon=horizon, limit=limits.rows))
    kept = [one for _, _, stay in listed for one in stay if one.kept and one.made_by is not None]
    makers = [{"key": run_hash(one.made_by), "id": one.made_by, "made": True} for one in kept if one.made_by]
    bare = [{"key": run_hash(one.made_by), "job": True} for one in gone if one.made_by is not None]
    counted = [(jobs[job], one) for job, _, stay in listed for one in stay if not one.kept]
    tx.write(
        (
            Statement("delete_job_events", tuple({"key": row["key"]} for row in events)),
            Statement("delete_job_versions", tuple({"id": one.id} for one in gone)),
            Statement("delete_removed_runs", tuple(bare)),
            Statement("upsert_removed_runs", tuple(makers)),
            Statement("set_last_runs", tuple(_last_rows(tx, counted))),
        )
    )
    return after if limits.rows in (len(gone), len(events)) else max(jobs, default=None)


def _last_rows(tx: Transaction, versions: list[tuple[Key, Old]]) -> Iterator[Row]:
    """Yield the last runs of versions that go on counting only the runs that are there."""
    ends = tx.versions_after([(job, one.since) for job, one in versions])
    asked = [(job, end.since if end else LATEST) for (job, _), end in zip(versions, ends, strict=True)]
    for (_, one), last in zip(versions, tx.last_runs_before(asked), strict=True):
        run_id, moment = last if last is not None and last[1] >= one.since else (None, None)
        yield {"id": one.id, "lastRun": run_id, "lastRunAt": moment[0] if moment else None}


# ---- runs ----------------------------------------------------------------------------------------------------------


def _remove_runs(tx: Transaction, horizon: int, after: str, limits: Limits) -> str | None:
    """Remove runs; placeholders stay of those that are named as parents by runs which stay."""
    rows = list(tx.find("retain/runs", horizon=horizon, limit=max(1, limits.rows // 5)))
    parents = tuple({"key": parent} for parent in dict.fromkeys(key for row in rows for key in row["parents"]))
    unmade = dict.fromkeys(id_ for row in rows for id_ in row["unmade"])
    tx.write(
        (
            Statement("set_removed_run_counts", tuple(_counts(rows))),
            Statement("set_placeholder_runs", tuple({"key": row["key"]} for row in rows if row["named"])),
            Statement("delete_runs", tuple({"key": row["key"]} for row in rows if not row["named"])),
            Statement("delete_unnamed_runs", parents),
            Statement("delete_unnamed_jobs", parents),
            Statement("delete_unread_versions", tuple({"id": id_} for id_ in unmade)),
        )
    )
    return after if rows else None


def _counts(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield of each job version how many of its runs go, and the last of them."""
    moments: dict[str, list[Moment]] = {}
    for row in rows:
        moments.setdefault(row["version"], []).append((row["moment"], row["id"]))
    for version, listed in sorted(moments.items()):
        last = max(listed)
        yield {"id": version, "runs": len(listed), "lastRun": last[1], "lastMoment": last[0]}


# ---- dataset versions ----------------------------------------------------------------------------------------------


def _keep_datasets(tx: Transaction, _horizon: int, after: str, limits: Limits) -> str | None:
    """Keep the initial or external versions that are current, whoever read them."""
    datasets = pages(tx.find, "retain/dataset_keys", after, limits)
    rows: list[Row] = []
    left: list[Row] = []
    for key, stored in tx.datasets(datasets.values()).items():
        past = _past_read(tx, key, stored)
        if past == stored.past:
            continue
        if stored.past is not None:
            rows.append(_past_row(key, None, stored.past))
            left.append({"id": unmade_id(key, stored.past.external)})
        if past is not None:
            rows.append(_past_row(key, past, past))
    tx.write((Statement("set_retained_reads", tuple(rows)), Statement("delete_unread_versions", tuple(left))))
    return max(datasets, default=None)


def _past_row(dataset: Key, past: RetainedRead | None, read: RetainedRead) -> Row:
    return {
        "dataset": dataset_hash(dataset),
        "retainedRead": retained_read_text(past) if past else None,
        "version": unmade_id(dataset, read.external),
        "retained": True if past else None,
    }


def _past_read(tx: Transaction, dataset: Key, stored: StoredDataset) -> RetainedRead | None:
    if stored.latest is not None or stored.current is None:
        return None
    if stored.current == initial_version_id(dataset):
        return RetainedRead((0, ""), None)
    read = tx.last_exact_read(dataset)
    told = RetainedRead(read.moment, read.external) if read is not None else stored.past
    if stored.past is None or stored.past.external is None:
        return told
    return max(stored.past, told or stored.past, key=lambda one: one.moment)


def _cut_datasets(tx: Transaction, horizon: int, after: str, limits: Limits) -> str | None:
    """Remove versions, and keep those that stay without their makers."""
    datasets = pages(tx.find, "retain/dataset_keys", after, limits)
    keys = list(datasets)
    gone = list(tx.find("retain/dataset_versions", keys=keys, horizon=horizon, limit=limits.rows))
    bare = [{"key": run_hash(row["madeBy"])} for row in gone if row["madeBy"] is not None]
    tx.write(
        (
            Statement("delete_dataset_versions", tuple({"id": row["id"]} for row in gone)),
            Statement("delete_removed_runs", tuple(bare)),
        )
    )
    if len(gone) == limits.rows:
        return after
    orphans = [(row["id"], row["madeBy"]) for row in tx.find("retain/orphans", keys=keys, horizon=horizon)]
    makers = [{"key": run_hash(made_by), "id": made_by, "version": id_} for id_, made_by in orphans]
    tx.write(
        (
            Statement("set_retained_dataset_versions", tuple({"id": id_} for id_, _ in orphans)),
            Statement("upsert_removed_runs", tuple(makers)),
        )
    )
    return max(datasets, default=None)


STEPS: tuple[Step, ...] = (_keep_jobs, _keep_datasets, _remove_runs, _cut_jobs, _cut_datasets)
"""What is to be kept is kept before runs go; what nothing touches then is cut after that."""
