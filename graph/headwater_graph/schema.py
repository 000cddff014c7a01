"""The graph's schema: uniqueness and indexes made before anything is written (DESIGN 7)."""

from __future__ import annotations

from .neo4j_port import connected, translated
from .settings import GraphSettings
from .statements import schema_statements

VERSION = 1
"""Which schema the graph has; kept in the graph, so that a newer headwater can migrate it."""


def init(settings: GraphSettings) -> int:
    """Make the schema where it is not there yet, wait until its indexes answer, and return how many statements ran.

    Raises ServerUnavailable where Neo4j does not answer.
    """
    statements = schema_statements()
    with connected(settings) as driver, translated(settings), driver.session(database=settings.database) as session:
        for statement in statements:
            session.run(statement).consume()
        session.run("CALL db.awaitIndexes(300)").consume()
        session.run("MERGE (s:HeadwaterSchema) SET s.version = $version", version=VERSION).consume()
    return len(statements)
