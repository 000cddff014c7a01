"""How many stored runs a late run reads: up to where the fold agrees with what is stored, and at most a page more."""

from __future__ import annotations

import pytest

from headwater_graph.apply.limits import TransactionLimits

from ..fake_graph.store import FakeStore
from .packed_runs import Watched, history, run, side, write

STORED = 300
FIRST_PAGE = 16


def items_read(late: list[int], depth: int, outputs: str = "out", code: str | None = "1") -> int:
    """Return how many stored items a run reads that is late by ``depth`` runs; append the report's counts to ``late``."""
    store = Watched(history(STORED))
    report = write(store, [run("late", (STORED - depth) * 2 - 1, side("in"), side(outputs), code=code)])
    late += [report.late_runs, report.refolded_versions]
    return sum(store.items)


@pytest.mark.parametrize("depth", [1, 10, 299])
def test_a_late_run_that_changes_nothing_reads_a_single_page(depth: int) -> None:
    counts: list[int] = []
    assert items_read(counts, depth) <= FIRST_PAGE
    assert counts[0] == 1


def test_a_run_that_comes_in_order_reads_no_stored_run() -> None:
    store = Watched(history(STORED))
    report = write(store, [run("next", STORED * 2, side("in"), side("out"), code="1")])
    assert (sum(store.items), report.late_runs) == (0, 0)


@pytest.mark.parametrize("depth", [1, 10, 299])
def test_a_late_run_that_splits_a_version_reads_on_until_the_fold_agrees_with_what_is_stored(depth: int) -> None:
    # The split makes a version of all runs after it: the fold agrees with nothing before the last of them.
    assert depth <= items_read([], depth, outputs="other") <= depth + FIRST_PAGE + 1


@pytest.mark.parametrize(("gap", "depth"), [(1, 290), (15, 290), (50, 290)])
def test_a_late_run_reads_at_most_four_times_the_runs_before_the_agreement(gap: int, depth: int) -> None:
    """At ``gap`` runs after its place the outputs change anyway, and from there on the stored versions are right."""
    store = FakeStore()
    place = STORED - depth
    runs = [run(f"r{at:05}", at * 2, side("in"), side("a" if at < place + gap else "b")) for at in range(STORED)]
    write(store, runs)
    watched = Watched(store)
    write(watched, [run("late", place * 2 - 1, side("in"), side("other"))])
    assert gap < sum(watched.items) <= 5 * gap + 2 * FIRST_PAGE


def test_a_transaction_reads_at_most_its_rows() -> None:
    store = Watched(history(STORED))
    write(store, [run("late", 1, side("in"), side("other"))], TransactionLimits(rows=50))
    assert max(store.items) <= 50
    assert sum(store.items) >= STORED - 1
