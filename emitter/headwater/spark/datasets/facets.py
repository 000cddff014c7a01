"""OpenLineage facets as plain objects, each with its producer and schema address.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...producer import VERSION, Container, facet_schema, producer
from ..plan.lineage import ACCESS, TRANSFORMATION, Source

Facet = dict[str, Any]

PRODUCER = producer("spark")


def facet(container: Container, name: str, /, **members: Any) -> Facet:
    """Return the facet ``name`` of a container; members that are None are left out."""
    body = {key: value for key, value in members.items() if value is not None}
    return {"_producer": PRODUCER, "_schemaURL": facet_schema(container, name), **body}


def custom(**members: Any) -> Facet:
    """Return a run facet that the OpenLineage specification does not define."""
    return facet("run", "", **members)


def job_details(number: int, group: str | None, description: str | None, call: str | None) -> dict[str, Facet]:
    """Return the run facet with Spark's number of a job, its group, description and call site, under its name."""
    members = {"jobId": number, "jobGroup": group or None, "jobDescription": description, "jobCallSite": call}
    return {"spark_jobDetails": custom(**members)}


def schema(fields: list[dict[str, Any]] | None) -> Facet | None:
    """Return the schema facet: columns, nested ones in ``fields``; None where no column is known."""
    return None if not fields else facet("dataset", "schema", fields=fields)


def data_source(namespace: str) -> dict[str, Facet]:
    """Return the dataSource facet, the address of the dataset's namespace, under its name."""
    return {"dataSource": facet("dataset", "dataSource", name=namespace, uri=namespace)}


def table_symlink(namespace: str, name: str) -> Facet:
    """Return the symlinks facet of a table that has this key, too."""
    return facet("dataset", "symlinks", identifiers=[{"namespace": namespace, "name": name, "type": "TABLE"}])


def lifecycle(change: str | None, previous: tuple[str, str] | None = None) -> Facet | None:
    """Return the lifecycleStateChange facet, None without a change; ``previous`` is the key before a RENAME."""
    if change is None:
        return None
    before = None if previous is None else {"namespace": previous[0], "name": previous[1]}
    return facet("dataset", "lifecycleStateChange", lifecycleStateChange=change, previousIdentifier=before)


def storage(file_format: str) -> Facet:
    """Return the storage facet of files."""
    return facet("dataset", "storage", storageLayer="file", fileFormat=file_format)


def catalog(framework: str, kind: str, name: str, warehouse: str | None = None, metadata: str | None = None) -> Facet:
    """Return the catalog facet: the table's catalog, and the addresses of its tables and of its metadata."""
    members = {"framework": framework, "type": kind, "name": name, "source": "spark"}
    return facet("dataset", "catalog", **members, warehouseUri=warehouse, metadataUri=metadata)


def dataset_version(version: str) -> Facet:
    """Return the version facet: the name of a snapshot or commit."""
    return facet("dataset", "version", datasetVersion=version)


def output_statistics(rows: int | None, size: int | None, files: int | None) -> Facet:
    """Return the outputStatistics facet: rows, bytes, files."""
    return facet("output", "outputStatistics", rowCount=rows, size=size, fileCount=files)


def input_statistics(rows: int | None, size: int | None, files: int | None) -> Facet:
    """Return the inputStatistics facet: rows, bytes, files."""
    return facet("input", "inputStatistics", rowCount=rows, size=size, fileCount=files)


def subset(side: Container, locations: Iterable[str]) -> Facet:
    """Return the subset facet of one side (``input`` or ``output``): the folders that are read or written."""
    condition = {"type": "location", "locations": list(locations)}
    return facet(side, "subset", **{f"{side}Condition": condition})


def sql(query: str) -> Facet:
    """Return the sql facet."""
    return facet("job", "sql", query=query, dialect="spark")


def job_type(processing: str, job: str) -> Facet:
    """Return the jobType facet."""
    return facet("job", "jobType", processingType=processing, integration="SPARK", jobType=job)


def explicit_lineage(inputs: Iterable[Mapping[str, Any]], outputs: Iterable[Mapping[str, Any]]) -> Facet:
    """Return the lineage facet in which each of the outputs is made of all of the inputs, and of no others."""
    sources = [_key(dataset) for dataset in inputs]
    return facet("job", "lineage", entries=[{**_key(dataset), "inputs": sources} for dataset in outputs])


def _key(dataset: Mapping[str, Any]) -> dict[str, str]:
    return {"type": "DATASET", "namespace": dataset["namespace"], "name": dataset["name"]}


def source_code_location(members: Mapping[str, str]) -> Facet:
    """Return the sourceCodeLocation facet of a git repository."""
    return facet("job", "sourceCodeLocation", type="git", **members)


def processing_engine(spark: str) -> Facet:
    """Return the processing_engine facet for a version of Spark."""
    return facet("run", "processing_engine", name="spark", version=spark, openlineageAdapterVersion=VERSION)


def error_message(error: tuple[str, str | None] | None, language: str = "JAVA") -> dict[str, Facet]:
    """Return the errorMessage facet of (message, stack trace or None) under its name; nothing without an error."""
    if error is None:
        return {}
    message, stack = error
    members = {"message": message, "programmingLanguage": language, "stackTrace": stack}
    return {"errorMessage": facet("run", "errorMessage", **members)}


def parent(parent: tuple[str, str, str], root: tuple[str, str, str] | None) -> dict[str, Facet]:
    """Return the parent facet under its name; both runs are (run id, job namespace, job name)."""
    return {"parent": facet("run", "parent", **_run(parent), root=None if root is None else _run(root))}


def _run(identity: tuple[str, str, str]) -> dict[str, Any]:
    run, namespace, name = identity
    return {"run": {"runId": run}, "job": {"namespace": namespace, "name": name}}


def column_lineage(fields: Iterable[tuple[str, Iterable[Source]]], rows: Iterable[Source]) -> Facet:
    """Return the columnLineage facet: each column by its sources, and under ``dataset`` the sources that shape all rows."""
    columns = {name: {"inputFields": _inputs(sources)} for name, sources in fields}
    return facet("dataset", "columnLineage", fields=columns, dataset=_inputs(rows) or None)


def _published(source: Source) -> Source:
    """Return the source as the facet spells it: an ACCESS, which the specification does not have, as a TRANSFORMATION."""
    if source.kind.subtype != ACCESS.subtype:
        return source._replace(inner="")
    return source._replace(kind=source.kind._replace(subtype=TRANSFORMATION.subtype), inner="")


def _inputs(sources: Iterable[Source]) -> list[dict[str, Any]]:
    transformations: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for source in sorted({_published(source) for source in sources}):
        kind = source.kind
        transformations.setdefault(source[:3], []).append(
            {"type": kind.type, "subtype": kind.subtype, "description": kind.description, "masking": kind.masking}
        )
    return [
        {"namespace": key[0], "name": key[1], "field": key[2], "transformations": kinds}
        for key, kinds in transformations.items()
    ]
