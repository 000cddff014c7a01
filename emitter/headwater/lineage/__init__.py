"""Lineage of Python programs: report the datasets that a piece of code reads and writes.

>>> from headwater import lineage
>>> with lineage.run("shop", "daily_orders") as run:          # doctest: +SKIP
...     run.reads("postgres://db:5432", "shop.public.orders")
...     run.writes("s3://lake", "orders/daily")

The run starts and ends with the ``with`` block: with COMPLETE, with FAIL if an exception leaves the block (with the error
and its stack trace), or with ABORT if it was interrupted. Reporting never blocks the program and never raises: see
``headwater.transport``.
"""

from .context import current, propagate
from .parents import RunReference
from .runs import Run, run
from .tasks import task

__all__ = ["Run", "RunReference", "current", "propagate", "run", "task"]
