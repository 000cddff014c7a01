"""The migration from each version of the graph's schema to the next (see ``schema``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import neo4j

from headwater_graph.model.facet_properties import dataset_properties_of, job_properties_of
from headwater_graph.store.statements import cypher

Part: TypeAlias = str | Callable[[neo4j.Session], None]
"""A statement, which runs in a transaction of its own, or a function. Statements on many nodes say ``IN TRANSACTIONS``."""

PAGE_SIZE = 1_000
"""How many nodes a function reads at a time."""


@dataclass(frozen=True, slots=True)
class Migration:
    """The migration from one version of the schema to the next: its purpose, and its parts.

    Each part is safe to run again: an interrupted migration starts again with its first part.
    """

    purpose: str
    parts: tuple[Part, ...]


def _set_facet_properties(
    label: str, properties_of: Callable[[str], dict[str, Any]], *facets: str
) -> Callable[[neo4j.Session], None]:
    """Return a part that sets the properties derived from facets on the nodes that have one of these facets."""
    page = f"""
        MATCH (n:{label})
        WHERE n.key > $after
        WITH n ORDER BY n.key LIMIT $limit
        RETURN max(n.key) AS last, collect(CASE
          WHEN any(facet IN $facets WHERE n.facets CONTAINS facet) THEN [n.key, n.facets]
        END) AS found
    """
    write = f"UNWIND $rows AS row MATCH (n:{label} {{key: row.key}}) SET n += row.properties"
    quoted = [f'"{facet}"' for facet in facets]

    def part(session: neo4j.Session) -> None:
        after: str | None = ""
        while after is not None:
            record = session.run(page, after=after, limit=PAGE_SIZE, facets=quoted).single(strict=True)
            rows = [{"key": key, "properties": properties_of(text)} for key, text in record["found"]]
            session.run(write, rows=rows).consume()
            after = record["last"]

    return part


def _set_summaries(label: str, variable: str) -> str:
    """Return the statement that sets the summary of each node, under the name that version 3 has for it."""
    return f"""
        MATCH ({variable}:{label})
        CALL ({variable}) {{
          OPTIONAL MATCH ({variable})-[:CURRENT]->(v:{label}Version)
          WITH {variable},
          {cypher(f"fragments/{label.lower()}_summary")}
          AS summary
          SET {variable}.glance = summary
        }} IN TRANSACTIONS OF 10000 ROWS
    """


def _rename_properties(label: str, **names: str) -> str:
    """Return the statement that renames properties (old=new).

    All properties of a node are renamed in one transaction, so a node either has its old names or its new ones.
    """
    old = " OR ".join(f"n.{name} IS NOT NULL" for name in names)
    assignments = ", ".join(f"n.{new} = n.{name}" for name, new in names.items())
    removed = ", ".join(f"n.{name}" for name in names)
    return f"""
        MATCH (n:{label})
        WHERE {old}
        CALL (n) {{
          SET {assignments}
          REMOVE {removed}
        }} IN TRANSACTIONS OF 10000 ROWS
    """


MIGRATIONS: tuple[Migration, ...] = (
    Migration(
        "job versions have the state of their last run",
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
        "jobs and datasets have their owners, and a summary that lineage shows",
        (
            _set_facet_properties("Job", job_properties_of, "ownership", "jobType"),
            _set_facet_properties("Dataset", dataset_properties_of, "ownership"),
            _set_summaries("Job", "j"),
            _set_summaries("Dataset", "d"),
        ),
    ),
    Migration(
        "deferred work, summaries and what retention retains have their names of version 4",
        (
            """
            MATCH (n:Owed)
            CALL (n) {
              SET n:DeferredWork
              REMOVE n:Owed
            } IN TRANSACTIONS OF 10000 ROWS
            """,
            "DROP CONSTRAINT owed_key IF EXISTS",
            _rename_properties("Job", glance="summary", past="retainedSources"),
            _rename_properties("Dataset", glance="summary", past="retainedRead"),
            _rename_properties("DatasetVersion", kept="retained"),
            _rename_properties(
                "JobVersion",
                keptNumber="retainedNumber",
                keptRuns="retainedRuns",
                keptLastRun="retainedLastRun",
                keptLastMoment="retainedLastMoment",
            ),
        ),
    ),
)
"""The first leads from version 1 to 2, and so on; the effect of a released migration does not change."""
