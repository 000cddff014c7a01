"""The state of the consumer as the graph has it: its last batch, the offsets that are in the graph, losses, deferred work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from msgspec.structs import asdict

from headwater_graph.queries.reader import GraphReader
from headwater_graph.queries.values import present, time_text
from headwater_graph.store.writer_node import losses_in, offsets_in

Offsets: TypeAlias = Mapping[str, Mapping[int, int]]
"""{topic: {partition: offset}}."""

MOST_COUNTED = 10_000
"""How many items of deferred work are counted by kind."""


@dataclass(frozen=True, slots=True)
class ConsumerState:
    """What the consumer stored: ``offsets`` are those after the last messages in the graph, ``at`` is the time of the last write.

    ``deferred`` is the number of items of deferred work, ``kinds`` their number by kind, of at most ``MOST_COUNTED``.
    """

    holder: str | None = None
    at: str | None = None
    batch: int | None = None
    offsets: Offsets = field(default_factory=dict)
    losses: tuple[dict[str, Any], ...] = ()
    horizon: str | None = None
    deferred: int = 0
    kinds: Mapping[str, int] = field(default_factory=dict)

    def value(self, ends: Offsets | None = None) -> dict[str, Any]:
        """Return it as JSON values, with the lag where the ``ends`` of the topics are known."""
        facts = {"holder": self.holder, "at": self.at, "batch": self.batch, "horizon": self.horizon}
        partitions: list[dict[str, Any]] = [
            {"topic": topic, "partition": at, "offset": offset, **_lag(offset, ends, topic, at)}
            for topic, offsets in sorted(self.offsets.items())
            for at, offset in sorted(offsets.items())
        ]
        lags = [line["lag"] for line in partitions if "lag" in line]
        work = {"total": self.deferred, "kinds": dict(self.kinds), "cut": self.deferred > sum(self.kinds.values())}
        lag = {"lag": sum(lags)} if lags else {}
        return present(facts) | lag | {"partitions": partitions, "losses": list(self.losses), "deferredWork": work}


def consumer_state(reader: GraphReader) -> ConsumerState:
    """Return the state of the consumer; of a new graph that no consumer has written to, an empty one."""
    rows = reader.rows("status/writer")
    if not rows:
        return ConsumerState()
    row = rows[0]
    kinds = reader.rows("status/deferred_kinds", limit=MOST_COUNTED) if row["deferred"] else []
    return ConsumerState(
        holder=row["holder"],
        at=time_text(row["at"]),
        batch=row["batch"],
        offsets=offsets_in(row["offsets"]),
        losses=tuple(asdict(loss) for loss in losses_in(row["losses"])),
        horizon=time_text(row["horizon"]),
        deferred=row["deferred"],
        kinds={kind["kind"]: kind["count"] for kind in kinds},
    )


def _lag(offset: int, ends: Offsets | None, topic: str, partition: int) -> dict[str, int]:
    end = None if ends is None else ends.get(topic, {}).get(partition)
    return {} if end is None else {"end": end, "lag": max(0, end - offset)}
