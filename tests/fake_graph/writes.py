"""The writes of the fake graph, as the files ``cypher/write`` do them in Neo4j (see ``store``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from headwater_avro.names import node_key
from headwater_graph.model.values import Row

from .fields import delete_unnamed_field, link_fields, unlink_columns, unlink_some_columns, upsert_field
from .retention import RETAIN_WRITES, change, set_writer

Tables: TypeAlias = dict[str, dict[Any, Row]]


def _merge(label: str, *names: str, id_: str = "key") -> Callable[[Tables, Row], None]:
    """A write that merges a node and sets the named properties, or all of the row's."""

    def apply(tables: Tables, row: Row) -> None:
        known = tables[label].get(row[id_], {})
        tables[label][row[id_]] = known | ({name: row[name] for name in names} if names else row)

    return apply


def _upsert_entity(label: str) -> Callable[[Tables, Row], None]:
    """A write that merges a job or dataset and sets the members of the row's ``properties``, if it has any."""

    def apply(tables: Tables, row: Row) -> None:
        members = {name: value for name, value in row.items() if name != "properties"}
        tables[label][row["key"]] = tables[label].get(row["key"], {}) | members | row.get("properties", {})

    return apply


def _set(label: str, of: str, **names: str) -> Callable[[Tables, Row], None]:
    """A write that sets properties (name=row member) of a node that is there."""

    def apply(tables: Tables, row: Row) -> None:
        if row[of] in tables[label]:
            tables[label][row[of]] = tables[label][row[of]] | {name: row[member] for name, member in names.items()}

    return apply


def _link(type_: str, from_: str, to: str) -> Callable[[Tables, Row], None]:
    def apply(tables: Tables, row: Row) -> None:
        tables[type_][(row[from_], row[to])] = row

    return apply


def _unlink(type_: str, from_: str, to: str) -> Callable[[Tables, Row], None]:
    def apply(tables: Tables, row: Row) -> None:
        tables[type_].pop((row[from_], row[to]), None)

    return apply


def _named(label: str) -> Callable[[Tables, Row], None]:
    def apply(tables: Tables, row: Row) -> None:
        tables[label].setdefault(row["key"], row)

    return apply


def _delete_unnamed(label: str, type_: str) -> Callable[[Tables, Row], None]:
    def apply(tables: Tables, row: Row) -> None:
        node = tables[label].get(row["key"])
        removable = node is not None and node.get("record") is None and not node.get("removed")
        if removable and not any(to == row["key"] for _, to in tables[type_]):
            del tables[label][row["key"]]

    return apply


def _create_run(tables: Tables, row: Row) -> None:
    assert row["key"] not in tables["Run"], "a run created twice"
    assert row["job"] in tables["Job"], "a run of a job that is not there"
    tables["Run"][row["key"]] = row
    tables["RUN_OF"][row["key"]] = {"run": row["key"], "job": row["job"]}


def _create_dataset_version(tables: Tables, row: Row) -> None:
    assert row["id"] not in tables["DatasetVersion"], "a version created twice"
    _upsert_dataset_version(tables, row)


def _upsert_dataset_version(tables: Tables, row: Row) -> None:
    tables["DatasetVersion"][row["id"]] = tables["DatasetVersion"].get(row["id"], {}) | row
    if row["run"] is not None:
        tables["WROTE"][(row["run"], row["id"])] = row


def _set_unmade_dataset_version(tables: Tables, row: Row) -> None:
    version = tables["DatasetVersion"][row["id"]]
    tables["WROTE"].pop((version["run"], row["id"]), None)
    absent = {"moment": None, "madeBy": None, "external": None, "run": None}
    tables["DatasetVersion"][row["id"]] = version | absent


def _upsert_unmade_version(tables: Tables, row: Row) -> None:
    blank = dict.fromkeys(("moment", "madeBy", "text", "run", "state", "schema", "drops"))
    tables["DatasetVersion"].setdefault(row["id"], blank | row)


def _delete_unread_version(tables: Tables, row: Row) -> None:
    version = tables["DatasetVersion"].get(row["id"])
    read = any(edge["version"] == row["id"] for edge in tables["READ_BY"].values())
    if version is not None and version["moment"] is None and not version.get("retained") and not read:
        del tables["DatasetVersion"][row["id"]]


def _link_read(tables: Tables, row: Row) -> None:
    assert row["version"] in tables["DatasetVersion"], "a read of a version that is not there"
    tables["READ_BY"][(row["run"], row["dataset"])] = row


def _link_ran(tables: Tables, row: Row) -> None:
    assert row["version"] in tables["JobVersion"], "a run placed in a version that is not there"
    tables["RAN"][row["run"]] = row


def _unlink_ran(tables: Tables, row: Row) -> None:
    tables["RAN"].pop(row["run"], None)


def _delete_job_version(tables: Tables, row: Row) -> None:
    tables["JobVersion"].pop(row["id"], None)
    assert not any(edge["version"] == row["id"] for edge in tables["RAN"].values()), "a version dropped under its runs"


def _set_run_counts(tables: Tables, row: Row) -> None:
    version = tables["JobVersion"].get(row["id"])
    if version is not None:
        tables["JobVersion"][row["id"]] = version | {"runs": version.get("runs", 0) + row["runs"]}


