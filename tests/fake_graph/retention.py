"""The queries and writes of retention on the fake graph, as the files ``cypher/retain`` and ``cypher/write`` do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from headwater_graph.model.values import Row

from .scans import moment_of

Tables: TypeAlias = dict[str, dict[Any, Row]]

_ENDED = ("COMPLETE", "ABORT", "FAIL")


def _is_removed(row: Row, horizon: int) -> bool:
    return row.get("state") in _ENDED and row["last"] < horizon


def _remains(row: Row | None, horizon: int) -> bool:
    return row is not None and row.get("record") is not None and not _is_removed(row, horizon)


# ---- queries -------------------------------------------------------------------------------------------------------


def _keys(label: str) -> Callable[..., Iterator[Row]]:
    def find(tables: Tables, after: str, limit: int) -> Iterator[Row]:
        for key in sorted(key for key in tables[label] if key > after)[:limit]:
            yield {"key": key} | {name: tables[label][key][name] for name in ("namespace", "name")}

    return find


def _job_versions(tables: Tables, keys: Sequence[str], horizon: int) -> Iterator[Row]:
    rows = [row for row in tables["JobVersion"].values() if row["job"] in keys and row.get("moment") is not None]
    for row in sorted(rows, key=lambda row: (row["job"], moment_of(row))):
        if row["moment"] < horizon:
            stored = {name: row[name] for name in ("job", "id", "moment", "madeBy", "codeMoment", "codeTie")}
            yield stored | {"text": moment_of(row)[1], "number": row.get("retainedNumber")}


def _first_runs(tables: Tables, keys: Sequence[str], horizon: int) -> Iterator[Row]:
    for key in keys:
        runs = [row for row in tables["Run"].values() if row.get("job") == key and row.get("moment") is not None]
        found = [moment_of(row) for row in runs if row["moment"] < horizon and _remains(row, horizon)]
        if found:
            yield {"job": key, "moment": min(found)[0], "id": min(found)[1]}


def _makers(tables: Tables, keys: Sequence[str], horizon: int) -> Iterator[Row]:
    yield from ({"id": tables["Run"][key]["id"]} for key in keys if _remains(tables["Run"].get(key), horizon))


def _runs(tables: Tables, horizon: int, limit: int) -> Iterator[Row]:
    removed = [(key, row) for key, row in tables["Run"].items() if _is_removed(row, horizon)]
    for key, row in removed[:limit]:
        children = [child for child, parent in tables["CHILD_OF"] if parent == key]
        read = [edge["version"] for (run, _), edge in tables["READ_BY"].items() if run == key]
        yield {name: row[name] for name in ("key", "id", "moment", "last")} | {
            "version": tables["RAN"].get(key, {}).get("version"),
            "named": any(_remains(tables["Run"][child], horizon) for child in children),
            "parents": [parent for child, parent in tables["CHILD_OF"] if child == key],
            "unmade": [id_ for id_ in read if tables["DatasetVersion"][id_]["moment"] is None],
        }


def _job_events(tables: Tables, keys: Sequence[str], horizon: int, limit: int) -> Iterator[Row]:
    found = [row for row in tables["JobEvent"].values() if row["job"] in keys and row["moment"] < horizon]
    yield from ({name: row[name] for name in ("key", "moment", "text")} for row in found[:limit])


def _dataset_versions(tables: Tables, keys: Sequence[str], horizon: int, limit: int) -> Iterator[Row]:
    found = [
        {name: row[name] for name in ("dataset", "id", "moment", "madeBy")}
        for row in tables["DatasetVersion"].values()
        if row["dataset"] in keys and row["moment"] is not None and row["moment"] < horizon
        if not _is_held(tables, row, horizon)
    ]
    yield from found[:limit]


def _is_held(tables: Tables, version: Row, horizon: int) -> bool:
    dataset = tables["Dataset"][version["dataset"]]
    if dataset.get("current") == version["id"] or _is_used(tables, version, horizon):
        return True
    later = [
        row
        for row in tables["DatasetVersion"].values()
        if row["dataset"] == version["dataset"] and row["moment"] is not None and moment_of(row) > moment_of(version)
    ]
    is_last_live_version = not version["drops"] and not any(not row["drops"] for row in later)
    return not any(row["moment"] < horizon for row in later) or bool(dataset.get("saysDrop") and is_last_live_version)


def _is_used(tables: Tables, version: Row, horizon: int) -> bool:
    makers = [run for run, id_ in tables["WROTE"] if id_ == version["id"]]
    readers = [run for (run, _), edge in tables["READ_BY"].items() if edge["version"] == version["id"]]
    return any(_remains(tables["Run"].get(run), horizon) for run in (*makers, *readers))


def _unmade_versions(tables: Tables, horizon: int) -> Iterator[Row]:
    current = {row.get("current") for row in tables["Dataset"].values()}
    for id_, row in tables["DatasetVersion"].items():
        read = any(edge["version"] == id_ for edge in tables["READ_BY"].values())
        if row["moment"] is None and read and id_ not in current and not _is_used(tables, row, horizon):
            yield {"id": id_}


def _orphans(tables: Tables, keys: Sequence[str], horizon: int) -> Iterator[Row]:
    made = {id_ for run, id_ in tables["WROTE"] if tables["Run"].get(run, {}).get("record") is not None}
    for id_, row in tables["DatasetVersion"].items():
        old = row["moment"] is not None and row["moment"] < horizon and not row.get("retained")
        if row["dataset"] in keys and old and row["madeBy"] is not None and id_ not in made:
            yield {"id": id_, "madeBy": row["madeBy"]}


FINDS: dict[str, Callable[..., Iterator[Row]]] = {
    "retain/job_keys": _keys("Job"),
    "retain/dataset_keys": _keys("Dataset"),
    "retain/job_versions": _job_versions,
    "retain/first_runs": _first_runs,
    "retain/makers": _makers,
    "retain/runs": _runs,
    "retain/job_events": _job_events,
    "retain/dataset_versions": _dataset_versions,
    "retain/unmade_versions": _unmade_versions,
    "retain/orphans": _orphans,
}


# ---- writes --------------------------------------------------------------------------------------------------------


def change(tables: Tables, label: str, key: str, **members: object) -> None:
    """Set properties of a node, if it exists."""
    if key in tables[label]:
        tables[label][key] = tables[label][key] | members


def set_writer(tables: Tables, row: Row) -> None:
    """Set properties of the node ``Writer``."""
    tables["Writer"]["consumer"] = tables["Writer"].get("consumer", {}) | row


def _set_retained_read(tables: Tables, row: Row) -> None:
    change(tables, "Dataset", row["dataset"], retainedRead=row["retainedRead"])
    change(tables, "DatasetVersion", row["version"], retained=row["retained"])


def _set_retained_job_version(tables: Tables, row: Row) -> None:
    version = tables["JobVersion"][row["id"]]
    stored = {"retainedNumber": row["number"], "retainedRuns": version.get("retainedRuns") or 0}
    if version["codeMoment"] is not None and version["codeMoment"] < row["horizon"]:
        moment, text = moment_of(version)
        stored |= {"codeMoment": moment, "codeTie": text}
    tables["JobVersion"][row["id"]] = version | stored


def _set_removed_run_counts(tables: Tables, row: Row) -> None:
    version = tables["JobVersion"][row["id"]]
    if version.get("lastRun") == row["lastRun"]:
        change(tables, "JobVersion", row["id"], lastRunState=None, lastRunStreaming=None)
    if version.get("retainedNumber") is None:
        change(tables, "JobVersion", row["id"], runs=version["runs"] - row["runs"])
        return
    before = (version.get("retainedLastMoment"), version.get("retainedLastRun"))
    last = max([(row["lastMoment"], row["lastRun"]), *([before] if before[0] is not None else [])])
    stored = {
        "retainedRuns": version["retainedRuns"] + row["runs"],
        "retainedLastMoment": last[0],
        "retainedLastRun": last[1],
    }
    change(tables, "JobVersion", row["id"], **stored)


def _delete_run(tables: Tables, row: Row) -> None:
    _unlink_run(tables, row["key"])
    for edge in [edge for edge in tables["CHILD_OF"] if edge[1] == row["key"]]:
        del tables["CHILD_OF"][edge]
    del tables["Run"][row["key"]]


def _set_placeholder_run(tables: Tables, row: Row) -> None:
    _unlink_run(tables, row["key"])
    tables["Run"][row["key"]] = {name: tables["Run"][row["key"]][name] for name in ("key", "id")}


def _unlink_run(tables: Tables, run: str) -> None:
    for name in ("RUN_OF", "RAN"):
        tables[name].pop(run, None)
    for name in ("WROTE", "READ_BY", "CHILD_OF"):
        for edge in [edge for edge in tables[name] if edge[0] == run]:
            del tables[name][edge]


def _upsert_removed_run(tables: Tables, row: Row) -> None:
    known = tables["Run"].setdefault(row["key"], {"key": row["key"], "id": row["id"]})
    tables["Run"][row["key"]] = known | {"removed": True, "made": row.get("made") or known.get("made")}
    version = tables["DatasetVersion"].get(row.get("version"))
    if version is not None:
        tables["WROTE"][(row["key"], version["id"])] = version


def _delete_dataset_version(tables: Tables, row: Row) -> None:
    del tables["DatasetVersion"][row["id"]]
    assert not any(edge["version"] == row["id"] for edge in tables["READ_BY"].values()), (
        "a version removed under a reader"
    )
    for edge in [edge for edge in tables["WROTE"] if edge[1] == row["id"]]:
        del tables["WROTE"][edge]


def _delete_removed_run(tables: Tables, row: Row) -> None:
    if row.get("job"):
        change(tables, "Run", row["key"], made=None)
    run = tables["Run"].get(row["key"])
    if (
        run is None
        or not run.get("removed")
        or run.get("made")
        or any(run_key == row["key"] for run_key, _ in tables["WROTE"])
    ):
        return
    change(tables, "Run", row["key"], removed=None)
    if not any(parent == row["key"] for _, parent in tables["CHILD_OF"]):
        del tables["Run"][row["key"]]


RETAIN_WRITES: dict[str, Callable[[Tables, Row], None]] = {
    "set_horizon": set_writer,
    "set_run_horizons": lambda tables, row: change(tables, "Run", row["key"], horizon=row["horizon"]),
    "set_retained_runs": lambda tables, row: change(tables, "JobVersion", row["id"], runs=row["runs"]),
    "set_retained_lineage": lambda tables, row: change(
        tables, "Job", row["job"], retainedSources=row["retainedSources"]
    ),
    "set_retained_reads": _set_retained_read,
    "set_retained_job_versions": _set_retained_job_version,
    "set_retained_dataset_versions": lambda tables, row: change(tables, "DatasetVersion", row["id"], retained=True),
    "set_removed_run_counts": _set_removed_run_counts,
    "delete_runs": _delete_run,
    "set_placeholder_runs": _set_placeholder_run,
    "upsert_removed_runs": _upsert_removed_run,
    "delete_job_events": lambda tables, row: tables["JobEvent"].__delitem__(row["key"]),
    "delete_dataset_versions": _delete_dataset_version,
    "delete_removed_runs": _delete_removed_run,
}
