"""What one sees of a node at a glance: dropped, placeholder, lineage unknown, streaming, silent, last run, owners."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from headwater_avro.times import format_time

from .answers import Node
from .keys import run_key, run_keys
from .reader import GraphReader, Row

RUN_TIMEOUT = timedelta(hours=24)
"""How long nothing is heard of a batch run until it counts as silent (SPEC 2.9)."""

MAX_SILENT = 100_000
"""How many silent runs are looked at to mark their jobs."""

STREAMING = ("STREAMING", "SERVICE")
OPEN_STATES = ("NEW", "RUNNING")


def with_marks(
    reader: GraphReader, nodes: Iterable[Node], now: datetime, as_of: datetime | None = None
) -> tuple[Node, ...]:
    """Return datasets and jobs with their marks and facts, in order of distance, kind and name.

    As of a time, a job's facts are those of its version of then, and nothing is told of later runs.
    """
    found = list(nodes)
    jobs = [node.key for node in found if node.kind == "job"]
    datasets = [node.key for node in found if node.kind == "dataset"]
    about_jobs = _jobs(reader, jobs, now - RUN_TIMEOUT) if as_of is None else _jobs_at(reader, jobs, as_of)
    told = {**_datasets(reader, datasets), **about_jobs}
    marked = (Node(node.key, node.kind, node.name, node.depth, *told[node.key]) for node in found)
    return tuple(sorted(marked, key=lambda node: (node.depth, node.kind, node.name)))


def _datasets(reader: GraphReader, keys: Sequence[str]) -> dict[str, tuple[tuple[str, ...], dict[str, Any]]]:
    rows = {row["key"]: row for row in reader.rows("dataset_marks", keys=keys)} if keys else {}
    return {key: (_dataset_words(rows[key]), _dataset_facts(rows[key])) if key in rows else ((), {}) for key in keys}


def _dataset_words(row: Row) -> tuple[str, ...]:
    return ("dropped",) if row["dropped"] else ()


def _dataset_facts(row: Row) -> dict[str, Any]:
    facts = {
        "version": row["version"],
        "writtenAt": time_text(row["time"]),
        "writtenBy": row["run"],
        "external": row["external"],
        "owners": owners(facets_of(row["facets"])),
    }
    return told(facts)


def _jobs(
    reader: GraphReader, keys: Sequence[str], silent_before: datetime
) -> dict[str, tuple[tuple[str, ...], dict[str, Any]]]:
    if not keys:
        return {}
    rows = {row["key"]: row for row in reader.rows("job_marks", keys=keys)}
    silent = {key for row in reader.rows("silent_jobs", before=silent_before, limit=MAX_SILENT) for key in row["keys"]}
    last = [row["lastRun"] for row in rows.values() if row["lastRun"]]
    runs = {row["key"]: row for row in reader.rows("run_marks", keys=run_keys(last))} if last else {}
    return {key: _job(rows[key], runs, key in silent) if key in rows else ((), {}) for key in keys}


def _jobs_at(
    reader: GraphReader, keys: Sequence[str], time: datetime
) -> dict[str, tuple[tuple[str, ...], dict[str, Any]]]:
    rows = {row["key"]: row for row in reader.rows("job_marks_at", keys=keys, time=time)} if keys else {}
    return {key: _job(rows[key], {}, silent=False) if key in rows else ((), {}) for key in keys}


def _job(row: Row, runs: Mapping[str, Row], silent: bool) -> tuple[tuple[str, ...], dict[str, Any]]:
    facets = facets_of(row["facets"])
    last = runs.get(run_key(row["lastRun"])) if row["lastRun"] else None
    words = (
        ("lineage unknown", bool(row["lineageUnknown"])),
        ("streaming", is_streaming(facets) or bool(last and last["streaming"])),
        ("silent", silent),
        ("no run yet", row["version"] is None),
    )
    facts = {
        "version": row["version"],
        "since": time_text(row["since"]),
        "codeVersion": row["codeVersion"],
        "runs": row["runs"],
        "lastRun": row["lastRun"],
        "lastRunAt": time_text(row["lastRunAt"]),
        "lastRunState": last["state"] if last else None,
        "owners": owners(facets),
    }
    return tuple(word for word, holds in words if holds), told(facts)


def facets_of(text: str | None) -> dict[str, Any]:
    """Return the facets that a node's JSON text holds; none where there is no text."""
    facets = json.loads(text) if text else {}
    return facets if isinstance(facets, dict) else {}


def is_streaming(facets: Mapping[str, Any]) -> bool:
    """Tell whether the job facet ``jobType`` says that the job streams (SPEC 3.4)."""
    job_type = facets.get("jobType")
    return isinstance(job_type, dict) and job_type.get("processingType") in STREAMING


def owners(facets: Mapping[str, Any]) -> list[str]:
    """Return the names of the facet ``ownership``, in its order."""
    facet = facets.get("ownership")
    listed = facet.get("owners") if isinstance(facet, dict) else None
    named = [owner.get("name") for owner in listed if isinstance(owner, dict)] if isinstance(listed, list) else []
    return [name for name in named if isinstance(name, str) and name]


def time_text(value: Any) -> str | None:
    """Return a time of the graph, or one in microseconds since 1970, as SPEC 9 prints it; None for none."""
    if value is None:
        return None
    if isinstance(value, int):
        return format_time(value)
    time: datetime = value.to_native() if hasattr(value, "to_native") else value
    return time.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def told(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts that tell something: without absent values and empty lists."""
    return {name: value for name, value in facts.items() if value is not None and value != []}
