"""Field paths: the unique name of a field in a schema that nests (seed 002, `Input`).

A leaf name is not enough, two records of one schema may both have a ``name``. A path is the tuple of names from
the top down; its text joins them with dots, and a dot or backslash inside a name is escaped with a backslash.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from headwater_avro.errors import ConfigError

_PART = re.compile(r"(?:[^.\\]|\\.)+", re.DOTALL)
_TEXT = re.compile(rf"(?:{_PART.pattern})(?:\.(?:{_PART.pattern}))*", re.DOTALL)


@dataclass(frozen=True, slots=True, order=True)
class FieldPath:
    r"""The names of a field and of the records around it, outermost first.

    >>> FieldPath.of("address.zip").parts
    ('address', 'zip')
    >>> FieldPath.of(r"v1\.2").parts
    ('v1.2',)
    """

    parts: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.parts or not all(isinstance(part, str) and part for part in self.parts):
            raise ConfigError(f"a field path is one or more non-empty names, not {self.parts!r}")

    @classmethod
    def of(cls, path: PathLike) -> FieldPath:
        """Read ``"address.zip"``, ``("address", "zip")`` or a path; ConfigError for anything else."""
        if isinstance(path, FieldPath):
            return path
        if not isinstance(path, str):
            return cls(tuple(path))
        if not _TEXT.fullmatch(path):
            raise ConfigError(f"not a field path: {path!r}; write names joined by dots, a dot in a name as '\\.'")
        return cls(tuple(unescape(part) for part in _PART.findall(path)))

    def __str__(self) -> str:
        return ".".join(part.replace("\\", "\\\\").replace(".", "\\.") for part in self.parts)

    @property
    def leaf(self) -> str:
        """The field's own name."""
        return self.parts[-1]

    @property
    def ancestors(self) -> tuple[FieldPath, ...]:
        """The records around the field, innermost first."""
        return tuple(FieldPath(self.parts[:size]) for size in range(len(self.parts) - 1, 0, -1))


PathLike: TypeAlias = str | Sequence[str] | FieldPath
"""What the API takes for a field: text with dots, a sequence of names, or a path."""


def unescape(text: str) -> str:
    """Take the backslashes away: the column name that other OpenLineage producers write."""
    return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL)
