"""The limit on wrong tokens from one address: beyond it no token from there is compared for a while."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

WINDOW = 60.0
"""Seconds for which wrong tokens count."""
MOST_ADDRESSES = 10_000
"""Addresses that are remembered; the one that failed least recently is forgotten first."""


class FailureLimit:
    """Counts wrong tokens by address: ``most`` in a minute, 0 for no limit. Only the event loop uses it."""

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = most, clock
        self._failures: OrderedDict[str, list[float]] = OrderedDict()

    def wait(self, address: str) -> int:
        """Return for how many seconds tokens from an address are refused, 0 if they are compared."""
        recent = self._recent(address)
        if not self._most or len(recent) < self._most:
            return 0
        return max(1, round(recent[-self._most] + WINDOW - self._clock()))

    def count(self, address: str) -> None:
        """Count a wrong token."""
        if self._most:
            self._failures[address] = [*self._recent(address), self._clock()][-self._most :]
            self._failures.move_to_end(address)
            if len(self._failures) > MOST_ADDRESSES:
                self._failures.popitem(last=False)

    def _recent(self, address: str) -> list[float]:
        since = self._clock() - WINDOW
        return [at for at in self._failures.get(address, ()) if at > since]
