"""The graph's schema: uniqueness and indexes made before anything is written, and the way from an older one (docs/cypher.md).

A graph knows the version of its schema, in the node ``HeadwaterSchema``. Only a graph of this version is written to: an older
one is migrated first, step by step, a newer one needs a newer headwater. While it is migrated it says that it has the version
it is led to, so that an older headwater lets go of it, and in ``reached`` how far it is.
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
"""Which schema this headwater writes."""

STORED = "MATCH (s:HeadwaterSchema) RETURN coalesce(s.reached, s.version) AS version"
"""Asks a graph which schema it has; no row: none yet."""


_BEGIN = """
MERGE (w:Writer {name: 'consumer'})
SET w.epoch = coalesce(w.epoch, 0) + 1
WITH w
MATCH (s:HeadwaterSchema)
SET s.reached = $reached, s.version = $version
"""
"""Waits for whoever writes just now: its transaction holds the Writer, and the next one will look at the version."""

_REACH = "MATCH (s:HeadwaterSchema) SET s.reached = $reached"


def check(version: int | None, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Raise SchemaMismatch where a graph's schema, as told by its node, is another than this headwater's; none is none yet."""
    if _pending(version, migrations):
        raise SchemaMismatch(_older(version, 1 + len(migrations)))


def init(settings: GraphSettings, migrations: Sequence[Migration] = MIGRATIONS) -> int:
    """Make the schema where it is not there yet, wait until its indexes answer, and return how many statements ran.

    Raises ServerUnavailable where Neo4j does not answer, SchemaMismatch where the graph has another version of the schema.
    """
    statements = schema_statements()
    with _session(settings) as session:
        check(_version(session), migrations)
        _make(session, statements)
        _put_version(session, 1 + len(migrations))
    return len(statements)


def pending(settings: GraphSettings, migrations: Sequence[Migration] = MIGRATIONS) -> list[tuple[int, Migration]]:
    """Return what a graph lacks: (version it leads to, migration), none for a graph that has no schema yet.

    Raises ServerUnavailable where Neo4j does not answer, SchemaMismatch where the graph is newer than this headwater.
    """
    with _session(settings) as session:
        return _pending(_version(session), migrations)


def migrate(settings: GraphSettings, migrations: Sequence[Migration] = MIGRATIONS) -> Iterator[tuple[int, Migration]]:
    """Lead a graph to this headwater's schema, and yield each step when it is done; broken off, it goes on where it was.

    Raises as :func:`pending` does.
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
            session.run(_REACH, reached=version if version < newest else None).consume()
            yield version, step
        if steps:
            _make(session, schema_statements())


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
            f"the graph has schema version {version}, this headwater knows {newest}: use a headwater as new as the one "
            "that wrote it"
        )
    return [(at + 1, migrations[at - 1]) for at in range(version, newest)]


def _older(version: int | None, newest: int) -> str:
    return (
        f"the graph has schema version {version}, this headwater needs {newest}: stop what writes to it, then run "
        "`headwater graph migrate --apply`"
    )


def _make(session: neo4j.Session, statements: Sequence[str]) -> None:
    for statement in statements:
        session.run(statement).consume()
    session.run("CALL db.awaitIndexes(300)").consume()


def _put_version(session: neo4j.Session, version: int) -> None:
    session.run("MERGE (s:HeadwaterSchema) SET s.version = $version", version=version).consume()
