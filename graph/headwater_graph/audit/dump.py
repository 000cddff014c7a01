"""The canonical dump of specification 9: the whole graph as JSON lines, sorted bytewise, from any store.

The rows of the store's scans are rendered line by line, and lines are sorted outside memory, so that a graph of any size is
dumped in constant memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Protocol, cast

from headwater_avro.canonical import Json, canonical, parsed
from headwater_avro.names import Key
from headwater_avro.times import format_time
from headwater_graph.audit.sorted_lines import sort_lines
from headwater_graph.model.records import DatasetRecord, Facets, JobRecord, Listing, RunRecord, unpack
from headwater_graph.model.values import Row
from headwater_graph.rules import facets as read
from headwater_graph.rules.runs import read_run, run_job_facets, sides


class Scanner(Protocol):
    """A store that yields the rows of each scan, and so can be dumped."""

    def scan(self, name: str) -> Iterator[Row]:
        """Yield the rows of a scan: ``scan/jobs``, ``scan/job_versions``, ``scan/runs`` and so on."""


def dump(store: Scanner) -> Iterator[bytes]:
    """Yield the lines of the dump, each with its newline."""
    return sort_lines(_lines(store))


def _lines(store: Scanner) -> Iterator[bytes]:
    for name, render in _RENDERERS:
        for line in render(store.scan(name)):
            yield (canonical({key: value for key, value in line.items() if value is not None}) + "\n").encode()


# ---- one renderer per kind -------------------------------------------------------------------------------------------

Line = dict[str, "Json | None"]


def _facets(facets: Facets) -> Json:
    return {name: cast("Json", parsed(instance[2])) for name, instance in facets.items()}


def _living(facets: Facets) -> Json:
    return _facets(read.without_deleted(facets))


def _time(micros: int | None) -> str | None:
    return None if micros is None else format_time(micros)


def _jobs(rows: Iterator[Row]) -> Iterator[Line]:
    for row in rows:
        record = unpack(row["record"], JobRecord) if row["record"] else JobRecord()
        parent = read.key_from(record.parent[2]) if record.parent else None
        yield {
            "kind": "job",
            "key": list(row["key"]),
            "parent": list(parent) if parent else None,
            "current": row["current"],
            "facets": _living(record.facets),
        }


def _job_versions(rows: Iterator[Row]) -> Iterator[Line]:
    for job, versions in groupby(rows, key=lambda row: tuple(row["job"])):
        number = 0
        for row in versions:
            number = max(number + 1, row.get("retainedNumber") or 0)
            inputs, outputs = cast("list[Json]", parsed(row["lineage"].encode()))
            yield {
                "kind": "jobVersion",
                "id": row["id"],
                "job": list(job),
                "number": number,
                "from": _time(row["moment"]),
                "to": _time(row["end"]),
                "madeBy": row["madeBy"],
                "codeVersion": row["codeVersion"],
                "lineageUnknown": row["lineageUnknown"] or None,
                "inputs": inputs,
                "outputs": outputs,
                "runs": row["runs"],
            }


def _runs(rows: Iterator[Row]) -> Iterator[Line]:
    for row in rows:
        if row["record"] is None:
            yield {"kind": "run", "id": row["id"], "placeholder": True}
        else:
            yield from _run(row, unpack(row["record"], RunRecord))


def _run(row: Row, record: RunRecord) -> Iterator[Line]:
    run = read_run(row["id"], record)
    versioned = run.moment is not None
    yield {
        "kind": "run",
        "id": run.id,
        "job": list(run.job),
        "state": run.state,
        "startedAt": _time(run.started),
        "endedAt": _time(run.ended),
        "version": row["version"],
        "parent": run.parent.run_id,
        "conflicts": [list(key) for key in run.conflicts] or None,
        "reads": _versions(row["reads"]) if versioned else [[list(key)] for key in run.inputs],
        "writes": _versions(row["writes"]) if versioned else [[list(key)] for key in run.outputs],
        "facets": _facets(record.facets),
    }
    job_type = read.living(run_job_facets(record), "jobType")
    inputs, outputs = sides(record, read.is_snapshot(job_type))
    yield from _sides(run.id, "input", inputs)
    yield from _sides(run.id, "output", outputs)


def _versions(edges: list[list[str]]) -> Json:
    return [[[namespace, name], id_] for namespace, name, id_ in sorted(edges)]


def _sides(run_id: str, side: str, listings: dict[Key, Listing]) -> Iterator[Line]:
    for key, listing in listings.items():
        if listing.own:
            facets = _facets(listing.own)
            yield {"kind": "runSide", "run": run_id, "side": side, "dataset": list(key), "facets": facets}


def _datasets(rows: Iterator[Row]) -> Iterator[Line]:
    for row in rows:
        record = unpack(row["record"], DatasetRecord) if row["record"] else DatasetRecord()
        aliases = sorted({tuple(key) for key in row["aliases"]} - {tuple(row["key"])})
        yield {
            "kind": "dataset",
            "key": list(row["key"]),
            "current": row["current"],
            "dropped": row["dropped"] or None,
            "aliases": [list(key) for key in aliases] or None,
            "facets": _living(record.facets),
        }


def _dataset_versions(rows: Iterator[Row]) -> Iterator[Line]:
    for row in rows:
        yield {
            "kind": "datasetVersion",
            "id": row["id"],
            "dataset": list(row["dataset"]),
            "at": _time(row["moment"]),
            "madeBy": row["madeBy"],
            "external": row["external"],
            "state": row["state"],
            "schema": None if row["schema"] is None else parsed(row["schema"].encode()),
        }


def _edges(rows: Iterator[Row]) -> Iterator[Line]:
    for row in rows:
        dataset, job = ["dataset", *row["dataset"]], ["job", *row["job"]]
        feeds = row["type"] == "FEEDS"
        inputs = None if feeds or row["inputs"] is None else parsed(row["inputs"].encode())
        yield {
            "kind": "edge",
            "from": cast("Json", dataset if feeds else job),
            "to": cast("Json", job if feeds else dataset),
            "version": row["version"],
            "since": _time(row["since"]),
            "lastRun": row["lastRun"],
            "runs": row["runs"],
            "inputs": inputs,
        }


def _column_edges(rows: Iterator[Row]) -> Iterator[Line]:
    for row in rows:
        yield {
            "kind": "columnEdge",
            "from": list(row["source"]),
            "to": list(row["target"]),
            "job": parsed(row["job"].encode()),
            "type": row["type"],
            "subtype": row["subtype"],
            "masking": row["masking"] or None,
            "description": row["description"],
            "undeclared": row["undeclared"] or None,
        }


_RENDERERS: tuple[tuple[str, Callable[[Iterator[Row]], Iterator[Line]]], ...] = (
    ("scan/jobs", _jobs),
    ("scan/job_versions", _job_versions),
    ("scan/runs", _runs),
    ("scan/datasets", _datasets),
    ("scan/dataset_versions", _dataset_versions),
    ("scan/edges", _edges),
    ("scan/columns", _column_edges),
)
