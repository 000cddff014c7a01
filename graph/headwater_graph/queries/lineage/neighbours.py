"""The neighbours of datasets and jobs, as a traversal reads them: the port, and its values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from msgspec import Struct


class Neighbour(Struct, frozen=True, gc=False):
    """One current edge seen from the node ``at`` to its neighbour; ``inputs`` are the keys that specification 6.6 lists, or None.

    ``version`` is None where the status of the job adds it later. ``aliased`` is whether the neighbour has aliases.
    """

    at: str
    key: str
    name: tuple[str, str]
    version: str | None = None
    inputs: frozenset[str] | None = None
    aliased: bool = False


class FormerWriter(NamedTuple):
    """The job version that wrote the dataset ``at`` last though no job does so now, and what that version read."""

    at: str
    job: str
    name: tuple[str, str]
    version: str | None
    inputs: tuple[tuple[str, tuple[str, str]], ...]


class Neighbours(Protocol):
    """The neighbours of many nodes at once, in one direction; each answer has at most ``rows`` of them."""

    def jobs(self, datasets: Sequence[str], rows: int) -> Sequence[Neighbour]: ...
    def datasets(self, jobs: Sequence[str], rows: int) -> Sequence[Neighbour]: ...
    def aliases(self, datasets: Sequence[str], rows: int) -> Sequence[Neighbour]: ...
    def former_writers(self, datasets: Sequence[str]) -> Sequence[FormerWriter]: ...
    def totals(self, nodes: Sequence[str]) -> dict[str, int]: ...
