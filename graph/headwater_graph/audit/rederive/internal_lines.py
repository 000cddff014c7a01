"""The content of a graph that its dump does not show, line by line: of the stored graph and of the rederived one.

These are node properties that queries read, moments that later batches read, and edges that repeat what the dump takes from
elsewhere. A line is canonical JSON with a ``kind`` that names the node or edge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from itertools import chain, groupby

from headwater_avro.canonical import canonical
from headwater_avro.names import node_key
from headwater_graph.apply.entities import facets_text
from headwater_graph.apply.run_changes import run_row
from headwater_graph.audit.rederive.edges import column_rows, edge_rows
from headwater_graph.audit.rederive.facts import REMOVED
from headwater_graph.audit.rederive.graph import RederivedGraph
from headwater_graph.audit.rederive.spill import Spill
from headwater_graph.model.facet_properties import dataset_properties_of, job_properties_of
from headwater_graph.model.node_keys import dataset_node_key, job_node_key
from headwater_graph.model.records import DatasetRecord, JobRecord, RunRecord, unpack
from headwater_graph.model.values import Row
from headwater_graph.rules import facets as read
from headwater_graph.rules.runs import read_run
from headwater_graph.store.parameters import TIE_LENGTH
from headwater_graph.store.port import Scans


def stored_lines(store: Scans) -> Iterator[bytes]:
    """Yield, unsorted, the lines of what a store contains besides its dump."""
    for kind, scan, _ in _KINDS:
        properties_of = _DERIVED_PROPERTIES.get(scan)
        parameters = {"properties": list(properties_of("{}"))} if properties_of else {}
        for row in store.scan(scan, **parameters):
            yield _line(kind, _shortened(row))


_DERIVED_PROPERTIES: dict[str, Callable[[str], Row]] = {
    "check/jobs": job_properties_of,
    "check/datasets": dataset_properties_of,
}
"""The properties that follow from a node's facets, by scan."""


def rederived_lines(graph: RederivedGraph) -> Iterator[bytes]:
    """Yield, unsorted, the lines of what a store should contain besides its dump."""
    for kind, _, derive in _KINDS:
        for row in derive(graph):
            yield _line(kind, row)


def _line(kind: str, row: Row) -> bytes:
    members = {name: sorted(value) if name in _SETS else value for name, value in row.items()}
    present = {k: v for k, v in members.items() if v is not None and v is not False and v != []}
    return (canonical({"kind": kind} | present) + "\n").encode()


_SETS = frozenset(("runOf", "parents", "parentJobs", "of", "inputs", "outputs", "aliases"))
"""Members whose order has no meaning."""


def _shortened(row: Row) -> Row:
    """Return a stored row with a digest of its facets, and with texts of moments truncated as in an index."""
    row = {**row, **dict(row.get("properties", ()))}
    row.pop("properties", None)
    if "facets" in row:
        row["facets"] = _digest(row["facets"] or "{}")
    if row.get("tie") is not None:
        row["tie"] = row["tie"][:TIE_LENGTH]
    return row


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=16).hexdigest()


# ---- nodes ---------------------------------------------------------------------------------------------------------


def _jobs(graph: RederivedGraph) -> Iterator[Row]:
    for key, packed in graph.records("scan/jobs", graph.facts.jobs):
        record = unpack(packed, JobRecord) if packed else JobRecord()
        facets = facets_text(record.facets)
        yield job_properties_of(facets) | {
            "key": list(key),
            "recorded": packed is not None or graph.facts.jobs[key],
            "facets": _digest(facets),
            "parents": [list(read.key_from(record.parent[2]))] if record.parent else [],
        }


def _datasets(graph: RederivedGraph) -> Iterator[Row]:
    for key, packed in graph.records("scan/datasets", graph.facts.datasets):
        record = unpack(packed, DatasetRecord) if packed else DatasetRecord()
        aliases = read.aliases_of(read.living(record.facets, "symlinks"))
        facets = facets_text(record.facets)
        yield dataset_properties_of(facets) | {
            "key": list(key),
            "recorded": packed is not None or graph.facts.datasets[key],
            "facets": _digest(facets),
            "saysDrop": read.says_drop(record.facets),
            "aliases": [list(alias) for alias in aliases if alias != key],
        }


