"""Lineage of plain Python: tell what a piece of code reads and writes.

>>> from headwater import lineage
>>> with lineage.run("shop", "daily_orders") as run:          # doctest: +SKIP
...     run.reads("postgres://db:5432", "shop.public.orders")
...     run.writes("s3://lake", "orders/daily")

The run starts with the ``with`` block and ends with it: COMPLETE, FAIL when an exception leaves it (with the error and
its stack), ABORT when it was interrupted. Nothing here blocks or fails the code around it: see `headwater.transport`.
"""

from headwater.lineage.context import current, propagate
from headwater.lineage.parents import RunReference
from headwater.lineage.runs import Run, run
from headwater.lineage.tasks import task

__all__ = ["Run", "RunReference", "current", "propagate", "run", "task"]
