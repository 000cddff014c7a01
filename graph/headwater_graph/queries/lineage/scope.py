"""The part of the graph that a question is about: how far it goes, as of which time, and which jobs count."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from headwater_graph.queries.values import present, time_text


@dataclass(frozen=True, slots=True)
class TraversalLimits:
    """How far a traversal goes: ``depth`` in jobs (None: no limit), neighbours of one node, and nodes in all."""

    depth: int | None = 10
    neighbours: int = 1_000
    nodes: int = 5_000

    @property
    def rows(self) -> int:
        """The most rows that one statement of a traversal may return."""
        return self.nodes * 4


@dataclass(frozen=True, slots=True)
class Scope:
    """Limits, the time as of which the graph is read (specification 6.4), and which jobs count.

    ``former_writers`` continues through the last writer of datasets that no current job writes; ``active_since`` leaves
    out jobs of which no run has ended since.
    """

    limits: TraversalLimits = field(default_factory=TraversalLimits)
    as_of: datetime | None = None
    former_writers: bool = False
    active_since: datetime | None = None

    def value(self) -> dict[str, Any]:
        """Return the scope as JSON values, for the question of an answer."""
        times = {"asOf": time_text(self.as_of), "activeSince": time_text(self.active_since)}
        return {"depth": self.limits.depth, **present({**times, "past": self.former_writers or None})}


CURRENT = Scope()
"""The graph as it is now, within the default limits."""
