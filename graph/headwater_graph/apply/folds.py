"""Job versions: the fold of specification 4 over what is stored, from the first changed moment on and no further than needed.

Theory of operation. The versions of a job are a fold over its items (versioned runs and JobEvents) by moment, and
``step`` needs only the version so far and the next item. So a batch changes no version that begins before its first
changed moment, and the fold can start there, from the version valid just before (``as_of``: a code version that was
taken later is left out).

The fold goes through two timelines at once: ``current`` is the version that the fold yields at a moment, ``valid`` the
one that the store has there. After the last changed moment the items are the stored ones. If ``current`` and ``valid``
agree there, in content and in id, all further steps give what is stored, so the fold stops: everything after this moment
stands. Hence a late run that changes nothing reads one page, however late it is.

Three things make this more than a loop:

- A run that moved to an earlier moment has made a version there under the same id, so the version is not stored where
  it was any more. ``displaced`` holds it at its former moment, where it is still valid for what is stored further on.
- A retained version starts the fold anew at its moment (specification 10.5), so the fold takes it as it is.
- A fold that reaches the limit is deferred: ``FoldBody`` holds ``valid`` and the rest of its state, and ``continue_folds``
  goes on from there. The version ``valid`` stays until the runs that are still in it have moved, even if the fold does not
  yield it any more (it is *obsolete*).

Items that come after everything that is stored are folded onto the current version, and nothing is read (``append``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from headwater_avro.names import Key
from headwater_graph.apply.deferred import FoldBody
from headwater_graph.apply.limits import TransactionLimits
from headwater_graph.apply.lineage_sources import stored_reading
from headwater_graph.apply.run_changes import RunChange
from headwater_graph.model.node_keys import event_node_key, job_node_key, run_node_key
from headwater_graph.model.values import LATEST, JobVersion, Moment, Row, StoredItem
from headwater_graph.rules.job_events import JobEventReading
from headwater_graph.rules.job_versions import FoldItem, as_of, as_retained, item_of, step
from headwater_graph.store.port import Transaction


@dataclass(slots=True)
class JobChange:
    """The changes of a batch to the fold of a job: items to place, with their version so far, and moments that runs left."""

    added: dict[Moment, tuple[FoldItem, str | None]] = field(default_factory=dict)
    left: dict[Moment, tuple[str, str | None]] = field(default_factory=dict)

    @property
    def first(self) -> Moment:
        """The first moment that changed."""
        return min([*self.added, *self.left])

    @property
    def last(self) -> Moment:
        """The last moment that changed."""
        return max([*self.added, *self.left])


@dataclass(slots=True)
class Fold:
    """The result of folding a range of a job: versions to write and to delete, and the version of each item.

    ``upserted`` are versions by id, ``placed`` are (item, id of its version so far, id of its version now). ``valid`` is
    the stored version that is valid where the fold is; with ``deferred``, the moment from which to continue, it is needed
    to go on. ``displaced`` are stored versions of runs that moved to an earlier moment, by the moment from which they were
    valid. ``left`` are moments that runs left; ``reached`` are those of them, and of retained versions, that the fold came
    to: the last run of the versions there may have changed.
    """

    job: Key
    appended: bool
    base: JobVersion | None = None
    valid: JobVersion | None = None
    displaced: dict[Moment, JobVersion] = field(default_factory=dict)
    upserted: dict[str, JobVersion] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)
    placed: list[tuple[FoldItem, str | None, str]] = field(default_factory=list)
    current: JobVersion | None = None
    deferred: Moment | None = None
    last: Moment = LATEST
    refolded: int = 0
    left: set[Moment] = field(default_factory=set)
    reached: set[Moment] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class StoredRange:
    """What is stored of a job between two moments, both included: items of its fold, and versions by their start."""

    start: Moment
    end: Moment
    items: dict[Moment, StoredItem]
    versions: dict[Moment, JobVersion]

    def contains(self, moment: Moment) -> bool:
        """Return whether a moment is in the range."""
        return self.start <= moment <= self.end


def job_changes(changes: Iterable[RunChange], events: Iterable[JobEventReading]) -> dict[Key, JobChange]:
    """Return what changed runs and JobEvents change in the folds of their jobs."""
    jobs: dict[Key, JobChange] = {}
    for change in changes:
        old, new = item_of(change.old) if change.old else None, item_of(change.new)
        if old == new:
            continue
        stays = old is not None and new is not None and (old.job, old.moment) == (new.job, new.moment)
        if old is not None and not stays:
            jobs.setdefault(old.job, JobChange()).left[old.moment] = (change.new.id, change.version)
        if new is not None:
            jobs.setdefault(new.job, JobChange()).added[new.moment] = (new, change.version if stays else None)
    for event in events:
        item = item_of(event)
        assert item is not None
        jobs.setdefault(item.job, JobChange()).added[item.moment] = (item, None)
    return jobs


def leave(tx: Transaction, changes: Iterable[JobChange]) -> None:
    """Take runs out of the versions of the moments that they left; the fold places them at their new moments."""
    left = [(run_id, version) for change in changes for run_id, version in change.left.values() if version]
    counter = Counter(version for _, version in left)
    tx.write(
        {
            "unlink_ran": [{"run": run_node_key(run_id)} for run_id, _ in left],
            "set_run_counts": [{"id": id_, "runs": -fewer} for id_, fewer in counter.items()],
        }
    )


def event_rows(events: Iterable[JobEventReading]) -> list[Row]:
    """Return the rows of JobEvents, which take part in every later fold of their jobs."""
    rows: list[Row] = []
    for event in events:
        time, text = event.moment
        rows.append(
            {"key": event_node_key(text), "job": job_node_key(event.job), "moment": time, "tie": text, "text": text}
        )
    return rows


def append(job: Key, current: JobVersion | None, change: JobChange) -> Fold:
    """Fold items that come after everything stored onto the job's current version: the common case, without any read."""
    fold = Fold(job, appended=True, base=current, current=current)
    for moment in sorted(change.added):
        item, before = change.added[moment]
        _place(fold, item, before)
    return fold


