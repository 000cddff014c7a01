"""What one sees of a node at a glance: dropped, placeholder, lineage unknown, streaming, silent, last run, owners."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import compress
from typing import Any, TypeAlias

from headwater_avro.times import format_time
from headwater_graph.queries.answers import Node
from headwater_graph.queries.reader import GraphReader

RUN_TIMEOUT = timedelta(hours=24)
"""How long nothing is heard of a batch run until it counts as silent (specification 2.9)."""

MAX_SILENT = 100_000
"""How many silent runs are looked at to mark their jobs."""

OPEN_STATES = ("NEW", "RUNNING")
SILENT = "silent"
JOB_MARKS = ("lineage unknown", "streaming", SILENT, "no run yet")

Marked: TypeAlias = tuple[tuple[str, ...], dict[str, Any]]
"""The marks and the facts of a node."""

UNTOLD: Marked = ((), {})
DROPPED = ("dropped",)


@lru_cache(maxsize=16_384)
def _clock(micros: int | None) -> str | None:
    """The time of a run is that of all it wrote, and of the version that began with it: most are asked for again."""
    return None if micros is None else format_time(micros)


def with_marks(
    reader: GraphReader,
    nodes: Iterable[Node],
    now: datetime,
    as_of: datetime | None = None,
    known: Mapping[str, Marked] | None = None,
) -> tuple[Node, ...]:
    """Return datasets and jobs with their marks and facts, in the order given.

    As of a time, a job's facts are those of its version of then, and nothing is told of later runs. What is ``known``,
    by key, is not asked for.
    """
    found, marked = list(nodes), dict(known or {})
    datasets = [node.key for node in found if node.kind == "dataset" and node.key not in marked]
    marked |= marked_datasets(_asked(reader, "dataset_marks", datasets))
    jobs = [node.key for node in found if node.kind == "job" and node.key not in marked]
    marked |= _jobs(reader, jobs, now - RUN_TIMEOUT) if as_of is None else _jobs_at(reader, jobs, as_of)
    return tuple(_with(node, marked.get(node.key, UNTOLD)) for node in found)


def _with(node: Node, marked: Marked) -> Node:
    marks, facts = marked
    return node if node.facts is facts else Node(node.key, node.kind, node.name, node.depth, marks, facts)


def _jobs(reader: GraphReader, keys: Sequence[str], silent_before: datetime) -> dict[str, Marked]:
    if not keys:
        return {}
    silent = {key for row in reader.rows("silent_jobs", before=silent_before, limit=MAX_SILENT) for key in row["keys"]}
    return marked_jobs(_asked(reader, "job_marks", keys), silent)


def _jobs_at(reader: GraphReader, keys: Sequence[str], time: datetime) -> dict[str, Marked]:
    return marked_jobs(_asked(reader, "job_marks_at", keys, time=time), ())


def _asked(reader: GraphReader, question: str, keys: Sequence[str], **more: object) -> list[Sequence[Any]]:
    rows = reader.rows(question, keys=keys, **more) if keys else []
    return [marks for row in rows for marks in row["marks"]]


def marked_datasets(rows: Iterable[Sequence[Any]]) -> dict[str, Marked]:
    """Return the marks of datasets by key, from the lists of the question ``dataset_marks``."""
    marked: dict[str, Marked] = {}
    for key, dropped, version, time, run, external, owners in rows:
        facts = {"version": version, "writtenAt": _clock(time), "writtenBy": run}
        if external is not None:
            facts["external"] = external
        if owners:
            facts["owners"] = owners
        marked[key] = (DROPPED if dropped else (), _known(facts))
    return marked


def marked_jobs(rows: Iterable[Sequence[Any]], silent: Container[str]) -> dict[str, Marked]:
    """Return the marks of jobs by key, from the lists of the question ``job_marks``; ``silent`` are keys of silent jobs."""
    marked: dict[str, Marked] = {}
    for key, version, since, unknown, code, runs, last_run, last_run_at, state, streams, owners in rows:
        facts = {"version": version, "since": _clock(since)}
        if code is not None:
            facts["codeVersion"] = code
        facts |= {"runs": runs, "lastRun": last_run, "lastRunAt": _clock(last_run_at), "lastRunState": state}
        if owners:
            facts["owners"] = owners
        holds = (unknown, streams, key in silent, version is None)
        marked[key] = (tuple(compress(JOB_MARKS, holds)) if any(holds) else (), _known(facts))
    return marked


def _known(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts without absent values; what is absent of most nodes isn't among them in the first place."""
    return told(facts) if None in facts.values() else facts


def time_text(value: Any) -> str | None:
    """Return a time of the graph, or one in microseconds since 1970, as specification 9 prints it; None for none."""
    if value is None:
        return None
    if isinstance(value, int):
        return format_time(value)
    time: datetime = value.to_native() if hasattr(value, "to_native") else value
    return time.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def told(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts that tell something: without absent values and empty lists."""
    return {name: value for name, value in facts.items() if value is not None and value != []}
