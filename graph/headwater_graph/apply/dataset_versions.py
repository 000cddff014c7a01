"""Dataset versions and who reads which (specification 5), and what follows for a dataset: its current version, whether it is dropped.

A version that appears or goes at a moment concerns the reads between it and the next version alone; a version that carries
an external version concerns the reads that named it. Both are read by index, and past the limit they are owed.
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
from headwater_graph.apply.limits import Limits
from headwater_graph.apply.run_changes import RunChange
from headwater_graph.apply.version_changes import VersionChanges, add_event, add_run
from headwater_graph.model.node_keys import dataset_hash, run_hash
from headwater_graph.model.records import DatasetRecord, unpack
from headwater_graph.model.values import LATEST, Made, Moment, RetainedRead, Row, Statement, StoredRead
from headwater_graph.rules import facets as read
from headwater_graph.rules.dataset_versions import unmade_id
from headwater_graph.store.port import Transaction

_moment_of = attrgetter("moment")


@dataclass(frozen=True, slots=True)
class Read:
    """One input of one run, to be resolved: ``version`` is the one it read so far, if any, ``""`` if its edge is out of date.

    ``unmade`` is the version that it may leave without readers.
    """

    run_id: str
    moment: Moment
    dataset: Key
    external: str | None
    version: str | None = None
    unmade: str | None = None


def apply_dataset_versions(tx: Transaction, entities: Entities, events: Iterable[DatasetEvent], limits: Limits) -> None:
    """Write the versions that changed runs and DatasetEvents make, and all reads that they concern."""
    version_changes = VersionChanges()
    for change in entities.changes.values():
        add_run(version_changes, change)
    for event in events:
        add_event(version_changes, event)
    _load(tx, entities, chain(version_changes.points, *(change.new.inputs for change in entities.changes.values())))
    tx.write(
        (
            Statement("set_unmade_dataset_versions", tuple(version_changes.gone)),
            Statement("create_dataset_versions", tuple(version_changes.new)),
            Statement("upsert_dataset_versions", tuple(version_changes.put)),
        )
    )
    cut, asked = _own_reads(entities.changes.values())
    own = {(one.run_id, one.dataset) for one in asked} | {(row["id"], row["of"]) for row in cut}
    asked += [one for one in _concerned(tx, entities, version_changes, limits) if (one.run_id, one.dataset) not in own]
    resolve(tx, entities, asked, cut, version_changes)


def _load(tx: Transaction, entities: Entities, keys: Iterable[Key]) -> None:
    missing = {key for key in keys if key not in entities.stored_datasets}
    entities.stored_datasets |= tx.datasets(missing)


# ---- which reads are concerned -------------------------------------------------------------------------------------


def _own_reads(changes: Iterable[RunChange]) -> tuple[list[Row], list[Read]]:
    """Return the reads of changed runs that are no more, and those to be resolved."""
    cut: list[Row] = []
    asked: list[Read] = []
    for change in changes:
        old, new = change.old, change.new
        before = old.reads if old and old.moment else {}
        after = new.reads if new.moment else {}
        cut += [_cut(new.id, dataset, before[dataset]) for dataset in before if dataset not in after]
        for dataset, external in after.items():
            assert new.moment is not None
            if old is None or dataset not in before or (old.moment, before[dataset]) != (new.moment, external):
                was = ("", unmade_id(dataset, before[dataset])) if dataset in before else (None, None)
                asked.append(Read(new.id, new.moment, dataset, external, *was))
    return cut, asked


def _cut(run_id: str, dataset: Key, external: str | None) -> Row:
    row = {"run": run_hash(run_id), "dataset": dataset_hash(dataset), "id": run_id, "of": dataset}
    return row | {"unmade": unmade_id(dataset, external), "exact": external is not None}


def _concerned(tx: Transaction, entities: Entities, version_changes: VersionChanges, limits: Limits) -> list[Read]:
    ranges = _ranges(tx, entities, version_changes)
    found: list[Read] = []
    deferred: list[Row] = []
    for (dataset, _, until), reads in zip(ranges, tx.readers_between(ranges, limits.rows + 1), strict=True):
        found += _taken(dataset, reads, limits)
        if len(reads) > limits.rows:
            deferred.append(defer_reads(dataset, reads[limits.rows - 1].moment, until))
    exact = [(dataset, external, (-LATEST[0], "")) for dataset, external in sorted(version_changes.externals)]
    for (dataset, external, _), reads in zip(exact, tx.exact_readers(exact, limits.rows + 1), strict=True):
        found += _taken(dataset, reads, limits)
        if len(reads) > limits.rows:
            deferred.append(defer_exact(dataset, external, reads[limits.rows - 1].moment))
    tx.write([Statement("upsert_deferred_work", tuple(deferred))] if deferred else [])
    return found


def _taken(dataset: Key, reads: list[StoredRead], limits: Limits) -> list[Read]:
    return [
        Read(one.run_id, one.moment, dataset, one.external, one.version, one.version) for one in reads[: limits.rows]
    ]


def _ranges(tx: Transaction, entities: Entities, version_changes: VersionChanges) -> list[tuple[Key, Moment, Moment]]:
    """Return the stretches of moments whose reads the touched points concern: from each up to the next version.

    Beyond the stored latest version the stretches of a dataset meet, and are one (the common case, nothing is asked).
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
    tx: Transaction, entities: Entities, asked: list[Read], cut: list[Row], version_changes: VersionChanges
) -> None:
    """Resolve reads by specification 5.2 and 5.3, write those that differ, and what follows for their datasets."""
    reads = list({(one.run_id, one.dataset): one for one in asked}.values())
    versions = _resolved(tx, entities, reads, version_changes)
    changed = [(one, id_) for one, id_ in zip(reads, versions, strict=True) if one.version != id_]
    cut = cut + [_cut(one.run_id, one.dataset, one.external) for one, _ in changed if one.version is not None]
    named = {(one.dataset, one.external): one for one, _ in changed}
    unmade = {unmade_id(*key): one for key, one in named.items()}
    puts = {id_: unmade[id_] for _, id_ in changed if id_ in unmade}
    lost = {row["unmade"] for row in cut} | {one.unmade for one, _ in changed if one.unmade}
    lost |= {row["id"] for row in version_changes.gone}
    tx.write(
        (
            Statement("unlink_reads", tuple({"run": row["run"], "dataset": row["dataset"]} for row in cut)),
            Statement("upsert_unmade_versions", tuple(_unmade_row(id_, one) for id_, one in sorted(puts.items()))),
            Statement("link_reads", tuple(_read_row(one, id_) for one, id_ in changed)),
            Statement("delete_unread_versions", tuple({"id": id_} for id_ in sorted(lost))),
        )
    )
    reread = {one.dataset: True for one, _ in changed if one.external is None}
    unsettled = {row["of"] for row in cut} | {one.dataset for one, _ in changed if one.external is not None}
    _apply_datasets(tx, entities, version_changes, reread.keys() | unsettled, unsettled)


