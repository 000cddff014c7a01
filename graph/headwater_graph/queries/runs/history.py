"""The versions of jobs and datasets, each with the reason for it (specification 4, 5)."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest
from typing import Any

from headwater_avro.errors import ConfigError
from headwater_avro.times import LATEST
from headwater_graph.queries.answers import Node
from headwater_graph.queries.catalog.finding import NotFound
from headwater_graph.queries.reader import GraphReader, Row
from headwater_graph.queries.values import present, time_text

Key = tuple[str, str]
NEWEST = (LATEST, "\U0010ffff")
"""The moment after the newest version of every dataset."""


@dataclass(frozen=True, slots=True)
class JobVersionLine:
    """One version of a job with the reasons for it; ``number`` counts from 1 in the order of the fold.

    The ``oldest`` version in the graph is the first one, unless retention has removed those before it.
    """

    id: str
    number: int
    since: str
    until: str | None
    made_by: str | None
    code: str | None
    unknown: bool
    inputs: tuple[Key, ...]
    outputs: tuple[Key, ...]
    runs: int
    last_run: str | None
    reasons: tuple[str, ...] = ()
    oldest: bool = False

    def value(self) -> dict[str, Any]:
        """Return it as JSON values."""
        facts = {
            "id": self.id,
            "number": self.number,
            "from": self.since,
            "to": self.until,
            "madeBy": self.made_by,
            "codeVersion": self.code,
            "lineageUnknown": self.unknown or None,
            "lastRun": self.last_run,
        }
        sides = {"inputs": [list(key) for key in self.inputs], "outputs": [list(key) for key in self.outputs]}
        return present(facts) | sides | {"runs": self.runs, "reasons": list(self.reasons)}


def job_versions(reader: GraphReader, job: Node, limit: int = 50, below: int | None = None) -> list[JobVersionLine]:
    """Return the versions of a job, or those with a number ``below`` the given one, the newest first, each with its reasons."""
    (row,) = reader.rows("versions/count_of_job", job=job.key)
    numbers = _numbers(row["total"], row["retained"])
    highest = len(numbers) if below is None else bisect_left(numbers, below)
    wanted = numbers[max(highest - limit - 1, 0) : highest][::-1]
    skip = len(numbers) - highest
    rows = reader.rows("versions/of_job", job=job.key, skip=skip, limit=limit + 1) if wanted else []
    lines = [_job_line(row, number) for row, number in zip(rows, wanted, strict=False)]
    explained = [replace(newer, reasons=job_version_reasons(older, newer)) for newer, older in pairwise(lines)]
    if lines and lines[-1].number == numbers[0]:
        explained.append(_oldest(lines[-1]))
    return explained[:limit]


def _numbers(total: int, retained: Sequence[tuple[int, int]]) -> list[int]:
    """Return the numbers of all versions, the oldest first; ``retained`` has (position, number) of those that are retained.

    >>> _numbers(4, [(0, 5), (2, 9)])
    [5, 6, 9, 10]
    """
    known = dict(retained)
    numbers: list[int] = []
    for position in range(total):
        numbers.append(max((numbers[-1] if numbers else 0) + 1, known.get(position, 0)))
    return numbers


def _job_line(row: Row, number: int) -> JobVersionLine:
    return JobVersionLine(
        id=row["id"],
        number=number,
        since=time_text(row["since"]) or "",
        until=time_text(row["until"]),
        made_by=row["madeBy"],
        code=row["codeVersion"],
        unknown=bool(row["lineageUnknown"]),
        inputs=tuple((namespace, name) for namespace, name in row["inputs"]),
        outputs=tuple((namespace, name) for namespace, name in row["outputs"]),
        runs=row["runs"] or 0,
        last_run=row["lastRun"],
    )


def _oldest(line: JobVersionLine) -> JobVersionLine:
    reason = "first version" if line.number == 1 else "retention removed the versions before it"
    return replace(line, reasons=(reason,), oldest=True)


def job_version_reasons(before: JobVersionLine, after: JobVersionLine) -> tuple[str, ...]:
    """Return the reasons for a version of a job after another one, as specification 4 distinguishes them."""
    reasons = [
        key_changes("inputs", before.inputs, after.inputs),
        key_changes("outputs", before.outputs, after.outputs),
    ]
    if before.code != after.code:
        reasons.append(f"code version changed: {before.code or 'none'} to {after.code or 'none'}")
    if after.unknown and not before.unknown:
        reasons.append("lineage unknown: inputs and outputs of the version before")
    if before.unknown and not after.unknown:
        reasons.append("lineage known again")
    return tuple(reason for reason in reasons if reason)


def key_changes(side: str, before: Sequence[Key], after: Sequence[Key]) -> str:
    """Return how a set of datasets has changed, as text; "" if it has not.

    >>> key_changes("inputs", [("ns", "b"), ("ns", "c")], [("ns", "a"), ("ns", "c")])
    'inputs changed: + ns a - ns b'
    """
    added = [f"+ {' '.join(key)}" for key in sorted(set(after) - set(before))]
    removed = [f"- {' '.join(key)}" for key in sorted(set(before) - set(after))]
    return f"{side} changed: {' '.join([*added, *removed])}" if added or removed else ""


def pick(versions: Sequence[JobVersionLine], wanted: str) -> JobVersionLine:
    """Return the version with this number or beginning of its id; ConfigError if several match, NotFound if none does."""
    found = [v for v in versions if str(v.number) == wanted] or [v for v in versions if v.id.startswith(wanted)]
    if len(found) > 1:
        raise ConfigError(f"several version ids begin with {wanted!r}: {', '.join(v.id for v in found)}")
    if not found:
        raise NotFound(f"none of the newest {len(versions)} versions is {wanted!r}")
    return found[0]


def two_versions(
    versions: Sequence[JobVersionLine], first: str | None = None, last: str | None = None
) -> tuple[JobVersionLine, JobVersionLine]:
    """Return the versions to compare, by default the newest and the one before the later one.

    ``versions`` are the newest first. Raises ConfigError if there is nothing to compare, and as ``pick``.
    """
    if not versions:
        raise ConfigError("this job has no version yet: none of its runs has ended")
    after = versions[0] if last is None else pick(versions, last)
    if first is not None:
        return pick(versions, first), after
    older = [line for line in versions if line.number < after.number]
    if not older:
        raise ConfigError(f"version {after.number} is the oldest one in the graph: there is none to compare it with")
    return older[0], after


def version_diff(before: JobVersionLine, after: JobVersionLine) -> dict[str, Any]:
    """Return what differs between two versions of a job, as JSON values."""
    changes = list(job_version_reasons(before, after))
    return {"before": before.value(), "after": after.value(), "changes": changes}


@dataclass(frozen=True, slots=True)
class DatasetVersionLine:
    """One version of a dataset; ``schema`` is ``[[name, type], [name], …]``, None if it is unknown.

    ``position`` is its moment, after which the next page of a list begins.
    """

    id: str
    at: str | None
    made_by: str | None
    job: Key | None
    state: str | None
    external: str | None
    schema: list[list[str]] | None
    readers: int
    position: tuple[int, str]
    reasons: tuple[str, ...] = ()

    def value(self) -> dict[str, Any]:
        """Return it as JSON values."""
        facts = {
            "id": self.id,
            "at": self.at,
            "madeBy": self.made_by,
            "job": self.job and list(self.job),
            "state": self.state,
            "external": self.external,
            "schema": self.schema,
        }
        return present(facts) | {"readers": self.readers, "reasons": list(self.reasons)}


def dataset_versions(
    reader: GraphReader, dataset: Node, limit: int = 50, before: tuple[int, str] = NEWEST
) -> list[DatasetVersionLine]:
    """Return the versions of a dataset that have a moment and come ``before`` another one, the newest first.

    Changes of the schema are reasons.
    """
    parameters = {"dataset": dataset.key, "moment": before[0], "tie": before[1], "limit": limit + 1}
    lines = [_dataset_line(row) for row in reader.rows("versions/of_dataset", **parameters)]
    return [_with_schema_reason(line, older) for line, older in zip_longest(lines[:limit], lines[1 : limit + 1])]


def dataset_version(reader: GraphReader, dataset: Node, version: str) -> DatasetVersionLine:
    """Return the version of a dataset that has this id and a moment; NotFound if there is none."""
    positions = reader.rows("versions/position_in_dataset", dataset=dataset.key, id=version)
    # A list begins after a moment: with the least text greater than the version's own it begins with the version.
    after = [(row["moment"], row["tie"] + "\0") for row in positions]
    for line in dataset_versions(reader, dataset, 1, after[0]) if after else ():
        if line.id == version:
            return line
    raise NotFound(f"no version {version!r} of {' '.join(dataset.name)}")


def _dataset_line(row: Row) -> DatasetVersionLine:
    job = None if row["namespace"] is None else (row["namespace"], row["name"])
    schema = json.loads(row["schema"]) if row["schema"] else None
    return DatasetVersionLine(
        id=row["id"],
        at=time_text(row["moment"]),
        made_by=row["madeBy"],
        job=job,
        state=row["state"],
        external=row["external"],
        schema=schema,
        readers=row["readers"],
        position=(row["moment"], row["tie"]),
    )


def _with_schema_reason(line: DatasetVersionLine, before: DatasetVersionLine | None) -> DatasetVersionLine:
    reason = "" if before is None else schema_change(before.schema, line.schema)
    return replace(line, reasons=(reason,) if reason else ())


def schema_change(before: list[list[str]] | None, after: list[list[str]] | None) -> str:
    """Return how a schema has changed, as text; "" if it has not, or if either is unknown.

    >>> schema_change([["a", "int"], ["b", "int"]], [["a", "long"], ["c"]])
    'schema changed: + c - b, a int to long'
    """
    if before is None or after is None:
        return ""
    old, new = ({field[0]: field[1] if len(field) > 1 else "" for field in fields} for fields in (before, after))
    names = [f"+ {name}" for name in new if name not in old] + [f"- {name}" for name in old if name not in new]
    types = [
        f"{name} {old[name] or 'none'} to {new[name] or 'none'}"
        for name in new
        if name in old and old[name] != new[name]
    ]
    return "schema changed: " + ", ".join(filter(None, [" ".join(names), *types])) if names or types else ""
