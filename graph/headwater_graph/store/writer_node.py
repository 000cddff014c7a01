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


@dataclass(frozen=True, slots=True)
class CommittedOffsets:
    """What a consumer says when a batch is done: up to which offsets all is in the graph, and that batch's query/number."""

    offsets: Offsets = field(default_factory=dict)
    done: str = ""


def committed_offsets(driver: neo4j.Driver, database: str) -> CommittedOffsets:
    """Return what the last consumer stored when its last batch was done; nothing if no batch was done yet."""
    records, _, _ = driver.execute_query(cypher("read/horizon"), database_=database)
    return (
        CommittedOffsets(_decode(records[0]["offsets"] or "{}"), records[0]["done"] or "")
        if records
        else CommittedOffsets()
    )
