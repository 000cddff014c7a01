"""The read port: one question by its name and parameters, answered by rows; Neo4j behind it, or answers given beforehand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from headwater_avro.errors import ConfigError, ServerUnavailable

from ..settings import GraphSettings

if TYPE_CHECKING:
    # The driver takes half a second to import: only those pay who ask.
    import neo4j

Row: TypeAlias = Mapping[str, Any]


class GraphReader(Protocol):
    """Answers questions, each named after its file in ``questions/cypher``; never writes.

    ``rows`` raises ServerUnavailable where the server does not answer, ConfigError where it refuses or takes too long.
    """

    def rows(self, question: str, /, **parameters: object) -> list[Row]: ...


@cache
def question_text(question: str) -> str:
    """Return the Cypher of a question; FileNotFoundError where there is none of this name."""
    return (files(__package__) / "cypher" / f"{question}.cypher").read_text(encoding="utf-8")


class Neo4jReader:
    """A GraphReader over Neo4j's driver: every question is a transaction of its own that can only read."""

    def __init__(self, settings: GraphSettings) -> None:
        from ..neo4j_port import connected

        self._settings = settings
        self._exits = ExitStack()
        self._driver = self._exits.enter_context(connected(settings))

    def __enter__(self) -> Neo4jReader:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._exits.close()

    def rows(self, question: str, /, **parameters: object) -> list[Row]:
        found = self.run(question_text(question), parameters)
        # One record of many maps costs the driver a tenth of what as many records do.
        return (
            [row for record in found for row in record["rows"]]
            if found and list(found[0].keys()) == ["rows"]
            else found
        )

    def run(
        self, text: str, parameters: Mapping[str, object], timeout: float | None = None, limit: int | None = None
    ) -> list[Row]:
        """Run any Cypher that only reads, for at most ``timeout`` seconds; no more than ``limit`` rows are fetched.

        Raises StoreRefused where the text is wrong or would write, besides what ``rows`` raises.
        """
        from neo4j import Query

        from ..neo4j_port import StoreBusy, StoreExhausted, translated

        query = Query(text, timeout=timeout or self._settings.read_timeout)
        try:
            with translated(self._settings), self._session() as session:
                result = session.run(query, dict(parameters))
                return [*result] if limit is None else [*result.fetch(limit)]
        except StoreExhausted as fault:
            raise ConfigError(
                f"too much to answer within the limits of time and memory: narrow it ({fault})"
            ) from fault
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
