"""A batch to the graph: rows of merged records in, committed transactions out (specification 11, 12).

A batch is one transaction if it fits. What exceeds a transaction is divided into portions or deferred. If the store refuses
a transaction, its records are divided in halves until the record at fault is alone; if another transaction is in the way, it
is repeated.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import msgspec

from headwater_avro.collection import collection_paused
from headwater_avro.errors import RejectionCode, StoreBusy, StoreExhausted, StoreRefused
from headwater_graph.apply.deferred import RetentionUnfinished
from headwater_graph.apply.limits import TransactionLimits
from headwater_graph.apply.merged import Portion, portions
from headwater_graph.apply.transaction import ApplyResult, apply_batch, run_deferred
from headwater_graph.model.values import Writes
from headwater_graph.rules.coalesce import MergedRow, RowKind
from headwater_graph.rules.horizon import HorizonRejection
from headwater_graph.store.port import Store
from headwater_graph.store.writer_node import Loss

logger = logging.getLogger("headwater.consumer")

TRIES = 8
"""How often a transaction is tried while others are in its way, with growing pauses, before the batch fails."""

FIRST_PAUSE = 0.05
"""Seconds before the second try; doubled each time."""

FINE_BEFORE_GROWING = 20
"""Batches without a shortage after which the limits of transactions are doubled again."""


def batch_identity(query_id: str, batch_id: int) -> str:
    """Return the identity of a batch in the committed offsets (``store.writer_node.CommittedOffsets``)."""
    return f"{query_id}/{batch_id}"


@dataclass(frozen=True, slots=True)
class BatchPosition:
    """The query and number of a batch, and the offsets up to which (exclusive) it reads: {topic: {partition: offset}}.

    ``topics`` are Kafka's ids of the topics, ``losses`` the messages that the graph records as lost for good.
    """

    query_id: str
    batch_id: int
    offsets: dict[str, dict[int, int]]
    topics: dict[str, str] = field(default_factory=dict)
    losses: tuple[Loss, ...] = ()

    @property
    def commit(self) -> Writes:
        """The writes that commit the offsets; empty if the position has none."""
        if not self.offsets:
            return {}
        offsets, topics, losses = (
            msgspec.json.encode(value).decode() for value in (self.offsets, self.topics, self.losses)
        )
        row = {"offsets": offsets, "done": batch_identity(self.query_id, self.batch_id), "topics": topics}
        lost = {"set_losses": [{"losses": losses}]} if self.losses else {}
        return {"set_offsets": [row], **lost}


@dataclass(frozen=True, slots=True)
class Refused:
    """A row that is not written: its messages, at ``sources``, become dead letters with this code."""

    kind: RowKind
    key: bytes
    sources: bytes
    code: RejectionCode
    detail: str


@dataclass(frozen=True, slots=True)
class SplitRun:
    """A run of which the events older than ``bound`` are rejected and the others accepted (specification 10.11).

    Nothing of its row is written: its messages, at ``sources``, are to be read again one by one, and the accepted ones
    applied (specification 11.2).
    """

    run_id: str
    sources: bytes
    bound: int


@dataclass(frozen=True, slots=True)
class BatchReport:
    """The result of a batch: how many jobs had a late run, how many runs were folded again, what was refused, …

    ``committed``: the offsets of the batch are committed; otherwise ``GraphWriter.commit_offsets`` is still to be called.
    """

    late_runs: int
    refolded_versions: int
    deferred_transactions: int
    phase_seconds: dict[str, float]
    refused: list[Refused]
    runs: int = 0
    split_runs: list[SplitRun] = field(default_factory=list)
    committed: bool = False

    def then(self, other: BatchReport) -> BatchReport:
        """Return this result together with that of its split runs."""
        phases = self.phase_seconds.keys() | other.phase_seconds.keys()
        seconds = {name: self.phase_seconds.get(name, 0.0) + other.phase_seconds.get(name, 0.0) for name in phases}
        return BatchReport(
            self.late_runs + other.late_runs,
            self.refolded_versions + other.refolded_versions,
            self.deferred_transactions + other.deferred_transactions,
            seconds,
            self.refused + other.refused,
            self.runs + other.runs,
            other.split_runs,
            other.committed,
        )


@dataclass(slots=True)
class _Progress:
    applied: ApplyResult = field(default_factory=ApplyResult)
    deferred_transactions: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    refused: list[Refused] = field(default_factory=list)
    split_runs: list[SplitRun] = field(default_factory=list)
    committed: bool = False

    def add_rejected(self, portion: Iterable[MergedRow], rejected: Iterable[HorizonRejection]) -> None:
        """Note the rows of a portion that the horizon rejects; several rows may be of one run."""
        rejections = {(rejection.kind, rejection.key): rejection for rejection in rejected}
        for kind, key, _, sources in portion if rejections else ():
            rejection = rejections.get((kind, key.decode()))
            if rejection is not None and rejection.bound is not None:
                self.split_runs.append(SplitRun(rejection.key, sources, rejection.bound))
            elif rejection is not None:
                self.refused.append(Refused(kind, key, sources, "before_horizon", rejection.detail))

    def report(self) -> BatchReport:
        late, refolded, runs = self.applied.late, self.applied.refolded, self.applied.runs
        transactions = self.deferred_transactions
        return BatchReport(
            late, refolded, transactions, self.seconds, self.refused, runs, self.split_runs, self.committed
        )

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begin


class GraphWriter:
    """Writes batches to a store, within limits that shrink when the store runs out of memory and grow back.

    ``committed`` is called when a transaction is committed.
    """

    def __init__(self, store: Store, limits: TransactionLimits | None = None) -> None:
        self.store = store
        self.committed: Callable[[], None] = lambda: None
        self._limits = limits or TransactionLimits()
        self._now = self._limits
        self._fine = 0

    def prepare(self, rows: Iterable[MergedRow]) -> list[Portion]:
        """Return the rows as portions for one transaction each; the content of the first, mostly the only one, is computed.

        Nothing stored is read, so a batch can be prepared while another thread writes the batch before it.
        """
        with collection_paused():
            prepared = [Portion(part) for part in portions(rows, self._now.runs, self._now.bytes)]
            if prepared:
                prepared[0].prepared = prepared[0].merged()
        return prepared

    def apply(self, rows: Iterable[MergedRow], position: BatchPosition) -> BatchReport:
        """Write a batch of any size: its rows are read as they are written."""
        return self.write(map(Portion, portions(rows, self._now.runs, self._now.bytes)), position)

    def write(self, prepared: Iterable[Portion], position: BatchPosition) -> BatchReport:
        """Write a batch; before and after it there is no deferred work.

        Its last transaction commits the offsets of the position, if it has any and no row was refused or split.
        Otherwise the batch is not done yet, and ``commit_offsets`` is to be called when it is.

        Raises ServerUnavailable while the graph can't be reached: nothing of the current portion is written then, and the
        same batch can be applied again.
        """
        self.store.announce(position.batch_id)
        progress = _Progress()
        with collection_paused():
            self.run_all_deferred(progress)
            # A batch of only dead letters has no portion: an empty one commits its offsets.
            remaining = iter(prepared)
            portion: Portion | None = next(remaining, Portion([]))
            while portion is not None:
                following = next(remaining, None)
                self._apply(portion, progress, position.commit if following is None else {})
                portion = following
        self._grow()
        return progress.report()

    def commit_offsets(self, position: BatchPosition) -> None:
        """Commit the offsets of a position. Raises ServerUnavailable, StoreBusy."""
        with self.store.transaction() as tx:
            tx.write(position.commit)

    def run_all_deferred(self, progress: _Progress | None = None) -> None:
        """Do all work that earlier transactions deferred."""
        progress = progress or _Progress()
        with progress.phase("drain"):
            while self._repeated(self._run_next_deferred, progress):
                progress.deferred_transactions += 1
                if progress.deferred_transactions % 20 == 0:
                    logger.info("doing deferred work", extra={"transactions": progress.deferred_transactions})

    def _run_next_deferred(self, progress: _Progress) -> bool:
        """Do the next deferred work; return whether there was any."""
        while True:
            try:
                with self.store.transaction() as tx:
                    deferred = tx.deferred(self._now.folds)
                    if deferred:
                        progress.applied += run_deferred(tx, deferred, self._now)
                return bool(deferred)
            except StoreExhausted:
                if not self._shrink():
                    raise

    def _shrink(self) -> bool:
        """Halve the limits of a transaction; return whether they were still larger than the least."""
        smaller = self._now.halved()
        if smaller == self._now:
            return False
        self._now, self._fine = smaller, 0
        logger.warning("the graph ran out of memory or time: smaller transactions", extra={"rows": smaller.rows})
        return True

    def _grow(self) -> None:
        """Double the limits after enough batches that fit, not earlier: a try that fails costs a whole transaction."""
        self._fine += 1
        if self._now != self._limits and self._fine >= FINE_BEFORE_GROWING:
            self._now, self._fine = self._now.doubled(self._limits), 0

    def _apply(self, portion: Portion, progress: _Progress, commit: Writes) -> None:
        try:
            self._repeated(lambda progress: self._apply_portion(portion, progress, commit), progress)
        except StoreRefused as fault:
            rows = portion.rows
            if not rows:
                raise
            if len(rows) == 1:
                kind, key, _, sources = rows[0]
                progress.refused.append(Refused(kind, key, sources, "store_refused", str(fault)))
                return
            half = len(rows) // 2
            self._apply(Portion(rows[:half]), progress, {})
            self._apply(Portion(rows[half:]), progress, commit)
            return
        except StoreExhausted:
            if not self._shrink():
                raise
            *firsts, last = portions(portion.rows, self._now.runs, self._now.bytes) if portion.rows else [[]]
            for smaller in firsts:
                self._apply(Portion(smaller), progress, {})
            self._apply(Portion(last), progress, commit)
            return
        self.run_all_deferred(progress)

    def _apply_portion(self, portion: Portion, progress: _Progress, commit: Writes) -> bool:
        with progress.phase("join"):
            content = portion.merged()
        try:
            with progress.phase("write"), self.store.transaction() as tx:
                applied = apply_batch(tx, content, self._now)
                committed = bool(commit) and not (applied.rejected or progress.refused or progress.split_runs)
                tx.write(commit if committed else {})
        except RetentionUnfinished:
            self.run_all_deferred(progress)
            raise
        self.committed()
        progress.add_rejected(portion.rows, applied.rejected)
        progress.applied += replace(applied, rejected=())
        progress.committed = committed
        return True

    def _repeated(self, step: Callable[[_Progress], bool], progress: _Progress) -> bool:
        """Run a step again while other transactions are in its way."""
        pause = FIRST_PAUSE
        for _ in range(TRIES - 1):
            try:
                return step(progress)
            except StoreBusy as fault:
                logger.info("another transaction is in the way, trying again", extra={"reason": str(fault)})
            time.sleep(pause)
            pause *= 2
        return step(progress)