def refold(tx: Transaction, changes: dict[Key, JobChange], limits: TransactionLimits) -> list[Fold]:
    """Fold jobs again from their first changes on; each fold stops where it agrees with what is stored."""
    firsts = [(job, change.first) for job, change in changes.items()]
    left = [(job, moment, moment) for job, change in changes.items() for moment in change.left]
    displaced: dict[Key, dict[Moment, JobVersion]] = {}
    for (job, _, _), versions in zip(left, tx.versions_between(left), strict=True):
        displaced.setdefault(job, {}).update(_by_start(versions))
    folds = []
    for (job, first), base in zip(firsts, tx.versions_before(firsts), strict=True):
        fold = Fold(job, appended=False, base=base, valid=base, current=as_of(base, first) if base else None)
        if base is not None and fold.current is not None and fold.current != base:
            fold.upserted[base.id] = fold.current
        fold.displaced = displaced.get(job, {})
        fold.left = set(changes[job].left)
        fold.last = changes[job].last
        folds.append(fold)
    _fold_on(tx, list(zip(folds, (first for _, first in firsts), strict=True)), limits)
    return folds


def continue_folds(tx: Transaction, deferred: Sequence[FoldBody], limits: TransactionLimits) -> list[Fold]:
    """Continue folds that earlier transactions deferred; they are of different jobs."""
    bases = tx.versions_before([(body.job, body.first) for body in deferred])
    folds = []
    for body, base in zip(deferred, bases, strict=True):
        fold = Fold(body.job, appended=False, base=base, valid=body.valid, current=base, last=body.last)
        fold.displaced = _by_start(body.displaced)
        fold.left = set(body.left)
        if body.obsolete and body.valid is not None:
            fold.dropped.add(body.valid.id)
        folds.append(fold)
    _fold_on(tx, [(fold, body.first) for fold, body in zip(folds, deferred, strict=True)], limits)
    return folds


