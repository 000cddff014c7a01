"""Lines sorted bytewise in temporary files, in constant memory."""

from __future__ import annotations

import heapq
import tempfile
from collections.abc import Iterable, Iterator
from typing import IO, Self

IN_MEMORY = 16 * 1024 * 1024
"""How many bytes of lines are in memory before they are sorted and written to a file."""

_FILES = 64
"""How many files are merged at a time; this many are merged into one, so that few are open."""


class SortedLines:
    """Lines added in any order, each ending with its newline, and read sorted; a context manager that deletes its files."""

    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        self._limit = in_memory
        self._buffer: list[bytes] = []
        self._size = 0
        self._files: list[IO[bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files:
            file.close()

    def add(self, line: bytes) -> None:
        """Add a line."""
        self._buffer.append(line)
        self._size += len(line)
        if self._size > self._limit:
            self._buffer.sort()
            self._files.append(_written(self._buffer))
            self._buffer, self._size = [], 0
            if len(self._files) == _FILES:
                self._merge_files()

    def _merge_files(self) -> None:
        merged = _written(heapq.merge(*_rewound(self._files)))
        for file in self._files:
            file.close()
        self._files = [merged]

    def __iter__(self) -> Iterator[bytes]:
        """Yield the lines in order, from the first; only one iterator may be in use at a time."""
        self._buffer.sort()
        return heapq.merge(*_rewound(self._files), self._buffer)


def _written(lines: Iterable[bytes]) -> IO[bytes]:
    # ``SortedLines.__exit__`` closes it: a file is read once for each iteration.
    file = tempfile.TemporaryFile()  # noqa: SIM115
    file.writelines(lines)
    return file


def _rewound(files: list[IO[bytes]]) -> list[IO[bytes]]:
    for file in files:
        file.seek(0)
    return files


def sort_lines(lines: Iterable[bytes], in_memory: int = IN_MEMORY) -> Iterator[bytes]:
    """Yield lines in order, at most ``in_memory`` bytes of them in memory; all are read before the first is yielded."""
    with SortedLines(in_memory) as sorted_lines:
        for line in lines:
            sorted_lines.add(line)
        yield from sorted_lines
