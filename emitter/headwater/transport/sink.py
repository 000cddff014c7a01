"""The port through which a transport's thread sends events; a sink is used by that thread alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any


class Sink(ABC):
    """Where the sender's thread sends events; without a spool and without pending deliveries unless overridden."""

    @abstractmethod
    def accept(self, event: Any) -> None:
        """Send the event, or begin to."""

    @abstractmethod
    def store(self, event: Any) -> None:
        """Write the event to disk instead of sending it."""

    @abstractmethod
    def release(self) -> None:
        """Write everything undelivered to disk and release the files."""

    def work(self, seconds: float, urgent: bool) -> None:  # noqa: B027
        """Handle pending deliveries, waiting up to ``seconds``; ``urgent``: send what is buffered without delay."""

    def pending(self) -> int:
        """Return how many events have no known delivery status."""
        return 0

    def all_delivered(self) -> bool:
        """Return whether every event accepted since the last call is delivered."""
        return True

    def idle_seconds(self) -> float:
        """Return for how many seconds there is nothing to do."""
        return 5.0

    def check_spool(self) -> None:  # noqa: B027
        """Send the new events on disk at the next step."""

    def begin_closing(self) -> None:  # noqa: B027
        """Prepare for the end: no more events come, and those of this process on disk may be sent while there is time."""
