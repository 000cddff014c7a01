"""Job versions: the fold of specification 4 over what is stored, from the first changed moment on and no further than it must.

The fold goes on from the version valid just before the first change. Once all changes are behind it and its version agrees
with the stored one of that moment, in content and in id, everything stored after that moment stands (specification 11).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from headwater_avro.events import JobEvent
from headwater_avro.json_codec import read_event
from headwater_avro.names import Key, key_hash
from headwater_graph.apply.deferred import FoldBody
from headwater_graph.apply.limits import Limits
from headwater_graph.apply.run_changes import RunChange
from headwater_graph.model.node_keys import job_hash, run_hash
from headwater_graph.model.records import RunRecord, unpack
from headwater_graph.model.values import LATEST, JobVersion, Moment, Row, Statement, StoredItem
from headwater_graph.rules.job_versions import Item, as_of, as_retained, item_of_event, item_of_run, step
from headwater_graph.rules.runs import read_run
from headwater_graph.store.port import Transaction


@dataclass(slots=True)
class JobChange:
    """What a batch changes in one job's fold: items put (with the version they were in), moments they left."""

    put: dict[Moment, tuple[Item, str | None]] = field(default_factory=dict)
    left: dict[Moment, tuple[str, str | None]] = field(default_factory=dict)

    @property
    def first(self) -> Moment:
        """The first moment that changed."""
        return min([*self.put, *self.left])

    @property
    def last(self) -> Moment:
        """The last moment that changed."""
        return max([*self.put, *self.left])


@dataclass(slots=True)
class Fold:
    """The outcome of folding a stretch of one job: versions to write and to drop, and which item is in which.

    ``valid`` is the stored version that was valid where the stretch stopped short; with ``deferred`` it is needed to go on.
    ``displaced`` are stored versions of runs that moved to an earlier moment, by the moment at which they were valid from:
    an earlier stretch may have written them anew at their new place. ``left`` are moments that runs left, ``reached`` those of
    them, and of kept versions, that the stretch came by: which run is the last of the versions there may have changed.
    """

    job: Key
    appended: bool
    base: JobVersion | None = None
    valid: JobVersion | None = None
    displaced: dict[Moment, JobVersion] = field(default_factory=dict)
    put: dict[str, JobVersion] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)
    placed: list[tuple[Item, str | None, str]] = field(default_factory=list)
    current: JobVersion | None = None
    deferred: Moment | None = None
    last: Moment = LATEST
    agreed: bool = False
    refolded: int = 0
    left: set[Moment] = field(default_factory=set)
    reached: set[Moment] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class OffsetRanges:
    """What is stored of a job between two moments, both included: items of its fold, and versions by their start."""

    start: Moment
    end: Moment
    items: dict[Moment, StoredItem]
    versions: dict[Moment, JobVersion]


def job_changes(changes: Iterable[RunChange], events: Iterable[JobEvent]) -> dict[Key, JobChange]:
    """Return what changed runs and JobEvents change in the folds of their jobs."""
    jobs: dict[Key, JobChange] = {}
    for change in changes:
        old, new = item_of_run(change.old) if change.old else None, item_of_run(change.new)
        if old == new:
            continue
        if old is not None and (new is None or (old.job, old.moment) != (new.job, new.moment)):
            assert old.run_id is not None
            jobs.setdefault(old.job, JobChange()).left[old.moment] = (old.run_id, change.version)
        if new is not None:
            stays = old is not None and (old.job, old.moment) == (new.job, new.moment)
            jobs.setdefault(new.job, JobChange()).put[new.moment] = (new, change.version if stays else None)
    for event in events:
        item = item_of_event(event)
        jobs.setdefault(item.job, JobChange()).put[item.moment] = (item, None)
    return jobs


def leave(tx: Transaction, changes: Iterable[JobChange]) -> None:
    """Take runs out of the versions in which they were at moments that they left; the fold places them where they are now."""
    left = [(run_id, version) for change in changes for run_id, version in change.left.values() if version]
    counter = Counter(version for _, version in left)
    tx.write(
        (
            Statement("unlink_ran", tuple({"run": run_hash(run_id)} for run_id, _ in left)),
            Statement("set_run_counts", tuple({"id": id_, "runs": -fewer} for id_, fewer in counter.items())),
        )
    )


def event_rows(events: Iterable[JobEvent]) -> Statement:
    """Return the write of JobEvents themselves: they take part in every later fold of their jobs."""
    rows: list[Row] = [
        {
            "key": event_hash(event.text),
            "job": job_hash(event.job),
            "moment": event.time,
            "tie": event.text,
            "text": event.text,
        }
        for event in events
    ]
    return Statement("upsert_job_events", tuple(rows))


def event_hash(text: str) -> str:
    """Return the store's key of a JobEvent."""
    return key_hash("event", text)


def append(job: Key, current: JobVersion | None, change: JobChange) -> Fold:
    """Fold items that come after all that is stored onto the job's current version: the common case, and nothing is read."""
    fold = Fold(job, appended=True, base=current, current=current)
    for moment in sorted(change.put):
        item, before = change.put[moment]
        _place(fold, item, before)
    return fold


