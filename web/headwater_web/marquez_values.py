"""Marquez's values of jobs, datasets, fields and runs, from details of the graph."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from headwater_avro.times import micros_of
from headwater_graph.model.facet_properties import facets_of
from headwater_graph.model.tags import tags_of
from headwater_graph.queries.answers import Node
from headwater_graph.queries.reader import Row
from headwater_graph.queries.runs.run_view import RunView, run_view
from headwater_graph.queries.values import time_text
from headwater_graph.rules.facets import schema_rows

Value: TypeAlias = dict[str, Any]

STATES = {"COMPLETE": "COMPLETED", "FAIL": "FAILED", "ABORT": "ABORTED"}
JOB_TYPES = {"STREAMING": "STREAM", "SERVICE": "SERVICE"}
NODE_TYPES = {"job": "JOB", "dataset": "DATASET"}


def node_id_of(node: Node) -> str:
    """Return Marquez's node id, ``dataset:namespace:name`` or ``job:namespace:name``."""
    return f"{node.kind}:{node.name[0]}:{node.name[1]}"


def key_value(key: Sequence[str]) -> Value:
    """Return Marquez's ``JobId`` or ``DatasetId``."""
    return {"namespace": key[0], "name": key[1]}


def facet_member(facets: Mapping[str, Any], facet: str, name: str) -> Any:
    """Return a member of a facet, None without the facet or the member."""
    facet_value = facets.get(facet)
    return facet_value.get(name) if isinstance(facet_value, dict) else None


def job_type(facets: Mapping[str, Any]) -> str:
    """Return Marquez's type of a job with these facets."""
    return JOB_TYPES.get(str(facet_member(facets, "jobType", "processingType")), "BATCH")


def tag_names(facets: Mapping[str, Any]) -> list[str]:
    """Return the names of the tags of a dataset or job itself, sorted."""
    return sorted({tag.name for tag in tags_of(facets) if tag.field is None})


def job_value(row: Row, runs: Sequence[Row]) -> Value:
    """Return Marquez's ``Job`` with its latest runs, the latest first; it was created with its first version."""
    facets = facets_of(row["facets"])
    latest = [run_value(run) for run in runs]
    last = latest[0] if latest else None
    updated = last["updatedAt"] if last else time_text(row["since"])
    return {
        "id": key_value((row["namespace"], row["name"])),
        "type": job_type(facets),
        "name": row["name"],
        "simpleName": row["name"],
        "parentJobName": row["parent"],
        "parentJobUuid": None,
        "namespace": row["namespace"],
        "createdAt": time_text(row["created"]) or (latest[-1]["createdAt"] if latest else None),
        "updatedAt": updated,
        "inputs": [key_value(key) for key in row["inputs"]],
        "outputs": [key_value(key) for key in row["outputs"]],
        "tags": tag_names(facets),
        "location": facet_member(facets, "sourceCodeLocation", "url"),
        "description": facet_member(facets, "documentation", "description"),
        "currentVersion": row["version"],
        "latestRun": last,
        "latestRuns": latest,
        "facets": facets,
    }


def dataset_value(row: Row, columns: Iterable[Row] = (), quality: Mapping[str, Any] | None = None) -> Value:
    """Return Marquez's ``Dataset``, with the schema of its current version or else of its facet.

    ``columns`` are the column edges into it, ``quality`` has the facets of its last input and output. It was created with its
    first version; a dataset that is only read, when it was first read.
    """
    facets = facets_of(row["facets"])
    return {
        "id": key_value((row["namespace"], row["name"])),
        "type": "DB_TABLE",
        "name": row["name"],
        "physicalName": row["name"],
        "namespace": row["namespace"],
        "sourceName": row["namespace"],
        "createdAt": time_text(row["created"] or row["firstRead"]),
        "updatedAt": time_text(row["written"] or row["lastRead"]),
        "lastModifiedAt": time_text(row["written"]),
        "fields": field_values(row["schema"], facets),
        "tags": tag_names(facets),
        "description": facet_member(facets, "documentation", "description"),
        "currentVersion": row["version"],
        "deleted": bool(row["dropped"]),
        "columnLineage": column_lineage_values(columns),
        "facets": {**(quality or {}), **facets},
    }