def _set_added_runs(tables: Tables, row: Row) -> None:
    _set_run_counts(tables, row)
    _set_last_run(tables, row)


def _set_last_run(tables: Tables, row: Row) -> None:
    run = tables["Run"].get(node_key("run", row["lastRun"]), {}) if row["lastRun"] is not None else {}
    if run.get("moment") != row["lastRunAt"]:
        # It was removed, and what has its id now is another run.
        run = {}
    state = {"lastRunState": run.get("state"), "lastRunStreaming": run.get("streaming")}
    change(tables, "JobVersion", row["id"], lastRun=row["lastRun"], lastRunAt=row["lastRunAt"], **state)


def _set_last_run_state(tables: Tables, row: Row) -> None:
    if tables["JobVersion"].get(row["version"], {}).get("lastRun") == row["run"]:
        change(tables, "JobVersion", row["version"], lastRunState=row["state"], lastRunStreaming=row["streaming"])


def _unlink_current_edges(tables: Tables, row: Row) -> None:
    for type_ in ("FEEDS", "PRODUCES"):
        for key in [key for key in tables[type_] if key[0] == row["job"]]:
            del tables[type_][key]


def _link_column(tables: Tables, row: Row) -> None:
    tables["DERIVES"][tuple(str(value) for value in row.values())] = row


def _delete_deferred_work(tables: Tables, row: Row) -> None:
    tables["DeferredWork"].pop(row["key"], None)


def _link_child(tables: Tables, row: Row) -> None:
    tables["CHILD_OF"][(row.get("run") or row["key"], row["parent"])] = row


def _unlink_child(tables: Tables, row: Row) -> None:
    tables["CHILD_OF"].pop((row.get("run") or row["key"], row["parent"]), None)


WRITES: dict[str, Callable[[Tables, Row], None]] = {
    "set_offsets": set_writer,
    "upsert_jobs": _upsert_entity("Job"),
    "upsert_named_jobs": _named("Job"),
    "delete_unnamed_jobs": _delete_unnamed("Job", "CHILD_OF"),
    "link_job_parents": _link_child,
    "unlink_job_parents": _unlink_child,
    "upsert_datasets": _upsert_entity("Dataset"),
    "upsert_named_datasets": _named("Dataset"),
    "delete_unnamed_datasets": _delete_unnamed("Dataset", "ALIAS_OF"),
    "link_aliases": _link("ALIAS_OF", "key", "alias"),
    "unlink_aliases": _unlink("ALIAS_OF", "key", "alias"),
    "create_runs": _create_run,
    "upsert_runs": _merge("Run"),
    "upsert_named_runs": _named("Run"),
    "delete_unnamed_runs": _delete_unnamed("Run", "CHILD_OF"),
    "link_run_job": lambda tables, row: tables["RUN_OF"].__setitem__(row["run"], row),
    "unlink_run_job": lambda tables, row: tables["RUN_OF"].__delitem__(row["run"]),
    "link_run_parents": _link_child,
    "link_run_parent_jobs": _link_child,
    "unlink_run_parents": _unlink_child,
    "upsert_dataset_versions": _upsert_dataset_version,
    "create_dataset_versions": _create_dataset_version,
    "set_unmade_dataset_versions": _set_unmade_dataset_version,
    "upsert_unmade_versions": _upsert_unmade_version,
    "delete_unread_versions": _delete_unread_version,
    "link_reads": _link_read,
    "unlink_reads": _unlink("READ_BY", "run", "dataset"),
    "link_current_dataset_versions": _set("Dataset", "dataset", current="version"),
    "set_dropped": _set("Dataset", "dataset", dropped="dropped"),
    "upsert_job_events": _merge("JobEvent"),
    "set_job_event_versions": _set("JobEvent", "key", version="version"),
    "upsert_job_versions": _merge("JobVersion", id_="id"),
    "set_obsolete_job_versions": lambda tables, row: _merge("JobVersion", id_="id")(tables, row | {"moment": None}),
    "delete_job_versions": _delete_job_version,
    "set_job_version_ends": _set("JobVersion", "id", end="end"),
    "set_last_runs": _set_last_run,
    "set_last_run_states": _set_last_run_state,
    "set_run_counts": _set_run_counts,
    "set_added_runs": _set_added_runs,
    "link_ran": _link_ran,
    "unlink_ran": _unlink_ran,
    "link_current_job_versions": _set("Job", "job", current="version"),
    "unlink_current_edges": _unlink_current_edges,
    "link_feeds": _link("FEEDS", "job", "dataset"),
    "link_produces": _link("PRODUCES", "job", "dataset"),
    "unlink_columns": unlink_columns,
    "unlink_some_columns": unlink_some_columns,
    "delete_unnamed_fields": delete_unnamed_field,
    "link_columns": _link_column,
    "upsert_fields": upsert_field,
    "link_fields": link_fields,
    "set_fold_states": _set("Job", "job", fold="fold"),
    "upsert_deferred_work": _merge("DeferredWork"),
    "delete_deferred_work": _delete_deferred_work,
} | RETAIN_WRITES
