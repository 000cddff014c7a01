"""The current speed of this machine, to interpret other results of the same run.

Machines are shared: the same work may take 50 % longer an hour later, and two processors that are threads of
one core are together hardly faster than one.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import time

ROUNDS = 5
STEPS = 1_000_000


def pace() -> dict[str, float]:
    """Return the milliseconds of a fixed piece of Python: in one process ``alone``, and in a process per CPU ``together``."""
    each = range(os.cpu_count() or 1)
    with multiprocessing.get_context("spawn").Pool(len(each)) as pool:
        # The first round waits for the processes to start.
        pool.map(_work, each, chunksize=1)
        alone = [pool.apply(_work, (0,)) for _ in range(ROUNDS)]
        together = [took for _ in range(ROUNDS) for took in pool.map(_work, each, chunksize=1)]
    return {"alone": round(statistics.median(alone), 1), "together": round(statistics.median(together), 1)}


def _work(_: int) -> float:
    began, total = time.perf_counter(), 0
    for step in range(STEPS):
        total += step * step % 7
    assert total > STEPS
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    print(pace())
