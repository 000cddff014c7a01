"""What the questions of ``Graph`` share: the connections, the limits, and how names are found."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Self

from headwater_avro.errors import ConfigError
from headwater_graph.queries.answers import Node
from headwater_graph.queries.catalog.finding import Wanted, find
from headwater_graph.queries.free_cypher.run import FreeCypher
from headwater_graph.queries.lineage.scope import Scope, TraversalLimits
from headwater_graph.queries.reader import GraphReader, Neo4jReader
from headwater_graph.queries.times import given_time

from .parameters import KeyName

MOST_NODES = 1_000_000
"""The greatest limit on nodes and neighbours where none is given."""


def _now() -> datetime:
    return datetime.now(UTC)


class GraphBase:
    """A graph to be read, with the greatest limits that a question may have (``most``). A context manager."""

    def __init__(
        self,
        reader: GraphReader,
        clock: Callable[[], datetime] = _now,
        cypher: FreeCypher | None = None,
        most: TraversalLimits | None = None,
    ) -> None:
        self._reader, self._clock, self._cypher = reader, clock, cypher
        self._most = most or TraversalLimits(None, MOST_NODES, MOST_NODES)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        if isinstance(self._reader, Neo4jReader):
            self._reader.close()

    def _node(self, name: KeyName, kinds: tuple[Wanted, ...] = ("dataset", "job")) -> Node:
        return find(self._reader, terms(name), kinds)

    def _limits(self, depth: int | None, neighbours: int, nodes: int) -> TraversalLimits:
        """Return limits; raises ConfigError for those that are not possible, or greater than the greatest here."""
        given = (("depth", depth, self._most.depth, 0), ("neighbours", neighbours, self._most.neighbours, 1))
        for name, wanted, most, least in (*given, ("nodes", nodes, self._most.nodes, 1)):
            if wanted is not None and wanted < least:
                raise ConfigError(f"{name} is at least {least}")
            if most is not None and (wanted is None or wanted > most):
                raise ConfigError(f"{name} is at most {most} here")
        return TraversalLimits(depth, neighbours, nodes)

    def _scope(
        self,
        depth: int | None,
        neighbours: int,
        nodes: int,
        as_of: datetime | str | None = None,
        active_since: datetime | str | None = None,
        past: bool = False,
    ) -> Scope:
        now, limits = self._clock(), self._limits(depth, neighbours, nodes)
        return Scope(limits, given_time(as_of, now), past, given_time(active_since, now))


def terms(name: KeyName) -> tuple[str, ...]:
    """Return a name as the terms by which it is found."""
    return (name,) if isinstance(name, str) else tuple(name)
