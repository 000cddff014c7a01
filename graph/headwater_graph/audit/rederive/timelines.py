"""A dataset's versions and reads, by moment: which run read which version, and which version is current (specification 5, 7)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field

from headwater_avro.names import Key, initial_version_id
from headwater_graph.audit.rederive.facts import Point
from headwater_graph.model.values import RetainedRead
from headwater_graph.rules.dataset_versions import unwritten_version_id


@dataclass(slots=True)
class Timeline:
    """The versions and resolved reads of one dataset.

    ``reads`` are (point, version id); ``not_made`` maps the id of each version that is read but that no run or event made to
    its external version; ``last_living_time`` is the greatest time of a version that does not itself say DROP
    (specification 7).
    """

    dataset: Key
    reads: list[tuple[Point, str]] = field(default_factory=list)
    made: list[Point] = field(default_factory=list)
    not_made: dict[str, str | None] = field(default_factory=dict)
    retained: RetainedRead | None = None
    current: str | None = None
    last_living_time: int | None = None


def timeline_of(dataset: Key, points: Iterable[Point], retained: RetainedRead | None = None) -> Timeline:
    """Return the timeline of a dataset.

    Points are sorted by moment, reads before versions of the same moment; ``retained`` is the read that retention has kept
    (specification 7).
    """
    line = Timeline(dataset, retained=retained)
    exact_readers = []
    for point in points:
        if point.id is not None:
            line.made.append(point)
        elif point.external is not None:
            exact_readers.append(point)
        else:
            line.reads.append((point, _version_before(line.made, point)))
    externals = _by_external(line.made)
    for point in exact_readers:
        line.reads.append((point, _exact_version(externals, point)))
    _finish(line, exact_readers)
    return line


def _version_before(made: list[Point], reader: Point) -> str:
    """Return the last version so far that the reader did not make (specification 5.2)."""
    return _last_of_others(made, reader) or unwritten_version_id(reader.dataset, None)


def _last_of_others(made: list[Point], reader: Point) -> str | None:
    # A run makes at most one version of a dataset, so of the last two at least one is by another run.
    return next((version.id for version in reversed(made[-2:]) if version.run_id != reader.run_id), None)


def _by_external(made: Iterable[Point]) -> dict[str, list[Point]]:
    found: dict[str, list[Point]] = {}
    for point in made:
        if point.external is not None:
            found.setdefault(point.external, []).append(point)
    return found


def _exact_version(externals: dict[str, list[Point]], reader: Point) -> str:
    """Return the last version before the reader that carries the same external version, else the last (specification 5.3)."""
    made = externals.get(reader.external or "", [])
    before = made[: bisect_left(made, reader.moment, key=lambda version: version.moment)]
    id_ = _last_of_others(before, reader) or _last_of_others(made, reader)
    return id_ or unwritten_version_id(reader.dataset, reader.external)


def _finish(line: Timeline, exact_readers: list[Point]) -> None:
    made_ids = {point.id for point in line.made}
    for point, id_ in line.reads:
        if id_ not in made_ids:
            line.not_made[id_] = point.external
    if line.retained is not None:
        line.not_made[unwritten_version_id(line.dataset, line.retained.external)] = line.retained.external
    line.current = _current(line, exact_readers)
    line.last_living_time = max((point.moment[0] for point in line.made if not point.drops), default=None)


def _current(line: Timeline, exact_readers: list[Point]) -> str | None:
    """Return the id of the current version (specification 5.5); None if there is none."""
    if line.made:
        return line.made[-1].id
    named = [(point.moment, point.external) for point in exact_readers[-1:]]
    if line.retained is not None and line.retained.external is not None:
        named.append((line.retained.moment, line.retained.external))
    if named:
        return unwritten_version_id(line.dataset, max(named)[1])
    return initial_version_id(line.dataset) if line.reads or line.retained else None