def _resolved(tx: Transaction, entities: Entities, reads: list[Read], version_changes: VersionChanges) -> list[str]:
    """Return the id of the version that each read reads."""
    found: dict[int, str] = {}
    inexact = []
    new = {dataset: sorted(made, key=_moment_of) for dataset, made in version_changes.appended.items()}
    for number, one in enumerate(reads):
        at_hand = _at_hand(entities, one, version_changes, new.get(one.dataset, [])) if one.external is None else None
        if at_hand is not None:
            found[number] = at_hand
        elif one.external is None:
            inexact.append(number)
    asked = [(reads[number].dataset, reads[number].moment, reads[number].run_id) for number in inexact]
    for number, made in zip(inexact, tx.made_before(asked), strict=True):
        found[number] = made.id if made else unmade_id(reads[number].dataset, None)
    exact = [number for number, one in enumerate(reads) if one.external is not None]
    found |= dict(zip(exact, _resolved_exactly(tx, [reads[number] for number in exact]), strict=True))
    return [found[number] for number in range(len(reads))]


def _at_hand(entities: Entities, one: Read, version_changes: VersionChanges, new: list[Made]) -> str | None:
    """Return the version read, where what was loaded already settles it: nothing stored lies between (the common case).

    ``new`` are the versions of its dataset that this batch brings, by moment.
    """
    if one.dataset in version_changes.removed:
        return None
    stored = entities.stored_datasets.get(one.dataset)
    latest = stored.latest if stored else None
    if latest is not None and (latest.moment >= one.moment or latest.made_by == one.run_id):
        return None
    # A run's own version is never among those before its moment: it has that moment, or a later one (specification 5.1).
    at = bisect_left(new, one.moment, key=_moment_of)
    if at and (latest is None or latest.moment < new[at - 1].moment):
        return new[at - 1].id
    return latest.id if latest else unmade_id(one.dataset, None)


