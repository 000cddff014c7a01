"""The read port: a question by its name and parameters, answered by rows; and Neo4j behind it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib.resources import files
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from headwater_avro.errors import ConfigError, ServerUnavailable, StoreBusy, StoreExhausted, StoreTimedOut
from headwater_graph.settings import GraphSettings

if TYPE_CHECKING:
    # The driver takes half a second to import: only a command that queries the graph pays for it.
    import neo4j

Row: TypeAlias = Mapping[str, Any]

_USUAL_FETCH, _SMALL_FETCH = 1_000, 50
"""Rows that the driver holds at a time: few where rows may be of any size."""

READ_TIMEOUT = "HEADWATER_NEO4J_READ_TIMEOUT"
"""The setting of how long a question may take."""

_DATA_FLOW = re.compile(r"-\[\w*:(?:FEEDS|PRODUCES|DERIVES|WROTE|READ_BY)\b[^]]*\]->|:HAS_(?:INPUT|OUTPUT)\b")
"""What a question has in one form downstream and in another upstream."""

_UPSTREAM_TYPES = {
    "FEEDS": "PRODUCES",
    "PRODUCES": "FEEDS",
    "WROTE": "READ_BY",
    "READ_BY": "WROTE",
    "HAS_INPUT": "HAS_OUTPUT",
    "HAS_OUTPUT": "HAS_INPUT",
}


class GraphReader(Protocol):
    """Answers questions, each named after its file in ``queries/cypher``, such as ``lineage/level``; never writes.

    ``direction`` and ``hops`` are parameters of the text (see ``question_text``), the others are parameters of the statement.
    Raises ServerUnavailable where the server does not answer, ConfigError where it refuses or takes too long, SchemaMismatch
    where the graph has another schema.
    """

    def rows(self, question: str, /, **parameters: object) -> list[Row]: ...


@cache
def question_text(question: str, direction: object = None, hops: object = None) -> str:
    """Return the Cypher of a question; FileNotFoundError if there is none of this name.

    Files contain questions about both directions as they are downstream. For ``upstream`` each arrow along which data
    flows is reversed, and what reads takes the place of what writes. ``hops`` is the greatest length of a path where the
    text has ``*0..``, None for any length: Cypher takes no parameter there.
    """
    text = (files(__package__) / "cypher" / f"{question}.cypher").read_text(encoding="utf-8")
    if direction == "upstream":
        text = _DATA_FLOW.sub(_upstream, text)
    return text if hops is None else text.replace("*0..]", f"*0..{hops:d}]")


def _upstream(flow: re.Match[str]) -> str:
    """Return the upstream form of an arrow or a relationship type.

    >>> _DATA_FLOW.sub(_upstream, "(d)-[e:FEEDS]->(j)-[:HAS_VERSION]->(v)-[:HAS_OUTPUT]->(d)")
    '(d)<-[e:PRODUCES]-(j)-[:HAS_VERSION]->(v)-[:HAS_INPUT]->(d)'
    """
    text = re.sub(r"[A-Z_]+", lambda name: _UPSTREAM_TYPES.get(name[0], name[0]), flow[0])
    return f"<{text.removesuffix('>')}" if text.endswith(">") else text


class Neo4jReader:
    """A GraphReader over Neo4j's driver: every question is a transaction of its own that can only read."""

    def __init__(self, settings: GraphSettings) -> None:
        from headwater_graph.store.connection import connected

        self._settings = settings
        self._exits = ExitStack()
        self._driver = self._exits.enter_context(connected(settings))
        self._schema_checked = False

    def __enter__(self) -> Neo4jReader:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._exits.close()

    def rows(self, question: str, /, **parameters: object) -> list[Row]:
        self._check_schema()
        text = question_text(question, parameters.pop("direction", None), parameters.pop("hops", None))
        found = self.run(text, parameters)
        # One record of many maps takes the driver a tenth of the time of as many records.
        is_one_list = found and list(found[0].keys()) == ["rows"]
        return [row for record in found for row in record["rows"]] if is_one_list else found

    def run(
        self,
        text: str,
        parameters: Mapping[str, object],
        timeout: float | None = None,
        limit: int | None = None,
        setting: str = READ_TIMEOUT,
        is_last: Callable[[Row], bool] | None = None,
    ) -> list[Row]:
        """Run any Cypher that only reads, for at most ``timeout`` seconds; no more than ``limit`` rows are fetched.

        ``is_last`` is called with each row, and no more are fetched once it returns True. The error for a timeout names
        ``setting``. Raises StoreRefused where the text is wrong or would write, besides what ``rows`` raises.
        """
        fetched = _USUAL_FETCH if is_last is None else _SMALL_FETCH
        with self._result(text, parameters, timeout, setting, fetched) as result:
            if is_last is None:
                return [*result] if limit is None else [*result.fetch(limit)]
            rows: list[Row] = []
            for row in islice(result, limit):
                rows.append(row)
                if is_last(row):
                    break
            return rows

    def plan(self, text: str, parameters: Mapping[str, object]) -> tuple[str, tuple[str, ...]]:
        """Return what a text would do, without doing it: ``r``, ``w``, ``rw`` or ``s``, and the operators of its plan.

        Raises as ``run`` does.
        """
        with self._result(f"EXPLAIN {text}", parameters) as result:
            summary = result.consume()
        plans = [summary.plan] if summary.plan else []
        for plan in plans:
            plans += plan.get("children", ())
        return summary.query_type or "s", tuple(plan["operatorType"].partition("@")[0] for plan in plans)

    def _check_schema(self) -> None:
        """Refuse a graph of another schema: answers would lack what it does not have yet, and not say so."""
        from headwater_graph.store import schema

        if not self._schema_checked:
            schema.check(next((row["version"] for row in self.run(schema.STORED, {})), None))
            self._schema_checked = True

    @contextmanager
    def _result(
        self,
        text: str,
        parameters: Mapping[str, object],
        timeout: float | None = None,
        setting: str = READ_TIMEOUT,
        fetched: int = _USUAL_FETCH,
    ) -> Iterator[neo4j.Result]:
        from neo4j import Query

        from headwater_graph.store.connection import translated

        seconds = timeout or self._settings.read_timeout
        query = Query(text, timeout=seconds)
        try:
            with translated(self._settings), self._session(fetched) as session:
                yield session.run(query, dict(parameters))
        except StoreTimedOut as fault:
            raise ConfigError(
                f"no answer within {seconds:g} s: narrow the question, or raise the limit ({setting})"
            ) from fault
        except StoreExhausted as fault:
            raise ConfigError(f"the answer needs more memory than Neo4j has: narrow the question ({fault})") from fault
        except StoreBusy as fault:
            raise ServerUnavailable("Neo4j", str(self._settings.uri), f"it is busy, try again ({fault})") from fault

    def _session(self, fetched: int) -> neo4j.Session:
        return self._driver.session(database=self._settings.database, default_access_mode="READ", fetch_size=fetched)
