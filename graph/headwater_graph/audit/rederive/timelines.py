"""A dataset's versions and reads, by moment: which run read which version, what is current, what is dropped (specification 5, 7)."""

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
    """What comes of one dataset's points: ``reads`` are (point, version id), ``unmade`` version id -> the external version.

    ``kept_until`` is the greatest time of a version that does not itself say DROP (specification 7).
    """

    dataset: Key
    reads: list[tuple[Point, str]] = field(default_factory=list)
    made: list[Point] = field(default_factory=list)
    unmade: dict[str, str | None] = field(default_factory=dict)
    past: RetainedRead | None = None
    current: str | None = None
    kept_until: int | None = None


def timeline_of(dataset: Key, points: Iterable[Point], past: RetainedRead | None = None) -> Timeline:
    """Resolve the reads of a dataset among its versions.

    Points come by moment, and reads before versions where these tie; ``past`` is a read that is kept (specification 7).
    """
    line = Timeline(dataset, past=past)
    exactly = []
    for point in points:
        if point.id is not None:
            line.made.append(point)
        elif point.external is not None:
            exactly.append(point)
        else:
            line.reads.append((point, _version_before(line.made, point)))
    externals = _by_external(line.made)
    for point in exactly:
        line.reads.append((point, _exact_version(externals, point)))
    _finish(line, exactly)
    return line


def _version_before(made: list[Point], reader: Point) -> str:
    """Specification 5.2: the last version so far that the reader did not make."""
    return _last_of_others(made, reader) or unwritten_version_id(reader.dataset, None)


def _last_of_others(made: list[Point], reader: Point) -> str | None:
    # A run makes one version of a dataset at most, so of two one is another's.
    return next((version.id for version in reversed(made[-2:]) if version.run_id != reader.run_id), None)


def _by_external(made: Iterable[Point]) -> dict[str, list[Point]]:
    found: dict[str, list[Point]] = {}
    for point in made:
        if point.external is not None:
            found.setdefault(point.external, []).append(point)
    return found


def _exact_version(externals: dict[str, list[Point]], reader: Point) -> str:
    """Specification 5.3: of those that carry the same external version the last before the reader, else the last."""
    made = externals.get(reader.external or "", [])
    before = made[: bisect_left(made, reader.moment, key=lambda version: version.moment)]
    id_ = _last_of_others(before, reader) or _last_of_others(made, reader)
    return id_ or unwritten_version_id(reader.dataset, reader.external)


def _finish(line: Timeline, exactly: list[Point]) -> None:
    made_ids = {point.id for point in line.made}
    for point, id_ in line.reads:
        if id_ not in made_ids:
            line.unmade[id_] = point.external
    if line.past is not None:
        line.unmade[unwritten_version_id(line.dataset, line.past.external)] = line.past.external
    line.current = _current(line, exactly)
    line.kept_until = max((point.moment[0] for point in line.made if not point.drops), default=None)


def _current(line: Timeline, exactly: list[Point]) -> str | None:
    """Specification 5.5."""
    if line.made:
        return line.made[-1].id
    named = [(point.moment, point.external) for point in exactly[-1:]]
    if line.past is not None and line.past.external is not None:
        named.append((line.past.moment, line.past.external))
    if named:
        return unwritten_version_id(line.dataset, max(named)[1])
    return initial_version_id(line.dataset) if line.reads or line.past else None
