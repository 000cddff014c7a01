"""Which dataset version each run reads (specification 5.2, 5.3).

Theory of operation. A run reads, of the versions that it did not make, the last one before its own moment. So a version
that appears or vanishes at a moment affects only the reads between this moment and the next version of its dataset; and if
it carries an external version, also the reads that name this one, whatever their moments. A batch therefore needs no
history, only the reads of its own runs, and these two ranges for each version that it changes:

1. ``VersionChanges`` collects the versions that appear and vanish, and they are written.
2. ``affected_reads`` reads the reads in the ranges, by index; reads beyond the limit are deferred.
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
from operator import attrgetter

from headwater_avro.names import Key
from headwater_graph.apply.current_versions import apply_current_versions, stored_latest
from headwater_graph.apply.deferred import ExactBody, ReadsBody, defer
from headwater_graph.apply.entities import Entities
from headwater_graph.apply.limits import TransactionLimits
from headwater_graph.apply.run_changes import RunChange
from headwater_graph.apply.version_changes import VersionChanges
from headwater_graph.model.node_keys import dataset_node_key, run_node_key
from headwater_graph.model.values import EARLIEST, LATEST, Made, Moment, Row, StoredRead
from headwater_graph.rules.dataset_versions import unwritten_version_id
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


# ---- which reads are affected --------------------------------------------------------------------------------------


def own_reads(changes: Iterable[RunChange]) -> tuple[list[Row], list[PendingRead]]:
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


def affected_reads(
    tx: Transaction, entities: Entities, version_changes: VersionChanges, limits: TransactionLimits
) -> list[PendingRead]:
    """Return the stored reads that version changes affect, up to the limit; defer the others."""
    ranges = _ranges(tx, entities, version_changes)
    exact = [ExactBody(dataset, external, EARLIEST) for dataset, external in sorted(version_changes.externals)]
    bodies: list[ReadsBody | ExactBody] = [*ranges, *exact]
    found: list[PendingRead] = []
    deferred: list[Row] = []
    reads = [*tx.readers_between(ranges, limits.rows + 1), *tx.exact_readers(exact, limits.rows + 1)]
    for body, listed in zip(bodies, reads, strict=True):
        pending, rest = first_reads(body, listed, limits)
        found += pending
        deferred += rest
    tx.write({"upsert_deferred_work": deferred})
    return found


def first_reads(
    body: ReadsBody | ExactBody, reads: list[StoredRead], limits: TransactionLimits
) -> tuple[list[PendingRead], list[Row]]:
    """Return the first stored reads of a dataset, up to the limit, to be resolved again; and deferred work for the others."""
    first = reads[: limits.rows]
    rest = [defer(body._replace(after=first[-1].moment))] if len(reads) > limits.rows else []
    pending = [
        PendingRead(read.run_id, read.moment, body.dataset, read.external, read.version, read.version) for read in first
    ]
    return pending, rest


def _ranges(tx: Transaction, entities: Entities, version_changes: VersionChanges) -> list[ReadsBody]:
    """Return the ranges of moments whose reads the changed points affect: from each point up to the next version.

    Beyond the latest stored version the ranges of a dataset meet and are one (the common case, without any read).
    """
    inner: list[tuple[Key, Moment]] = []
    ranges: list[ReadsBody] = []
    for dataset, points in version_changes.points.items():
        latest = stored_latest(entities, dataset)
        beyond = [point for point in points if latest is None or latest.moment < point]
        inner += [(dataset, point) for point in points if latest is not None and point <= latest.moment]
        if beyond:
            ranges.append(ReadsBody(dataset, min(beyond), LATEST))
    for (dataset, point), after in zip(inner, tx.made_after(inner), strict=True):
        ranges.append(ReadsBody(dataset, point, after.moment if after else LATEST))
    return ranges


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
        {
            "unlink_reads": [{"run": row["run"], "dataset": row["dataset"]} for row in unlinked],
            "upsert_unmade_versions": [_unwritten_row(id_, read) for id_, read in sorted(created.items())],
            "link_reads": [_read_row(read, id_) for read, id_ in changed],
            "delete_unread_versions": [{"id": id_} for id_ in sorted(lost)],
        }
    )
    inexact = {read.dataset for read, _ in changed if read.external is None}
    uncertain = {row["of"] for row in unlinked} | {read.dataset for read, _ in changed if read.external is not None}
    apply_current_versions(tx, entities, version_changes, inexact | uncertain, uncertain)


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
    latest = stored_latest(entities, read.dataset)
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
