"""Rows sorted outside memory: added in any order, then read in the order of their keys, as often as needed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Generic, Self, TypeAlias, TypeVar

import msgspec

from headwater_graph.audit.sorted_lines import SortedLines
from headwater_graph.model.values import Moment

SpillKey: TypeAlias = tuple[str, ...]
"""The key that rows are sorted by: part by part, each by code point. No part contains a control character."""

Payload = TypeVar("Payload")

_encode = msgspec.json.Encoder().encode


def moment_parts(moment: Moment) -> SpillKey:
    """Return a moment as parts of a key; its text contains no control characters (specification 1.2, 2.1)."""
    return (f"{moment[0] + 10**18:020d}", moment[1])


class Spill(Generic[Payload]):
    """Rows with keys and payloads of one type; a context manager that deletes its files on exit."""

    def __init__(self, payload: type[Payload]) -> None:
        self._decode = msgspec.json.Decoder(payload).decode
        self._lines = SortedLines()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.__exit__()

    def add(self, key: SpillKey, payload: Payload) -> None:
        """Add a row; rows with equal keys are sorted by their payloads."""
        # The separator sorts before every character of a part, so bytes sort in the order of the parts.
        self._lines.add(b"%b\x02%b\n" % ("\x01".join(key).encode(), _encode(payload)))

    def __iter__(self) -> Iterator[tuple[SpillKey, Payload]]:
        """Yield (key, payload) in the order of the keys; one reader at a time."""
        for line in self._lines:
            key, _, payload = line.partition(b"\x02")
            yield tuple(key.decode().split("\x01")), self._decode(payload)

    def groups(self) -> Iterator[tuple[str, Iterator[tuple[SpillKey, Payload]]]]:
        """Yield (first part of the keys, the rows that begin with it), in order."""
        return groupby(self, key=lambda row: row[0][0])
