"""The status of datasets and jobs (dropped, lineage unknown, streaming, silent), and their facts: last run, owners, version."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import compress
from typing import Any, TypeAlias

from headwater_graph.queries.answers import Node
from headwater_graph.queries.reader import GraphReader
from headwater_graph.queries.values import present, time_text

RUN_TIMEOUT = timedelta(hours=24)
"""The time without events after which a batch run counts as silent (specification 2.9)."""

MAX_SILENT = 100_000
"""How many silent runs are read to find their jobs."""

OPEN_STATES = ("NEW", "RUNNING")
SILENT = "silent"
JOB_STATUS = ("lineage unknown", "streaming", SILENT, "no run yet")

NodeStatus: TypeAlias = tuple[tuple[str, ...], dict[str, Any]]
"""The status and the facts of a node."""

UNKNOWN_STATUS: NodeStatus = ((), {})
DROPPED = ("dropped",)


_time_text = lru_cache(maxsize=16_384)(time_text)
"""Cached, since all that a run wrote, and the version that began with it, have its time."""


def with_status(
    reader: GraphReader,
    nodes: Iterable[Node],
    now: datetime,
    as_of: datetime | None = None,
    known: Mapping[str, NodeStatus] | None = None,
) -> tuple[Node, ...]:
    """Return datasets and jobs with their status and facts, in the order given.

    As of a time, a job's facts are those of the version that was valid then, without any of later runs. What is ``known``,
    by key, is not read.
    """
    found, status = list(nodes), dict(known or {})
    datasets = [node.key for node in found if node.kind == "dataset" and node.key not in status]
    status |= dataset_status(_lists(reader, "status/datasets", datasets))
    jobs = [node.key for node in found if node.kind == "job" and node.key not in status]
    if as_of is None:
        status |= job_status(_lists(reader, "status/jobs", jobs), _silent_jobs(reader, now) if jobs else ())
    else:
        status |= job_status(_lists(reader, "status/jobs_at", jobs, time=as_of), ())
    return tuple(_with(node, status.get(node.key, UNKNOWN_STATUS)) for node in found)


def _with(node: Node, status: NodeStatus) -> Node:
    names, facts = status
    return node if node.facts is facts else Node(node.key, node.kind, node.name, node.depth, names, facts)


def _silent_jobs(reader: GraphReader, now: datetime) -> set[str]:
    rows = reader.rows("status/silent_jobs", before=now - RUN_TIMEOUT, limit=MAX_SILENT)
    return {key for row in rows for key in row["keys"]}


def _lists(reader: GraphReader, question: str, keys: Sequence[str], **more: object) -> list[Sequence[Any]]:
    rows = reader.rows(question, keys=keys, **more) if keys else []
    return [values for row in rows for values in row["status"]]


def dataset_status(rows: Iterable[Sequence[Any]]) -> dict[str, NodeStatus]:
    """Return the status of datasets by key, from the lists of the question ``status/datasets``."""
    status: dict[str, NodeStatus] = {}
    for key, dropped, version, time, run, external, owners in rows:
        facts = {"version": version, "writtenAt": _time_text(time), "writtenBy": run}
        if external is not None:
            facts["external"] = external
        if owners:
            facts["owners"] = owners
        status[key] = (DROPPED if dropped else (), _known(facts))
    return status


def job_status(rows: Iterable[Sequence[Any]], silent: Container[str]) -> dict[str, NodeStatus]:
    """Return the status of jobs by key, from the lists of the question ``status/jobs``; ``silent`` are keys of silent jobs."""
    status: dict[str, NodeStatus] = {}
    for key, version, since, unknown, code, runs, last_run, last_run_at, state, streams, owners in rows:
        facts = {"version": version, "since": _time_text(since)}
        if code is not None:
            facts["codeVersion"] = code
        facts |= {"runs": runs, "lastRun": last_run, "lastRunAt": _time_text(last_run_at), "lastRunState": state}
        if owners:
            facts["owners"] = owners
        holds = (unknown, streams, key in silent, version is None)
        status[key] = (tuple(compress(JOB_STATUS, holds)) if any(holds) else (), _known(facts))
    return status


def _known(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the facts without absent values; most nodes have none."""
    return present(facts) if None in facts.values() else facts
