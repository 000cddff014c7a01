"""What a transaction can't hold is owed and done by later ones, and a writer that dies between any two changes nothing."""

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
"""How many rows a transaction writes at most for each unit of its limit: a read is cut, put, and what it left dropped."""
BESIDES = 40
"""How many rows it writes at most besides."""


class Killed(BaseException):
    """Stands for kill -9: nothing may catch it."""


class Mortal(FakeStore):
    """A graph whose writer dies at a transaction: before it, or after all its writes, just before they are kept."""

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
    expected = in_one_go(shape)
    store = FakeStore()
    write(store, shape.before(SIZE))
    watched = Watched(store)
    write(watched, [shape.late(SIZE)], LIMITS)
    assert len([rows for rows in watched.rows if rows]) > SIZE // LIMITS.rows, (
        "nothing was owed: the shape tests nothing"
    )
    assert max(watched.rows) <= ROWS_EACH * LIMITS.rows + BESIDES
    assert dumped(store) == expected
    assert list(check(store)) == []


@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_writer_that_dies_while_it_settles_leaves_what_the_next_one_finishes(shape: Shape, within: bool) -> None:
    expected = in_one_go(shape)
    for transactions in range(1, 40, 3):
        store = Mortal(10**9, within=within)
        write(store, shape.before(SIZE))
        store.left = transactions
        try:
            write(store, [shape.late(SIZE)], LIMITS)
        except Killed:
            write(store, [shape.late(SIZE)], LIMITS)
        assert dumped(store) == expected, transactions


def in_one_go(shape: Shape) -> bytes:
    store = FakeStore()
    write(store, [*shape.before(SIZE), shape.late(SIZE)])
    return dumped(store)
