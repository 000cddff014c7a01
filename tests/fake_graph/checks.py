"""The scans of a check on the fake graph, as the files ``cypher/check`` do them in Neo4j (see ``store``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from headwater_avro.names import node_key
from headwater_graph.model.values import Row

Tables: TypeAlias = dict[str, dict[Any, Row]]


def _key(row: Row) -> list[str]:
    return [row["namespace"], row["name"]]


def _runs(tables: Tables) -> Iterator[Row]:
    for _, row in sorted(tables["Run"].items()):
        if row.get("record") is not None:
            yield {"id": row["id"], "record": row["record"]}


def _records(tables: Tables, keys: Sequence[str]) -> Iterator[Row]:
    found = (tables["Run"].get(key) for key in keys)
    yield from ({"id": row["id"], "record": row["record"]} for row in found if row and row.get("record") is not None)


def _job_events(tables: Tables) -> Iterator[Row]:
    yield from ({"text": row["text"]} for row in tables["JobEvent"].values())


def _dataset_events(tables: Tables) -> Iterator[Row]:
    yield from ({"text": row["text"]} for row in tables["DatasetVersion"].values() if row.get("text") is not None)


def _deferred_work(tables: Tables) -> Iterator[Row]:
    yield from ({"kind": kind} for kind in {row["kind"] for row in tables["DeferredWork"].values()})


def _epoch(tables: Tables) -> Iterator[Row]:
    yield from tables["Writer"].values()


def _jobs(tables: Tables, properties: Sequence[str]) -> Iterator[Row]:
    for hash_, row in tables["Job"].items():
        parents = [_key(tables["Job"][parent]) for child, parent in tables["CHILD_OF"] if child == hash_]
        stored = {"facets": row.get("facets"), "properties": [[name, row.get(name)] for name in properties]}
        yield stored | {"key": _key(row), "recorded": row.get("record") is not None, "parents": parents}


def _datasets(tables: Tables, properties: Sequence[str]) -> Iterator[Row]:
    for hash_, row in tables["Dataset"].items():
        aliases = [_key(tables["Dataset"][other]) for dataset, other in tables["ALIAS_OF"] if dataset == hash_]
        stored = {"facets": row.get("facets"), "properties": [[name, row.get(name)] for name in properties]}
        stored |= {"saysDrop": row.get("saysDrop"), "recorded": row.get("record") is not None}
        yield stored | {"key": _key(row), "aliases": aliases}


_OF_RUN = (
    "id",
    "job",
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


def _run_nodes(tables: Tables) -> Iterator[Row]:
    parents: dict[str, list[str]] = {}
    for child, parent in tables["CHILD_OF"]:
        parents.setdefault(child, []).append(parent)
    for hash_, row in tables["Run"].items():
        named = parents.get(hash_, [])
        owner = tables["RUN_OF"].get(hash_)
        yield {name: row.get(name) for name in _OF_RUN} | {
            "placeholder": row.get("record") is None,
            "removed": row.get("removed"),
            "made": row.get("made"),
            "runOf": [_key(tables["Job"][owner["job"]])] if owner else [],
            "parents": [tables["Run"][parent]["id"] for parent in named if parent in tables["Run"]],
            "parentJobs": [_key(tables["Job"][parent]) for parent in named if parent in tables["Job"]],
        }


def _job_versions(tables: Tables) -> Iterator[Row]:
    for id_, row in tables["JobVersion"].items():
        yield {
            name: row.get(name)
            for name in (
                "tie",
                "codeMoment",
                "codeTie",
                "lastRun",
                "lastRunAt",
                "lastRunState",
                "lastRunStreaming",
                "retainedNumber",
            )
        } | {
            "id": id_,
            "from": row["moment"],
            "to": row.get("end"),
            "of": [_key(tables["Job"][row["job"]])],
            "inputs": [_key(tables["Dataset"][key]) for key in row["inputs"]],
            "outputs": [_key(tables["Dataset"][key]) for key in row["outputs"]],
        }


def _dataset_versions(tables: Tables) -> Iterator[Row]:
    for row in tables["DatasetVersion"].values():
        yield {name: row.get(name) for name in ("id", "dataset", "tie", "drops", "retained")} | {"at": row["moment"]}


def _retained_reads(tables: Tables, keys: Sequence[str]) -> Iterator[Row]:
    yield from (
        {"retainedSources": job["retainedSources"]}
        for key in keys
        if (job := tables["Job"].get(key, {})).get("retainedSources")
    )


def _retained_job_versions(tables: Tables) -> Iterator[Row]:
    for row in tables["JobVersion"].values():
        if row.get("retainedNumber") is not None:
            yield row | {"job": _key(tables["Job"][row["job"]])}


def _retained_dataset_versions(tables: Tables) -> Iterator[Row]:
    for row in tables["DatasetVersion"].values():
        if row.get("retained"):
            yield row | {"dataset": _key(tables["Dataset"][row["dataset"]])}


def _placed_events(tables: Tables) -> Iterator[Row]:
    for row in tables["JobEvent"].values():
        yield {name: row.get(name) for name in ("text", "job", "moment", "version")}


def _fields(tables: Tables) -> Iterator[Row]:
    for path, row in tables["Field"].items():
        yield {"path": list(path), "of": [_key(tables["Dataset"][row["of"]])] if row["of"] in tables["Dataset"] else []}


def _reads(tables: Tables) -> Iterator[Row]:
    for (run, _), row in tables["READ_BY"].items():
        exact = row["external"] is not None
        yield {
            "run": tables["Run"][run]["id"],
            "version": row["version"],
            "dataset": row["dataset"],
            "moment": None if exact else row["moment"],
            "exactMoment": row["moment"] if exact else None,
            "externalKey": node_key("external", row["external"]) if exact else None,
        }


def _edges(tables: Tables) -> Iterator[Row]:
    for type_ in ("FEEDS", "PRODUCES"):
        for row in tables[type_].values():
            ends = {"job": _key(tables["Job"][row["job"]]), "dataset": _key(tables["Dataset"][row["dataset"]])}
            yield ends | {"type": type_, "since": row["since"]}


CHECK_SCANS: dict[str, Callable[..., Iterator[Row]]] = {
    "check/runs": _runs,
    "check/records": _records,
    "check/job_events": _job_events,
    "check/dataset_events": _dataset_events,
    "check/deferred_work": _deferred_work,
    "check/epoch": _epoch,
    "read/horizon": lambda tables: iter([{"horizon": row.get("horizon")} for row in tables["Writer"].values()]),
    "check/jobs": _jobs,
    "check/datasets": _datasets,
    "check/run_nodes": _run_nodes,
    "check/job_versions": _job_versions,
    "check/dataset_versions": _dataset_versions,
    "check/retained_reads": _retained_reads,
    "check/retained_job_versions": _retained_job_versions,
    "check/retained_dataset_versions": _retained_dataset_versions,
    "check/placed_events": _placed_events,
    "check/fields": _fields,
    "check/reads": _reads,
    "check/edges": _edges,
    # The fake graph has no summaries: they are copies.
    "check/summaries": lambda _: iter(()),
}
