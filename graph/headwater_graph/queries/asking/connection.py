"""How Python finds the graph."""

from __future__ import annotations

from headwater_graph.queries.free_cypher.run import FreeCypher
from headwater_graph.queries.reader import READ_TIMEOUT, Neo4jReader
from headwater_graph.settings import located_settings

from .graph import Graph

MOST_ROWS = 1_000_000
"""The most rows that a Cypher query in Python returns."""


def connect(uri: str | None = None, **account: object) -> Graph:
    """Return the graph that the command line queries, or the one at an address; it is read only.

    Without ``uri`` it is found as commands find it: HEADWATER_NEO4J_URI, _USER, _PASSWORD and _DATABASE, ``[neo4j]`` in
    ``headwater.toml``, or the local stack of ``headwater up``. ``account`` can have ``user``, ``password``, ``database`` and
    the timeouts ``connect_timeout`` and ``read_timeout`` in seconds. Raises ConfigError and ServerUnavailable.
    """
    settings = located_settings(**({} if uri is None else {"uri": uri}), **account)
    reader = Neo4jReader(settings)
    return Graph(reader, cypher=FreeCypher(reader, settings.read_timeout, MOST_ROWS, READ_TIMEOUT))
