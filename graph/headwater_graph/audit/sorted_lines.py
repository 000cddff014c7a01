"""Lines sorted bytewise outside memory, however many there are."""

from __future__ import annotations

import heapq
import tempfile
from collections.abc import Iterable, Iterator
from typing import IO, Self

IN_MEMORY = 16 * 1024 * 1024
"""How many bytes of lines are held before they are sorted and put into a file."""

_FILES = 64
"""How many files are merged at a time; more become one first, so that few are ever open."""


class SortedLines:
    """Lines added in any order, each ending with its newline, and read back sorted; a context that deletes its files."""

    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        self._limit = in_memory
        self._held: list[bytes] = []
        self._size = 0
        self._files: list[IO[bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files:
            file.close()

    def add(self, line: bytes) -> None:
        """Add a line."""
        self._held.append(line)
        self._size += len(line)
        if self._size > self._limit:
            self._held.sort()
            self._files.append(_written(self._held))
            self._held, self._size = [], 0
            if len(self._files) == _FILES:
                self._join_files()

    def _join_files(self) -> None:
        joined = _written(heapq.merge(*_rewound(self._files)))
        for file in self._files:
            file.close()
        self._files = [joined]

    def __iter__(self) -> Iterator[bytes]:
        """Yield the lines in order; again from the first each time, one reader at a time."""
        self._held.sort()
        return heapq.merge(*_rewound(self._files), self._held)


def _written(lines: Iterable[bytes]) -> IO[bytes]:
    # Closed by the context of the lines: it is read as often as they are.
    file = tempfile.TemporaryFile()  # noqa: SIM115
    file.writelines(lines)
    return file


def _rewound(files: list[IO[bytes]]) -> list[IO[bytes]]:
    for file in files:
        file.seek(0)
    return files


def sort_lines(lines: Iterable[bytes], in_memory: int = IN_MEMORY) -> Iterator[bytes]:
    """Yield lines in order, at most so many bytes of them held in memory; all are read before the first is yielded."""
    with SortedLines(in_memory) as held:
        for line in lines:
            held.add(line)
        yield from held
