"""The values that the store and the rules exchange: frozen; times are in microseconds since 1970-01-01 UTC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from msgspec import Struct

from headwater_avro.names import Key

Moment: TypeAlias = tuple[int, str]
"""(microseconds, runId or canonical JSON of an event), compared as a pair, texts by code point (specification 4.4)."""

EARLIEST: Moment = (-(10**18), "")
"""A moment before all others; times are in the years 1 to 9999 (specification 1.3)."""

LATEST: Moment = (10**18, "")
"""A moment after all others."""

Row: TypeAlias = dict[str, Any]
"""A row of a read, or of a write: then the parameters that its Cypher file names."""

FieldPath: TypeAlias = tuple[str, str, str]
"""(namespace, dataset, field) of a column; ``*`` as the field stands for the whole dataset (specification 6.5)."""


Writes: TypeAlias = Mapping[str, Sequence[Row]]
"""Statements in their order: the name of a Cypher file -> the rows to which it is applied."""


@dataclass(frozen=True, slots=True)
class RetainedCounts:
    """What a retained job version continues to count (specification 10.5).

    ``number`` is the least number that it may have, ``runs`` how many of its runs were removed, ``last`` the moment of
    the last of these.
    """

    number: int
    runs: int
    last: Moment | None


class JobVersion(Struct, frozen=True, rename={"retained": "kept"}):
    """A job version as the fold computes it (specification 4).

    ``code_since`` is the moment at which it took its code version. ``made_by`` is None if a JobEvent made it.
    ``retained`` is set if what made it was removed, so that the fold takes it as it is (specification 10.5). Stored
    deferred work contains versions, with ``retained`` under the name ``kept``.
    """

    id: str
    job: Key
    since: Moment
    made_by: str | None
    inputs: tuple[Key, ...]
    outputs: tuple[Key, ...]
    unknown: bool
    code: str | None
    code_since: Moment | None
    retained: RetainedCounts | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """A dataset version with a moment: a run made it, or a DatasetEvent (``made_by`` None) (specification 5.1, 5.4)."""

    id: str
    moment: Moment
    made_by: str | None
    external: str | None = None
    drops: bool = False


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A stored run: its packed record (None for a placeholder) and the id of its job version.

    ``removed``: retention removed it but retained what it made. ``horizon``: the horizon that was in force when its
    first event was accepted (specification 10.11).
    """

    record: bytes | None
    version: str | None
    removed: bool = False
    horizon: int | None = None


@dataclass(frozen=True, slots=True)
class StoredJob:
    """A stored job: its packed record (None if only a parent facet names it), its fold state, its current version.

    ``retained_sources`` are the removed runs and events on which its current edges are based (specification 10.8).
    """

    record: bytes | None
    fold: bytes | None
    current: JobVersion | None
    retained_sources: bytes | None = None


@dataclass(frozen=True, slots=True)
class RetainedRead:
    """The read that makes an initial or external version current, although its run may be removed (specification 10.7).

    ``external`` is None for the initial version.
    """

    moment: Moment
    external: str | None


@dataclass(frozen=True, slots=True)
class StoredDataset:
    """A stored dataset: its packed record (None if only an alias names it) and its latest version with a moment.

    ``current`` is the id of its current version (specification 5.5), ``says_drop`` whether its merged facet states DROP
    (specification 7.1).
    """

    record: bytes | None
    latest: Made | None
    current: str | None
    says_drop: bool
    retained_read: RetainedRead | None = None


@dataclass(frozen=True, slots=True)
class StoredItem:
    """A versioned run (``run_id`` and its record) or a JobEvent (its canonical JSON) of a job, with its job version."""

    moment: Moment
    run_id: str | None
    body: bytes
    version: str | None


@dataclass(frozen=True, slots=True)
class StoredRead:
    """A run that reads a version of a dataset: the run's moment, and the external version that it names, if any."""

    run_id: str
    moment: Moment
    version: str
    external: str | None


@dataclass(frozen=True, slots=True)
class DeferredWork:
    """Work that later transactions do before anything else; ``body`` states where to continue (specification 12.2).

    ``kind`` is ``fold`` (a job, from a moment on), ``reads`` (a dataset, the readers between two moments), ``exact`` (a
    dataset, the readers of an external version), ``columns`` (a job's output), ``retain`` (what is before the horizon) or
    ``rebuild`` (the whole graph).
    """

    key: str
    kind: str
    body: bytes
