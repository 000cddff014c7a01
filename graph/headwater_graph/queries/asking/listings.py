"""Lists of runs, versions, names, findings and rows as answers of the reading API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from headwater_graph.queries.answers import Node
from headwater_graph.queries.free_cypher.run import CypherResult
from headwater_graph.queries.presentation.catalog_texts import (
    DATASET_VERSION_HEAD,
    JOB_VERSION_HEAD,
    dataset_version_cells,
    job_version_cells,
)
from headwater_graph.queries.presentation.run_texts import RUN_HEAD, run_cells
from headwater_graph.queries.reports.reports import Report
from headwater_graph.queries.runs.history import DatasetVersionLine, JobVersionLine
from headwater_graph.queries.runs.runs import RunLine
from headwater_graph.queries.values import reference

from .answers import Listing

Version = TypeVar("Version", DatasetVersionLine, JobVersionLine)


def run_list(found: Sequence[RunLine], limit: int) -> Listing[RunLine]:
    """Return at most ``limit`` runs as an answer."""
    lines, more = tuple(found[:limit]), len(found) > limit
    whole = {"runs": [line.value() for line in lines], "more": more}
    return Listing(lines, more, whole, RUN_HEAD, tuple(map(run_cells, lines)), "no runs")


def version_list(lines: Sequence[Version], more: bool) -> Listing[Version]:
    """Return versions of a dataset or job as an answer."""
    whole = {"versions": [line.value() for line in lines], "more": more}
    rows = tuple(job_version_cells(v) if isinstance(v, JobVersionLine) else dataset_version_cells(v) for v in lines)
    is_of_job = any(isinstance(line, JobVersionLine) for line in lines)
    head = JOB_VERSION_HEAD if is_of_job else DATASET_VERSION_HEAD
    return Listing(tuple(lines), more, whole, head, rows, "no version: no run or event is known that made one")


def found_nodes(found: Sequence[Node], limit: int) -> Listing[Node]:
    """Return at most ``limit`` nodes that a search has found as an answer."""
    nodes, more = tuple(found[:limit]), len(found) > limit
    whole = {"nodes": [reference(node) for node in nodes], "more": more}
    rows = tuple((node.kind, node.name[0], ".".join(node.name[1:])) for node in nodes)
    return Listing(nodes, more, whole, ("kind", "namespace", "name"), rows, "no name contains this text")


def report_rows(found: Report) -> Listing[tuple[str | int, ...]]:
    """Return a report as an answer."""
    return Listing(found.rows, found.truncated, found.value(), found.head, found.rows, f"{found.title}: none")


def cypher_rows(found: CypherResult) -> Listing[dict[str, Any]]:
    """Return the rows of a Cypher query as an answer."""
    whole = {"columns": list(found.columns), "rows": list(found.rows), "more": found.more}
    rows = tuple(tuple(row[name] for name in found.columns) for row in found.rows)
    return Listing(found.rows, found.more, whole, found.columns, rows, "no rows")
