"""Faults in recorded operations; all of them are reported together."""

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
"""The codes, the most severe first."""

_RANK: dict[str, int] = {code: rank for rank, code in enumerate(get_args(ProblemCode))}


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault: its code, the name that causes it (``culprit``), and its stage, operation and field if known."""

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
    "cycle": "{culprit!r} depends on itself; remove the cycle",
    "repeated_name": "several operations are named {culprit!r}; rename all but one",
    "null_source": "the read {culprit!r} has no source; add its dataset",
    "null_destination": "the write {culprit!r} has no destination; add its dataset",
    "no_read": "there is no read operation; field lineage needs at least one",
    "no_write": "there is no write operation; field lineage needs at least one",
    "unknown_origin": "an input refers to the operation {culprit!r}, which does not exist",
    "unknown_input": "the input {culprit!r} has no source, and no earlier operation outputs the field",
    "metadata_conflict": "the field {culprit!r} inherits several values; set one on the destination or choose another policy",
}


class InvalidLineage(HeadwaterError, ValueError):
    """Recorded operations are invalid; ``problems`` has every fault, the most severe kind first."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: _RANK[problem.code]))
        super().__init__("; ".join(map(str, self.problems)))

    def __reduce__(self) -> tuple[type[InvalidLineage], tuple[tuple[Problem, ...]]]:
        return (type(self), (self.problems,))

    @property
    def kind(self) -> ProblemCode:
        """The code of the most severe problem."""
        return self.problems[0].code

    @property
    def culprits(self) -> tuple[str, ...]:
        """The culprits of all problems of that kind, sorted, without duplicates."""
        return tuple(sorted({p.culprit for p in self.problems if p.code == self.kind and p.culprit}))
