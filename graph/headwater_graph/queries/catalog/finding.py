"""From what a person writes to one node: ``namespace name``, ``namespace#name``, or any unambiguous tail of a name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from headwater_avro.errors import ConfigError, HeadwaterError
from headwater_graph.queries.answers import Node
from headwater_graph.queries.keys import dataset_node_key, job_node_key, names_in, run_node_key
from headwater_graph.queries.reader import GraphReader, Row

Wanted: TypeAlias = Literal["dataset", "job"]

MAX_CANDIDATES = 20
_QUESTIONS = {"dataset": ("dataset_by_key", "dataset_by_tail"), "job": ("job_by_key", "job_by_tail")}
_KEYS = {"dataset": dataset_node_key, "job": job_node_key}


class NotFound(HeadwaterError):
    """The graph has no such node: an answer of no, not a wrong question (exit code 1)."""


def find(reader: GraphReader, words: Sequence[str], kinds: Sequence[Wanted] = ("dataset", "job")) -> Node:
    """Return the dataset that ``words`` name; where none matches, the job (in the order of ``kinds``).

    Raises NotFound, and ConfigError that lists the candidates where several match.
    """
    if not 1 <= len(words) <= 2 or not all(words):
        raise ConfigError("a dataset or job is written `namespace name`, `namespace#name` or as a tail of its name")
    for kind in kinds:
        found = _exact(reader, kind, words) or (_tail(reader, kind, words[0]) if len(words) == 1 else [])
        if len(found) == 1:
            return _node(kind, found[0])
        if found:
            raise ConfigError(_ambiguous(kind, words[0], found))
    raise NotFound(
        f"the graph has no {' or '.join(kinds)} {' '.join(words)!r}; `headwater search` looks for parts of names"
    )


def _exact(reader: GraphReader, kind: Wanted, words: Sequence[str]) -> list[Row]:
    keys = [_KEYS[kind](*pair) for pair in _pairs(words)]
    return reader.rows(_QUESTIONS[kind][0], keys=keys) if keys else []


def _pairs(words: Sequence[str]) -> Iterable[tuple[str, str]]:
    """Every (namespace, name) that the words can mean: names may hold a ``#`` themselves."""
    if len(words) == 2:
        return [(words[0], words[1])]
    return names_in(words[0], "#")


def _tail(reader: GraphReader, kind: Wanted, tail: str) -> list[Row]:
    """Rows whose name ends so: whole names before tails that begin after a separator, those before any other tail."""
    rows = reader.rows(_QUESTIONS[kind][1], tail=tail, limit=MAX_CANDIDATES + 1)
    best = min((_looseness(row["name"], tail) for row in rows), default=0)
    return [row for row in rows if _looseness(row["name"], tail) == best]


def _looseness(name: str, tail: str) -> int:
    if name == tail:
        return 0
    before = name[-len(tail) - 1]
    return 2 if before.isalnum() or before in "_-" else 1


def _ambiguous(kind: Wanted, tail: str, found: Sequence[Row]) -> str:
    lines = [f"  {row['namespace']}#{row['name']}" for row in found[:MAX_CANDIDATES]]
    more = ["  … and more"] if len(found) > MAX_CANDIDATES else []
    return "\n".join([f"{tail!r} names several {kind}s:", *lines, *more])


def _node(kind: Wanted, row: Row) -> Node:
    return Node(row["key"], kind, (row["namespace"], row["name"]))


def find_run(reader: GraphReader, run_id: str) -> Node:
    """Return the run of this id, or the one run whose id begins so; errors as :func:`find`."""
    exact = reader.rows("run_by_key", key=run_node_key(run_id))
    found = exact or reader.rows("run_by_prefix", prefix=run_id, limit=MAX_CANDIDATES + 1)
    if not found:
        raise NotFound(f"the graph has no run {run_id!r}; `headwater run list` shows the latest")
    if len(found) > 1:
        raise ConfigError("\n".join([f"{run_id!r} begins several run ids:", *(f"  {row['id']}" for row in found)]))
    return Node(found[0]["key"], "run", (found[0]["id"],))