_OF_RUN = (
    "state",
    "started",
    "ended",
    "last",
    "moment",
    "tie",
    "streaming",
    "lineageUnknown",
    "codeVersion",
    "conflicts",
    "error",
)


def _runs(graph: RederivedGraph) -> Iterator[Row]:
    for id_, packed, parts in graph.runs():
        if packed is None:
            removed = parts.get(REMOVED, [])
            made = any(len(part) > 1 for part in removed)
            yield {"id": id_, "placeholder": True, "removed": bool(removed), "made": made}
            continue
        run = read_run(id_, unpack(packed, RunRecord))
        row = run_row(run, packed)
        yield _shortened({name: row[name] for name in _OF_RUN}) | {
            "id": id_,
            "job": row["job"],
            "runOf": [list(run.job)],
            "parents": [run.parent.run_id] if run.parent.run_id else [],
            "parentJobs": [list(run.parent.job)] if run.parent.job else [],
        }


def _job_versions(graph: RederivedGraph) -> Iterator[Row]:
    for _, row in graph.job_versions:
        version = row.version
        yield {
            "id": version.id,
            "of": [list(version.job)],
            "from": version.since[0],
            "to": row.end,
            "tie": version.since[1][:TIE_LENGTH],
            "codeMoment": version.code_since[0] if version.code_since else None,
            "codeTie": version.code_since[1] if version.code_since else None,
            "inputs": [list(key) for key in version.inputs],
            "outputs": [list(key) for key in version.outputs],
            "lastRun": row.last[0] if row.last else None,
            "lastRunAt": row.last[1] if row.last else None,
            "lastRunState": row.status[0] if row.status else None,
            "lastRunStreaming": row.status[1] if row.status else None,
            "retainedNumber": version.retained.number if version.retained else None,
        }


def _dataset_versions(graph: RederivedGraph) -> Iterator[Row]:
    for _, row in graph.dataset_versions:
        yield {
            "id": row.id,
            "dataset": dataset_node_key(row.dataset),
            "at": row.moment[0] if row.is_made else None,
            "tie": row.moment[1][:TIE_LENGTH] if row.is_made else None,
            "drops": row.drops,
            "retained": row.is_retained,
        }


def _job_events(graph: RederivedGraph) -> Iterator[Row]:
    for (text,), placed in graph.placed_events:
        yield {"text": text, "job": job_node_key(placed.job), "moment": placed.time, "version": placed.version}


def _fields(graph: RederivedGraph) -> Iterator[Row]:
    with Spill(bool) as paths:
        for row in chain.from_iterable(map(column_rows, graph.jobs_with_sources())):
            for path in (row["source"], row["target"]):
                paths.add(path, path[:2] in graph.facts.datasets)
        for path, group in groupby(paths, key=lambda row: row[0]):
            _, known = next(group)
            yield {"path": list(path), "of": [list(path[:2])] if known else []}


# ---- edges ---------------------------------------------------------------------------------------------------------


def _reads(graph: RederivedGraph) -> Iterator[Row]:
    for _, row in graph.reads:
        reader, external = row.reader, row.reader.external
        yield {
            "run": reader.run_id,
            "version": row.version,
            "dataset": dataset_node_key(reader.dataset),
            "moment": reader.moment[0] if external is None else None,
            "exactMoment": None if external is None else reader.moment[0],
            "externalKey": None if external is None else node_key("external", external),
        }


def _current_edges(graph: RederivedGraph) -> Iterator[Row]:
    for row in chain.from_iterable(map(edge_rows, graph.jobs_with_sources())):
        yield {"type": row["type"], "job": list(row["job"]), "dataset": list(row["dataset"]), "since": row["since"]}


_KINDS: tuple[tuple[str, str, Callable[[RederivedGraph], Iterable[Row]]], ...] = (
    ("Job", "check/jobs", _jobs),
    ("Dataset", "check/datasets", _datasets),
    ("Run", "check/run_nodes", _runs),
    ("JobVersion", "check/job_versions", _job_versions),
    ("DatasetVersion", "check/dataset_versions", _dataset_versions),
    ("JobEvent", "check/placed_events", _job_events),
    ("Field", "check/fields", _fields),
    ("READ_BY", "check/reads", _reads),
    ("FEEDS or PRODUCES", "check/edges", _current_edges),
)
