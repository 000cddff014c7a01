"""Rows as the Cypher files want them: times as they make them, texts as long as an index holds them, keys as hashes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headwater_avro.names import Key, node_key
from headwater_graph.model.values import Moment, Row, Statement

TIE_LENGTH = 256
"""How much of a moment's text is in an index; longer ones that begin alike are told apart by their whole texts."""


def formed(statement: Statement) -> list[Row]:
    """Return a write's rows as its Cypher file wants them."""
    form = _FORMS.get(statement.name)
    return [form(row) for row in statement.rows] if form else list(statement.rows)


def moment_row(moment: Moment) -> Row:
    """Return a moment as the bounded reads compare it: time, the indexed part of its text, all of it."""
    return {"moment": moment[0], "tie": moment[1][:TIE_LENGTH], "text": moment[1]}


def job_rows(asked: Sequence[tuple[Key, Moment]]) -> list[Row]:
    """Return numbered rows of jobs and moments."""
    return [
        {"number": number, "job": node_key("job", *job)} | moment_row(moment)
        for number, (job, moment) in enumerate(asked)
    ]


def _seconds(micros: int | None) -> list[int] | None:
    """Return a time as [seconds, nanoseconds], from which Cypher makes a datetime far cheaper than Python would."""
    if micros is None:
        return None
    seconds, rest = divmod(micros, 1_000_000)
    return [seconds, rest * 1000]


def with_horizon(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return parameters with their horizon also as Cypher makes a time of it, if they have one."""
    return parameters | {"at": _seconds(parameters["horizon"])} if "horizon" in parameters else parameters


def _tied(row: Row) -> Row:
    return row if row["tie"] is None else row | {"tie": row["tie"][:TIE_LENGTH]}


def _run_form(row: Row) -> Row:
    return _tied(row) | {name: _seconds(row[name]) for name in ("started", "ended", "last")}


def _dataset_version_form(row: Row) -> Row:
    external = None if row["external"] is None else node_key("external", row["external"])
    return _tied(row) | {"at": _seconds(row["moment"]), "externalKey": external}


def _last_run_form(row: Row) -> Row:
    run = None if row["lastRun"] is None else node_key("run", row["lastRun"])
    return row | {"at": _seconds(row["lastRunAt"]), "run": run}


def _read_form(row: Row) -> Row:
    if row["external"] is None:
        return row | {"exactMoment": None, "externalKey": None}
    exact = {"exactMoment": row["moment"], "externalKey": node_key("external", row["external"])}
    return row | exact | {"moment": None}


def _field_hash(path: Sequence[str]) -> str:
    return node_key("field", *path)


def _field_form(row: Row) -> Row:
    namespace, dataset, name = row["path"]
    of = node_key("dataset", namespace, dataset)
    return {"key": _field_hash(row["path"]), "of": of, "namespace": namespace, "dataset": dataset, "name": name}


_FORMS: Mapping[str, Callable[[Row], Row]] = {
    "create_runs": _run_form,
    "upsert_runs": _run_form,
    "upsert_dataset_versions": _dataset_version_form,
    "create_dataset_versions": _dataset_version_form,
    "set_added_runs": _last_run_form,
    "link_reads": _read_form,
    "upsert_job_events": _tied,
    "upsert_job_versions": lambda row: _tied(row) | {"since": _seconds(row["moment"])},
    "set_job_version_ends": lambda row: row | {"endAt": _seconds(row["end"])},
    "set_last_runs": _last_run_form,
    "set_horizon": lambda row: row | {"at": _seconds(row["horizon"])},
    "link_feeds": lambda row: row | {"sinceAt": _seconds(row["since"])},
    "link_produces": lambda row: row | {"sinceAt": _seconds(row["since"])},
    "upsert_fields": _field_form,
    "delete_unnamed_fields": lambda row: {"key": _field_hash(row["path"])},
    "link_columns": lambda row: row | {"from": _field_hash(row["source"]), "to": _field_hash(row["target"])},
}