def _by_start(versions: Iterable[JobVersion]) -> dict[Moment, JobVersion]:
    return {version.since: version for version in versions}


FIRST_PAGE = 16
"""How many stored items a fold reads first; then four times as many each time. Mostly it agrees with them soon."""


def _fold_on(tx: Transaction, folds: list[tuple[Fold, Moment]], limits: TransactionLimits) -> None:
    """Fold each job over what is stored from a moment on; all folds together stay within the limits."""
    limit = max(1, limits.rows // max(1, len(folds)))
    page, read = min(FIRST_PAGE, limit), 0
    while folds:
        folds = [(fold, following) for fold, following in _fold_pages(tx, folds, page) if following is not None]
        read += page
        if read >= limit:
            for fold, following in folds:
                fold.deferred = following
            return
        page = min(page * 4, limit - read)


def _fold_pages(tx: Transaction, folds: list[tuple[Fold, Moment]], page: int) -> Iterator[tuple[Fold, Moment | None]]:
    """Fold each job over its next page of stored items; yield each with the moment from which to continue, None at the end."""
    items = tx.items_from([(fold.job, first) for fold, first in folds], page)
    ends = [listed[-1].moment if len(listed) == page else LATEST for listed in items]
    stored = tx.versions_between([(fold.job, first, end) for (fold, first), end in zip(folds, ends, strict=True)])
    for (fold, first), listed, end, versions in zip(folds, items, ends, stored, strict=True):
        by_moment = {item.moment: item for item in listed}
        agreed = _fold_range(fold, StoredRange(first, end, by_moment, _by_start(versions)))
        if agreed and fold.current is not None:
            # From here on what is stored stands, with the code version that the stored version takes later.
            fold.upserted.pop(fold.current.id, None)
        yield fold, None if agreed or end == LATEST else _just_after(end)


def _just_after(moment: Moment) -> Moment:
    return moment[0], moment[1] + "\0"


def _fold_range(fold: Fold, stored: StoredRange) -> bool:
    """Fold a range of stored items; return whether the fold came to agree with what is stored."""
    displaced = {moment: version for moment, version in fold.displaced.items() if stored.contains(moment)}
    fold.reached |= set(filter(stored.contains, fold.left))
    for moment in sorted(stored.versions.keys() | stored.items.keys() | displaced.keys()):
        if moment > fold.last and _agrees(fold, moment):
            return True
        if moment in stored.versions:
            _reach_version(fold, stored.versions[moment])
        elif moment in displaced:
            fold.valid = displaced[moment]
        if moment in stored.items:
            item = stored.items[moment]
            _place(fold, _fold_item(fold.job, item), item.version)
            fold.refolded += 1
        if moment >= fold.last and _agrees(fold, _just_after(moment)):
            return True
    return False


def _reach_version(fold: Fold, stored: JobVersion) -> None:
    """Take a stored version as the valid one; a retained one starts the fold anew, as it was at the horizon (10.5)."""
    fold.valid = stored
    if stored.retained is None:
        if stored.id not in fold.upserted:
            fold.dropped.add(stored.id)
        return
    fold.current = as_retained(stored)
    fold.reached.add(stored.since)
    if fold.current != stored:
        fold.upserted[stored.id] = fold.current


def _agrees(fold: Fold, moment: Moment) -> bool:
    return fold.current == (as_of(fold.valid, moment) if fold.valid else None)


def _fold_item(job: Key, stored: StoredItem) -> FoldItem:
    item = item_of(stored_reading(stored))
    assert item is not None
    assert item.job == job
    return item


def _place(fold: Fold, item: FoldItem, before: str | None) -> None:
    version = step(fold.current, item)
    if version != fold.current:
        fold.upserted[version.id] = version
        fold.dropped.discard(version.id)
    fold.current = version
    fold.placed.append((item, before, version.id))
