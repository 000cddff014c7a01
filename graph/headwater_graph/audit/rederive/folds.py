"""A job's items, by moment, folded into its versions and the sources of its current lineage (specification 4, 6.5, 6.6)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from headwater_avro.names import Key
from headwater_graph.audit.rederive.facts import RunStatus, SourceItem
from headwater_graph.model.values import JobVersion, Moment
from headwater_graph.rules.job_versions import FoldItem, as_retained, step


@dataclass(slots=True)
class FoldedVersion:
    """A folded version: its number of runs, its last run with that run's status, and the moment at which the next begins."""

    version: JobVersion
    runs: int = 0
    last: Moment | None = None
    status: RunStatus | None = None
    end: Moment | None = None


@dataclass(slots=True)
class Current:
    """A job's current version, and the items that its lineage comes from: explicit entries, and by output columns."""

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

    def add(self, source_item: SourceItem) -> str | None:
        """Fold the next item by moment; return the id of the version it belongs to, None if the item itself was removed."""
        if source_item.retained_version is not None:
            self._open(as_retained(source_item.retained_version))
            return None
        version = None if source_item.removed else self._place(source_item.item, source_item.status).version
        self._choose_sources(source_item)
        return version.id if version else None

    def take_closed(self) -> Iterator[FoldedVersion]:
        """Yield the versions that have ended since the last call."""
        while self._closed:
            yield self._closed.pop()

    def _place(self, item: FoldItem, status: RunStatus | None) -> FoldedVersion:
        version = step(self.now.version if self.now else None, item)
        if self.now is None or version.id != self.now.version.id:
            self._open(version)
        assert self.now is not None
        self.now.version = version
        if item.run_id is not None:
            self.now.runs += 1
            if self.now.last is None or self.now.last <= item.moment:
                self.now.last, self.now.status = item.moment, status
        return self.now

    def _open(self, version: JobVersion) -> None:
        if self.now is not None:
            self.now.end = version.since
            self._closed.append(self.now)
        retained = version.retained
        self.now = FoldedVersion(version, retained.runs, retained.last) if retained else FoldedVersion(version)
        self._explicit = None

    def _choose_sources(self, source_item: SourceItem) -> None:
        """Choose the last item that did not fail, else the last item (specification 6.5, 6.6)."""
        if source_item.entries and _takes_precedence(source_item.item, self._explicit):
            self._explicit = source_item.item
        for output in source_item.columns:
            if _takes_precedence(source_item.item, self._columns.get(output)):
                self._columns[output] = source_item.item

    def current(self) -> Current | None:
        """Return the current version and its sources, once all items are folded; None if the job has no version."""
        if self.now is None:
            return None
        outputs = self.now.version.outputs
        return Current(self.now, self._explicit, {key: self._columns[key] for key in outputs if key in self._columns})


def _takes_precedence(item: FoldItem, before: FoldItem | None) -> bool:
    return before is None or before.failed or not item.failed
