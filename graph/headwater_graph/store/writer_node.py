"""The state of the writer: what the node ``Writer`` contains (specification 11)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import msgspec

Offsets: TypeAlias = dict[str, dict[int, int]]
"""{topic: {partition: offset after the last message that is in the graph}}."""

_decode = msgspec.json.Decoder(Offsets).decode


class Loss(msgspec.Struct, frozen=True):
    """Offsets of a partition, from ``begin`` to before ``end``, that Kafka had deleted before they were in the graph.

    ``time`` is when that was found, ISO 8601 in UTC.
    """

    topic: str
    partition: int
    begin: int
    end: int
    time: str


@dataclass(frozen=True, slots=True)
class CommittedOffsets:
    """What a consumer says when a batch is done: up to which offsets all is in the graph, and that batch's query/number.

    ``topics`` are the ids that Kafka gave the topics of these offsets. ``losses`` are what the graph lacks for good.
    """

    offsets: Offsets = field(default_factory=dict)
    done: str = ""
    topics: dict[str, str] = field(default_factory=dict)
    losses: tuple[Loss, ...] = ()


def committed_offsets_in(row: Mapping[str, Any]) -> CommittedOffsets:
    """Return what the last consumer stored in the node ``Writer`` when its last batch was done."""
    topics = msgspec.json.decode(row["topics"] or "{}", type=dict[str, str])
    return CommittedOffsets(offsets_in(row["offsets"]), row["done"] or "", topics, losses_in(row["losses"]))


def offsets_in(text: str | None) -> Offsets:
    """Return the offsets in the property ``offsets`` of the node ``Writer``."""
    return _decode(text or "{}")


def losses_in(text: str | None) -> tuple[Loss, ...]:
    """Return the losses in the property ``losses`` of the node ``Writer``."""
    return msgspec.json.decode(text or "[]", type=tuple[Loss, ...])
