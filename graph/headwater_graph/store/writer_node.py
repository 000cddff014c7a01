"""The state of the writer: what the node ``Writer`` and the server's list of transactions contain (specification 11)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import msgspec
import neo4j

from headwater_graph.store.statements import cypher

Offsets: TypeAlias = dict[str, dict[int, int]]
"""{topic: {partition: offset after the last message that is in the graph}}."""

_decode = msgspec.json.Decoder(Offsets).decode


def lock_holder_before(driver: neo4j.Driver, database: str, writer: str) -> str | None:
    """Return the name of the writer for whose transaction ``writer`` waits, None if there is no such transaction."""
    records, _, _ = driver.execute_query(cypher("read/writers"), database_=database)
    return next((str(row["writer"]) for row in records if not row["waits"] and row["writer"] != writer), None)


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


def committed_offsets(driver: neo4j.Driver, database: str) -> CommittedOffsets:
    """Return what the last consumer stored when its last batch was done; nothing if no batch was done yet."""
    records, _, _ = driver.execute_query(cypher("read/horizon"), database_=database)
    if not records:
        return CommittedOffsets()
    row = records[0]
    topics = msgspec.json.decode(row["topics"] or "{}", type=dict[str, str])
    return CommittedOffsets(offsets_in(row["offsets"]), row["done"] or "", topics, losses_in(row["losses"]))


def offsets_in(text: str | None) -> Offsets:
    """Return the offsets in the property ``offsets`` of the node ``Writer``."""
    return _decode(text or "{}")


def losses_in(text: str | None) -> tuple[Loss, ...]:
    """Return the losses in the property ``losses`` of the node ``Writer``."""
    return msgspec.json.decode(text or "[]", type=tuple[Loss, ...])
