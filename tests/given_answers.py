"""A reader that needs no server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from headwater_graph.queries.reader import Row


class GivenAnswers:
    """A GraphReader with the rows of each question, or a function from its parameters to them."""

    def __init__(self, answers: Mapping[str, Sequence[Row] | Callable[..., Sequence[Row]]] | None = None) -> None:
        self._answers = answers or {}

    def rows(self, question: str, /, **parameters: object) -> list[Row]:
        answer = self._answers.get(question, ())
        return list(answer(**parameters) if callable(answer) else answer)
