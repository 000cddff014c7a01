"""What can be wrong with recorded operations; all of it is told at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from headwater_avro.errors import HeadwaterError

ProblemCode: TypeAlias = Literal[
    "cycle",
    "repeated_name",
    "null_source",
    "null_destination",
    "no_read",
    "no_write",
    "unknown_origin",
    "unknown_input",
    "metadata_conflict",
]
"""The codes, in the order in which they are looked for: a cycle is found first."""

_RANK: dict[str, int] = {code: rank for rank, code in enumerate(get_args(ProblemCode))}


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault: its code, the name that is to blame (``culprit``), and where it stands."""

    code: ProblemCode
    culprit: str | None = None
    stage: str | None = None
    operation: str | None = None
    field: str | None = None

    def __str__(self) -> str:
        where = [
            f"{label} {value!r}"
            for label, value in (("stage", self.stage), ("operation", self.operation), ("field", self.field))
            if value is not None
        ]
        text = _SENTENCES[self.code].format(culprit=self.culprit)
        return f"{text} ({', '.join(where)})" if where else text


_SENTENCES: dict[ProblemCode, str] = {
    "cycle": "{culprit!r} feeds itself",
    "repeated_name": "the operation name {culprit!r} is repeated",
    "null_source": "the read {culprit!r} has no source",
    "null_destination": "the write {culprit!r} has no destination",
    "no_read": "nothing is read: field lineage needs at least one read",
    "no_write": "nothing is written: field lineage needs at least one write",
    "unknown_origin": "no operation is called {culprit!r}",
    "unknown_input": "no earlier operation makes the field {culprit!r}, and the input names no source",
    "metadata_conflict": "the field {culprit!r} inherits different values",
}


class InvalidLineage(HeadwaterError, ValueError):
    """Recorded operations contradict themselves; ``problems`` has every fault, the gravest kind first."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: _RANK[problem.code]))
        super().__init__("; ".join(map(str, self.problems)))

    def __reduce__(self) -> tuple[type[InvalidLineage], tuple[tuple[Problem, ...]]]:
        return (type(self), (self.problems,))

    @property
    def kind(self) -> ProblemCode:
        """The code of the gravest problem."""
        return self.problems[0].code

    @property
    def culprits(self) -> tuple[str, ...]:
        """Who is to blame for problems of that kind, sorted, each once."""
        return tuple(
            sorted({problem.culprit for problem in self.problems if problem.code == self.kind and problem.culprit})
        )
