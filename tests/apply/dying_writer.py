"""A process that writes a late event, or rebuilds the graph, to be killed in the middle of it.

Arguments: the number of a shape (``rebuild`` instead: rebuild), its size, the rows of a transaction.
"""

from __future__ import annotations

import os
import sys

from headwater_graph.apply.limits import TransactionLimits
from headwater_graph.audit.rebuild import rebuild
from headwater_graph.settings import graph_settings
from headwater_graph.store.neo4j_store import Neo4jStore

from .packed_runs import write
from .shapes import SHAPES


def main(what: str, size: int, rows: int) -> None:
    uri, user, password = (os.environ[f"GRAPH_{name}"] for name in ("URI", "USER", "PASSWORD"))
    with Neo4jStore(graph_settings(uri=uri, user=user, password=password, database="neo4j")) as store:
        if what == "rebuild":
            rebuild(store, TransactionLimits(rows=rows))
        else:
            write(store, [SHAPES[int(what)].late(size)], TransactionLimits(rows=rows))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
