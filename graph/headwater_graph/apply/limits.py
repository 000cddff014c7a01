"""How much one transaction may do (specification 12)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one transaction.

    ``runs``: told records taken in one; ``bytes``: their packed size; ``rows``: consequences of one late event (reads
    re-pointed, runs re-folded, column edges) that are written at once; the rest is owed.

    A usual batch fits one transaction: 30,000 messages are 10,000 runs of three events, and some that its ends cut in two.
    """

    runs: int = 12_000
    bytes: int = 64 * 1024 * 1024
    rows: int = 10_000

    def halved(self) -> Limits:
        """Return smaller bounds, for a store that ran out of memory."""
        return Limits(max(1, self.runs // 2), max(1024, self.bytes // 2), max(100, self.rows // 2))

    def doubled(self, most: Limits) -> Limits:
        """Return larger bounds, up to ``most``."""
        return Limits(min(most.runs, self.runs * 2), min(most.bytes, self.bytes * 2), min(most.rows, self.rows * 2))
