"""How much one transaction may do (specification 12)."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt


@dataclass(frozen=True, slots=True)
class TransactionLimits:
    """Bounds of one transaction.

    ``runs``: records of runs and events; ``bytes``: their packed size; ``rows``: consequences of a late event (reads that
    change, runs that are folded again, column edges) that are written at once; the rest is deferred.

    A usual batch fits one transaction: 30,000 messages are 10,000 runs of three events, and some runs that are split at
    the ends of the batch.
    """

    runs: int = 12_000
    bytes: int = 64 * 1024 * 1024
    rows: int = 10_000

    @property
    def folds(self) -> int:
        """How many deferred folds a transaction continues: as many as each of them may have runs."""
        return isqrt(self.rows)

    def halved(self) -> TransactionLimits:
        """Return smaller bounds, for a store that ran out of memory or time."""
        return TransactionLimits(max(1, self.runs // 2), max(1024, self.bytes // 2), max(100, self.rows // 2))

    def doubled(self, most: TransactionLimits) -> TransactionLimits:
        """Return larger bounds, up to ``most``."""
        return TransactionLimits(
            min(most.runs, self.runs * 2), min(most.bytes, self.bytes * 2), min(most.rows, self.rows * 2)
        )
