"""The scans of the dump on the fake graph, as the files ``cypher/scan`` do them in Neo4j (see ``store``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from headwater_avro.names import Key
from headwater_graph.model.values import Moment, Row

Tables: TypeAlias = dict[str, dict[Any, Row]]


def moment_of(row: Row) -> Moment:
    """Return the moment of a version, run or event."""
    return (row["moment"], row.get("madeBy") or row.get("text") or row.get("id") or "")


def _key(row: Row) -> Key:
    return (row["namespace"], row["name"])


def _scan_jobs(tables: Tables) -> Iterator[Row]:
    for row in tables["Job"].values():
        yield {
            "key": _key(row),
            "record": row.get("record"),
            "current": row.get("current"),
            "retainedSources": row.get("retainedSources"),
        }


def _scan_job_versions(tables: Tables) -> Iterator[Row]:
    rows = [row for row in tables["JobVersion"].values() if row["moment"] is not None]
    for row in sorted(rows, key=lambda row: (row["job"], moment_of(row))):
        yield row | {"job": _key(tables["Job"][row["job"]]), "runs": row.get("runs", 0), "end": row.get("end")}


def _scan_runs(tables: Tables) -> Iterator[Row]:
    reads: dict[str, list[Any]] = {}
    for (run, dataset), row in tables["READ_BY"].items():
        reads.setdefault(run, []).append([*_key(tables["Dataset"][dataset]), row["version"]])
    writes: dict[str, list[Any]] = {}
    for (run, id_), row in tables["WROTE"].items():
        writes.setdefault(run, []).append([*_key(tables["Dataset"][row["dataset"]]), id_])
    for key, row in tables["Run"].items():
        version = tables["RAN"].get(key, {}).get("version")
        edges = {"reads": reads.get(key, []), "writes": writes.get(key, [])}
        yield {"id": row["id"], "record": row.get("record"), "version": version} | edges


def _scan_datasets(tables: Tables) -> Iterator[Row]:
    aliases: dict[str, list[Key]] = {}
    for dataset, other in tables["ALIAS_OF"]:
        aliases.setdefault(dataset, []).append(_key(tables["Dataset"][other]))
        aliases.setdefault(other, []).append(_key(tables["Dataset"][dataset]))
    for hash_, row in tables["Dataset"].items():
        stored = {name: row.get(name) for name in ("record", "current", "dropped", "retainedRead")}
        yield stored | {"key": _key(row), "aliases": aliases.get(hash_, [])}


def _scan_dataset_versions(tables: Tables) -> Iterator[Row]:
    for row in tables["DatasetVersion"].values():
        yield row | {"dataset": _key(tables["Dataset"][row["dataset"]])}


def _scan_edges(tables: Tables) -> Iterator[Row]:
    for type_ in ("FEEDS", "PRODUCES"):
        for row in tables[type_].values():
            version = tables["JobVersion"].get(row["version"], {})
            keys = {"job": _key(tables["Job"][row["job"]]), "dataset": _key(tables["Dataset"][row["dataset"]])}
            counted = {"runs": version.get("runs", 0), "lastRun": version.get("lastRun")}
            yield row | keys | counted | {"type": type_}


SCANS: dict[str, Callable[..., Iterator[Row]]] = {
    "scan/jobs": _scan_jobs,
    "scan/job_versions": _scan_job_versions,
    "scan/runs": _scan_runs,
    "scan/datasets": _scan_datasets,
    "scan/dataset_versions": _scan_dataset_versions,
    "scan/edges": _scan_edges,
    "scan/columns": lambda tables: iter(tables["DERIVES"].values()),
}
