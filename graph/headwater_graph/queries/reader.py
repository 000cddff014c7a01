"""The read port: one question by its name and parameters, answered by rows; Neo4j behind it, or answers given beforehand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from headwater_avro.errors import ConfigError, ServerUnavailable, StoreBusy, StoreExhausted, StoreTimedOut
from headwater_graph.settings import GraphSettings

if TYPE_CHECKING:
    # The driver takes half a second to import: only those pay who ask.
    import neo4j

Row: TypeAlias = Mapping[str, Any]

READ_TIMEOUT = "HEADWATER_NEO4J_READ_TIMEOUT"
"""The setting of how long a question may take."""


class GraphReader(Protocol):
    """Answers questions, each named after its file in ``questions/cypher``; never writes.

    Raises ServerUnavailable where the server does not answer, ConfigError where it refuses or takes too long, SchemaMismatch
    where the graph has another schema.
    """

    def rows(self, question: str, /, **parameters: object) -> list[Row]: ...


@cache
def question_text(question: str, hops: object = None) -> str:
    """Return the Cypher of a question; FileNotFoundError where there is none of this name.

    ``hops`` is how many edges long a way behind ``*0..`` may be, None for any length: Cypher takes no parameter there.
    """
    text = (files(__package__) / "cypher" / f"{question}.cypher").read_text(encoding="utf-8")
    return text if hops is None else text.replace("*0..]", f"*0..{hops:d}]")


class Neo4jReader:
    """A GraphReader over Neo4j's driver: every question is a transaction of its own that can only read."""

    def __init__(self, settings: GraphSettings) -> None:
        from headwater_graph.store.connection import connected

        self._settings = settings
        self._exits = ExitStack()
        self._driver = self._exits.enter_context(connected(settings))
        self._schema_known = False

    def __enter__(self) -> Neo4jReader:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._exits.close()

    def rows(self, question: str, /, **parameters: object) -> list[Row]:
        self._check_schema()
        found = self.run(question_text(question, parameters.get("hops")), parameters)
        # One record of many maps costs the driver a tenth of what as many records do.
        return (
            [row for record in found for row in record["rows"]]
            if found and list(found[0].keys()) == ["rows"]
            else found
        )

    def run(
        self,
        text: str,
        parameters: Mapping[str, object],
        timeout: float | None = None,
        limit: int | None = None,
        setting: str = READ_TIMEOUT,
    ) -> list[Row]:
        """Run any Cypher that only reads, for at most ``timeout`` seconds; no more than ``limit`` rows are fetched.

        ``setting`` is named where the time was too short. Raises StoreRefused where the text is wrong or would write, besides
        what ``rows`` raises.
        """
        with self._asked(text, parameters, timeout, setting) as result:
            return [*result] if limit is None else [*result.fetch(limit)]

    def plan(self, text: str, parameters: Mapping[str, object]) -> tuple[str, tuple[str, ...]]:
        """Return what a text would do, without doing it: ``r``, ``w``, ``rw`` or ``s``, and the operators of its plan.

        Raises as ``run`` does.
        """
        with self._asked(f"EXPLAIN {text}", parameters) as result:
            summary = result.consume()
        plans = [summary.plan] if summary.plan else []
        for plan in plans:
            plans += plan.get("children", ())
        return summary.query_type or "s", tuple(plan["operatorType"].partition("@")[0] for plan in plans)

    def _check_schema(self) -> None:
        """Refuse a graph of another schema: an answer would lack what the graph does not have yet, and not say so."""
        from headwater_graph.store import schema

        if not self._schema_known:
            schema.check(next((row["version"] for row in self.run(schema.STORED, {})), None))
            self._schema_known = True

    @contextmanager
    def _asked(
        self, text: str, parameters: Mapping[str, object], timeout: float | None = None, setting: str = READ_TIMEOUT
    ) -> Iterator[neo4j.Result]:
        from neo4j import Query

        from headwater_graph.store.connection import translated

        seconds = timeout or self._settings.read_timeout
        query = Query(text, timeout=seconds)
        try:
            with translated(self._settings), self._session() as session:
                yield session.run(query, dict(parameters))
        except StoreTimedOut as fault:
            raise ConfigError(f"no answer within {seconds:g} s: narrow it, or give it longer ({setting})") from fault
        except StoreExhausted as fault:
            raise ConfigError(f"too much to answer within Neo4j's memory: narrow it ({fault})") from fault
        except StoreBusy as fault:
            raise ServerUnavailable("Neo4j", str(self._settings.uri), f"it is busy, ask again ({fault})") from fault

    def _session(self) -> neo4j.Session:
        return self._driver.session(database=self._settings.database, default_access_mode="READ")


class GivenAnswers:
    """A GraphReader that needs no server: each question's rows are given, or a function of its parameters."""

    def __init__(self, **answers: Sequence[Row] | Callable[..., Sequence[Row]]) -> None:
        self._answers = answers

    def rows(self, question: str, /, **parameters: object) -> list[Row]:
        answer = self._answers.get(question, ())
        return list(answer(**parameters) if callable(answer) else answer)
