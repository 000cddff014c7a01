"""Rows of statements as parameters of Cypher: times in parts, texts shortened for indexes, keys as hashes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headwater_avro.names import Key, node_key
from headwater_graph.model.values import Moment, Row

TIE_LENGTH = 256
"""How many characters of a moment's text are in an index; longer texts with the same beginning are compared as a whole."""


def parameter_rows(name: str, rows: Sequence[Row]) -> list[Row]:
    """Return the rows of a write as the parameter ``$rows`` of its Cypher file."""
    convert = _CONVERSIONS.get(name)
    return [convert(row) for row in rows] if convert else list(rows)


def moment_row(moment: Moment) -> Row:
    """Return a moment as the bounded reads compare it: time, the indexed part of the text, the whole text."""
    return {"moment": moment[0], "tie": moment[1][:TIE_LENGTH], "text": moment[1]}


def job_rows(positions: Sequence[tuple[Key, Moment]]) -> list[Row]:
    """Return a row for each (job, moment)."""
    return [{"job": node_key("job", *job)} | moment_row(moment) for job, moment in positions]


def _seconds(micros: int | None) -> list[int] | None:
    """Return a time as [seconds, nanoseconds]: Cypher makes a datetime of them at less cost than Python does."""
    if micros is None:
        return None
    seconds, rest = divmod(micros, 1_000_000)
    return [seconds, rest * 1000]


def with_horizon(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return parameters with ``at``, their ``horizon`` as [seconds, nanoseconds], if they have a horizon."""
    return parameters | {"at": _seconds(parameters["horizon"])} if "horizon" in parameters else parameters


def _with_short_tie(row: Row) -> Row:
    return row if row["tie"] is None else row | {"tie": row["tie"][:TIE_LENGTH]}


def _run(row: Row) -> Row:
    return _with_short_tie(row) | {name: _seconds(row[name]) for name in ("started", "ended", "last")}


def _dataset_version(row: Row) -> Row:
    external = None if row["external"] is None else node_key("external", row["external"])
    return _with_short_tie(row) | {"at": _seconds(row["moment"]), "externalKey": external}


def _last_run(row: Row) -> Row:
    run = None if row["lastRun"] is None else node_key("run", row["lastRun"])
    return row | {"at": _seconds(row["lastRunAt"]), "run": run}


def _read(row: Row) -> Row:
    if row["external"] is None:
        return row | {"exactMoment": None, "externalKey": None}
    exact = {"exactMoment": row["moment"], "externalKey": node_key("external", row["external"])}
    return row | exact | {"moment": None}


def _field_hash(path: Sequence[str]) -> str:
    return node_key("field", *path)


def _field(row: Row) -> Row:
    namespace, dataset, name = row["path"]
    of = node_key("dataset", namespace, dataset)
    return {"key": _field_hash(row["path"]), "of": of, "namespace": namespace, "dataset": dataset, "name": name}


_CONVERSIONS: Mapping[str, Callable[[Row], Row]] = {
    "create_runs": _run,
    "upsert_runs": _run,
    "upsert_dataset_versions": _dataset_version,
    "create_dataset_versions": _dataset_version,
    "set_added_runs": _last_run,
    "link_reads": _read,
    "upsert_job_events": _with_short_tie,
    "upsert_job_versions": lambda row: _with_short_tie(row) | {"since": _seconds(row["moment"])},
    "set_job_version_ends": lambda row: row | {"endAt": _seconds(row["end"])},
    "set_last_runs": _last_run,
    "set_horizon": lambda row: row | {"at": _seconds(row["horizon"])},
    "link_feeds": lambda row: row | {"sinceAt": _seconds(row["since"])},
    "link_produces": lambda row: row | {"sinceAt": _seconds(row["since"])},
    "upsert_fields": _field,
    "delete_unnamed_fields": lambda row: {"key": _field_hash(row["path"])},
    "link_columns": lambda row: row | {"from": _field_hash(row["source"]), "to": _field_hash(row["target"])},
}
"""How the rows of a write become parameters, by statement; the rows of all other writes are parameters as they are."""