def refold(tx: Transaction, changes: dict[Key, JobChange], limits: Limits) -> list[Fold]:
    """Fold jobs again from their first changes on; each stops where the fold agrees with what is stored."""
    firsts = [(job, change.first) for job, change in changes.items()]
    left = [(job, moment, moment) for job, change in changes.items() for moment in change.left]
    displaced: dict[Key, dict[Moment, JobVersion]] = {}
    for (job, _, _), versions in zip(left, tx.versions_between(left), strict=True):
        displaced.setdefault(job, {}).update({one.since: one for one in versions})
    folds = []
    for (job, first), base in zip(firsts, tx.versions_before(firsts), strict=True):
        fold = Fold(job, appended=False, base=base, valid=base, current=as_of(base, first) if base else None)
        if base is not None and fold.current is not None and fold.current != base:
            fold.put[base.id] = fold.current
        fold.displaced = displaced.get(job, {})
        fold.left = set(changes[job].left)
        folds.append(fold)
    _fold_on(
        tx, [(fold, change.first, change.last) for fold, change in zip(folds, changes.values(), strict=True)], limits
    )
    return folds


def continue_fold(tx: Transaction, deferred: FoldBody, limits: Limits) -> Fold:
    """Fold on where an earlier transaction stopped short."""
    (base,) = tx.versions_before([(deferred.job, deferred.first)])
    fold = Fold(deferred.job, appended=False, base=base, valid=deferred.valid, current=base)
    fold.displaced = {one.since: one for one in deferred.displaced}
    fold.left = set(deferred.left)
    if deferred.doomed and deferred.valid is not None:
        fold.dropped.add(deferred.valid.id)
    _fold_on(tx, [(fold, deferred.first, deferred.last)], limits)
    return fold


FIRST_PAGE = 16
"""How many stored items a fold reads first; then four times as many each time, as it mostly agrees with them soon."""


def _fold_on(tx: Transaction, folds: list[tuple[Fold, Moment, Moment]], limits: Limits) -> None:
    """Fold each job on over what is stored from a moment; what all changes together reach stays within the limits."""
    limit = max(1, limits.rows // max(1, len(folds)))
    page, read = min(FIRST_PAGE, limit), 0
    while folds:
        folds = [(fold, end, last) for fold, end, last in _fold_pages(tx, folds, page) if end is not None]
        read += page
        if read >= limit:
            for fold, end, _ in folds:
                fold.deferred = end
            return
        page = min(page * 4, limit - read)


def _fold_pages(
    tx: Transaction, folds: list[tuple[Fold, Moment, Moment]], page: int
) -> Iterator[tuple[Fold, Moment | None, Moment]]:
    """Fold each job on over its next page of stored items; yields (fold, where to go on or None, last) of each."""
    items = tx.items_from([(fold.job, first) for fold, first, _ in folds], page)
    ends = [listed[-1].moment if len(listed) == page else LATEST for listed in items]
    stored = tx.versions_between([(fold.job, first, end) for (fold, first, _), end in zip(folds, ends, strict=True)])
    for (fold, first, last), listed, end, versions in zip(folds, items, ends, stored, strict=True):
        by_moment = {item.moment: item for item in listed}
        fold.last = last
        fold.agreed = _fold_stretch(
            fold, OffsetRanges(first, end, by_moment, {one.since: one for one in versions}), last
        )
        if fold.agreed and fold.current is not None:
            # From here on what is stored stands, the code version that the stored one takes later included.
            fold.put.pop(fold.current.id, None)
        yield fold, None if fold.agreed or end == LATEST else (end[0], end[1] + "\0"), last


def _fold_stretch(fold: Fold, ranges: OffsetRanges, last: Moment) -> bool:
    """Fold a stretch of stored items; returns whether the fold came to agree with what is stored."""
    waiting, by_moment = ranges.versions, ranges.items
    displaced = {moment: one for moment, one in fold.displaced.items() if ranges.start <= moment <= ranges.end}
    fold.reached |= {moment for moment in fold.left if ranges.start <= moment <= ranges.end}
    for moment in sorted(waiting.keys() | by_moment.keys() | displaced.keys()):
        if moment > last and _agrees(fold, moment):
            return True
        if moment in waiting:
            fold.valid = waiting[moment]
            if fold.valid.kept is not None:
                _take_kept(fold, fold.valid)
            elif fold.valid.id not in fold.put:
                fold.dropped.add(fold.valid.id)
        elif moment in displaced:
            fold.valid = displaced[moment]
        if moment in by_moment:
            found = by_moment[moment]
            _place(fold, _item(fold.job, found), found.version)
            fold.refolded += 1
        if moment >= last and _agrees(fold, (moment[0], moment[1] + "\0")):
            return True
    return False


def _take_kept(fold: Fold, stored: JobVersion) -> None:
    """Specification 7: a version that is kept opens the fold anew, as it was at the horizon."""
    fold.current = as_retained(stored)
    fold.reached.add(stored.since)
    if fold.current != stored:
        fold.put[stored.id] = fold.current


def _agrees(fold: Fold, moment: Moment) -> bool:
    return fold.current == (as_of(fold.valid, moment) if fold.valid else None)


def _item(job: Key, stored: StoredItem) -> Item:
    if stored.run_id is None:
        event = read_event(stored.body)
        assert isinstance(event, JobEvent)
        return item_of_event(event)
    item = item_of_run(read_run(stored.run_id, unpack(stored.body, RunRecord)))
    assert item is not None
    assert item.job == job
    return item


def _place(fold: Fold, item: Item, before: str | None) -> None:
    version = step(fold.current, item)
    if version != fold.current:
        fold.put[version.id] = version
        fold.dropped.discard(version.id)
    fold.current = version
    fold.placed.append((item, before, version.id))
