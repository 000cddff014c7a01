"""A batch to the graph: joined rows in, settled transactions out (specification 11).

A batch is one transaction where it fits one. What a transaction can't hold is portioned or owed; what the graph refuses is
bisected until only the record at fault is left; what is in the way for the moment is tried again.
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
from headwater_graph.model.values import Statement
from headwater_graph.rules.coalesce import Kind, Row
from headwater_graph.rules.horizon import HorizonRejection
from headwater_graph.store.port import Store

logger = logging.getLogger("headwater.consumer")

TRIES = 8
"""How often a transaction that another one was in the way of is tried, with growing pauses, before the batch gives up."""

FIRST_PAUSE = 0.05
"""Seconds before the second try; doubled each time."""


FINE_BEFORE_GROWING = 20
"""Batches without a shortage after which transactions that were made smaller may be twice as large again."""


def done(query_id: str, batch_id: int) -> str:
    """Return how a mark names a batch (`headwater_graph.store.writer_node.CommittedOffsets`)."""
    return f"{query_id}/{batch_id}"


@dataclass(frozen=True, slots=True)
class BatchPosition:
    """Which batch of which query this is, and up to which offsets (exclusive) it reads: {topic: {partition: offset}}."""

    query_id: str
    batch_id: int
    offsets: dict[str, dict[int, int]]

    @property
    def mark(self) -> tuple[Statement, ...]:
        """What says in the graph that the batch is done; nothing where the position has no offsets."""
        row = {"offsets": msgspec.json.encode(self.offsets).decode(), "done": done(self.query_id, self.batch_id)}
        return (Statement("set_offsets", (row,)),) if self.offsets else ()


@dataclass(frozen=True, slots=True)
class Refused:
    """A row that the graph does not take: its messages, at ``sources``, go to the dead letters with this code."""

    kind: Kind
    key: bytes
    sources: bytes
    code: RejectionCode
    detail: str


@dataclass(frozen=True, slots=True)
class SplitRun:
    """A run of which the events older than ``bound`` are refused and the others not (specification 7): nothing of its row is written.

    Its messages, at ``sources``, are to be joined again one by one, and what is left of them applied.
    """

    run_id: str
    sources: bytes
    bound: int


@dataclass(frozen=True, slots=True)
class BatchReport:
    """What a batch came to: runs written, jobs with a late one, versions folded again, work still owed, seconds by phase.

    ``marked`` tells that the graph says its offsets (`GraphWriter.mark`).
    """

    late_runs: int
    refolded_versions: int
    deferred_left: int
    phase_seconds: dict[str, float]
    refused: list[Refused]
    runs: int = 0
    split_runs: list[SplitRun] = field(default_factory=list)
    marked: bool = False

    def then(self, other: BatchReport) -> BatchReport:
        """Return what this and what was left of its parted runs came to."""
        phases = self.phase_seconds.keys() | other.phase_seconds.keys()
        seconds = {name: self.phase_seconds.get(name, 0.0) + other.phase_seconds.get(name, 0.0) for name in phases}
        return BatchReport(
            self.late_runs + other.late_runs,
            self.refolded_versions + other.refolded_versions,
            other.deferred_left,
            seconds,
            self.refused + other.refused,
            self.runs + other.runs,
            other.split_runs,
            other.marked,
        )


@dataclass(slots=True)
class _Progress:
    applied: ApplyResult = field(default_factory=ApplyResult)
    seconds: dict[str, float] = field(default_factory=dict)
    refused: list[Refused] = field(default_factory=list)
    split_runs: list[SplitRun] = field(default_factory=list)
    marked: bool = False

    def add_rejected(self, portion: Iterable[Row], rejected: Iterable[HorizonRejection]) -> None:
        """Note what of a portion lies before the horizon; a run may be told by several of its rows."""
        found = {(one.kind, one.key): one for one in rejected}
        for kind, key, _, sources in portion if found else ():
            one = found.get((kind, key.decode()))
            if one is not None and one.bound is not None:
                self.split_runs.append(SplitRun(one.key, sources, one.bound))
            elif one is not None:
                self.refused.append(Refused(kind, key, sources, "before_horizon", one.detail))

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begin


class GraphWriter:
    """Writes batches to a store, within limits that shrink when the store runs out of memory and grow back."""

    def __init__(self, store: Store, limits: TransactionLimits | None = None) -> None:
        self.store = store
        self._limits = limits or TransactionLimits()
        self._now = self._limits
        self._fine = 0

    def prepare(self, rows: Iterable[Row]) -> list[Portion]:
        """Return the rows as portions of a transaction each, and work out what the first tells: as a rule there is but one.

        Nothing stored is asked for, so a batch can be prepared while another thread writes the one before.
        """
        with collection_paused():
            prepared = [Portion(part) for part in portions(rows, self._now.runs, self._now.bytes)]
            if prepared:
                prepared[0].prepared = prepared[0].merged()
        return prepared

    def apply(self, rows: Iterable[Row], position: BatchPosition) -> BatchReport:
        """Write a batch of any size: its rows are taken as they are written."""
        return self.write(map(Portion, portions(rows, self._now.runs, self._now.bytes)), position)

    def write(self, prepared: Iterable[Portion], position: BatchPosition) -> BatchReport:
        """Write a batch; the graph is settled before it and after it, so nothing is owed in the end.

        The transaction that brings the last of it says the position's offsets, if there are any and nothing was refused or
        parted: else the batch is not done yet, and :meth:`mark` is to be called when it is.

        Raises ServerUnavailable while the graph can't be reached: nothing of the portion under way is written then, and
        the same batch may be applied again.
        """
        self.store.announce(position.batch_id)
        progress = _Progress()
        with collection_paused():
            self.run_all_deferred(progress)
            # A batch of dead letters alone has no portion, yet its offsets are to be known: an empty one tells them.
            waiting = iter(prepared)
            portion: Portion | None = next(waiting, Portion([]))
            while portion is not None:
                following = next(waiting, None)
                self._apply(portion, progress, position.mark if following is None else ())
                portion = following
        self._grow()
        applied = progress.applied
        return BatchReport(
            applied.late,
            applied.refolded,
            0,
            progress.seconds,
            progress.refused,
            applied.runs,
            progress.split_runs,
            progress.marked,
        )

    def mark(self, position: BatchPosition) -> None:
        """Say in the graph that everything up to the position's offsets is done. Raises ServerUnavailable, StoreBusy."""
        with self.store.transaction() as tx:
            tx.write(position.mark)

    def run_all_deferred(self, progress: _Progress | None = None) -> None:
        """Do all work that earlier transactions left, each piece in transactions of its own."""
        progress = progress or _Progress()
        done = 0
        with progress.phase("drain"):
            while self._again(self._ran_one, progress):
                done += 1
                if done % 20 == 0:
                    logger.info("settling what is owed", extra={"transactions": done})

    def _ran_one(self, progress: _Progress) -> bool:
        while True:
            try:
                return self._run_one(progress)
            except StoreExhausted:
                self._do_less()

    def _do_less(self) -> None:
        """Shrink what one transaction may do; raises the error under way where it can shrink no further."""
        smaller = self._now.halved()
        if smaller == self._now:
            raise
        self._now, self._fine = smaller, 0
        logger.warning("the graph ran out of memory or time: smaller transactions", extra={"rows": smaller.rows})

    def _grow(self) -> None:
        """Let transactions grow back after enough batches that fitted: each try that fails costs a whole transaction."""
        self._fine += 1
        if self._now != self._limits and self._fine >= FINE_BEFORE_GROWING:
            self._now, self._fine = self._now.doubled(self._limits), 0

    def _run_one(self, progress: _Progress) -> bool:
        with self.store.transaction() as tx:
            deferred = tx.deferred(1)
            if deferred:
                progress.applied += run_deferred(tx, deferred[0], self._now)
        return bool(deferred)

    def _apply(self, portion: Portion, progress: _Progress, mark: tuple[Statement, ...]) -> None:
        try:
            self._again(lambda progress: self._apply_portion(portion, progress, mark), progress)
        except StoreRefused as fault:
            rows = portion.rows
            if not rows:
                raise
            if len(rows) == 1:
                kind, key, _, sources = rows[0]
                progress.refused.append(Refused(kind, key, sources, "store_refused", str(fault)))
                return
            half = len(rows) // 2
            self._apply(Portion(rows[:half]), progress, ())
            self._apply(Portion(rows[half:]), progress, mark)
            return
        except StoreExhausted:
            self._do_less()
            *firsts, last = portions(portion.rows, self._now.runs, self._now.bytes) if portion.rows else [[]]
            for smaller in firsts:
                self._apply(Portion(smaller), progress, ())
            self._apply(Portion(last), progress, mark)
            return
        self.run_all_deferred(progress)

    def _apply_portion(self, portion: Portion, progress: _Progress, mark: tuple[Statement, ...]) -> bool:
        with progress.phase("join"):
            incoming = portion.merged()
        try:
            with progress.phase("write"), self.store.transaction() as tx:
                applied = apply_batch(tx, incoming, self._now)
                marked = bool(mark) and not (applied.rejected or progress.refused or progress.split_runs)
                tx.write(mark if marked else ())
        except RetentionUnfinished:
            self.run_all_deferred(progress)
            raise
        progress.add_rejected(portion.rows, applied.rejected)
        progress.applied += replace(applied, rejected=())
        progress.marked = marked
        return True

    def _again(self, step: Callable[[_Progress], bool], progress: _Progress) -> bool:
        pause = FIRST_PAUSE
        for _ in range(TRIES - 1):
            try:
                return step(progress)
            except StoreBusy as fault:
                logger.info("another transaction was in the way", extra={"reason": str(fault)})
            time.sleep(pause)
            pause *= 2
        return step(progress)
