"""What exceeds a transaction is deferred to later ones, also if the writer dies between any two of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from headwater_graph.apply.limits import TransactionLimits
from headwater_graph.audit.check import check

from ..fake_graph.store import FakeStore, FakeTransaction
from ..feeding import dumped
from .packed_runs import Watched, write
from .shapes import SHAPES, Shape

SIZE = 60
LIMITS = TransactionLimits(runs=10, rows=7)
ROWS_EACH = 4
"""At most so many rows are written for each unit of the limit: a read is unlinked and linked, the version it left deleted."""
BESIDES = 40
"""At most so many rows are written besides."""


class Killed(BaseException):
    """Simulates kill -9: nothing may catch it."""


class Mortal(FakeStore):
    """A store whose writer dies at a transaction: before it, or after all its writes, just before the commit."""

    def __init__(self, transactions: int, *, within: bool = False) -> None:
        super().__init__()
        self.left = transactions
        self.within = within

    @contextmanager
    def transaction(self) -> Iterator[FakeTransaction]:
        self.left -= 1
        if self.left == 0 and not self.within:
            raise Killed
        with super().transaction() as tx:
            yield tx
            if self.left == 0:
                raise Killed


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_each_transaction_stays_within_its_limit_and_the_dump_is_right(shape: Shape) -> None:
    expected = at_once(shape)
    store = FakeStore()
    write(store, shape.before(SIZE))
    watched = Watched(store)
    write(watched, [shape.late(SIZE)], LIMITS)
    assert len([rows for rows in watched.rows if rows]) > SIZE // LIMITS.rows, (
        "nothing was deferred: the shape tests nothing"
    )
    assert max(watched.rows) <= ROWS_EACH * LIMITS.rows + BESIDES
    assert dumped(store) == expected
    assert list(check(store)) == []


@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_the_next_writer_finishes_the_deferred_work_of_a_writer_that_died(shape: Shape, within: bool) -> None:
    expected = at_once(shape)
    for transactions in range(1, 40, 3):
        store = Mortal(10**9, within=within)
        write(store, shape.before(SIZE))
        store.left = transactions
        try:
            write(store, [shape.late(SIZE)], LIMITS)
        except Killed:
            write(store, [shape.late(SIZE)], LIMITS)
        assert dumped(store) == expected, transactions


def at_once(shape: Shape) -> bytes:
    store = FakeStore()
    write(store, [*shape.before(SIZE), shape.late(SIZE)])
    return dumped(store)
