"""Who writes to the graph, and how far: what the node ``Writer`` and the server tell (DESIGN 2)."""

from __future__ import annotations

from typing import TypeAlias

import msgspec
import neo4j

from .statements import cypher

Offsets: TypeAlias = dict[str, dict[int, int]]
"""{topic: {partition: offset after the last message that is in the graph}}."""

_decode = msgspec.json.Decoder(Offsets).decode


def holder_before(driver: neo4j.Driver, database: str, writer: str) -> str | None:
    """Return the name of the one whose transaction another writer's waits for; None: nobody else writes now."""
    records, _, _ = driver.execute_query(cypher("show_writers"), database_=database)
    return next((str(row["writer"]) for row in records if not row["waits"] and row["writer"] != writer), None)


def written_offsets(driver: neo4j.Driver, database: str) -> Offsets:
    """Return up to which offsets messages are in the graph, as the last batch said."""
    records, _, _ = driver.execute_query(cypher("read_horizon"), database_=database)
    return _decode(records[0]["offsets"] or "{}") if records else {}
