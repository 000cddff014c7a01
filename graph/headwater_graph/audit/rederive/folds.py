"""A job's items, by moment, folded into its versions (specification 4), and who tells what is current of it (specification 6.5, 6.6)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from headwater_avro.names import Key
from headwater_graph.audit.rederive.facts import SourceItem, Stands
from headwater_graph.model.values import JobVersion, Moment
from headwater_graph.rules.job_versions import FoldItem, as_retained, step


@dataclass(slots=True)
class FoldedVersion:
    """A version as the fold left it, how many runs it has, its last run and how that stands, and when the next one begins."""

    version: JobVersion
    runs: int = 0
    last: Moment | None = None
    stands: Stands | None = None
    end: Moment | None = None


@dataclass(slots=True)
class Current:
    """A job's current version, and who tells of it: its explicit entries, and by output its columns."""

    folded: FoldedVersion
    explicit: FoldItem | None
    columns: dict[Key, FoldItem] = field(default_factory=dict)


class JobFold:
    """The fold of one job, item by item."""

    def __init__(self) -> None:
        self._closed: list[FoldedVersion] = []
        self.now: FoldedVersion | None = None
        self._explicit: FoldItem | None = None
        self._columns: dict[Key, FoldItem] = {}

    def add(self, told: SourceItem) -> str | None:
        """Fold the next item by moment; returns the id of the version it belongs to, None for what is no item any more."""
        if told.opens is not None:
            self._open(as_retained(told.opens))
            return None
        version = None if told.gone else self._place(told.item, told.stands).version
        self._tell(told)
        return version.id if version else None

    def take_closed(self) -> Iterator[FoldedVersion]:
        """Yield the versions that ended since this was last asked."""
        while self._closed:
            yield self._closed.pop()

    def _place(self, item: FoldItem, stands: Stands | None) -> FoldedVersion:
        version = step(self.now.version if self.now else None, item)
        if self.now is None or version.id != self.now.version.id:
            self._open(version)
        assert self.now is not None
        self.now.version = version
        if item.run_id is not None:
            self.now.runs += 1
            if self.now.last is None or self.now.last <= item.moment:
                self.now.last, self.now.stands = item.moment, stands
        return self.now

    def _open(self, version: JobVersion) -> None:
        if self.now is not None:
            self.now.end = version.since
            self._closed.append(self.now)
        gone = version.retained
        self.now = FoldedVersion(version, gone.runs, gone.last) if gone else FoldedVersion(version)
        self._explicit = None

    def _tell(self, told: SourceItem) -> None:
        """Keep of those that tell something the last that did not fail, else the last (specification 6.5, 6.6)."""
        if told.entries and _stands(told.item, self._explicit):
            self._explicit = told.item
        for output in told.columns:
            if _stands(told.item, self._columns.get(output)):
                self._columns[output] = told.item

    def current(self) -> Current | None:
        """Return what is current when all items are folded."""
        if self.now is None:
            return None
        outputs = self.now.version.outputs
        return Current(self.now, self._explicit, {key: self._columns[key] for key in outputs if key in self._columns})


def _stands(item: FoldItem, before: FoldItem | None) -> bool:
    return before is None or before.failed or not item.failed
