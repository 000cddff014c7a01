"""OpenLineage facets as plain objects, each with its schema's address.  Pure."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ..plan.lineage import ACCESS, TRANSFORMATION, Source

Facet = dict[str, Any]

try:
    VERSION = version("headwater")
except PackageNotFoundError:  # a zip on PYTHONPATH has no metadata
    VERSION = "unknown"
PRODUCER = f"https://github.com/headwater/headwater/tree/{VERSION}/emitter/spark"
_FACETS = "https://openlineage.io/spec/facets"
EVENT_SCHEMA = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"


def facet(kind: str, revision: str, **members: Any) -> Facet:
    """A facet of the class ``kind`` at schema ``revision``; members that are None are left out."""
    body = {key: value for key, value in members.items() if value is not None}
    return {"_producer": PRODUCER, "_schemaURL": f"{_FACETS}/{revision}/{kind}.json#/$defs/{kind}", **body}


def custom(**members: Any) -> Facet:
    """A facet that OpenLineage's registry doesn't know."""
    return {
        "_producer": PRODUCER,
        "_schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunFacet",
        **members,
    }


def schema(fields: list[dict[str, Any]] | None) -> Facet | None:
    """The schema facet (1-2-0): columns, nested ones in ``fields``; None where no column is known."""
    return None if not fields else facet("SchemaDatasetFacet", "1-2-0", fields=fields)


def data_source(namespace: str) -> Facet:
    """The dataSource facet (1-0-1): where the dataset's namespace leads."""
    return facet("DatasourceDatasetFacet", "1-0-1", name=namespace, uri=namespace)


def symlinks(identifiers: Iterable[tuple[str, str, str]]) -> Facet:
    """The symlinks facet (1-0-1) of (namespace, name, type) triples."""
    listed = [{"namespace": namespace, "name": name, "type": kind} for namespace, name, kind in identifiers]
    return facet("SymlinksDatasetFacet", "1-0-1", identifiers=listed)


def lifecycle(change: str, previous: tuple[str, str] | None = None) -> Facet:
    """The lifecycleStateChange facet (1-0-1); ``previous`` is the key before a RENAME."""
    before = None if previous is None else {"namespace": previous[0], "name": previous[1]}
    return facet("LifecycleStateChangeDatasetFacet", "1-0-1", lifecycleStateChange=change, previousIdentifier=before)


def storage(layer: str, file_format: str) -> Facet:
    """The storage facet (1-0-1)."""
    return facet("StorageDatasetFacet", "1-0-1", storageLayer=layer, fileFormat=file_format)


def catalog(framework: str, kind: str, name: str, warehouse: str | None, metadata: str | None) -> Facet:
    """The catalog facet (1-1-0): which catalog the table is in, and where that keeps its tables and what it knows."""
    told = {"framework": framework, "type": kind, "name": name, "source": "spark"}
    return facet("CatalogDatasetFacet", "1-1-0", **told, warehouseUri=warehouse, metadataUri=metadata)


def dataset_version(text: str) -> Facet:
    """The version facet (1-0-1): a snapshot's or commit's name."""
    return facet("DatasetVersionDatasetFacet", "1-0-1", datasetVersion=text)


def output_statistics(rows: int | None, size: int | None, files: int | None) -> Facet:
    """The outputStatistics facet (1-0-2): rows, bytes, files."""
    return facet("OutputStatisticsOutputDatasetFacet", "1-0-2", rowCount=rows, size=size, fileCount=files)


def input_statistics(rows: int | None, size: int | None, files: int | None) -> Facet:
    """The inputStatistics facet (1-0-0): rows, bytes, files."""
    return facet("InputStatisticsInputDatasetFacet", "1-0-0", rowCount=rows, size=size, fileCount=files)


def subset(side: str, locations: Iterable[str]) -> Facet:
    """The subset facet (1-0-0) of one side (``input`` or ``output``): the folders that are meant."""
    condition = {"type": "location", "locations": list(locations)}
    kind = f"{side.capitalize()}Subset{side.capitalize()}DatasetFacet"
    where = f"{_FACETS}/1-0-0/BaseSubsetDatasetFacet.json#/$defs/{kind}"
    return {"_producer": PRODUCER, "_schemaURL": where, f"{side}Condition": condition}


def sql(query: str) -> Facet:
    """The sql facet (1-1-0)."""
    return facet("SQLJobFacet", "1-1-0", query=query, dialect="spark")


def job_type(processing: str, job: str) -> Facet:
    """The jobType facet (2-0-3)."""
    return facet("JobTypeJobFacet", "2-0-3", processingType=processing, integration="SPARK", jobType=job)


def processing_engine(spark: str) -> Facet:
    """The processing_engine facet (1-1-1)."""
    return facet("ProcessingEngineRunFacet", "1-1-1", name="spark", version=spark, openlineageAdapterVersion=VERSION)


def error_message(message: str, stack: str | None, language: str = "JAVA") -> Facet:
    """The errorMessage facet (1-0-1)."""
    return facet("ErrorMessageRunFacet", "1-0-1", message=message, programmingLanguage=language, stackTrace=stack)


def parent(run: str, namespace: str, name: str, root: tuple[str, str, str] | None) -> Facet:
    """The parent facet (1-2-0); ``root`` is (run id, namespace, name)."""
    top = None if root is None else {"run": {"runId": root[0]}, "job": {"namespace": root[1], "name": root[2]}}
    job = {"namespace": namespace, "name": name}
    return facet("ParentRunFacet", "1-1-0", run={"runId": run}, job=job, root=top)


def column_lineage(fields: Iterable[tuple[str, Iterable[Source]]], rows: Iterable[Source]) -> Facet:
    """The columnLineage facet (1-2-0): each column by its sources, and under ``dataset`` what shapes all rows."""
    told = {name: {"inputFields": _inputs(sources)} for name, sources in fields}
    return facet("ColumnLineageDatasetFacet", "1-2-0", fields=told, dataset=_inputs(rows) or None)


def _shown(source: Source) -> Source:
    if source.kind.subtype != ACCESS.subtype:
        return source._replace(inner="")
    return source._replace(kind=source.kind._replace(subtype=TRANSFORMATION.subtype), inner="")


def _inputs(sources: Iterable[Source]) -> list[dict[str, Any]]:
    listed: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for source in sorted({_shown(source) for source in sources}):
        kind = source.kind
        listed.setdefault(source[:3], []).append(
            {"type": kind.type, "subtype": kind.subtype, "description": kind.description, "masking": kind.masking}
        )
    return [
        {"namespace": key[0], "name": key[1], "field": key[2], "transformations": kinds}
        for key, kinds in listed.items()
    ]
