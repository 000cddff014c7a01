"""What the store and the rules hand one another: frozen values, times in microseconds since 1970-01-01 UTC."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from headwater_avro.names import Key

Moment: TypeAlias = tuple[int, str]
"""(microseconds, runId or canonical JSON of an event), compared as a pair, the second part by code point (specification 4.4)."""

EARLIEST: Moment = (-(10**18), "")
"""Before every moment; times reach from year 1 to 9999 (specification 1.3)."""

LATEST: Moment = (10**18, "")
"""After every moment."""

Row: TypeAlias = dict[str, Any]
"""One row of a write: the parameters that its Cypher file names."""


FieldPath: TypeAlias = tuple[str, str, str]
"""(namespace, dataset, field) of a column; ``*`` as the field stands for the whole dataset (specification 6.5)."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One write: the name of a Cypher file and the rows it is to be run over."""

    name: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class RetainedPast:
    """What retention keeps of a job version's past (specification 7): its number, how many of its runs are gone, and the last of them."""

    number: int
    runs: int
    last: Moment | None


@dataclass(frozen=True, slots=True)
class JobVersion:
    """A job version as the fold sees it (specification 4).

    ``code_since`` is the moment at which it took its code version; ``made_by`` is None where a JobEvent made it; ``kept``
    is there where what made it is gone, so that the fold takes it as it is (specification 7).
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
    kept: RetainedPast | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """A dataset version that has a moment: made by a run, or by a DatasetEvent (``made_by`` None) (specification 5.1, 5.4)."""

    id: str
    moment: Moment
    made_by: str | None
    external: str | None = None
    drops: bool = False


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run in the store: its packed record (None on a placeholder) and the job version it ran.

    ``removed``: retention removed it, and what it made is kept. ``horizon``: the one behind which it was first heard of
    (specification 7).
    """

    record: bytes | None
    version: str | None
    removed: bool = False
    horizon: int | None = None


@dataclass(frozen=True, slots=True)
class StoredJob:
    """A job in the store: its packed record (None where only a parent facet names it), its fold state, its current version.

    ``past`` is what its current edges stand on and runs told that are gone (specification 7).
    """

    record: bytes | None
    fold: bytes | None
    current: JobVersion | None
    past: bytes | None = None


@dataclass(frozen=True, slots=True)
class RetainedRead:
    """The read that made a version current which nobody made, though the run may be gone (specification 5.5, 7).

    ``external`` is None where that is the initial version.
    """

    moment: Moment
    external: str | None


@dataclass(frozen=True, slots=True)
class StoredDataset:
    """A dataset in the store: its packed record (None where only an alias names it) and its latest version with a moment.

    ``current`` is the id of its current version, ``says_drop`` whether its joined facet says DROP (specification 5.5, 7).
    """

    record: bytes | None
    latest: Made | None
    current: str | None
    says_drop: bool
    past: RetainedRead | None = None


@dataclass(frozen=True, slots=True)
class StoredItem:
    """A versioned run (``run_id`` and its record) or a JobEvent (its canonical JSON) of a job, with the version it is in."""

    moment: Moment
    run_id: str | None
    body: bytes
    version: str | None


@dataclass(frozen=True, slots=True)
class StoredRead:
    """A run that reads a version of a dataset: the run's moment, and the external version it named, if any."""

    run_id: str
    moment: Moment
    version: str
    external: str | None


@dataclass(frozen=True, slots=True)
class DeferredWork:
    """Work that the graph still owes: done by later transactions before anything else (specification 11).

    ``kind`` is ``fold`` (a job, from a moment on), ``reads`` (a dataset, the readers between two moments),
    ``exact`` (a dataset, the readers of an external version), ``columns`` (a job's output), or ``retain`` (what lies before the
    horizon). ``body`` says from where on.
    """

    key: str
    kind: str
    body: bytes
