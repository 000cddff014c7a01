"""Several transports as one: each has a queue and a thread of its own, so that one that fails delays none of the others."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .counters import Counters

if TYPE_CHECKING:
    from .default import DefaultTransport


class CompositeTransport:
    """Transports that all get each event."""

    def __init__(self, members: Sequence[DefaultTransport]) -> None:
        self._members = members

    def emit(self, event: Any) -> None:
        """Queue an event in each transport and return."""
        for member in self._members:
            member.emit(event)

    def flush(self, timeout: float = 5.0) -> bool:
        """Return whether all transports have delivered all events so far within ``timeout`` seconds."""
        deadline = time.monotonic() + timeout
        delivered = [member.flush(max(0.0, deadline - time.monotonic())) for member in self._members]
        return all(delivered)

    def close(self, timeout: float = -1) -> bool:
        """Close the transports one after the other, each within ``timeout`` seconds; return whether all was delivered."""
        delivered = [member.close(timeout) for member in self._members]
        return all(delivered)

    def counters(self) -> Counters:
        """Return the sum of the transports' counters: an event counts once for each."""
        return sum((member.counters() for member in self._members), Counters())