def field_values(schema: str | None, facets: Mapping[str, Any]) -> list[Value]:
    """Return Marquez's ``Field`` for each field of a version's schema, ``[[name, type], [name], …]`` as JSON.

    Without it, for those of the facet ``schema``. Descriptions and tags are those of the facets.
    """
    facet = facets.get("schema")
    stated = facet if isinstance(facet, dict) else {}
    rows = json.loads(schema) if schema else schema_rows(stated) or []
    listed = stated.get("fields")
    fields = [field for field in listed if isinstance(field, dict)] if isinstance(listed, list) else []
    descriptions = {str(field.get("name")): field.get("description") for field in fields}
    tags: dict[str | None, set[str]] = {}
    for tag in tags_of(facets):
        tags.setdefault(tag.field, set()).add(tag.name)
    return [_field(row, descriptions.get(row[0]), sorted(tags.get(row[0], ()))) for row in rows]


def _field(row: Sequence[str], description: str | None, tags: list[str]) -> Value:
    return {"name": row[0], "type": row[1] if len(row) > 1 else None, "tags": tags, "description": description}


def column_lineage_values(edges: Iterable[Row]) -> list[Value]:
    """Return Marquez's ``ColumnLineage`` of a dataset: for each of its fields those from which it is derived."""
    found: dict[str, list[Value]] = {}
    for edge in edges:
        source = {"namespace": edge["namespace"], "dataset": edge["dataset"], "field": edge["name"]}
        found.setdefault(edge["field"], []).append(source | transformation_value(edge))
    return [_column(name, found[name]) for name in sorted(found)]


def _column(name: str, sources: list[Value]) -> Value:
    sources.sort(key=lambda source: [str(value) for value in source.values()])
    how = {member: sources[0][member] for member in ("transformationDescription", "transformationType")}
    return {"name": name, "inputFields": sources, **how}


def transformation_value(facts: Mapping[str, Any]) -> Value:
    """Return how Marquez states the transformation of a column edge."""
    kind = "/".join(str(facts[name]) for name in ("type", "subtype") if facts.get(name))
    return {"transformationDescription": facts.get("description"), "transformationType": kind or None}


def quality_facets(name: tuple[str, str], written: bytes | None, read: bytes | None) -> Value:
    """Return the facets of the last input and output of a dataset, given the records of the two runs; the output's count."""
    inputs, outputs = run_view(read).inputs, run_view(written).outputs
    return {**own_facets(inputs, name), **own_facets(outputs, name)}


def own_facets(side: Mapping[tuple[str, str], Any], name: tuple[str, str]) -> Value:
    """Return the facets of an input or output of a run, ``{}`` if the run does not have it."""
    return dict(side.get(name, ({}, {}))[1])


def run_value(row: Row) -> Value:
    """Return Marquez's ``Run``, with facets if the row has the run's record."""
    times = [row[name] and micros_of(row[name].to_native()) for name in ("startedAt", "endedAt", "lastEventAt")]
    fields = run_fields(row["id"], row["state"], *times)
    return fields | view_fields(run_view(row["record"])) if "record" in row.keys() else fields  # noqa: SIM118 - a neo4j.Record


def view_fields(view: RunView) -> Value:
    """Return the members of Marquez's ``Run`` that follow from its facets."""
    nominal = {name: facet_member(view.run, "nominalTime", name) for name in ("nominalStartTime", "nominalEndTime")}
    return nominal | {"facets": dict(view.run)}


def version_value(job: tuple[str, str] | None, version: str | None) -> Value | None:
    """Return Marquez's ``JobVersionId``, None without a version."""
    return None if version is None or job is None else {**key_value(job), "version": version}


def run_fields(run_id: str, state: str | None, started: int | None, ended: int | None, last: int | None) -> Value:
    """Return the members of Marquez's ``Run`` that its node has; times are in microseconds."""
    duration = (ended - started) // 1_000 if started is not None and ended is not None else None
    return {
        "id": run_id,
        "createdAt": time_text(last if started is None else started),
        "updatedAt": time_text(last),
        "nominalStartTime": None,
        "nominalEndTime": None,
        "state": STATES.get(state or "", state),
        "startedAt": time_text(started),
        "endedAt": time_text(ended),
        "durationMs": duration,
        "args": {},
        "facets": {},
    }