def _resolved_exactly(tx: Transaction, reads: list[Read]) -> list[str]:
    asked = [(one.dataset, one.external or "", one.moment, one.run_id) for one in reads]
    before = tx.exact_before(asked)
    later = [number for number, made in enumerate(before) if made is None]
    greatest = tx.exact_before([(asked[number][0], asked[number][1], LATEST, asked[number][3]) for number in later])
    fallback = dict(zip(later, greatest, strict=True))
    ids = []
    for number, one in enumerate(reads):
        made = before[number] or fallback.get(number)
        ids.append(made.id if made else unmade_id(one.dataset, one.external))
    return ids


def _unmade_row(id_: str, one: Read) -> Row:
    return {"id": id_, "dataset": dataset_hash(one.dataset), "external": one.external}


def _read_row(one: Read, version: str) -> Row:
    return {
        "version": version,
        "run": run_hash(one.run_id),
        "dataset": dataset_hash(one.dataset),
        "moment": one.moment[0],
        "external": one.external,
    }


# ---- what follows for a dataset (specification 5.5, 7) ----------------------------------------------------------------------


def _apply_datasets(
    tx: Transaction, entities: Entities, version_changes: VersionChanges, reread: set[Key], unsettled: set[Key]
) -> None:
    """Write what follows for datasets: ``unsettled`` are those whose reads changed in more than by plain new ones."""
    concerned = version_changes.points.keys() | reread
    _load(tx, entities, concerned)
    rows = []
    for dataset in sorted(concerned):
        stored = entities.stored_datasets.get(dataset)
        before = stored.current if stored else None
        made = _latest(tx, entities, dataset, version_changes)
        if made is None and (dataset in unsettled or dataset in version_changes.removed):
            current = _unmade_current(tx, dataset, stored.past if stored else None)
        else:
            current = made.id if made else before or initial_version_id(dataset)
        if current != before:
            rows.append({"dataset": dataset_hash(dataset), "version": current})
    tx.write((Statement("link_current_dataset_versions", tuple(rows)),))
    _apply_dropped(tx, entities, version_changes.points.keys() | entities.drop_reported)


def _unmade_current(tx: Transaction, dataset: Key, past: RetainedRead | None) -> str | None:
    """Specification 5.5, where no version has a moment: the external one read last; else the initial one, if a run reads it."""
    exact = tx.last_exact_read(dataset)
    if past is not None and past.external is not None and (exact is None or exact.moment < past.moment):
        return unmade_id(dataset, past.external)
    if exact is not None:
        return exact.version
    return initial_version_id(dataset) if past is not None or tx.has_inexact_read(dataset) else None


def _latest(tx: Transaction, entities: Entities, dataset: Key, version_changes: VersionChanges) -> Made | None:
    latest = _stored_latest(entities, dataset)
    if latest is not None and latest.id in version_changes.removed.get(dataset, ()):
        return tx.made_before([(dataset, LATEST, "")])[0]
    candidates = [*version_changes.appended.get(dataset, ()), *([latest] if latest else [])]
    return max(candidates, key=lambda made: made.moment, default=None)


def _apply_dropped(tx: Transaction, entities: Entities, datasets: Iterable[Key]) -> None:
    """Mark datasets of which an event ever said DROP."""
    rows = []
    for dataset in sorted(datasets):
        stored = entities.stored_datasets.get(dataset)
        if dataset not in entities.drop_reported and not (stored and stored.says_drop):
            continue
        rows.append(dropped_row(tx, dataset, _dataset_record(entities, dataset)))
    tx.write((Statement("set_dropped", tuple(rows)),))


def dropped_row(tx: Transaction, dataset: Key, record: DatasetRecord) -> Row:
    """Return the write that marks a dataset as dropped, or not.

    Specification 7: dropped if the joined facet says DROP, and nothing that does not itself say DROP came later.
    """
    facets = record.facets
    dropped = read.says_drop(facets) and not tx.has_live_version_after(dataset, facets["lifecycleStateChange"][0])
    return {"dataset": dataset_hash(dataset), "dropped": dropped or None}


def _dataset_record(entities: Entities, dataset: Key) -> DatasetRecord:
    if dataset in entities.datasets:
        return entities.datasets[dataset]
    stored = entities.stored_datasets.get(dataset)
    return unpack(stored.record, DatasetRecord) if stored and stored.record else DatasetRecord()
