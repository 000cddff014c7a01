"""Dataset versions, who reads which, and what follows: current versions, dropped datasets (specification 5, 7.1).

Theory of operation. A run reads, of the versions that it did not make, the last one before its own moment. So a version
that appears or vanishes at a moment affects only the reads between this moment and the next version of its dataset; and if
it carries an external version, also the reads that name this one, whatever their moments. A batch therefore needs no
history, only the reads of its own runs, and these two ranges for each version that it changes:

1. ``VersionChanges`` collects the versions that appear and vanish, and they are written.
2. ``_affected`` reads the reads in the ranges, by index; reads beyond the limit are deferred.
3. ``resolve`` determines for these reads, and for those of changed runs, which version they read now. Mostly what is
   loaded decides it: the latest stored version and those of the batch (``_loaded_version``). Otherwise the store looks it
   up. Only reads that change are written.
4. What follows for the datasets is written: the current version, and whether the dataset is dropped.

Every read that may change is in one of the ranges or belongs to a changed run, so after the last deferred work each run
reads what chapter 5 says, in whatever order versions and runs arrived.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter

from headwater_avro.events import DatasetEvent
from headwater_avro.names import Key, initial_version_id
from headwater_graph.apply.deferred import defer_exact, defer_reads
from headwater_graph.apply.entities import Entities
from headwater_graph.apply.limits import TransactionLimits
from headwater_graph.apply.run_changes import RunChange
from headwater_graph.apply.version_changes import VersionChanges, add_event, add_run
from headwater_graph.model.node_keys import dataset_node_key, run_node_key
from headwater_graph.model.records import DatasetRecord, unpack
from headwater_graph.model.values import EARLIEST, LATEST, Made, Moment, RetainedRead, Row, Statement, StoredRead
from headwater_graph.rules.dataset_versions import unwritten_version_id
from headwater_graph.rules.facets import says_drop
from headwater_graph.store.port import Transaction

_moment_of = attrgetter("moment")


@dataclass(frozen=True, slots=True)
class PendingRead:
    """An input of a run, to be resolved. ``version`` is the one it reads so far, if any; ``""`` if its edge is out of date.

    ``unwritten`` is the initial or external version that it may leave without readers.
    """

    run_id: str
    moment: Moment
    dataset: Key
    external: str | None
    version: str | None = None
    unwritten: str | None = None


def apply_dataset_versions(
    tx: Transaction, entities: Entities, events: Iterable[DatasetEvent], limits: TransactionLimits
) -> None:
    """Write the versions that changed runs and DatasetEvents make, and all reads that they affect."""
    version_changes = VersionChanges()
    for change in entities.changes.values():
        add_run(version_changes, change)
    for event in events:
        add_event(version_changes, event)
    _load(tx, entities, chain(version_changes.points, *(change.new.inputs for change in entities.changes.values())))
    tx.write(
        (
            Statement("set_unmade_dataset_versions", tuple(version_changes.vanished)),
            Statement("create_dataset_versions", tuple(version_changes.created)),
            Statement("upsert_dataset_versions", tuple(version_changes.upserted)),
        )
    )
    unlinked, pending = _own_reads(entities.changes.values())
    own = {(read.run_id, read.dataset) for read in pending} | {(row["id"], row["of"]) for row in unlinked}
    affected = _affected(tx, entities, version_changes, limits)
    pending += [read for read in affected if (read.run_id, read.dataset) not in own]
    resolve(tx, entities, pending, unlinked, version_changes)


def _load(tx: Transaction, entities: Entities, keys: Iterable[Key]) -> None:
    missing = {key for key in keys if key not in entities.stored_datasets}
    entities.stored_datasets |= tx.datasets(missing)


# ---- which reads are affected --------------------------------------------------------------------------------------


def _own_reads(changes: Iterable[RunChange]) -> tuple[list[Row], list[PendingRead]]:
    """Return the reads that changed runs no longer have, and those to be resolved."""
    unlinked: list[Row] = []
    pending: list[PendingRead] = []
    for change in changes:
        old, new = change.old, change.new
        before = old.reads if old and old.moment else {}
        after = new.reads if new.moment else {}
        unlinked += [_unlinked(new.id, dataset, before[dataset]) for dataset in before if dataset not in after]
        for dataset, external in after.items():
            assert new.moment is not None
            if old is None or dataset not in before or (old.moment, before[dataset]) != (new.moment, external):
                known = ("", unwritten_version_id(dataset, before[dataset])) if dataset in before else (None, None)
                pending.append(PendingRead(new.id, new.moment, dataset, external, *known))
    return unlinked, pending


def _unlinked(run_id: str, dataset: Key, external: str | None) -> Row:
    row = {"run": run_node_key(run_id), "dataset": dataset_node_key(dataset), "id": run_id, "of": dataset}
    return row | {"unwritten": unwritten_version_id(dataset, external)}


def _affected(
    tx: Transaction, entities: Entities, version_changes: VersionChanges, limits: TransactionLimits
) -> list[PendingRead]:
    """Return the stored reads that version changes affect, up to the limit; defer the others."""
    ranges = _ranges(tx, entities, version_changes)
    found: list[PendingRead] = []
    deferred: list[Row] = []
    for (dataset, _, until), reads in zip(ranges, tx.readers_between(ranges, limits.rows + 1), strict=True):
        found += pending_reads(dataset, reads[: limits.rows])
        if len(reads) > limits.rows:
            deferred.append(defer_reads(dataset, reads[limits.rows - 1].moment, until))
    exact = [(dataset, external, EARLIEST) for dataset, external in sorted(version_changes.externals)]
    for (dataset, external, _), reads in zip(exact, tx.exact_readers(exact, limits.rows + 1), strict=True):
        found += pending_reads(dataset, reads[: limits.rows])
        if len(reads) > limits.rows:
            deferred.append(defer_exact(dataset, external, reads[limits.rows - 1].moment))
    tx.write([Statement("upsert_deferred_work", tuple(deferred))] if deferred else [])
    return found


def pending_reads(dataset: Key, reads: Iterable[StoredRead]) -> list[PendingRead]:
    """Return stored reads of a dataset, to be resolved again."""
    return [PendingRead(read.run_id, read.moment, dataset, read.external, read.version, read.version) for read in reads]


def _ranges(tx: Transaction, entities: Entities, version_changes: VersionChanges) -> list[tuple[Key, Moment, Moment]]:
    """Return the ranges of moments whose reads the changed points affect: from each point up to the next version.

    Beyond the latest stored version the ranges of a dataset meet and are one (the common case, without any read).
    """
    inner: list[tuple[Key, Moment]] = []
    ranges: list[tuple[Key, Moment, Moment]] = []
    for dataset, points in version_changes.points.items():
        latest = _stored_latest(entities, dataset)
        beyond = [point for point in points if latest is None or latest.moment < point]
        inner += [(dataset, point) for point in points if latest is not None and point <= latest.moment]
        if beyond:
            ranges.append((dataset, min(beyond), LATEST))
    for (dataset, point), after in zip(inner, tx.made_after(inner), strict=True):
        ranges.append((dataset, point, after.moment if after else LATEST))
    return ranges


def _stored_latest(entities: Entities, dataset: Key) -> Made | None:
    stored = entities.stored_datasets.get(dataset)
    return stored.latest if stored else None


# ---- resolving reads -----------------------------------------------------------------------------------------------


def resolve(
    tx: Transaction,
    entities: Entities,
    pending: list[PendingRead],
    unlinked: list[Row],
    version_changes: VersionChanges,
) -> None:
    """Resolve reads by specification 5.2 and 5.3, write those that change, and what follows for their datasets."""
    reads = list({(read.run_id, read.dataset): read for read in pending}.values())
    versions = _resolved(tx, entities, reads, version_changes)
    changed = [(read, id_) for read, id_ in zip(reads, versions, strict=True) if read.version != id_]
    relinked = [_unlinked(read.run_id, read.dataset, read.external) for read, _ in changed if read.version is not None]
    unlinked = unlinked + relinked
    unwritten = {unwritten_version_id(read.dataset, read.external): read for read, _ in changed}
    created = {id_: unwritten[id_] for _, id_ in changed if id_ in unwritten}
    lost = {row["unwritten"] for row in unlinked} | {read.unwritten for read, _ in changed if read.unwritten}
    lost |= {row["id"] for row in version_changes.vanished}
    tx.write(
        (
            Statement("unlink_reads", tuple({"run": row["run"], "dataset": row["dataset"]} for row in unlinked)),
            Statement(
                "upsert_unmade_versions", tuple(_unwritten_row(id_, read) for id_, read in sorted(created.items()))
            ),
            Statement("link_reads", tuple(_read_row(read, id_) for read, id_ in changed)),
            Statement("delete_unread_versions", tuple({"id": id_} for id_ in sorted(lost))),
        )
    )
    inexact = {read.dataset for read, _ in changed if read.external is None}
    uncertain = {row["of"] for row in unlinked} | {read.dataset for read, _ in changed if read.external is not None}
    _apply_datasets(tx, entities, version_changes, inexact | uncertain, uncertain)


def _resolved(
    tx: Transaction, entities: Entities, reads: list[PendingRead], version_changes: VersionChanges
) -> list[str]:
    """Return the id of the version that each read reads."""
    found: dict[int, str] = {}
    inexact = []
    new = {dataset: sorted(made, key=_moment_of) for dataset, made in version_changes.appended.items()}
    for number, read in enumerate(reads):
        if read.external is not None:
            continue
        loaded = _loaded_version(entities, read, version_changes, new.get(read.dataset, []))
        if loaded is not None:
            found[number] = loaded
        else:
            inexact.append(number)
    wanted = [(reads[number].dataset, reads[number].moment, reads[number].run_id) for number in inexact]
    for number, made in zip(inexact, tx.made_before(wanted), strict=True):
        found[number] = made.id if made else unwritten_version_id(reads[number].dataset, None)
    exact = [number for number, read in enumerate(reads) if read.external is not None]
    found |= dict(zip(exact, _resolved_exactly(tx, [reads[number] for number in exact]), strict=True))
    return [found[number] for number in range(len(reads))]


def _loaded_version(
    entities: Entities, read: PendingRead, version_changes: VersionChanges, new: list[Made]
) -> str | None:
    """Return the version that is read, if what is loaded decides it: nothing stored is in between (the common case).

    ``new`` are the versions of its dataset that this batch makes, by moment.
    """
    if read.dataset in version_changes.removed:
        return None
    latest = _stored_latest(entities, read.dataset)
    if latest is not None and (latest.moment >= read.moment or latest.made_by == read.run_id):
        return None
    # A run's own version is never among those before its moment: it has that moment, or a later one (specification 5.1).
    at = bisect_left(new, read.moment, key=_moment_of)
    if at and (latest is None or latest.moment < new[at - 1].moment):
        return new[at - 1].id
    return latest.id if latest else unwritten_version_id(read.dataset, None)


def _resolved_exactly(tx: Transaction, reads: list[PendingRead]) -> list[str]:
    wanted = [(read.dataset, read.external or "", read.moment, read.run_id) for read in reads]
    before = tx.exact_before(wanted)
    later = [number for number, made in enumerate(before) if made is None]
    greatest = tx.exact_before([(wanted[number][0], wanted[number][1], LATEST, wanted[number][3]) for number in later])
    fallback = dict(zip(later, greatest, strict=True))
    ids = []
    for number, read in enumerate(reads):
        made = before[number] or fallback.get(number)
        ids.append(made.id if made else unwritten_version_id(read.dataset, read.external))
    return ids


def _unwritten_row(id_: str, read: PendingRead) -> Row:
    return {"id": id_, "dataset": dataset_node_key(read.dataset), "external": read.external}


def _read_row(read: PendingRead, version: str) -> Row:
    return {
        "version": version,
        "run": run_node_key(read.run_id),
        "dataset": dataset_node_key(read.dataset),
        "moment": read.moment[0],
        "external": read.external,
    }


# ---- what follows for a dataset (specification 5.5, 7.1) -----------------------------------------------------------


def _apply_datasets(
    tx: Transaction, entities: Entities, version_changes: VersionChanges, reread: set[Key], uncertain: set[Key]
) -> None:
    """Write what follows for datasets; of the ``uncertain`` ones, reads changed in other ways than by new inexact ones."""
    changed = version_changes.points.keys() | reread
    _load(tx, entities, changed)
    rows = []
    for dataset in sorted(changed):
        stored = entities.stored_datasets.get(dataset)
        before = stored.current if stored else None
        made = _latest(tx, entities, dataset, version_changes)
        if made is None and (dataset in uncertain or dataset in version_changes.removed):
            current = _unwritten_current(tx, dataset, stored.retained_read if stored else None)
        else:
            current = made.id if made else before or initial_version_id(dataset)
        if current != before:
            rows.append({"dataset": dataset_node_key(dataset), "version": current})
    tx.write((Statement("link_current_dataset_versions", tuple(rows)),))
    _apply_dropped(tx, entities, version_changes.points.keys() | entities.drop_reported)


def _unwritten_current(tx: Transaction, dataset: Key, retained: RetainedRead | None) -> str | None:
    """Return the current version if none has a moment: the external one read last, else a read initial one (5.5)."""
    exact = tx.last_exact_read(dataset)
    if retained is not None and retained.external is not None and (exact is None or exact.moment < retained.moment):
        return unwritten_version_id(dataset, retained.external)
    if exact is not None:
        return exact.version
    return initial_version_id(dataset) if retained is not None or tx.has_inexact_read(dataset) else None


def _latest(tx: Transaction, entities: Entities, dataset: Key, version_changes: VersionChanges) -> Made | None:
    latest = _stored_latest(entities, dataset)
    if latest is not None and latest.id in version_changes.removed.get(dataset, ()):
        return tx.made_before([(dataset, LATEST, "")])[0]
    candidates = [*version_changes.appended.get(dataset, ()), *([latest] if latest else [])]
    return max(candidates, key=_moment_of, default=None)


def _apply_dropped(tx: Transaction, entities: Entities, datasets: Iterable[Key]) -> None:
    """Write whether datasets are dropped that were ever reported as dropped."""
    rows = []
    for dataset in sorted(datasets):
        stored = entities.stored_datasets.get(dataset)
        if dataset not in entities.drop_reported and not (stored and stored.says_drop):
            continue
        rows.append(dropped_row(tx, dataset, _dataset_record(entities, dataset)))
    tx.write((Statement("set_dropped", tuple(rows)),))


def dropped_row(tx: Transaction, dataset: Key, record: DatasetRecord) -> Row:
    """Return the row that states whether a dataset is dropped.

    It is if its merged facet states DROP and no later version of it exists that does not state DROP (specification 7.1).
    """
    facets = record.facets
    dropped = says_drop(facets) and not tx.has_live_version_after(dataset, facets["lifecycleStateChange"][0])
    return {"dataset": dataset_node_key(dataset), "dropped": dropped or None}


def _dataset_record(entities: Entities, dataset: Key) -> DatasetRecord:
    if dataset in entities.datasets:
        return entities.datasets[dataset]
    stored = entities.stored_datasets.get(dataset)
    return unpack(stored.record, DatasetRecord) if stored and stored.record else DatasetRecord()
