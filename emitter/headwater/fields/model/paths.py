"""Field paths: the unique name of a field in a nested schema.

The name of a leaf is not unique: two records of a schema can both have a ``name``. A path is a tuple of names, outermost
first. Its text form joins the names with dots; a dot or a backslash in a name is escaped with a backslash.
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
    r"""The name of a field, preceded by the names of the records that contain it, outermost first.

    >>> FieldPath.of("address.zip").parts
    ('address', 'zip')
    >>> FieldPath.of(r"v1\.2").parts
    ('v1.2',)
    """

    parts: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.parts or not all(isinstance(part, str) and part for part in self.parts):
            raise ConfigError(f"not a field path: {self.parts!r}; pass one or more non-empty names")

    @classmethod
    def of(cls, path: PathLike) -> FieldPath:
        """Return the path of ``"address.zip"``, ``("address", "zip")`` or a path; raise ConfigError for anything else."""
        if isinstance(path, FieldPath):
            return path
        if not isinstance(path, str):
            return cls(tuple(path))
        if not _TEXT.fullmatch(path):
            raise ConfigError(
                f"not a field path: {path!r}; join the names with dots and write a dot in a name as '\\.'"
            )
        return cls(tuple(unescape(part) for part in _PART.findall(path)))

    def __str__(self) -> str:
        return ".".join(part.replace("\\", "\\\\").replace(".", "\\.") for part in self.parts)

    @property
    def leaf(self) -> str:
        """The name of the field itself."""
        return self.parts[-1]

    @property
    def ancestors(self) -> tuple[FieldPath, ...]:
        """The records that contain the field, innermost first."""
        return tuple(FieldPath(self.parts[:size]) for size in range(len(self.parts) - 1, 0, -1))


PathLike: TypeAlias = str | Sequence[str] | FieldPath
"""A field path in any accepted form: text with dots, a sequence of names, or a ``FieldPath``."""


def unescape(text: str) -> str:
    """Return the text without escapes: the column name as other OpenLineage producers write it."""
    return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL)
