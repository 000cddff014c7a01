"""Find the node that a user names: ``namespace name``, ``namespace#name``, or any unambiguous tail of a name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from headwater_avro.errors import ConfigError, HeadwaterError
from headwater_avro.names import node_key
from headwater_graph.queries.answers import Node
from headwater_graph.queries.keys import names_in, run_node_key
from headwater_graph.queries.reader import GraphReader, Row

Wanted: TypeAlias = Literal["dataset", "job"]

MAX_CANDIDATES = 20


class NotFound(HeadwaterError):
    """The graph has no such node (exit code 1)."""


def find(reader: GraphReader, terms: Sequence[str], kinds: Sequence[Wanted] = ("dataset", "job")) -> Node:
    """Return the dataset that ``terms`` name, or the job if no dataset matches (in the order of ``kinds``).

    Raises NotFound if nothing matches, and ConfigError, which lists the candidates, if several nodes do.
    """
    if not 1 <= len(terms) <= 2 or not all(terms):
        raise ConfigError("write a dataset or job as `namespace name`, `namespace#name` or a tail of its name")
    for kind in kinds:
        found = _exact(reader, kind, terms) or (_tail(reader, kind, terms[0]) if len(terms) == 1 else [])
        if len(found) == 1:
            return _node(kind, found[0])
        if found:
            raise ConfigError(_ambiguous(kind, terms[0], found))
    raise NotFound(
        f"the graph has no {' or '.join(kinds)} {' '.join(terms)!r}; `headwater search` finds parts of names"
    )


def _exact(reader: GraphReader, kind: Wanted, terms: Sequence[str]) -> list[Row]:
    keys = [node_key(kind, *pair) for pair in _pairs(terms)]
    return reader.rows(f"find/{kind}_by_key", keys=keys) if keys else []


def _pairs(terms: Sequence[str]) -> list[tuple[str, str]]:
    """Return every (namespace, name) that the terms can mean: both may contain a ``#``."""
    if len(terms) == 2:
        return [(terms[0], terms[1])]
    return list(names_in(terms[0], "#"))


def _tail(reader: GraphReader, kind: Wanted, tail: str) -> list[Row]:
    """Return the best matches of a tail: whole names, else tails that begin after a separator, else any others.

    A match that is an alias of another match is left out: both are the same dataset.
    """
    rows = reader.rows(f"find/{kind}_by_tail", tail=tail, limit=MAX_CANDIDATES + 1)
    best = min((_looseness(row["name"], tail) for row in rows), default=0)
    found = [row for row in rows if _looseness(row["name"], tail) == best]
    aliases = {key for row in found for key in row.get("aliases", ())}
    return [row for row in found if row["key"] not in aliases] or found


def _looseness(name: str, tail: str) -> int:
    if name == tail:
        return 0
    before = name[-len(tail) - 1]
    return 2 if before.isalnum() or before in "_-" else 1


def _ambiguous(kind: Wanted, tail: str, found: Sequence[Row]) -> str:
    lines = [f"  {row['namespace']}#{row['name']}" for row in found[:MAX_CANDIDATES]]
    more = ["  … and more"] if len(found) > MAX_CANDIDATES else []
    return "\n".join([f"several {kind}s match {tail!r}:", *lines, *more])


def _node(kind: Wanted, row: Row) -> Node:
    return Node(row["key"], kind, (row["namespace"], row["name"]))


def find_run(reader: GraphReader, run_id: str) -> Node:
    """Return the run with this id, or the only run whose id begins with it; raises as ``find``."""
    exact = reader.rows("runs/by_key", key=run_node_key(run_id))
    found = exact or reader.rows("runs/by_prefix", prefix=run_id, limit=MAX_CANDIDATES + 1)
    if not found:
        raise NotFound(f"the graph has no run {run_id!r}; `headwater run list` shows the latest")
    if len(found) > 1:
        raise ConfigError("\n".join([f"several run ids begin with {run_id!r}:", *(f"  {row['id']}" for row in found)]))
    return Node(found[0]["key"], "run", (found[0]["id"],))
