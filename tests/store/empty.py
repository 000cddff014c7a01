"""A real Neo4j for a test: open, with the schema, and empty."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from headwater_graph.settings import graph_settings
from headwater_graph.store import schema
from headwater_graph.store.neo4j_store import Neo4jStore

from ..servers import Servers

_EMPTY = "MATCH (n) WHERE NOT n:HeadwaterSchema CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 10000 ROWS"


@contextmanager
def opened(servers: Servers) -> Iterator[Neo4jStore]:
    """Open the graph of the test servers with its schema; a horizon that a test sets is removed after it."""
    settings = graph_settings(
        uri=servers.neo4j_uri, user=servers.neo4j_user, password=servers.neo4j_password, database="neo4j"
    )
    schema.init(settings)
    with Neo4jStore(settings) as store:
        try:
            yield store
        finally:
            store.driver.execute_query("MATCH (w:Writer) REMOVE w.horizon", database_="neo4j")


def emptied(store: Neo4jStore) -> Neo4jStore:
    """Delete everything except the schema."""
    with store.driver.session(database="neo4j") as session:
        session.run(_EMPTY).consume()
    return store
