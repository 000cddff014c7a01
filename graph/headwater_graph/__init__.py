"""The lineage graph in Neo4j: a write is a plan (a value) first; the store only carries it out, and answers bounded reads.

``connect`` returns the graph for reading from Python::

    from headwater_graph import connect

    with connect() as graph:
        print(graph.upstream("orders"))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .queries.asking import Graph

__all__ = ["connect"]


def connect(uri: str | None = None, **account: object) -> Graph:
    """Return the graph that the command line queries, or the one at an address (``queries.asking.connect``)."""
    # The consumer's tasks import this package as well, and don't need what is below.
    from .queries.asking import connect as connected

    return connected(uri, **account)
