"""The way from each version of the graph's schema to the next (see ``schema``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import neo4j

from headwater_graph.model.facet_properties import dataset_properties_of, job_properties_of
from headwater_graph.store.statements import cypher

Part: TypeAlias = str | Callable[[neo4j.Session], None]
"""A statement, which runs in a transaction of its own, or a function. Large statements say ``IN TRANSACTIONS``."""

AT_ONCE = 1_000
"""How many nodes a function reads at a time."""


@dataclass(frozen=True, slots=True)
class Migration:
    """The way from one version of the schema to the next: what it is for, and its parts.

    Each part does no harm when run again: a migration that was broken off is begun anew.
    """

    purpose: str
    parts: tuple[Part, ...]


def _keep_told(label: str, told: Callable[[str], dict[str, Any]]) -> Callable[[neo4j.Session], None]:
    """Return a part that keeps with each node what its facets tell."""
    page = f"""
        MATCH (n:{label})
        WHERE n.key > $after
        WITH n ORDER BY n.key LIMIT $limit
        RETURN max(n.key) AS last, collect(CASE
          WHEN n.facets CONTAINS '"ownership"' OR n.facets CONTAINS '"jobType"' THEN [n.key, n.facets]
        END) AS found
    """
    keep = f"UNWIND $rows AS row MATCH (n:{label} {{key: row.key}}) SET n += row.told"

    def part(session: neo4j.Session) -> None:
        after: str | None = ""
        while after is not None:
            record = session.run(page, after=after, limit=AT_ONCE).single(strict=True)
            rows = [{"key": key, "told": told(facets)} for key, facets in record["found"]]
            session.run(keep, rows=rows).consume()
            after = record["last"]

    return part


def _put_glances(label: str, variable: str) -> str:
    """Return the statement that gives each node its glance."""
    return f"""
        MATCH ({variable}:{label})
        CALL ({variable}) {{
          OPTIONAL MATCH ({variable})-[:CURRENT]->(v:{label}Version)
          WITH {variable},
          {cypher(f"fragments/{label.lower()}_summary")}
          AS glance
          SET {variable}.glance = glance
        }} IN TRANSACTIONS OF 10000 ROWS
    """


MIGRATIONS: tuple[Migration, ...] = (
    Migration(
        "a job version knows how its last run stands",
        (
            """
            MATCH (v:JobVersion)
            WHERE v.lastRun IS NOT NULL
            CALL (v) {
              MATCH (r:Run {id: v.lastRun})
              SET v.lastRunState = r.state, v.lastRunStreaming = r.streaming
            } IN TRANSACTIONS OF 10000 ROWS
            """,
        ),
    ),
    Migration(
        "jobs and datasets know their owners, and what lineage shows of them",
        (
            _keep_told("Job", job_properties_of),
            _keep_told("Dataset", dataset_properties_of),
            _put_glances("Job", "j"),
            _put_glances("Dataset", "d"),
        ),
    ),
)
"""The first leads from version 1 to 2, and so on; what a released headwater did is never changed here."""
