"""The graph's schema: its constraints and indexes, its version, and migrations from older versions (docs/operate.md).

The node ``HeadwaterSchema`` holds the version of a graph. Only a graph of this headwater's version is written to: an older graph
is migrated first, version by version; a newer one needs a newer headwater. During a migration ``version`` is already the new
version, so that an older headwater refuses the graph, and ``reached`` is the last version whose migration is complete.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import neo4j

from headwater_avro.errors import SchemaMismatch
from headwater_graph.settings import GraphSettings
from headwater_graph.store.connection import connected, translated
from headwater_graph.store.migrations import MIGRATIONS, Migration
from headwater_graph.store.statements import schema_statements

VERSION = 1 + len(MIGRATIONS)
"""The version of the schema that this headwater writes."""

STORED = "MATCH (s:HeadwaterSchema) RETURN coalesce(s.reached, s.version) AS version"
"""Return the version of a graph's schema; no row if it has none."""

_BEGIN = """
MERGE (w:Writer {name: 'consumer'})
SET w.epoch = coalesce(w.epoch, 0) + 1
WITH w
MATCH (s:HeadwaterSchema)
SET s.reached = $reached, s.version = $version
"""
"""Wait for the transaction that holds the lock on ``Writer``; the next one checks the version."""

_SET_REACHED = "MATCH (s:HeadwaterSchema) SET s.reached = $reached"


def check(version: int | None, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Raise SchemaMismatch if a graph has another version than this headwater needs; None: it has no schema yet."""
    if _pending(version, migrations):
        raise SchemaMismatch(
            f"the graph has schema version {version}, this headwater needs {1 + len(migrations)}: stop the consumer, then "
            "run `headwater graph migrate --apply`"
        )


def init(settings: GraphSettings, migrations: Sequence[Migration] = MIGRATIONS) -> int:
    """Create what the graph lacks of the schema, wait for the indexes, and return the number of statements.

    Raises ServerUnavailable if Neo4j does not answer, SchemaMismatch if the graph has another version of the schema.
    """
    statements = schema_statements()
    with _session(settings) as session:
        check(_version(session), migrations)
        _create(session, statements)
        session.run("MERGE (s:HeadwaterSchema) SET s.version = $version", version=1 + len(migrations)).consume()
    return len(statements)


def pending(settings: GraphSettings, migrations: Sequence[Migration] = MIGRATIONS) -> list[tuple[int, Migration]]:
    """Return the migrations that a graph lacks, as (new version, migration); none if it has no schema yet.

    Raises ServerUnavailable if Neo4j does not answer, SchemaMismatch if the graph is newer than this headwater.
    """
    with _session(settings) as session:
        return _pending(_version(session), migrations)


def migrate(settings: GraphSettings, migrations: Sequence[Migration] = MIGRATIONS) -> Iterator[tuple[int, Migration]]:
    """Migrate a graph to this headwater's schema, and yield each migration when it is done.

    An interrupted migration continues with the first version that is not complete. Raises the errors of ``pending``.
    """
    with _session(settings) as session:
        steps = _pending(_version(session), migrations)
        newest = 1 + len(migrations)
        if steps:
            session.run(_BEGIN, reached=steps[0][0] - 1, version=newest).consume()
        for version, step in steps:
            for part in step.parts:
                if isinstance(part, str):
                    session.run(part).consume()
                else:
                    part(session)
            session.run(_SET_REACHED, reached=version if version < newest else None).consume()
            yield version, step
        if steps:
            _create(session, schema_statements())


@contextmanager
def _session(settings: GraphSettings) -> Iterator[neo4j.Session]:
    with connected(settings) as driver, translated(settings), driver.session(database=settings.database) as session:
        yield session


def _version(session: neo4j.Session) -> int | None:
    found = session.run(STORED).single()
    return None if found is None else int(found["version"])


def _pending(version: int | None, migrations: Sequence[Migration]) -> list[tuple[int, Migration]]:
    newest = 1 + len(migrations)
    if version is None:
        return []
    if version > newest:
        raise SchemaMismatch(
            f"the graph has schema version {version}, this headwater knows {newest}: use a version of headwater that "
            "is at least as new as the one that wrote it"
        )
    return [(at + 1, migrations[at - 1]) for at in range(version, newest)]


def _create(session: neo4j.Session, statements: Sequence[str]) -> None:
    for statement in statements:
        session.run(statement).consume()
    session.run("CALL db.awaitIndexes(300)").consume()
