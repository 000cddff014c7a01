"""Bounded transactions in real Neo4j: late events that change much, and writers that are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from headwater_graph.apply.limits import TransactionLimits
from headwater_graph.audit.check import check
from headwater_graph.audit.rebuild import rebuild
from headwater_graph.store.neo4j_store import Neo4jStore

from ..feeding import dumped
from ..servers import Servers
from ..store.empty import opened
from .packed_runs import Watched, emptied, run, side, write
from .shapes import SHAPES, Shape
from .test_deferred import BESIDES, ROWS_EACH

pytestmark = pytest.mark.end_to_end
ROOT = Path(__file__).parents[2]
READERS, SPLIT, COLUMNS = SHAPES[0], SHAPES[2], SHAPES[5]


@pytest.fixture(scope="module")
def graph(servers: Servers) -> Iterator[Neo4jStore]:
    with opened(servers) as store:
        yield store
        emptied(store)


@pytest.mark.parametrize(
    ("shape", "size", "rows"),
    [(READERS, 2_000, 500), (SPLIT, 2_000, 500), (COLUMNS, 20_000, 4_000)],
    ids=str,
)
def test_transactions_stay_within_their_limit_and_the_graph_is_right(
    graph: Neo4jStore, shape: Shape, size: int, rows: int
) -> None:
    applied_within_limits(graph, shape, size, rows)


@pytest.mark.chaos
@pytest.mark.parametrize(("shape", "size"), [(READERS, 100_000), (SPLIT, 100_000), (COLUMNS, 1_500_000)], ids=str)
def test_transactions_stay_within_their_limit_at_full_size(graph: Neo4jStore, shape: Shape, size: int) -> None:
    applied_within_limits(graph, shape, size, TransactionLimits().rows)


def applied_within_limits(graph: Neo4jStore, shape: Shape, size: int, rows: int) -> None:
    built(graph, shape, size)
    watched = Watched(graph)
    begin = time.perf_counter()
    write(watched, [shape.late(size)], TransactionLimits(rows=rows))
    print(f"\n{shape.name}, {size}: {len(watched.rows)} transactions in {time.perf_counter() - begin:.1f} s,", end=" ")
    print(f"of at most {max(watched.rows)} rows")
    assert len([written for written in watched.rows if written]) >= size // rows
    assert max(watched.rows) <= ROWS_EACH * rows + BESIDES
    assert list(islice(check(graph), 10)) == []


@pytest.mark.parametrize(("shape", "size", "rows"), [(SPLIT, 2_000, 100), (COLUMNS, 20_000, 2_000)], ids=str)
def test_the_next_writer_finishes_the_deferred_work_of_a_killed_writer(
    graph: Neo4jStore, servers: Servers, shape: Shape, size: int, rows: int
) -> None:
    built(graph, shape, size)
    killed_half_way(graph, servers, [str(SHAPES.index(shape)), str(size), str(rows)])
    write(graph, [shape.late(size)], TransactionLimits(rows=rows))
    assert list(islice(check(graph), 10)) == []


@pytest.mark.chaos
@pytest.mark.parametrize(("shape", "size"), [(READERS, 100_000), (SPLIT, 100_000), (COLUMNS, 1_500_000)], ids=str)
def test_the_next_writer_finishes_the_deferred_work_of_a_killed_writer_at_full_size(
    graph: Neo4jStore, servers: Servers, shape: Shape, size: int
) -> None:
    built(graph, shape, size)
    killed_half_way(graph, servers, [str(SHAPES.index(shape)), str(size), str(TransactionLimits().rows)])
    write(graph, [shape.late(size)])
    assert list(islice(check(graph), 10)) == []


def test_a_rebuild_killed_in_the_middle_is_finished_by_the_next(graph: Neo4jStore, servers: Servers) -> None:
    built(graph, SPLIT, 300)
    write(graph, [SPLIT.late(0), COLUMNS.late(500), run("after", 400, side("out"), side("more"), job="next")])
    expected = dumped(graph)
    killed_half_way(graph, servers, ["rebuild", "0", "200"])
    rebuild(graph)
    assert dumped(graph) == expected
    assert list(islice(check(graph), 10)) == []


def built(graph: Neo4jStore, shape: Shape, size: int) -> None:
    emptied(graph)
    begin = time.perf_counter()
    write(graph, shape.before(size))
    print(f"\nbuilt in {time.perf_counter() - begin:.1f} s")


def killed_half_way(graph: Neo4jStore, servers: Servers, arguments: list[str]) -> None:
    """Start the writer in a process of its own, and kill it when a part of the deferred work is done."""
    account = {
        "GRAPH_URI": servers.neo4j_uri,
        "GRAPH_USER": servers.neo4j_user,
        "GRAPH_PASSWORD": servers.neo4j_password,
    }
    before = epoch(graph)
    command = [sys.executable, "-m", "tests.apply.dying_writer", *arguments]
    with subprocess.Popen(command, cwd=ROOT, env=os.environ | account) as process:
        while not (deferred(graph) and epoch(graph) >= before + 4):
            assert process.poll() is None, "the writer was done before it was killed"
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert deferred(graph), "all was done before the writer died"


def epoch(graph: Neo4jStore) -> int:
    return next((row["epoch"] for row in graph.scan("check/epoch")), 0)


def deferred(graph: Neo4jStore) -> bool:
    return any(True for _ in graph.scan("check/deferred_work"))
